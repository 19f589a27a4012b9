"""Mostly-zero arrays in model files: the positions and the values of what is not zero.

An array `name` of which less than a third is not zero is written as two tensors, `name:index` (positions in
the flattened array, 32-bit, increasing) and `name:value`; its shape is in the header. What is read is what
was written, bit for bit: a zero with a sign is no zero here.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from structlearn.core.forms import count
from structlearn.storage.schema import check_form
from structlearn.storage.tensors import TensorEntry

#: Shorter arrays are written as they are.
LEAST = 1024
#: Positions have 32 bits.
MOST = 1 << 32
#: The number of entries that an array may have, however few of them are stored.
ALWAYS = 1 << 20
#: Beyond that, the number of entries for each that is stored.
_THINNEST = 1000
_SHARE = 1 / 3
_BITS = {4: np.uint32, 8: np.uint64}


def compact_arrays(tensors: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, list[int]]]:
    """Return the tensors with mostly-zero ones written compactly, and the shapes of these by name."""
    packed: dict[str, np.ndarray] = {}
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


def _positions(array: np.ndarray) -> np.ndarray | None:
    """Return where an array is not zero; None if it is too short or has too few zeros to be worth it."""
    if not LEAST <= array.size < MOST or array.dtype.itemsize not in _BITS or array.dtype.kind not in "fiu":
        return None
    present = array.reshape(-1).view(_BITS[array.dtype.itemsize]) != 0
    if np.count_nonzero(present) >= _SHARE * array.size:
        return None
    return np.flatnonzero(present).astype(np.uint32)


def whole_shapes(entries: Mapping[str, TensorEntry], shapes: dict) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all arrays once they are unpacked; ValueError if parts do not fit together."""
    check_form(shapes, dict[str, list], "its list of mostly-zero arrays")
    found = {name: entry.shape for name, entry in entries.items()}
    for name, shape in shapes.items():
        for part in (f"{name}:index", f"{name}:value"):
            if found.pop(part, None) is None:
                raise ValueError(f"it lacks {part!a}")
        _check_parts(name, shape, entries[f"{name}:index"], entries[f"{name}:value"])
        found[name] = tuple(shape)
    return found


def _check_parts(name: str, shape: list, index: TensorEntry, value: TensorEntry) -> None:
    if not all(map(count, shape)) or prod(shape) >= MOST:
        raise ValueError(f"the array {name!a} has no shape {str(shape)[:40]}")
    if len(index.shape) != 1 or index.kind != np.uint32 or index.shape != value.shape:
        raise ValueError(
            f"the array {name!a} has {prod(index.shape)} positions ({index.kind}) but "
            f"{prod(value.shape)} values"
        )


def check_density(name: str, shape: tuple[int, ...], n_stored: int) -> None:
    """Raise a ValueError for an array that is all but empty, where nothing else explains its size."""
    if prod(shape) > ALWAYS + _THINNEST * n_stored:
        raise ValueError(f"the array {name!a} has {prod(shape)} entries but {n_stored} values")


def expand_array(name: str, shape: tuple[int, ...], index: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return the array of these values at these positions; ValueError if it cannot have them."""
    if not (index[1:] > index[:-1]).all():
        raise ValueError(f"the positions of the array {name!a} do not increase")
    if index.size and index[-1] >= prod(shape):
        raise ValueError(f"the array {name!a} has a value at {index[-1]}, outside of its shape {shape}")
    array = np.zeros(shape, dtype=value.dtype)
    array.reshape(-1)[index] = value
    return array
