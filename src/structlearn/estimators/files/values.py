"""Values and structures as JSON, and back. What is read is checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from structlearn.core.forms import count
from structlearn.storage.model_file import DESCRIPTION
from structlearn.storage.schema import check_form
from structlearn.structures import Structure
from structlearn.structures.registry import STRUCTURES, structure_entry
from structlearn.structures.unshared import Whole

#: What padding of strings may add to an array.
_MOST_PADDING = 1 << 24


def describe(structure: object) -> dict[str, object] | None:
    """Name and arguments of a registered structure; None for a user's own."""
    if type(structure) is Whole:
        structure = structure.inner
    if not isinstance(structure, Structure) or structure_entry(structure) is None:
        return None
    arguments = structure.arguments()
    if not all(is_plain(value) or describe(value) is not None for value in arguments.values()):
        return None  # a tree of the user's own inside
    return {"name": type(structure).__name__, "arguments": {k: to_json(v) for k, v in arguments.items()}}


def build(description: Mapping | None) -> Any:
    """Build the structure that `describe` described; ValueError if there is no such structure."""
    if description is None:
        return None
    check_form(description, DESCRIPTION, "structure")
    if description["name"] not in STRUCTURES:
        raise ValueError(f"it has a structure {description['name']!a}, which is unknown")
    entry = STRUCTURES[description["name"]]
    arguments = {k: from_json(v) for k, v in description["arguments"].items()}
    known = {name.removesuffix("?") for name in entry.arguments}
    if not arguments.keys() <= known:
        raise ValueError(f"structure.arguments must be of {', '.join(sorted(known))}")
    check_form(arguments, entry.arguments, "structure.arguments")
    return entry.kind.from_arguments(arguments)


# ---- values that JSON has no form for --------------------------------------------------------------


def is_plain(value: object) -> bool:
    """Whether `to_json` knows the value."""
    if isinstance(value, Mapping):
        return all(is_plain(k) and is_plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, np.ndarray):
        return value.dtype != object
    return value is None or isinstance(value, str | bool | int | float | np.generic)


def to_json(value: object) -> object:
    """Return a value as JSON."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.str, "shape": value.shape}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Structure):
        return {"structure": describe(value)}
    if isinstance(value, Mapping):
        return {"pairs": [[to_json(k), to_json(v)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [to_json(v) for v in value]}
    if isinstance(value, list):
        return [to_json(v) for v in value]
    return value


def from_json(value: object) -> Any:
    """Invert `to_json`; ValueError for what it never returns."""
    if isinstance(value, list):
        return [from_json(v) for v in value]
    if not isinstance(value, dict):
        return value
    try:
        if "array" in value:
            return _array(value)
        if "structure" in value:
            return build(value["structure"])
        if "pairs" in value:
            return {from_json(k): from_json(v) for k, v in value["pairs"]}
        return tuple(from_json(v) for v in value["tuple"])
    except (KeyError, TypeError, OverflowError):
        raise ValueError("a value of its header is of no known kind") from None


def _array(value: dict) -> np.ndarray:
    check_form(value, {"array": list, "dtype": str, "shape": [count]}, "an array")
    dtype, shape = np.dtype(value["dtype"]), tuple(value["shape"])
    flat = np.array(value["array"], dtype=object).reshape(-1) if 0 not in shape else np.empty(0, dtype=object)
    if dtype.kind not in "biufUO" or flat.size != prod(shape):
        raise ValueError(f"an array of its header is not of the type {dtype} and the shape {shape}")
    if dtype.kind == "U" and flat.size * dtype.itemsize > _MOST_PADDING + 4 * sum(len(one) for one in flat):
        raise ValueError("an array of its header has strings that are much longer than they are")
    return flat.astype(dtype).reshape(shape)
