"""Between tensors and arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from structlearn.core.contract import Array

Forward = TypeVar("Forward", bound=Callable[..., Any])


def outside_graphs(forward: Forward) -> Forward:
    """Keep a function as it is where PyTorch compiles a graph of what surrounds it: one break."""
    reason = "structures answer in code that is compiled already"
    return torch.compiler.disable(forward, reason=reason)


def check_called_plainly() -> None:
    """Refuse transformations whose tensors hold no numbers."""
    if torch.compiler.is_exporting():
        raise RuntimeError(
            "Structured layers cannot be exported: their answers are computed outside of PyTorch. Export the "
            "network that computes the scores, and call the layer on its output."
        )
    if torch._C._are_functorch_transforms_active():
        raise RuntimeError(
            "Structured layers do not work inside torch.func transformations (vmap, grad, jacrev): pass all "
            "examples at once, as (batch, ...), and differentiate by torch.autograd."
        )


def as_plain(given: Any) -> Any:
    """Return a tensor as an array; anything else as it is."""
    return given.detach().cpu().numpy() if isinstance(given, Tensor) else given


def as_double(tensor: Tensor) -> Array:
    """Return a copy in double precision."""
    return np.array(tensor.detach().cpu().double().numpy())


def as_scores(tensor: Tensor) -> Array:
    """Return scores on the CPU, row by row, without a copy where they are: float64, or else float32."""
    kind = torch.float64 if tensor.dtype == torch.float64 else torch.float32
    found = tensor.detach().to(device="cpu", dtype=kind).contiguous()
    return np.asarray(found.numpy())


def as_tensor(array: Array, like: Tensor) -> Tensor:
    """Return an array as a tensor of the type and on the device of another."""
    return torch.as_tensor(array, dtype=like.dtype, device=like.device)


def inner(theta: Tensor, z: Tensor) -> Tensor:
    """<theta, z> over all axes but those before the batch's and the batch's; unused parts may be -inf."""
    product = theta.expand_as(z).masked_fill(z == 0, 0.0) * z
    lead = z.ndim - theta.ndim + (theta.ndim > 1)
    return product.flatten(lead).sum(-1)
