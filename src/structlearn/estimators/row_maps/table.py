"""Columns of a table: levels of text as zeros and ones, and values for what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.estimators.inputs.frames import is_missing
from structlearn.estimators.row_maps.base import (
    FeatureByFeature,
    Origin,
    RowMap,
    as_numbers,
    not_kept,
    register_row_map,
)
from structlearn.estimators.scikit import Rows

#: A value of a column; None is a missing one.
Level: TypeAlias = str | float | None
#: What a name says of the levels that share an output.
RARE = "(rare)"
_MISSING = " is missing"


@register_row_map(
    "sklearn.preprocessing:OneHotEncoder", "a column of zeros and ones for each level of a column"
)
@dataclass(frozen=True, eq=False)
class Levels(RowMap):
    """For each column, a one at the output of its level.

    levels : those of each column that have an output of their own (with `strict`, all known ones)
    outputs : the output of each, counted within its column; -1 for none
    widths : how many outputs each column has
    unknown : the output of all other levels, -1 for none
    strict : whether another level is an error instead
    sparse : whether the result is a sparse matrix
    """

    levels: list[list[Level]]
    outputs: list[list[int]]
    widths: list[int]
    unknown: list[int]
    strict: bool
    sparse: bool

    of_tables: ClassVar[bool] = True

    @classmethod
    def of(cls, fitted: Any) -> Levels:
        columns = [[_plain(one) for one in column.tolist()] for column in fitted.categories_]
        if any(len(set(column)) < len(column) for column in columns):
            raise not_kept("OneHotEncoder with both None and NaN", "one kind of missing values")
        none = [None] * len(columns)
        rare = getattr(fitted, "infrequent_categories_", none)
        dropped = none if fitted.drop_idx_ is None else fitted.drop_idx_
        grouped = fitted.handle_unknown in ("infrequent_if_exist", "warn")
        strict = fitted.handle_unknown == "error"
        parts = [_column(*one, grouped=grouped, strict=strict) for one in zip(columns, rare, dropped)]
        levels, outputs, widths, unknown = map(list, zip(*parts))
        return cls(levels, outputs, widths, unknown, strict, bool(fitted.sparse_output))

    def check(self) -> None:
        sizes = {len(self.levels), len(self.outputs), len(self.widths), len(self.unknown)}
        if len(sizes) > 1 or not self.levels:
            raise ValueError("the columns of its row map are not as many as their levels")
        for levels, outputs, width, other in zip(self.levels, self.outputs, self.widths, self.unknown):
            if len(levels) != len(outputs) or len(set(levels)) < len(levels):
                raise ValueError("the levels of its row map are not as many as their outputs")
            if not 0 <= width <= len(outputs) + 1 or {*range(width)} != {*outputs, other} - {-1}:
                raise ValueError("the outputs of its row map are not those of its levels")

    @property
    def n_inputs(self) -> int:
        return len(self.levels)

    @property
    def n_outputs(self) -> int:
        return sum(self.widths)

    def origins(self) -> list[Origin]:
        return [
            Origin(j, _MISSING if level is None else f"={level}")
            for j in range(self.n_inputs)
            for level in self._outputs_of(j)
        ]

    def _outputs_of(self, j: int) -> Iterator[Level]:
        """Yield the level that each output of a column stands for."""
        for place in range(self.widths[j]):
            own = [level for level, one in zip(self.levels[j], self.outputs[j]) if one == place]
            yield own[0] if len(own) == 1 and place != self.unknown[j] else RARE

    def transform(self, X: Rows) -> Rows:
        if not isinstance(X, np.ndarray):
            raise ValueError("OneHotEncoder takes dense rows only; these are sparse.")
        places, at = np.empty(X.shape, dtype=np.int64), 0
        for j, width in enumerate(self.widths):
            own = self._places(j, X[:, j])
            places[:, j] = np.where(own < 0, -1, own + at)
            at += width
        rows, columns = np.nonzero(places >= 0)
        ones = np.ones(rows.size), (rows, places[rows, columns])
        found = sparse.csr_matrix(ones, shape=(X.shape[0], self.n_outputs))
        return found if self.sparse else found.toarray()

    def _places(self, j: int, column: Array) -> Array:
        known = dict(zip(self.levels[j], self.outputs[j]))
        cells = [None if is_missing(one) else one for one in column.tolist()]
        if self.strict:
            strange = next((one for one in cells if one not in known), known)
            if strange is not known:
                raise ValueError(f"Found unknown categories {[strange]!r} in column {j} during transform")
        return np.array([known.get(one, self.unknown[j]) for one in cells], dtype=np.int64)


def _plain(level: object) -> Level:
    if is_missing(level):
        return None
    if not isinstance(level, str | bool | int | float):
        raise not_kept(f"OneHotEncoder of {type(level).__name__} levels", "levels that are text or numbers")
    return level


def _column(
    levels: list[Level], rare: Any, dropped: int | None, *, grouped: bool, strict: bool
) -> tuple[list[Level], list[int], int, int]:
    """Return the levels that must be known, their outputs, their number, and the output of unknown levels.

    Frequent levels come first, in their order, then one output for all rare ones; one may be dropped.
    """
    group = set() if rare is None else set(map(_plain, rare.tolist()))
    slots = [level for level in levels if level not in group]
    place = {level: k for k, level in enumerate(slots)} | dict.fromkeys(group, len(slots))
    width = len(slots) + bool(group)
    if dropped is not None:
        gone = place[levels[dropped]]
        place = {level: -1 if k == gone else k - (k > gone) for level, k in place.items()}
        width -= 1
    unknown = next((place[level] for level in group), -1) if grouped else -1
    known = [level for level in levels if strict or place[level] != unknown]
    return known, [place[level] for level in known], width, unknown


@register_row_map(
    "sklearn.impute:SimpleImputer", "a value for what is missing, and where asked for whether it was"
)
@dataclass(frozen=True, eq=False)
class Imputed(RowMap):
    """Missing values filled in, then zeros and ones that say where some columns missed theirs.

    fill : a value for each column; None for one that is left out
    indicators : columns of which it is said
    """

    fill: list[Level]
    indicators: list[int]

    of_tables: ClassVar[bool] = True

    @classmethod
    def of(cls, fitted: Any) -> Imputed:
        if not is_missing(fitted.missing_values) or fitted.missing_values is None:
            raise not_kept(f"SimpleImputer(missing_values={fitted.missing_values!r})", "missing_values=nan")
        fill = [_plain(one) for one in fitted.statistics_.tolist()]
        flags = fitted.indicator_.features_.tolist() if fitted.add_indicator else []
        found = cls(fill, flags)
        if found.n_outputs != len(fitted.get_feature_names_out()):
            raise not_kept("SimpleImputer of empty columns", "imputers that leave these out")
        return found

    def check(self) -> None:
        if not self.fill or not all(0 <= j < len(self.fill) for j in self.indicators):
            raise ValueError("its row map tells of columns that it has not")
        if not all(one is None or isinstance(one, str) or isfinite(one) for one in self.fill):
            raise ValueError("its row map fills in what is no number")

    @property
    def n_inputs(self) -> int:
        return len(self.fill)

    @property
    def n_outputs(self) -> int:
        return sum(one is not None for one in self.fill) + len(self.indicators)

    def origins(self) -> list[Origin]:
        filled = [Origin(j) for j, one in enumerate(self.fill) if one is not None]
        return filled + [Origin(j, _MISSING) for j in self.indicators]

    def transform(self, X: Rows) -> Rows:
        if not isinstance(X, np.ndarray):
            raise ValueError("SimpleImputer takes dense rows only; these are sparse.")
        is_text = any(isinstance(one, str) for one in self.fill)
        values = np.asarray(X, dtype=object) if is_text else as_numbers(X)
        missing = np.frompyfunc(is_missing, 1, 1)(values).astype(bool) if is_text else np.isnan(values)
        some = [j for j, one in enumerate(self.fill) if one is not None]
        fill = np.array([self.fill[j] for j in some], dtype=object if is_text else values.dtype)
        filled = np.where(missing[:, some], fill, values[:, some])
        return np.hstack([filled, missing[:, self.indicators].astype(filled.dtype)])


@register_row_map(
    "sklearn.preprocessing:FunctionTransformer", "columns as they are, where it has no function"
)
@dataclass(frozen=True, eq=False)
class Unchanged(FeatureByFeature):
    """x."""

    n_features: int

    of_tables: ClassVar[bool] = True

    @classmethod
    def of(cls, fitted: Any) -> Unchanged:
        if fitted.func is not None:
            raise not_kept("FunctionTransformer with a function", "one without")
        return cls(fitted.n_features_in_)

    def check(self) -> None:
        if self.n_features < 1:
            raise ValueError("its row map is one of no features")

    @property
    def n_inputs(self) -> int:
        return self.n_features

    def transform(self, X: Rows) -> Rows:
        return as_numbers(X)
