"""Least squares with a sparse penalty: the objective and its dual, for dense and sparse columns.

With columns x_j and targets y that are already centred and weighted (rows times sqrt(n p_i)), and the blocks
g of features a norm treats as one (single features for the L1 norm):

    P(w) = 1/n 1/2 ||y - X w||^2 + l1 sum_g ||w_g|| + l2/2 ||w||^2
    D(s) = 1/n { s <y, r> - s^2/2 (||r||^2 + n l2 ||w||^2) },   r = y - X w,
           for every s with s ||X_g^T r / n - l2 w_g|| <= l1 for all g

The second line is the dual of the first with l2 moved into d more rows of data, sqrt(n l2) I, of target 0.

Whatever vector r is, D(s) is a lower bound of min P as long as s is feasible: rounding of y - X w does not
matter to the dual, but that of <y, r>, <r, r> and <x_j, r> does. Each is at most (n + 16) u times the norms
of its factors, u = 2^-53: X^T r is enlarged and D is lowered by that much. `rounding` bounds what is in P.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.core.memory import Memory
from structlearn.core.rounding import UNIT, Bound
from structlearn.core.vectors import assign, dot
from structlearn.problem.columns import Columns, DenseColumns, SparseColumns, along, retreat
from structlearn.problem.penalties import Penalty
from structlearn.problem.problem import Predictions

# ---- kernels: all values are n times those of P and D ------------------------------------------------


class FeatureBlocks(NamedTuple):
    """Blocks of features: block g is members[start[g] : start[g + 1]].

    bound : the largest eigenvalue of X_g^T X_g, or more
    root : the root of `bound` plus n times the strength of l2
    size : the norm of X_g as it is stored, to which rounding is proportional
    single : whether block g is feature g, for all g: then kernels leave out `start` and `members`, since
        looking j up there takes as long as a short column
    """

    start: Array
    members: Array
    bound: Array
    root: Array
    size: Array
    single: bool


class Norms(NamedTuple):
    """n times the strengths of the penalty, and the relative rounding of a product of n terms."""

    l1: float
    l2: float
    unit: float


class Squares(NamedTuple):
    """What compiled code sees of a `LeastSquares`."""

    columns: Columns
    y: Array
    n: int
    blocks: FeatureBlocks
    norms: Norms


class Iterate(NamedTuple):
    """Weights, their residual y - X w, and what is known of each feature and of each block."""

    w: Array
    r: Array
    #: <x_j, r> - l2 w_j
    dual_map: Array
    #: ||(X^T r)_g||, or a little more, for rounding
    map_norms: Array


class Values(NamedTuple):
    """n times P, n times the best D, the share s of the residual, and n times the D of that share.

    rounding : n times a bound of the error of P; that of D has been subtracted
    """

    primal: float
    dual: float
    fraction: float
    dual_of_fraction: float
    rounding: float


@leaf
def _square_sparse(columns: SparseColumns, out: Array) -> None:
    """out_j <- ||x_j||^2, without the means."""
    for j in range(out.size):
        values = columns.values[columns.start[j] : columns.start[j + 1]]
        total = 0.0
        for k in range(values.size):
            total += np.float64(values[k]) * np.float64(values[k])
        out[j] = total


@leaf
def _reach(w: Array, sizes: Array) -> float:
    """Return sum_j |w_j| ||x_j||."""
    found = 0.0
    for j in range(w.size):
        found += abs(w[j]) * sizes[j]
    return found


@leaf
def _residual(columns: Columns, y: Array, w: Array, r: Array) -> None:
    """r <- y - X w."""
    assign(r, y)
    for j in range(w.size):
        if w[j] != 0:
            retreat(columns, j, w[j], r)


@leaf
def _dual_map(columns: Columns, r: Array, dual_map: Array) -> None:
    """dual_map <- X^T r."""
    for j in range(dual_map.size):
        dual_map[j] = along(columns, j, r)


@leaf
def _evaluate_group(
    columns: Columns, members: Array, w: Array, r: Array, dual_map: Array
) -> tuple[float, float]:
    """Return ||X_g^T r|| and ||w_g||; a group has no l2."""
    squared_map, squared_w = 0.0, 0.0
    for j in members:
        dual_map[j] = along(columns, j, r)
        squared_map += dual_map[j] ** 2
        squared_w += w[j] ** 2
    return np.sqrt(squared_map), np.sqrt(squared_w)


@leaf
def primal_and_dual(problem: Squares, work: Array, at: Iterate) -> Values:
    """Return P and D of the problem that has only the blocks in `work`, whose dual maps are computed."""
    columns, y, n, blocks, norms = problem
    start, members, _, _, size, single = blocks
    w, r, dual_map, map_norms = at
    yr, yy = dot(y, r), dot(y, y)
    rr = max(dot(r[:n], r[:n]) - dot(r[n:], r[n:]), 0.0)
    length = np.sqrt(rr)
    penalty, largest, beyond, ww, reach = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(work.size):
        g = work[k]
        noise = norms.unit * size[g] * length
        if single:
            plain, size_g = along(columns, g, r), abs(w[g])
            dual_map[g] = plain - norms.l2 * w[g]
            map_norms[g] = abs(dual_map[g]) + noise + norms.unit * norms.l2 * size_g
            ww += size_g * size_g
            beyond += max(abs(plain) + noise - norms.l1, 0.0) ** 2
        else:
            map_norms[g], size_g = _evaluate_group(columns, members[start[g] : start[g + 1]], w, r, dual_map)
            map_norms[g] += noise
        penalty += size_g
        reach += size_g * size[g]
        largest = max(largest, map_norms[g])
    squares = rr + norms.l2 * ww
    fraction = max(yr / squares, 0.0) if squares > 0 else 1.0
    if fraction * largest > norms.l1:
        fraction = norms.l1 / largest
    primal = squares / 2 + norms.l1 * penalty
    many = norms.unit + w.size * UNIT
    in_r = many * (np.sqrt(yy) + reach)
    rounding = in_r * (length + in_r) + many * primal
    in_yr = norms.unit * np.sqrt(yy) * length
    dual = (
        fraction * yr
        - fraction * fraction / 2 * squares
        - fraction * in_yr
        - fraction * fraction * many * squares
    )
    of_fraction = dual
    if norms.l2 > 0:  # as a part of R, whose R*(u) = sum_j (|u_j| - l1)_+^2 / (2 l2) is finite everywhere
        part = yr - rr / 2 - in_yr - norms.unit * rr - (1 + many) * beyond / (2 * norms.l2)
        dual = max(dual, part)
    return Values(primal, dual, fraction, of_fraction, rounding)


# ---- the objective ---------------------------------------------------------------------------------


class LeastSquares:
    """P(w) = 1/(2n) ||y - X w||^2 + R(w), and its dual: a `Problem`.

    Parameters
    ----------
    X : Fortran-ordered ndarray or CSC matrix of shape (n, d)
        Weighted; dense columns are centred already.
    y : ndarray of shape (n,)
        Weighted and centred.
    penalty : Penalty
        R, with `l1` and `l2` the strengths of its two terms.
    means : ndarray of shape (d,), optional
        What a sparse column has along q, where it is to be centred.
    axis : ndarray of shape (n,), optional
        The unit vector q to which y and the centred columns are orthogonal.
    groups : (start, members), optional
        The blocks of the norm; single features unless given.
    """

    #: one sweep over coordinates is one pass; nothing is relaxed
    n_active, exact = 1, True
    #: a solver goes on from weights alone
    content_hash = polytopes = ""
    no_gradient = ""
    is_hinge, is_local, has_exact_blocks = False, True, False

    def __init__(
        self,
        X: Array | sparse.csc_matrix,
        y: Array,
        penalty: Penalty,
        l1: float,
        l2: float = 0.0,
        *,
        means: Array | None = None,
        axis: Array | None = None,
        groups: tuple[Array, Array] | None = None,
    ) -> None:
        self.X = X
        self.n, self.n_weights = X.shape
        self.penalty = penalty
        self.axis = axis
        self.memory = Memory()
        if isinstance(X, np.ndarray):
            self.columns: Columns = DenseColumns(X)
            self.y = np.ascontiguousarray(y, dtype=np.float64)
        else:
            rows = X.indices.astype(np.int32, copy=False).view(np.uint32)  # none counts from the end
            means = np.zeros(self.n_weights) if means is None else means
            self.columns = SparseColumns(X.data, rows, X.indptr.astype(np.int64), means)
            self.y = np.append(y, 0.0)
        self.unit = (self.n + 16) * UNIT
        norms = Norms(float(self.n * l1), float(self.n * l2), self.unit)
        self.sizes = np.sqrt(self._squared_columns())
        self.length = float(np.sqrt(dot(self.y, self.y)))
        self.problem = Squares(self.columns, self.y, self.n, self._blocks(groups, norms.l2), norms)

    @property
    def content(self) -> tuple[object, ...]:
        return (type(self.penalty).__name__, *vars(self.penalty).values(), self.problem)

    def _blocks(self, groups: tuple[Array, Array] | None, l2: float) -> FeatureBlocks:
        squares = self.sizes**2
        if groups is None:
            singles = np.arange(self.n_weights + 1)
            bound = squares
            if isinstance(self.columns, SparseColumns):  # with what rounding may have done to the difference
                bound = np.maximum(squares - self.columns.means**2, 0.0) + 4 * self.unit * squares
            return FeatureBlocks(singles, singles[:-1], bound, np.sqrt(bound + l2), self.sizes, True)
        start, members = groups
        blocks = [members[a:b] for a, b in pairwise(start)]
        bound = np.array([self._largest_eigenvalue(block) for block in blocks])
        sizes = np.sqrt([squares[block].sum() for block in blocks])
        return FeatureBlocks(start, members, bound, np.sqrt(bound + l2), sizes, False)

    def _squared_columns(self) -> Array:
        if isinstance(self.columns, DenseColumns):
            return np.einsum("ij,ij->j", self.X, self.X, dtype=np.float64)
        squares = np.empty(self.n_weights)
        _square_sparse(self.columns, squares)
        return squares

    def _largest_eigenvalue(self, members: Array) -> float:
        """Return that of X_g^T X_g, slightly enlarged, so that rounding cannot make a step too long."""
        X = self.X[:, members].astype(np.float64)
        gram = X.T @ X
        hair = 1e-10 * float(np.linalg.norm(self.sizes[members])) ** 2
        if isinstance(self.columns, SparseColumns):
            means = self.columns.means[members]
            gram = sparse.csc_matrix(gram).toarray() - np.outer(means, means)
        return max(float(np.linalg.eigvalsh(gram)[-1]), 0.0) + hair

    def residual(self, w: Array) -> Array:
        """Return r = y - X w as a vector of its own: no part of it is kept along q."""
        r = np.empty(self.y.size)
        _residual(self.columns, self.y, w, r)
        if self.axis is not None:
            rows = r[: self.n]
            rows += r[self.n :].sum() * self.axis
            for _ in range(2):  # once more for what rounding left
                rows -= (self.axis @ rows) * self.axis
            r[self.n :] = 0.0
        return r

    # ---- what the loop and `Proximal` ask -----------------------------------------------------------

    def primal(self, w: Array) -> float:
        return self._primal(w, self.residual(w))

    def _primal(self, w: Array, r: Array) -> float:
        return self.penalty.value(w) + float(r @ r) / (2 * self.n)

    def primal_rounding(self, w: Array, value: float) -> float:
        """Bound the rounding error by ||r||^2 <= 2 n P."""
        many = self.unit + w.size * UNIT
        in_r = many * (self.length + float(_reach(w, self.sizes)))
        return in_r * (np.sqrt(2 * self.n * max(value, 0.0)) + in_r) / self.n + many * value

    def predictions(self, w: Array) -> Predictions:
        """Return the dual map X^T r / n and the cost (<y, r> - 1/2 ||r||^2)/n of the point r = y - X w."""
        r = self.residual(w)
        dual_map = np.empty(self.n_weights)
        _dual_map(self.columns, r, dual_map)
        squared = float(r @ r)
        lost = self.unit * (self.length * np.sqrt(squared) + squared)
        cost = float(self.y @ r) - squared / 2 - lost
        return Predictions(dual_map / self.n, cost / self.n, self._primal(w, r))

    def dual_of_map(self, dual_map: Array, cost: float) -> Bound:
        """D of a share of the dual point: the cost is concave and zero at 0 (see `Objective`).

        The dual map is taken as large as rounding may hide: n cost <= ||y|| ||r|| - 1/2 ||r||^2 bounds ||r||.
        """
        length = self.length + np.sqrt(max(self.length**2 - 2 * self.n * cost, 0.0))
        enlarged = np.abs(dual_map) + self.unit * length / self.n * self.sizes
        fraction = self.penalty.shrink(enlarged)
        lost = (self.unit + dual_map.size * UNIT) * abs(cost)
        return Bound(fraction * cost - self.penalty.conjugate(fraction * enlarged) - lost, lost)
