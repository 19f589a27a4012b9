"""Smooth curves of single features: an additive model, trained as a linear one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.estimators.row_maps.base import Origin, RowMap, check_matrix, register_row_map
from structlearn.estimators.scikit import BaseEstimator, Rows

#: Features with fewer values have no curve: zeros and ones, grades, a few counts.
_LEAST_VALUES = 10
#: Curves are made of pieces of third degree.
DEGREE = 3


class SplineExpansion(BaseEstimator):
    """Add curved functions (cubic B-splines) of each feature, so that a linear model can follow curves.

    Adds cubic B-splines of each feature to the features, so that a linear model of them is additive.

    Features with fewer than ten different values have none, and neither have features of sparse rows that are
    zero in more than half of them. Outside the range of the training rows, splines are constant. Model files
    can hold it.

    Parameters
    ----------
    n_knots : int
        Borders of the pieces of a curve, at quantiles of the different values of the feature; at most ten.
        A feature adds `n_knots + 1` columns.

    Examples
    --------
    >>> import numpy as np
    >>> from structlearn import LinearRegressor, SplineExpansion
    >>> x = np.linspace(0, 6, 50)[:, None]
    >>> model = LinearRegressor(row_transformer=SplineExpansion(), regularization=1e-4)
    >>> round(model.fit(x, np.sin(x[:, 0])).score(x, np.sin(x[:, 0])), 2)
    1.0
    """

    def __init__(self, *, n_knots: int = 6) -> None:
        self.n_knots = n_knots

    def fit(self, X: Rows, y: object = None) -> Self:
        """Choose features and knots by rows of numbers, dense or sparse."""
        if not 2 <= self.n_knots <= _LEAST_VALUES:
            raise ValueError(f"n_knots must be from 2 to {_LEAST_VALUES}; got {self.n_knots}.")
        shares = np.linspace(0, 1, self.n_knots)
        values = {j: one for j, one in _different_values(X) if len(one) >= _LEAST_VALUES}
        inner = [np.quantile(one, shares) for one in values.values()]
        knots = np.array([np.pad(one, DEGREE, "edge") for one in inner])
        self.n_features_in_ = X.shape[1]
        self.map_ = Curves(X.shape[1], list(values), knots.reshape(len(values), self.n_knots + 2 * DEGREE))
        return self

    def transform(self, X: Rows) -> Rows:
        """Return the rows with the columns of the splines behind theirs, sparse if the rows are sparse."""
        return self.map_.transform(X)


def _different_values(X: Rows) -> Iterator[tuple[int, Array]]:
    """Yield features and their different values, in order; of sparse rows, features that are mostly there."""
    if isinstance(X, np.ndarray):
        yield from ((j, np.unique(column).astype(np.float64)) for j, column in enumerate(X.T))
        return
    columns = X.tocsc()
    often = np.flatnonzero(np.diff(columns.indptr) > X.shape[0] / 2)
    yield from ((j, np.unique(columns[:, [j]].toarray()).astype(np.float64)) for j in often.tolist())


@register_row_map(
    "structlearn.estimators.row_maps.splines:SplineExpansion",
    "smooth curves of single features, beside the features",
)
@dataclass(frozen=True, eq=False)
class Curves(RowMap):
    """x, and the cubic B-splines of some features, without the last of each (they add up to 1).

    columns : the features that have splines
    knots : those of each
    """

    n_features: int
    columns: list[int]
    knots: Array

    @classmethod
    def of(cls, fitted: Any) -> Curves:
        found: Curves = fitted.map_
        return found

    def check(self) -> None:
        if self.n_features < 1 or not all(0 <= j < self.n_features for j in self.columns):
            raise ValueError("its row map has curves of columns that it has not")
        if not self.columns:
            return
        check_matrix("knots", self.knots, (len(self.columns), None))
        inner = self.knots[:, DEGREE:-DEGREE]
        rises = self.knots.shape[1] >= 2 * DEGREE + 2 and np.isfinite(self.knots).all()
        if not rises or (np.diff(self.knots) < 0).any() or (inner[:, 0] >= inner[:, -1]).any():
            raise ValueError("knots of its row map must rise")

    @property
    def n_inputs(self) -> int:
        return self.n_features

    @property
    def n_outputs(self) -> int:
        return self.n_features + len(self.columns) * self._n_splines

    @property
    def _n_splines(self) -> int:
        """Columns that a feature adds."""
        return self.knots.shape[1] - DEGREE - 2 if self.columns else 0

    def origins(self) -> list[Origin]:
        own = [Origin(j) for j in range(self.n_features)]
        curves = [Origin(j, f" curve {k + 1}") for j in self.columns for k in range(self._n_splines)]
        return own + curves

    def transform(self, X: Rows) -> Rows:
        if not self.columns:
            return X
        dense = X[:, self.columns] if isinstance(X, np.ndarray) else X[:, self.columns].toarray()
        splines = [_splines(x, knots) for x, knots in zip(dense.T, self.knots)]
        if isinstance(X, np.ndarray):
            return np.hstack([X, *(one.toarray().astype(X.dtype) for one in splines)])
        return sparse.csr_matrix(sparse.hstack([X, *splines], format="csr", dtype=X.dtype))


def _splines(x: Array, knots: Array) -> Any:
    """Return the B-splines at x, a row each, but the last; sparse, since four of them are not zero."""
    from scipy.interpolate import BSpline

    inside = np.clip(x.astype(np.float64), knots[DEGREE], knots[-DEGREE - 1])
    return BSpline.design_matrix(inside, knots, DEGREE)[:, :-1]
