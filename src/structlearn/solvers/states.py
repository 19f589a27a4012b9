"""Any solver's state as named arrays and a JSON tree, and back. Nothing in a file is ever executed.

A state is a tree of records (NamedTuples), tuples, mappings, sparse matrices, arrays and plain values. An
array that occurs twice is written once, and is one array again when read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import repeat
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.solvers.solution import Row
from structlearn.storage.tensors import TensorFile, write_tensors

#: Whole numbers beyond this are no counts.
MOST = 1 << 53
#: Arrays with infinities in places that no step has seen yet.
UNSEEN = ("gaps", "totals", "values", "scalars")


def save_state(path: str | Path, value: object, **notes: object) -> None:
    """Write a tree to a file, whole or not at all."""
    arrays: dict[str, Array] = {}
    tree = flatten(value, arrays)
    write_tensors(path, arrays, {**notes, "tree": tree})


def load_state(file: TensorFile) -> Any:
    """Return the tree of a file that `save_state` wrote."""
    loaded: dict[str, Array] = {}

    def load(name: str) -> Array:
        if name not in loaded:
            loaded[name] = file.load(name)
        return loaded[name]

    try:
        return unflatten(file.notes["tree"], load)
    except (KeyError, TypeError, AttributeError, IndexError):
        raise ValueError(
            f"{file.path} was written by another version of structlearn; begin without it."
        ) from None


def open_state(path: str | Path, memory: Memory | None = None) -> TensorFile:
    """Open the file: its notes can be looked at before its arrays are read."""
    return TensorFile(path, memory, "checkpoint")


def flatten(value: object, arrays: dict[str, Array]) -> object:
    """Return the JSON tree of a value, whose arrays are added to `arrays`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        known = (name for name, array in arrays.items() if array is value)
        name = next(known, f"array{len(arrays)}")
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Mapping):
        return {"mapping": {key: flatten(one, arrays) for key, one in value.items()}}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        kind = type(value)
        fields = {name: flatten(one, arrays) for name, one in zip(value._fields, value)}
        return {"record": f"{kind.__module__}:{kind.__qualname__}", "fields": fields}
    if isinstance(value, tuple | list):
        return {"tuple": [flatten(one, arrays) for one in value]}
    if isinstance(value, sparse.csr_matrix):
        parts = [value.data, value.indices, value.indptr]
        return {"csr": [flatten(one, arrays) for one in parts], "shape": list(value.shape)}
    raise TypeError(f"A state cannot hold a {type(value).__name__}.")


def unflatten(tree: object, load: Callable[[str], Array]) -> object:
    """Return the value of a JSON tree; `load` gives an array by its name."""
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return load(tree["array"])
    if "mapping" in tree:
        return {key: unflatten(one, load) for key, one in tree["mapping"].items()}
    if "record" in tree:
        fields = {name: unflatten(one, load) for name, one in tree["fields"].items()}
        return _record(tree["record"], fields)
    if "csr" in tree:
        return sparse.csr_matrix(tuple(unflatten(one, load) for one in tree["csr"]), shape=tree["shape"])
    return tuple(unflatten(one, load) for one in tree["tuple"])


def _record(name: str, fields: Mapping[str, object]) -> object:
    """Make a record by the name of its class, among imported modules; TypeError for anything else."""
    module, _, own = name.partition(":")
    known = vars(sys.modules[module])
    if own == "State" and own not in known:  # what all states were called in files of 0.1
        own = next((one for one in known if one.endswith(own)), own)
    kind = known[own]
    if not (isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")):
        raise TypeError(name)
    hints = _hints(kind)
    for field, value in fields.items():
        if not _fits(value, hints.get(field)):
            raise TypeError(field)
    return kind(**fields)


@cache
def _hints(kind: type) -> dict[str, object]:
    try:
        return get_type_hints(kind)
    except NameError:  # a name that only the type checker imports
        return {}


def _fits(value: object, hint: object) -> bool:
    """Return whether states can hold a value as it is; other kinds are written in forms of their own."""
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    kind = get_origin(hint) or hint
    if kind in (int, float):
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    if isinstance(kind, type) and issubclass(kind, np.ndarray | tuple | str | bool | NoneType):
        return isinstance(value, kind)
    return True


# ---- what was read is checked: training relies on it -----------------------------------------------


@contextmanager
def refuse_misfits() -> Iterator[None]:
    """Raise a ValueError also for what does not fit in any other way."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
        raise misfit() from error


def check_saved(record: Mapping[str, Any], best: type, n_weights: int) -> None:
    """Raise a ValueError if the record of a run is not of its kinds; `best` is that of the best so far."""
    plain = [record["next_check"], record["seconds"], *record["extra"].values()]
    several = [value for values in record["columns"].values() for value in values]
    fits = all(map(_is_number, plain + several)) and isfinite(record["seconds"])
    fits = fits and all(isinstance(row, Row) for row in record["rows"])
    fits = fits and all(_is_kept(name, value) for name, value in _fields("state", record["state"]))
    fits = fits and int(record["random"]["state"]["inc"]) % 2 == 1  # an even one may repeat a number for ever
    if not fits or not isinstance(record["best"], best):
        raise misfit()
    check_weight_count(record["best"], n_weights)


def _fields(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield what is in a state, in the records in it and in their tuples, by the names of the fields."""
    if isinstance(value, tuple):
        for inner, one in zip(getattr(value, "_fields", repeat(name)), value):
            yield from _fields(inner, one)
    else:
        yield name, value


def _is_kept(name: str, value: object) -> bool:
    """Accept counts from zero on, or a budget would never be spent; and numbers, or a search may not end."""
    if isinstance(value, int):
        return 0 <= value < MOST
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return not np.isnan(value).any() if name in UNSEEN else bool(np.isfinite(value).all())
    return True


def check_weight_count(record: object, n_weights: int) -> None:
    """Raise a ValueError if a record has weights of another size."""
    w = getattr(record, "w", None)
    if w is not None and w.shape != (n_weights,):
        raise misfit()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def misfit() -> ValueError:
    return ValueError("The checkpoint does not fit this training, or it is damaged; begin afresh.")
