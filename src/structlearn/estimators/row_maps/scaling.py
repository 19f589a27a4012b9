"""Feature by feature: shift and scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.estimators.row_maps.base import FeatureByFeature, as_numbers, check_vector, register_row_map
from structlearn.estimators.scikit import Rows


@register_row_map("sklearn.preprocessing:StandardScaler", "(x - mean) / deviation, feature by feature")
@dataclass(frozen=True, eq=False)
class Standardised(FeatureByFeature):
    """(x - mean) / scale; of sparse rows x / scale.

    A scale of 0 belongs to a column without values in training: new rows have none there, either.
    """

    n_features: int
    mean: Array | None
    scale: Array | None

    @classmethod
    def of(cls, fitted: Any) -> Standardised:
        return cls(
            fitted.n_features_in_,
            np.nan_to_num(fitted.mean_) if fitted.with_mean else None,
            np.nan_to_num(fitted.scale_) if fitted.with_std else None,
        )

    def check(self) -> None:
        for name in ("mean", "scale"):
            if getattr(self, name) is not None:
                check_vector(name, getattr(self, name), self.n_features)

    @property
    def n_inputs(self) -> int:
        return self.n_features

    def transform(self, X: Rows) -> Rows:
        if not isinstance(X, np.ndarray):
            if self.mean is not None:
                raise ValueError("Sparse rows cannot be centred; train with StandardScaler(with_mean=False).")
            if self.scale is None:
                return X
            return (X @ sparse.diags_array(1 / self.scale)).tocsr().astype(X.dtype, copy=False)
        X = as_numbers(X)
        X = X if self.mean is None else X - self.mean.astype(X.dtype)
        return X if self.scale is None else X / np.where(self.scale == 0, np.nan, self.scale).astype(X.dtype)


@register_row_map(
    "sklearn.preprocessing:MinMaxScaler", "each feature between two numbers, 0 and 1 unless given"
)
@dataclass(frozen=True, eq=False)
class Ranged(FeatureByFeature):
    """x * scale + shift, clipped to [least, most] where asked for."""

    scale: Array
    shift: Array
    clip: bool
    least: float
    most: float

    @classmethod
    def of(cls, fitted: Any) -> Ranged:
        least, most = map(float, fitted.feature_range)
        return cls(fitted.scale_, fitted.min_, bool(fitted.clip), least, most)

    def check(self) -> None:
        check_vector("scale", self.scale, np.size(self.scale))
        check_vector("shift", self.shift, np.size(self.scale))

    @property
    def n_inputs(self) -> int:
        return self.scale.size

    def transform(self, X: Rows) -> Rows:
        if not isinstance(X, np.ndarray):
            raise ValueError("MinMaxScaler takes dense rows only; these are sparse.")
        X = as_numbers(X)
        scaled = (X * self.scale).astype(X.dtype, copy=False)
        scaled = (scaled + self.shift).astype(X.dtype, copy=False)
        return np.clip(scaled, self.least, self.most) if self.clip else scaled
