"""Mostly-zero arrays in model files: the positions and the values of what is not zero.

An array `name` of which less than a third is not zero is written as two tensors, `name:index` (positions in
the flattened array, 32-bit, increasing) and `name:value`; its shape is in the header. What is read is what
was written, bit for bit: a zero with a sign is no zero here.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from structlearn.contract import Array

#: Shorter arrays are written as they are.
LEAST = 1024
#: Positions have 32 bits.
MOST = 1 << 32
_SHARE = 1 / 3
_BITS = {4: np.uint32, 8: np.uint64}


def pack(tensors: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, list[int]]]:
    """The tensors with mostly-zero ones written compactly, and the shapes of these by name."""
    packed: dict[str, Array] = {}
    shapes: dict[str, list[int]] = {}
    for name, array in tensors.items():
        index = _positions(array)
        if index is None:
            packed[name] = array
            continue
        packed[f"{name}:index"] = index
        packed[f"{name}:value"] = array.reshape(-1)[index]
        shapes[name] = list(array.shape)
    return packed, shapes


def _positions(array: Array) -> Array | None:
    """Where an array is not zero; None if it is too short or has too little zeros to be worth it."""
    if not LEAST <= array.size < MOST or array.dtype.itemsize not in _BITS or array.dtype.kind not in "fiu":
        return None
    present = array.reshape(-1).view(_BITS[array.dtype.itemsize]) != 0
    if np.count_nonzero(present) >= _SHARE * array.size:
        return None
    return np.flatnonzero(present).astype(np.uint32)


def unpack(tensors: Mapping[str, Array], shapes: Any) -> dict[str, Array]:
    """The inverse of `pack`; ValueError that names an array whose parts do not fit together."""
    if not isinstance(shapes, dict):
        raise ValueError("its list of mostly-zero arrays is none.")
    whole = dict(tensors)
    for name, shape in shapes.items():
        try:
            index, value = whole.pop(f"{name}:index"), whole.pop(f"{name}:value")
        except KeyError as error:
            raise ValueError(f"it lacks {error.args[0]}.") from None
        whole[name] = _filled(name, shape, index, value)
    return whole


def _filled(name: str, shape: Any, index: Array, value: Array) -> Array:
    sized = isinstance(shape, list) and all(type(side) is int and side >= 0 for side in shape)
    if not sized or prod(shape) >= MOST:
        raise ValueError(f"the array {name} has the shape {shape!r}.")
    if index.ndim != 1 or index.dtype != np.uint32 or index.shape != value.shape:
        raise ValueError(
            f"the array {name} has {index.size} positions ({index.dtype}) but {value.size} values."
        )
    if not (index[1:] > index[:-1]).all():
        raise ValueError(f"the positions of the array {name} do not increase.")
    if index.size and index[-1] >= prod(shape):
        raise ValueError(f"the array {name} has a value at {index[-1]}, outside of its shape {shape!r}.")
    array = np.zeros(shape, dtype=value.dtype)
    array.reshape(-1)[index] = value
    return array
