"""Estimates of the curvature of losses on rows, by which Newton's steps are made: v -> (H + lambda I)^-1 v.

Rows of X score all K labels, and w is W of shape (d, K), feature by feature. Three estimates, by what they
cost beside a pass over the data:

- `SampledHessian`: H = sum_i p_i x_i x_i^T (x) J_i over a sample of the rows, at the current scores; dK is
  small;
- `SecondMoments`: H = c sum_i p_i x_i x_i^T (x) I over a sample, for d of some hundreds;
- `Diagonal`: the diagonal of that.

The last two know neither c nor how labels interact: steps that were made tell both, by L-BFGS.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.problem.kept_scores import KeptScores
from structlearn.problem.objective import Objective
from structlearn.scoring.rows.rows import RowScoring

#: Rows of a sample, per column of the matrix that is estimated from them.
ROWS_PER_COLUMN = 50
#: The most columns of a Hessian, and of second moments.
MOST_HESSIAN, MOST_MOMENTS = 128, 512
#: The most multiplications that second moments may take, over those of a pass.
MOST_PRODUCTS = 64.0
#: What a sample's correlations are multiplied by: a column that it has not seen is like no other.
SHRINKAGE = 0.95
#: A factorisation serves until c has changed by this.
CHANGE = 1.5


class Curvature:
    """An estimate of the Hessian of the losses."""

    #: whether it is the Hessian at the current scores, which former steps could only make worse
    is_current: bool = False

    def __init__(self, objective: Objective, scoring: RowScoring) -> None:
        #: lambda
        self.strength = objective.regularization
        self.n_labels = scoring.n_labels
        #: what the second moments are multiplied by at w = 0: variances of labels that are drawn at random
        self.scale = 1.0 / self.n_labels if objective.couples_labels else 0.25

    @abstractmethod
    def apply_inverse(self, v: Array, scale: float) -> Array:
        """Return (scale H + lambda I)^-1 v."""

    def multiply(self, v: Array) -> Array:
        """Return H v, of an estimate that is not current."""
        raise NotImplementedError

    def update(self, scores: KeptScores) -> None:
        """Look at the current scores."""

    def refine(self) -> None:
        """Take a larger sample: the last step did not bring what it promised."""

    def saved(self) -> float:
        """Return the number that it depends on beside the data and the scores; 0 for none."""
        return 0.0

    def restore(self, saved: float) -> bool:
        """Take that number over; False where it cannot be one."""
        return saved == 0.0


def estimate_curvature(objective: Objective) -> Curvature:
    """Choose the best estimate that costs little beside a pass."""
    scoring = objective.scoring
    assert isinstance(scoring, RowScoring)  # noqa: S101
    n, k = objective.n_active, scoring.n_labels
    d = scoring.X.shape[1] + scoring.intercept
    if d * k <= MOST_HESSIAN:
        return SampledHessian(objective, scoring)
    if d <= MOST_MOMENTS and min(n, ROWS_PER_COLUMN * d) * d <= MOST_PRODUCTS * n * k:
        return SecondMoments(objective, scoring)
    return Diagonal(objective, scoring)


def _sample(objective: Objective, scoring: RowScoring, size: int) -> tuple[Array, Array, Array]:
    """Return every so many-th row as a dense array, with the constant, its p_i scaled to sum 1, and which."""
    active = objective.active
    chosen = active[:: max(1, active.size // size)]
    found = scoring.X[chosen]
    rows = np.asarray(found if isinstance(found, np.ndarray) else found.toarray(), dtype=np.float64)
    if scoring.intercept:
        rows = np.column_stack([rows, np.ones(chosen.size)])
    weight = objective.weight[chosen]
    return rows, weight / weight.sum(), chosen


class Factored(NamedTuple):
    """A Cholesky factor of a matrix whose rows and columns were divided by the roots of its diagonal."""

    triangle: Array
    root: Array

    def solve(self, v: Array) -> Array:
        """Multiply the columns of v, or v itself, by the inverse."""
        root = self.root.reshape(-1, *[1] * (v.ndim - 1))
        return linalg.cho_solve((self.triangle, True), v / root, check_finite=False) / root


def factor(matrix: Array, strength: float) -> Factored:
    """Factor matrix + strength I, in place, with a little more on the diagonal where rounding asks for it."""
    diagonal = np.einsum("ii->i", matrix)
    diagonal += strength
    root = np.sqrt(diagonal)
    root[root == 0.0] = 1.0
    matrix /= root
    matrix /= root[:, None]
    for more in (1e-14, 1e-12, 1e-9, 1e-6, 1e-3):
        try:
            diagonal[:] = 1.0 + more
            return Factored(linalg.cholesky(matrix, lower=True, check_finite=False), root)
        except linalg.LinAlgError:
            continue
    return Factored(np.eye(root.size), root)


class SampledHessian(Curvature):
    """The Hessian of a sample of the rows, factored at each step."""

    is_current = True

    def __init__(self, objective: Objective, scoring: RowScoring) -> None:
        super().__init__(objective, scoring)
        self.objective, self.scoring = objective, scoring
        self.n_columns = (scoring.X.shape[1] + scoring.intercept) * scoring.n_labels
        self._take(min(objective.n_active, ROWS_PER_COLUMN * self.n_columns))
        self.factored = Factored(np.empty((0, 0)), np.empty(0))

    def refine(self) -> None:
        if self.size < self.objective.n_active:
            self._take(min(self.objective.n_active, 2 * self.size))

    def _take(self, size: int) -> None:
        self.size, self.sample = size, _sample(self.objective, self.scoring, size)

    def saved(self) -> float:
        return float(self.size)

    def restore(self, saved: float) -> bool:
        if not self.size <= saved <= self.objective.n_active:
            return False
        self._take(int(saved))
        return True

    def update(self, scores: KeptScores) -> None:
        rows, weight, chosen = self.sample
        k, d = scores.n_labels, rows.shape[1]
        z = scores.mean.reshape(-1, k)[chosen] / self.objective.weight[chosen, None]
        hessian = np.zeros((d, k, d, k))
        for a, b in _coupled_labels(self.objective, k):
            bend = weight * z[:, a] * (1.0 - z[:, a] if a == b else z[:, b])
            bent = rows * np.sqrt(bend)[:, None]
            hessian[:, a, :, b] = hessian[:, b, :, a] = (1.0 if a == b else -1.0) * (bent.T @ bent)
        self.factored = factor(hessian.reshape(d * k, d * k), self.strength)

    def apply_inverse(self, v: Array, scale: float) -> Array:
        return self.factored.solve(v)


def _coupled_labels(objective: Objective, n_labels: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs of labels, the first not after the second, of which one's score moves the other."""
    for a in range(n_labels):
        for b in range(a, n_labels if objective.couples_labels else a + 1):
            yield a, b


