"""Networks in model files: all their weights as one vector, their sizes as notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from structlearn.core.contract import Array
from structlearn.core.forms import count
from structlearn.neural.encoder import EncoderSizes
from structlearn.neural.vocabularies import TextCoder
from structlearn.storage.schema import check_form

N = TypeVar("N", bound=nn.Module)
_NOTE = "network"
#: A file has at most so many networks, layers and columns.
_MOST = 1000
_FORM: dict[str, object] = {
    "n_networks": count,
    "n_words": count,
    "n_characters": count,
    "n_others": [count],
    "n_vectors": count,
    "vector_size": int,
    "hidden_size": count,
    "n_layers": count,
    "dropout": float,
}


def network_notes(sizes: EncoderSizes, n_networks: int) -> dict[str, object]:
    """Return what the notes of a model file say of its networks."""
    return {_NOTE: {**sizes.as_notes(), "n_networks": n_networks}}


def network_weights(networks: Sequence[nn.Module]) -> Array:
    """Return all numbers of networks as one vector of float32."""
    every = [value for one in networks for value in one.state_dict().values()]
    return torch.cat([value.detach().flatten() for value in every]).numpy()


def read_networks(
    notes: Mapping[str, object], coder: TextCoder, weights: Array, make: Callable[[EncoderSizes], N]
) -> list[N]:
    """Return the networks of a model file; ValueError for weights that are not those of its sizes."""
    told = notes.get(_NOTE)
    check_form(told, _FORM, f"notes.{_NOTE}")
    given = dict(told)  # type: ignore[call-overload]
    n = given.pop("n_networks")
    sizes = EncoderSizes(**given)
    if max(n, sizes.n_layers, len(sizes.n_others)) > _MOST or sizes.vector_size < 0:
        raise ValueError("its networks are larger than any")
    if any(getattr(sizes, name) != value for name, value in coder.sizes().items()):
        raise ValueError("its networks are not those of its vocabulary")
    if weights.dtype != np.float32 or weights.ndim != 1:
        raise ValueError("the weights of its networks are not a vector of 32 bits")
    return _split(weights, [_without_memory(sizes, make) for _ in range(n)])


def _without_memory(sizes: EncoderSizes, make: Callable[[EncoderSizes], N]) -> N:
    """Return a network whose tensors have shapes alone: a file may ask for any size."""
    try:
        with torch.device("meta"):
            return make(sizes)
    except RuntimeError:
        raise ValueError("its networks are larger than any") from None


def _split(weights: Array, networks: list[N]) -> list[N]:
    """Fill networks that have shapes alone."""
    total = sum(value.numel() for one in networks for value in one.state_dict().values())
    if weights.size != total:
        raise ValueError(f"its networks have {total} weights, not {weights.size}")
    rest = torch.from_numpy(weights.copy())
    for one in networks:
        filled = {}
        for name, value in one.state_dict().items():
            filled[name], rest = rest[: value.numel()].reshape(value.shape).clone(), rest[value.numel() :]
        one.load_state_dict(filled, assign=True)
        one.eval()
    return networks
