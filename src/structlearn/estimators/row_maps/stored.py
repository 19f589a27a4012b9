"""A fitted transformer, or a pipeline of some, as the maps that a model file holds; and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any, NamedTuple, Self, get_type_hints

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.forms import count
from structlearn.core.registry import either, resolve_name
from structlearn.estimators.files.values import from_json, to_json
from structlearn.estimators.inputs.frames import frame_array, is_frame
from structlearn.estimators.row_maps.base import ROW_MAPS, Origin, RowMap, Values, not_kept, row_map_entry
from structlearn.estimators.scikit import Rows
from structlearn.storage.schema import check_form

#: A map in the header of a model file: its name, values that are no arrays, the shapes of sparse ones, and
#: the steps of the transformers inside it.
STEP = {"name": str, "values": dict[str, object], "sparse": dict[str, object], "maps?": dict[str, list[list]]}
#: How deep transformers may lie in transformers.
_DEEPEST = 4
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
        """Do nothing: it is fitted."""
        return self

    @property
    def of_tables(self) -> bool:
        """Whether rows may have text and missing values."""
        return self.maps[0].of_tables

    @property
    def rows_at_once(self) -> int:
        """How many rows should be mapped at a time."""
        return min(one.rows_at_once for one in self.maps)

    def origins(self, inputs: Sequence[Origin] | None = None) -> list[Origin]:
        """Return the origin of each output, given those of the inputs."""
        found = [Origin(j) for j in range(self.n_features_in_)] if inputs is None else list(inputs)
        for one in self.maps:
            found = [
                end
                if end.column is None
                else Origin(found[end.column].column, found[end.column].suffix + end.suffix)
                for end in one.origins()
            ]
        return found

    def names(self, inputs: Sequence[str]) -> list[str]:
        """Return the names of the outputs, given those of the inputs."""
        return [suffix if j is None else f"{inputs[j]}{suffix}" for j, suffix in self.origins()]

    def transform(self, X: Any) -> Rows:
        """Map X of shape (n, n_features_in_), rows of numbers or a table, to (n, n_outputs)."""
        X = frame_array(X) if is_frame(X) and not self.maps[0].takes_frames else X
        for one in self.maps:
            X = one.transform(X)
        return X

    def check(self) -> None:
        """Raise ValueError if the maps' arrays, or a map and the next, do not fit together."""
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
    """Return the maps of a fitted transformer; ValueError that names what no model file can hold."""
    maps = tuple(_maps(fitted))
    if not maps:
        raise not_kept("Pipeline without steps", "pipelines with at least one")
    return StoredTransformer(maps)


def _maps(fitted: Any) -> Iterator[RowMap]:
    if isinstance(fitted, StoredTransformer):
        yield from fitted.maps
    elif type(fitted) is resolve_name("sklearn.pipeline:Pipeline"):
        for _, step in fitted.steps:
            if step is not None and step != "passthrough":
                yield from _maps(step)
    elif type(fitted) is resolve_name("sklearn.frozen:FrozenEstimator"):
        yield from _maps(fitted.estimator)
    elif (entry := row_map_entry(fitted)) is not None:
        yield entry.kind.of(fitted)
    else:
        raise not_kept(type(fitted).__name__, f"{either(ROW_MAPS)}, or a pipeline of these")


def write_steps(
    transformer: StoredTransformer, prefix: str = ""
) -> tuple[list[dict[str, object]], dict[str, Array]]:
    """Return the steps as the header holds them (see `STEP`), and all arrays by name."""
    names = {entry.kind: name for name, entry in ROW_MAPS.items()}
    steps: list[dict[str, object]] = []
    arrays: dict[str, Array] = {}
    for k, one in enumerate(transformer.maps):
        step: dict[str, Values] = {"values": {}, "sparse": {}}
        for name, value in one.values().items():
            where = f"{prefix}{k}:{name}"
            if isinstance(value, np.ndarray):
                if value.dtype.kind == "f" and not np.isfinite(value).all():
                    raise not_kept(f"{names[type(one)]} whose {name} is not finite", "finite numbers")
                arrays[where] = value
            elif sparse.issparse(value):
                step["sparse"][name] = list(value.shape)
                arrays |= {f"{where}:{part}": getattr(value, part) for part in _PARTS}
            elif _are_transformers(value):
                inside = [write_steps(inner, f"{where}:{i}:") for i, inner in enumerate(value)]
                step.setdefault("maps", {})[name] = [inner for inner, _ in inside]
                arrays |= {key: array for _, own in inside for key, array in own.items()}
            else:
                step["values"][name] = to_json(value)
        steps.append({"name": names[type(one)], **step})
    return steps, arrays


def _are_transformers(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, StoredTransformer) for one in value)


# ---- reading ---------------------------------------------------------------------------------------


def read(steps: Sequence[Mapping[str, Any]], load: Callable[[str], Array], names: Iterable[str]) -> Any:
    """Invert `write_steps` and check: `names` are those of the arrays, and `load` reads one.

    ValueError for what it never gives.
    """
    transformer = _Reader(load, set(names)).transformer(steps, "", 0)
    transformer.check()
    return transformer


class _Reader(NamedTuple):
    """The arrays of a file, and their names."""

    load: Callable[[str], Array]
    names: set[str]

    def fetch(self, name: str) -> Array:
        if name not in self.names:
            raise ValueError(f"its row map lacks {name!a}")
        return self.load(name)

    def transformer(self, steps: Sequence[Any], prefix: str, depth: int) -> StoredTransformer:
        """Read one transformer, without checking it as a whole."""
        if depth > _DEEPEST:
            raise ValueError(f"row maps lie more than {_DEEPEST} deep in it")
        return StoredTransformer(self._map(step, f"{prefix}{k}:", depth) for k, step in enumerate(steps))

    def _map(self, step: Any, prefix: str, depth: int) -> RowMap:
        check_form(step, STEP, "row_map")
        if step["name"] not in ROW_MAPS:
            raise ValueError(f"it has a row map {step['name']!a}, which is unknown")
        kind = ROW_MAPS[step["name"]].kind
        values = {name: from_json(value) for name, value in step["values"].items()}
        for name, shape in step["sparse"].items():
            values[name] = _sparse(shape, [self.fetch(f"{prefix}{name}:{part}") for part in _PARTS])
        for name, inside in step.get("maps", {}).items():
            places = enumerate(inside)
            made = (self.transformer(one, f"{prefix}{name}:{i}:", depth + 1) for i, one in places)
            values[name] = tuple(made)
        arrays = [one.name for one in fields(kind) if f"{prefix}{one.name}" in self.names]
        return _make_map(kind, values | {name: self.fetch(f"{prefix}{name}") for name in arrays})


def _make_map(kind: type[RowMap], values: Values) -> RowMap:
    hints = get_type_hints(kind)
    if values.keys() != {one.name for one in fields(kind)}:
        raise ValueError(f"a row map must be of {', '.join(one.name for one in fields(kind))}")
    check_form(values, {one.name: hints[one.name] for one in fields(kind)}, "row_map")
    return kind(**values)


def _sparse(shape: Any, parts: Sequence[Array]) -> sparse.csr_matrix:
    check_form(shape, [count], "row_map.sparse")
    found = sparse.csr_matrix(tuple(parts), shape=tuple(shape))
    found.check_format(full_check=True)
    return found