class SecondMoments(Curvature):
    """G = sum_i p_i x_i x_i^T: correlations of a sample of the rows, and the diagonal of all."""

    def __init__(self, objective: Objective, scoring: RowScoring) -> None:
        super().__init__(objective, scoring)
        diagonal = np.sqrt(column_squares(scoring, objective.weight))
        rows, weight, _ = _sample(objective, scoring, ROWS_PER_COLUMN * diagonal.size)
        rows = rows * np.sqrt(weight)[:, None]
        found = rows.T @ rows
        seen = np.sqrt(np.diag(found))
        seen[seen == 0.0] = 1.0
        found *= SHRINKAGE * np.outer(diagonal / seen, diagonal / seen)
        np.fill_diagonal(found, diagonal**2)
        self.moments = found
        self.factored_scale = 0.0

    def multiply(self, v: Array) -> Array:
        return (self.moments @ v.reshape(-1, self.n_labels)).ravel()

    def apply_inverse(self, v: Array, scale: float) -> Array:
        if not self.factored_scale / CHANGE <= scale <= self.factored_scale * CHANGE:
            self._factor(scale)
        return self.factored.solve(v.reshape(-1, self.n_labels)).ravel()

    def _factor(self, scale: float) -> None:
        self.factored, self.factored_scale = factor(scale * self.moments, self.strength), scale

    def saved(self) -> float:
        return self.factored_scale

    def restore(self, saved: float) -> bool:
        if not 0.0 <= saved < np.inf:
            return False
        if saved > 0.0:
            self._factor(saved)
        return True


class Diagonal(Curvature):
    """The diagonal of G."""

    def __init__(self, objective: Objective, scoring: RowScoring) -> None:
        super().__init__(objective, scoring)
        self.squares = np.repeat(column_squares(scoring, objective.weight), scoring.n_labels)

    def multiply(self, v: Array) -> Array:
        return self.squares * v

    def apply_inverse(self, v: Array, scale: float) -> Array:
        least = 1e-12 * max(scale * float(self.squares.max(initial=0.0)), np.finfo(float).tiny)
        return v / (scale * self.squares + max(self.strength, least))


def column_squares(scoring: RowScoring, weight: Array) -> Array:
    """Return sum_i p_i x_ij^2 for each column j, that of the constant last where there is one."""
    rows = scoring.X
    squares = np.zeros(rows.shape[1])
    if isinstance(rows, np.ndarray):
        add_dense_squares(rows, weight, squares)
    else:
        add_sparse_squares(rows.data, rows.indices, rows.indptr, weight, squares)
    return np.append(squares, weight.sum()) if scoring.intercept else squares


@leaf
def add_dense_squares(X: Array, weight: Array, squares: Array) -> None:
    """squares_j <- squares_j + sum_i p_i x_ij^2."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            squares[j] += weight[i] * X[i, j] * X[i, j]


@leaf
def add_sparse_squares(data: Array, indices: Array, indptr: Array, weight: Array, squares: Array) -> None:
    """Do the same for a CSR matrix."""
    for i in range(weight.size):
        for at in range(indptr[i], indptr[i + 1]):
            squares[indices[at]] += weight[i] * data[at] * data[at]
