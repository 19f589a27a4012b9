"""Mostly-zero arrays in model files: the positions and the values of what is not zero.

An array `name` is written as two tensors where that takes less: `name:value` has the values that are not
zero, and `name:index` their positions in the flattened array, 32-bit and increasing, or else `name:gaps` the
bytes by which one position follows the other. Its shape is in the header. What is read is what was written,
bit for bit: a zero with a sign is no zero here.
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
#: The same for 32-bit floats, whose positions are gaps of mostly one byte.
_SHARE_OF_GAPS = 2 / 3
#: A byte that leads so far, to no position.
_SKIP = 255
#: The parts of an array that is written compactly.
INDEX, GAPS, VALUE = "index", "gaps", "value"
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
        packed |= {f"{name}:{part}": where for part, where in _where(array, index).items()}
        packed[f"{name}:{VALUE}"] = array.reshape(-1)[index]
        shapes[name] = list(array.shape)
    return packed, shapes


def _positions(array: np.ndarray) -> np.ndarray | None:
    """Return where an array is not zero; None if it is too short or has too few zeros to be worth it."""
    if not LEAST <= array.size < MOST or array.dtype.itemsize not in _BITS or array.dtype.kind not in "fiu":
        return None
    present = array.reshape(-1).view(_BITS[array.dtype.itemsize]) != 0
    most = _SHARE_OF_GAPS if array.dtype == np.float32 else _SHARE
    if np.count_nonzero(present) >= most * array.size:
        return None
    return np.flatnonzero(present)


def _where(array: np.ndarray, index: np.ndarray) -> dict[str, np.ndarray]:
    """Return the positions of 32-bit floats as gaps, of other numbers as they are."""
    if array.dtype != np.float32:
        return {INDEX: index.astype(np.uint32)}
    return {GAPS: to_gaps(index)}


def to_gaps(index: np.ndarray) -> np.ndarray:
    """Return increasing positions as bytes: how far each is behind the one before, the first behind -1.

    A byte of 255 leads 255 further, to no position.
    """
    steps = np.diff(index, prepend=-1)
    skips, rest = np.divmod(steps, _SKIP)
    gaps = np.full(steps.size + int(skips.sum()), _SKIP, dtype=np.uint8)
    gaps[np.cumsum(skips + 1) - 1] = rest
    return gaps


def from_gaps(gaps: np.ndarray) -> np.ndarray:
    """Invert `to_gaps`."""
    return (np.cumsum(gaps, dtype=np.int64) - 1)[gaps != _SKIP]


def narrow_floats(array: np.ndarray) -> np.ndarray:
    """Return numbers in 32 bits where all of them can be, unless they are few."""
    if array.size < LEAST:
        return array
    with np.errstate(over="ignore"):
        found = array.astype(np.float32)
    return found if np.array_equal(found, array) else array


def whole_shapes(entries: Mapping[str, TensorEntry], shapes: dict) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all arrays once they are unpacked; ValueError if parts do not fit together."""
    check_form(shapes, dict[str, list], "its list of mostly-zero arrays")
    found = {name: entry.shape for name, entry in entries.items()}
    for name, shape in shapes.items():
        index = f"{name}:{GAPS}" if f"{name}:{GAPS}" in entries else f"{name}:{INDEX}"
        for part in (index, f"{name}:{VALUE}"):
            if found.pop(part, None) is None:
                raise ValueError(f"it lacks {part!a}")
        _check_parts(name, shape, entries[index], entries[f"{name}:{VALUE}"])
        found[name] = tuple(shape)
    return found


def _check_parts(name: str, shape: list, index: TensorEntry, value: TensorEntry) -> None:
    if not all(map(count, shape)) or prod(shape) >= MOST:
        raise ValueError(f"the array {name!a} has no shape {str(shape)[:40]}")
    if len(index.shape) != 1 or len(value.shape) != 1:
        raise ValueError(f"the array {name!a} has no list of values and of their positions")
    if index.kind == np.uint8:
        return  # gaps, which are as many as values only once they are read
    if index.kind != np.uint32 or index.shape != value.shape:
        raise ValueError(
            f"the array {name!a} has {prod(index.shape)} positions ({index.kind}) but "
            f"{prod(value.shape)} values"
        )


def check_density(name: str, shape: tuple[int, ...], n_stored: int) -> None:
    """Raise a ValueError for an array that is all but empty, where nothing else explains its size."""
    if prod(shape) > ALWAYS + _THINNEST * n_stored:
        raise ValueError(f"the array {name!a} has {prod(shape)} entries but {n_stored} values")


def expand_array(name: str, shape: tuple[int, ...], index: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return the array of these values at these positions, or gaps; ValueError if it cannot have them."""
    if index.dtype == np.uint8:
        index = from_gaps(index)
        if index.shape != value.shape or (index.size and index[0] < 0):
            raise ValueError(f"the array {name!a} has {index.size} positions but {value.size} values")
    if not (index[1:] > index[:-1]).all():
        raise ValueError(f"the positions of the array {name!a} do not increase")
    if index.size and index[-1] >= prod(shape):
        raise ValueError(f"the array {name!a} has a value at {index[-1]}, outside of its shape {shape}")
    array = np.zeros(shape, dtype=value.dtype)
    array.reshape(-1)[index] = value
    return array
