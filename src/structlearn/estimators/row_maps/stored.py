"""A fitted transformer, or a pipeline of some, as the maps that a model file holds; and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any, Self, get_type_hints

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.registry import either, located
from structlearn.estimators.row_maps.base import ROW_MAPS, RowMap, Values, entry_of, not_kept
from structlearn.estimators.scikit import Rows
from structlearn.estimators.stored import from_json, to_json
from structlearn.storage.schema import check_form, count

#: A map in the header of a model file: its name, values that are no arrays, and the shapes of sparse ones.
STEP = {"name": str, "values": dict[str, object], "sparse": dict[str, object]}
_PARTS = ("data", "indices", "indptr")


class StoredTransformer:
    """Maps of rows, one after the other, applied from their arrays.

    It is a transformer that is fitted for good, as a model file gives it: `fit` changes nothing, and a clone
    is itself.
    """

    def __init__(self, maps: Iterable[RowMap]) -> None:
        self.maps = tuple(maps)

    @property
    def n_features_in_(self) -> int:
        """How many features a row has."""
        return self.maps[0].n_inputs

    @property
    def n_outputs(self) -> int:
        """How many it is mapped to."""
        return self.maps[-1].n_outputs

    def fit(self, X: Rows, y: object = None) -> Self:
        """Nothing: it is fitted."""
        return self

    def transform(self, X: Rows) -> Rows:
        """X of shape (n, n_features_in_) as (n, n_outputs)."""
        for one in self.maps:
            X = one.transform(X)
        return X

    def check(self) -> None:
        """ValueError if the maps' arrays, or a map and the next, do not fit together."""
        if not self.maps:
            raise ValueError("its row map has no steps")
        for one in self.maps:
            one.check()
        for one, after in pairwise(self.maps):
            if one.n_outputs != after.n_inputs:
                raise ValueError(
                    f"a step of its row map gives {one.n_outputs} features, the next takes {after.n_inputs}"
                )

    def __sklearn_clone__(self) -> StoredTransformer:
        return self

    def __repr__(self) -> str:
        names = {entry.kind: name for name, entry in ROW_MAPS.items()}
        return f"StoredTransformer({', '.join(names[type(one)] for one in self.maps)})"


# ---- writing ---------------------------------------------------------------------------------------


def stored_transformer(fitted: object) -> StoredTransformer:
    """The maps of a fitted transformer; a ValueError that names what no model file can hold."""
    maps = tuple(_maps(fitted))
    if not maps:
        raise not_kept("Pipeline without steps", "pipelines with at least one")
    return StoredTransformer(maps)


def _maps(fitted: Any) -> Iterator[RowMap]:
    if isinstance(fitted, StoredTransformer):
        yield from fitted.maps
    elif type(fitted) is located("sklearn.pipeline:Pipeline"):
        for _, step in fitted.steps:
            if step is not None and step != "passthrough":
                yield from _maps(step)
    elif type(fitted) is located("sklearn.frozen:FrozenEstimator"):
        yield from _maps(fitted.estimator)
    elif (entry := entry_of(fitted)) is not None:
        yield entry.kind.of(fitted)
    else:
        raise not_kept(type(fitted).__name__, f"{either(ROW_MAPS)}, or a pipeline of these")


def written(transformer: StoredTransformer) -> tuple[list[dict[str, object]], dict[str, Array]]:
    """The steps as the header has them (see `STEP`), and all arrays by name."""
    names = {entry.kind: name for name, entry in ROW_MAPS.items()}
    steps: list[dict[str, object]] = []
    arrays: dict[str, Array] = {}
    for k, one in enumerate(transformer.maps):
        plain: Values = {}
        shapes: Values = {}
        for name, value in one.values().items():
            if isinstance(value, np.ndarray):
                arrays[f"{k}:{name}"] = value
            elif sparse.issparse(value):
                shapes[name] = list(value.shape)
                arrays |= {f"{k}:{name}:{part}": getattr(value, part) for part in _PARTS}
            else:
                plain[name] = to_json(value)
        steps.append({"name": names[type(one)], "values": plain, "sparse": shapes})
    return steps, arrays


# ---- reading ---------------------------------------------------------------------------------------


def read(steps: Sequence[Mapping[str, Any]], load: Callable[[str], Array], names: Iterable[str]) -> Any:
    """The inverse of `written`, checked: `names` are those of the arrays, and `load` reads one.

    ValueError for what it never gives.
    """
    names = set(names)

    def fetch(name: str) -> Array:
        if name not in names:
            raise ValueError(f"its row map lacks {name!a}")
        return load(name)

    found = []
    for k, step in enumerate(steps):
        check_form(step, STEP, "row_map")
        if step["name"] not in ROW_MAPS:
            raise ValueError(f"it has a row map {step['name']!a}, which is unknown")
        values = {name: from_json(value) for name, value in step["values"].items()}
        values |= {
            name: _sparse(shape, [fetch(f"{k}:{name}:{part}") for part in _PARTS])
            for name, shape in step["sparse"].items()
        }
        kind = ROW_MAPS[step["name"]].kind
        arrays = [one.name for one in fields(kind) if f"{k}:{one.name}" in names]
        values |= {name: fetch(f"{k}:{name}") for name in arrays}
        found.append(_made(kind, values))
    transformer = StoredTransformer(found)
    transformer.check()
    return transformer


def _made(kind: type[RowMap], values: Values) -> RowMap:
    hints = get_type_hints(kind)
    if values.keys() != {one.name for one in fields(kind)}:
        raise ValueError(f"a row map must be of {', '.join(one.name for one in fields(kind))}")
    check_form(values, {one.name: hints[one.name] for one in fields(kind)}, "row_map")
    return kind(**values)


def _sparse(shape: object, parts: Sequence[Array]) -> sparse.csr_matrix:
    check_form(shape, [count], "row_map.sparse")
    found = sparse.csr_matrix(tuple(parts), shape=tuple(shape))  # type: ignore[arg-type]
    found.check_format(full_check=True)
    return found
