"""Between tensors and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from structlearn.core.contract import Array


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
