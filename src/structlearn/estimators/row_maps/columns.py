"""Some columns to one map, some to another, and what these give side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from structlearn.estimators.row_maps.base import Origin, RowMap, as_numbers, not_kept, register_row_map
from structlearn.estimators.row_maps.stored import StoredTransformer, stored_transformer
from structlearn.estimators.scikit import Rows


@register_row_map("sklearn.compose:ColumnTransformer", "other transformers, each for some columns of a table")
@dataclass(frozen=True, eq=False)
class Columns(RowMap):
    """The results of several transformers, each applied to columns of its own.

    n_features : how many columns there are
    columns : those of each transformer
    maps : the transformers
    sparse : whether the result is a sparse matrix
    """

    n_features: int
    columns: list[list[int]]
    maps: tuple[StoredTransformer, ...]
    sparse: bool

    of_tables: ClassVar[bool] = True

    @classmethod
    def of(cls, fitted: Any) -> Columns:
        if fitted.transformer_weights:
            raise not_kept("ColumnTransformer(transformer_weights=...)", "one without weights")
        parts = [
            (columns, stored_transformer(one))
            for _, one, own in fitted.transformers_
            if not (isinstance(one, str) and one == "drop") and (columns := _positions(fitted, own))
        ]
        if not parts:
            raise not_kept("ColumnTransformer of no columns", "one that keeps some")
        chosen = [columns for columns, _ in parts]
        maps = tuple(one for _, one in parts)
        return cls(fitted.n_features_in_, chosen, maps, bool(fitted.sparse_output_))

    def check(self) -> None:
        if not self.maps or len(self.maps) != len(self.columns):
            raise ValueError("its row map has not as many steps as sets of columns")
        for columns, one in zip(self.columns, self.maps):
            one.check()
            if one.n_features_in_ != len(columns) or not all(0 <= j < self.n_features for j in columns):
                raise ValueError("the columns of its row map do not fit its steps")

    @property
    def n_inputs(self) -> int:
        return self.n_features

    @property
    def n_outputs(self) -> int:
        return sum(one.n_outputs for one in self.maps)

    def origins(self) -> list[Origin]:
        own = [Origin(j) for j in range(self.n_features)]
        return [end for columns, one in self._parts() for end in one.origins([own[j] for j in columns])]

    def _parts(self) -> Iterator[tuple[list[int], StoredTransformer]]:
        return zip(self.columns, self.maps)

    def transform(self, X: Rows) -> Rows:
        found = [one.transform(X[:, columns]) for columns, one in self._parts()]
        if self.sparse:
            return sparse.csr_matrix(sparse.hstack(found, format="csr"))
        return np.hstack([as_numbers(one) if isinstance(one, np.ndarray) else one.toarray() for one in found])


def _positions(fitted: Any, chosen: Any) -> list[int]:
    """Return the places of columns that were chosen by position, name, slice or mask."""
    places = np.arange(fitted.n_features_in_)
    names = getattr(fitted, "feature_names_in_", places).tolist()
    if isinstance(chosen, slice):
        first = names.index(chosen.start) if isinstance(chosen.start, str) else chosen.start
        last = names.index(chosen.stop) + 1 if isinstance(chosen.stop, str) else chosen.stop  # with its end
        return places[first : last : chosen.step].tolist()
    chosen = [chosen] if isinstance(chosen, str | int) else list(chosen)
    if chosen and all(isinstance(one, bool | np.bool_) for one in chosen):
        return np.flatnonzero(chosen).tolist()
    return [names.index(one) if isinstance(one, str) else int(places[one]) for one in chosen]
