"""Linear maps to fewer features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.row_maps.base import RowMap, check_matrix, check_vector, product, register_row_map
from structlearn.estimators.scikit import Rows


@register_row_map("sklearn.decomposition:PCA", "the directions of most variance; whitened where asked for")
@dataclass(frozen=True, eq=False)
class Principal(RowMap):
    """(x - mean) C^T / scale."""

    components: Array
    mean: Array
    scale: Array | None

    @classmethod
    def of(cls, fitted: Any) -> Principal:
        scale = None
        if fitted.whiten:
            deviation = np.sqrt(fitted.explained_variance_)
            scale = np.maximum(deviation, np.finfo(deviation.dtype).eps)
        return cls(fitted.components_, fitted.mean_.ravel(), scale)

    def check(self) -> None:
        check_matrix("components", self.components, (None, None))
        check_vector("mean", self.mean, self.n_inputs)
        if self.scale is not None:
            check_vector("scale", self.scale, self.n_outputs)

    @property
    def n_inputs(self) -> int:
        return self.components.shape[1]

    @property
    def n_outputs(self) -> int:
        return self.components.shape[0]

    def transform(self, X: Rows) -> Rows:
        projected = product(X, self.components.T) - self.mean @ self.components.T
        return projected if self.scale is None else projected / self.scale


@register_row_map("sklearn.decomposition:TruncatedSVD", "the first singular directions, of sparse rows too")
@dataclass(frozen=True, eq=False)
class Truncated(RowMap):
    """x C^T."""

    components: Array

    @classmethod
    def of(cls, fitted: Any) -> Truncated:
        return cls(fitted.components_)

    def check(self) -> None:
        check_matrix("components", self.components, (None, None))

    @property
    def n_inputs(self) -> int:
        return self.components.shape[1]

    @property
    def n_outputs(self) -> int:
        return self.components.shape[0]

    def transform(self, X: Rows) -> Rows:
        return product(X, self.components.T)
