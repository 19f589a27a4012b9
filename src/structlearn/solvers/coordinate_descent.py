"""Least squares with a sparse penalty: the objective, and block coordinate descent with working sets.

With columns x_j and targets y that are already centred and weighted (rows times sqrt(n p_i)), and the blocks
g of features a norm treats as one (single features for the L1 norm):

    P(w) = 1/n 1/2 ||y - X w||^2 + l1 sum_g ||w_g|| + l2/2 ||w||^2
    D(s) = 1/n { s <y, r> - s^2/2 (||r||^2 + n l2 ||w||^2) },   r = y - X w,
           for every s with s ||X_g^T r / n - l2 w_g|| <= l1 for all g

The second line is the dual of the first with l2 moved into d more rows of data, sqrt(n l2) I, of target 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba.extending import overload
from scipy import sparse

from structlearn.contract import Array
from structlearn.kernels import kernel
from structlearn.objective import Answers
from structlearn.penalties import Penalty
from structlearn.solvers.loop import Candidate, Progress
from structlearn.solvers.solution import Solution

#: Sweeps between two looks at the gap of a working set, unless the objective falls by less than so much of it.
SWEEPS_BETWEEN_GAPS = 10
PROMISE = 0.3
#: How much the gap of a working set must fall below that of the whole problem.
INNER = 0.2
#: The least size of a working set, in blocks and as a share of all; and how much larger the next one may be.
SMALLEST = 100
SHARE = 0.04
GROWTH = 2.0

# ---- columns: dense or sparse ----------------------------------------------------------------------


class DenseColumns(NamedTuple):
    """The columns of a Fortran-ordered matrix."""

    values: Array


class SparseColumns(NamedTuple):
    """The columns of a CSC matrix, minus means_j q where they are centred (q is a unit vector).

    A residual has one entry more than there are rows: r = r[:-1] + r[-1] q. As y and the centred columns are
    orthogonal to q, so is r, and no question below touches a row that has no entry in the column.
    """

    values: Array
    rows: Array
    start: Array
    means: Array


def along(columns: Any, j: int, r: Array) -> Any:
    """<x_j, r>."""


def retreat(columns: Any, j: int, amount: float, r: Array) -> Any:
    """r <- r - amount x_j."""


def _along_dense(columns: Any, j: Any, r: Any) -> Any:
    x = columns.values[:, j]
    total = 0.0
    for i in range(x.size):
        total += x[i] * r[i]
    return total


def _retreat_dense(columns: Any, j: Any, amount: Any, r: Any) -> Any:
    x = columns.values[:, j]
    for i in range(x.size):
        r[i] -= amount * x[i]


def _along_sparse(columns: Any, j: Any, r: Any) -> Any:
    first, last = columns.start[j], columns.start[j + 1]
    values, rows = columns.values[first:last], columns.rows[first:last]
    total = r[-1] * columns.means[j]
    for k in range(values.size):
        total += values[k] * r[rows[k]]
    return total


def _retreat_sparse(columns: Any, j: Any, amount: Any, r: Any) -> Any:
    first, last = columns.start[j], columns.start[j + 1]
    values, rows = columns.values[first:last], columns.rows[first:last]
    for k in range(values.size):
        r[rows[k]] -= amount * values[k]
    r[-1] += amount * columns.means[j]


# Not `question`: a call for each short column, with its counting of references, took three times as long.


@overload(along, inline="always")
def _choose_along(columns: Any, j: Any, r: Any) -> Any:
    return _along_sparse if columns.instance_class is SparseColumns else _along_dense


@overload(retreat, inline="always")
def _choose_retreat(columns: Any, j: Any, amount: Any, r: Any) -> Any:
    return _retreat_sparse if columns.instance_class is SparseColumns else _retreat_dense


# ---- kernels: all values are n times those of P and D ------------------------------------------------


class Blocks(NamedTuple):
    """Blocks of features: block g is members[start[g] : start[g + 1]].

    bound : the largest eigenvalue of X_g^T X_g
    """

    start: Array
    members: Array
    bound: Array


class Norms(NamedTuple):
    """n times the strengths of the penalty."""

    l1: float
    l2: float


class Values(NamedTuple):
    """n times P, n times the best D, the share s of the residual, and n times the D of that share."""

    primal: float
    dual: float
    share: float
    dual_of_share: float


@kernel
def _residual(columns: Any, y: Array, w: Array, r: Array) -> None:
    """r <- y - X w."""
    r[:] = y
    for j in range(w.size):
        if w[j] != 0:
            retreat(columns, j, w[j], r)


@kernel
def _pull(columns: Any, r: Array, pull: Array) -> None:
    """Pull <- X^T r."""
    for j in range(pull.size):
        pull[j] = along(columns, j, r)


@kernel
def _evaluate(
    columns: Any,
    y: Array,
    n: int,
    blocks: Blocks,
    work: Array,
    norms: Norms,
    w: Array,
    r: Array,
    pull: Array,
    pulls: Array,
) -> Values:
    """P and D of the problem that has only the blocks in `work`.

    pull_j <- <x_j, r> - l2 w_j;  pulls_g <- ||pull_g||
    """
    start, members, _ = blocks
    size, largest, beyond, ww = 0.0, 0.0, 0.0, 0.0
    for g in work:
        squared_pull, squared_w = 0.0, 0.0
        for k in range(start[g], start[g + 1]):
            j = members[k]
            plain = along(columns, j, r)
            pull[j] = plain - norms.l2 * w[j]
            squared_pull += pull[j] ** 2
            squared_w += w[j] ** 2
            beyond += max(abs(plain) - norms.l1, 0.0) ** 2
        pulls[g] = np.sqrt(squared_pull)
        largest = max(largest, pulls[g])
        size += np.sqrt(squared_w)
        ww += squared_w
    yr = np.sum(y * r)
    rr = np.sum(r[:n] * r[:n]) - np.sum(r[n:] * r[n:])
    squares = rr + norms.l2 * ww
    share = yr / squares if squares > 0 else 1.0
    if share * largest > norms.l1:
        share = norms.l1 / largest
    primal = squares / 2 + norms.l1 * size
    of_share = share * yr - share * share / 2 * squares
    dual = of_share
    if norms.l2 > 0:  # l2 as a part of R: R*(u) = sum_j (|u_j| - l1)_+^2 / (2 l2) is finite everywhere
        dual = max(dual, yr - rr / 2 - beyond / (2 * norms.l2))
    return Values(primal, dual, share, of_share)


@kernel
def _move(columns: Any, members: Array, bound: float, l1: float, w: Array, r: Array, pull: Array) -> float:
    """A proximal step of one block of several features; about what the objective has fallen by."""
    squared = 0.0
    for j in members:
        pull[j] = w[j] * bound + along(columns, j, r)
        squared += pull[j] ** 2
    shrunk = max(1 - l1 / np.sqrt(squared), 0.0) / bound if squared > 0 else 0.0
    fall = 0.0
    for j in members:
        change = shrunk * pull[j] - w[j]
        if change != 0:
            w[j] += change
            retreat(columns, j, change, r)
            fall += bound * change * change / 2
    return fall


@kernel
def _descend(
    columns: Any,
    y: Array,
    n: int,
    blocks: Blocks,
    work: Array,
    norms: Norms,
    w: Array,
    r: Array,
    pull: Array,
    pulls: Array,
    aim: float,
    max_sweeps: int,
) -> int:
    """Sweep over the blocks in `work` until the gap of their problem is at most `aim`; the sweeps it took."""
    start, members, bound = blocks
    for sweep in range(1, max_sweeps + 1):
        fall = 0.0
        for g in work:
            if start[g + 1] - start[g] > 1:
                block = members[start[g] : start[g + 1]]
                fall += _move(columns, block, bound[g], norms.l1, w, r, pull)
                continue
            j = members[start[g]]
            aim_j = w[j] * bound[g] + along(columns, j, r)
            new = max(abs(aim_j) - norms.l1, 0.0) / (bound[g] + norms.l2)
            change = (new if aim_j > 0 else -new) - w[j]
            if change != 0:
                w[j] += change
                retreat(columns, j, change, r)
                fall += (bound[g] + norms.l2) * change * change / 2
        if fall <= PROMISE * aim or sweep % SWEEPS_BETWEEN_GAPS == 0:
            values = _evaluate(columns, y, n, blocks, work, norms, w, r, pull, pulls)
            if values.primal - values.dual <= aim:
                return sweep
    return max_sweeps


# ---- the objective ---------------------------------------------------------------------------------


class LeastSquares:
    """P(w) = 1/(2n) ||y - X w||^2 + R(w), and its dual, as the loop asks for them.

    Parameters
    ----------
    X : Fortran-ordered ndarray or CSC matrix of shape (n, d)
        Weighted; dense columns are centred already.
    y : ndarray of shape (n,)
        Weighted and centred.
    penalty : Penalty
        R, with `l1` and `l2` the strengths of its two terms.
    means : ndarray of shape (d,), optional
        What a sparse column has along the unit vector q, where it is to be centred.
    groups : (start, members), optional
        The blocks of the norm; single features unless given.
    """

    #: one sweep over coordinates is one pass
    n_active = 1
    #: nothing is relaxed
    structure = SimpleNamespace(exact=True)

    def __init__(
        self,
        X: Any,
        y: Array,
        penalty: Penalty,
        l1: float,
        l2: float = 0.0,
        *,
        means: Array | None = None,
        groups: tuple[Array, Array] | None = None,
    ) -> None:
        self.X = X
        self.n, self.n_weights = X.shape
        self.penalty = penalty
        self.norms = Norms(float(self.n * l1), float(self.n * l2))
        if sparse.issparse(X):
            start, rows = X.indptr.astype(np.int64), X.indices.astype(np.uint32)  # unsigned: no negative index
            means = np.zeros(self.n_weights) if means is None else means
            self.columns: Any = SparseColumns(X.data, rows, start, means)
            self.y = np.append(y, 0.0)
        else:
            self.columns = DenseColumns(X)
            self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.blocks = self._blocks(groups)

    def _blocks(self, groups: tuple[Array, Array] | None) -> Blocks:
        if groups is None:
            singles = np.arange(self.n_weights + 1)
            return Blocks(singles, singles[:-1], self._squared_columns())
        start, members = groups
        bound = [self._largest_eigenvalue(members[a:b]) for a, b in pairwise(start)]
        return Blocks(start, members, np.array(bound))

    def _squared_columns(self) -> Array:
        if not sparse.issparse(self.X):
            return np.einsum("ij,ij->j", self.X, self.X, dtype=np.float64)
        owner = np.repeat(np.arange(self.n_weights), np.diff(self.X.indptr))
        squares = np.bincount(owner, weights=self.X.data.astype(np.float64) ** 2, minlength=self.n_weights)
        return np.maximum(squares - self.columns.means**2, 0.0)

    def _largest_eigenvalue(self, members: Array) -> float:
        """Of X_g^T X_g; a hair more, so that rounding cannot make a step too long."""
        X = self.X[:, members].astype(np.float64)
        gram = X.T @ X
        if sparse.issparse(X):
            means = self.columns.means[members]
            gram = gram.toarray() - np.outer(means, means)
        return max(float(np.linalg.eigvalsh(gram)[-1]), 0.0) * (1 + 1e-10)

    def residual(self, w: Array) -> Array:
        r = np.empty(self.y.size)
        _residual(self.columns, self.y, w, r)
        return r

    # ---- what the loop and `Proximal` ask -----------------------------------------------------------

    def primal(self, w: Array) -> float:
        return self.penalty.value(w) + self._squared(self.residual(w)) / (2 * self.n)

    def _squared(self, r: Array) -> float:
        return float(r[: self.n] @ r[: self.n] - r[self.n :] @ r[self.n :])

    def answers(self, w: Array) -> Answers:
        """The pull X^T r / n and the cost (<y, r> - 1/2 ||r||^2)/n of the dual point r = y - X w."""
        r = self.residual(w)
        pull = np.empty(self.n_weights)
        _pull(self.columns, r, pull)
        squared = self._squared(r)
        cost = float(self.y @ r) - squared / 2
        return Answers(pull / self.n, cost / self.n, self.penalty.value(w) + squared / (2 * self.n))

    def dual_of_pull(self, pull: Array, cost: float) -> float:
        """D of a share of the dual point: the cost is concave and zero at 0 (see `Objective`)."""
        share = self.penalty.shrink(pull)
        return share * cost - self.penalty.conjugate(share * pull)


# ---- the solver ------------------------------------------------------------------------------------


class DescentState(NamedTuple):
    """The iterate with its residual, what is known of every block, and how many sweeps it took."""

    w: Array
    r: Array
    pull: Array
    pulls: Array
    #: blocks that may be non-zero at the optimum
    alive: Array
    values: Values
    sweeps: int
    work_size: int


@dataclass(frozen=True)
class CoordinateDescent:
    """Cyclic block coordinate descent on growing working sets, with gap-safe screening.

    1. the gap of the whole problem; blocks that a safe sphere around the dual point excludes are dropped for
       good (Ndiaye, Fercoq, Gramfort, Salmon 2017)
    2. the working set: what is non-zero, and the blocks nearest to entering (Massias, Gramfort, Salmon 2018)
    3. sweeps over the working set until its own gap is a fraction of 1's

    Parameters
    ----------
    tol : float
        The gap that will be asked for: no working set is solved much better than that.
    max_sweeps : float
        The sweeps that will be allowed.
    """

    tol: float = 0.0
    max_sweeps: float = np.inf
    certifies: ClassVar[bool] = True

    def start(self, objective: Any, rng: np.random.Generator, warm: Solution | None) -> DescentState:
        w = np.zeros(objective.n_weights) if warm is None else warm.w.copy()
        blocks = objective.blocks
        n_blocks = blocks.bound.size
        w[blocks.members[np.repeat(blocks.bound == 0, np.diff(blocks.start))]] = 0.0  # no step moves them
        pull, pulls = np.zeros(w.size), np.zeros(n_blocks)
        alive = np.flatnonzero(blocks.bound > 0)
        r = objective.residual(w)
        _descend(*_problem(objective, alive[:0]), w, r, pull, pulls, 0.0, 0)  # compiles
        nothing = Values(np.inf, 0.0, 0.0, 0.0)
        smallest = max(SMALLEST, int(SHARE * n_blocks))
        return _look(objective, DescentState(w, r, pull, pulls, alive, nothing, 0, smallest))

    def step(self, objective: Any, state: DescentState, rng: np.random.Generator) -> DescentState:
        work = _working_set(objective, state)
        gap = state.values.primal - state.values.dual
        aim = max(INNER * gap, 0.8 * self.tol * objective.n)
        most = int(min(50, max(1, self.max_sweeps - state.sweeps)))
        w, r = state.w, state.r
        sweeps = _descend(*_problem(objective, work), w, r, state.pull, state.pulls, aim, most)
        return _look(objective, state._replace(sweeps=state.sweeps + sweeps, work_size=work.size))

    def progress(self, state: DescentState) -> Progress:
        return Progress(state.sweeps, 0.0)

    def candidates(self, objective: Any, state: DescentState) -> list[Candidate]:
        values = state.values
        return [Candidate(state.w, values.primal / objective.n, values.dual / objective.n)]

    def settle(self, objective: Any, state: DescentState) -> tuple[DescentState, None]:
        return state, None


def _problem(objective: Any, work: Array) -> tuple[Any, ...]:
    return objective.columns, objective.y, objective.n, objective.blocks, work, objective.norms


def _look(objective: Any, state: DescentState) -> DescentState:
    """The gap of the whole problem, and the blocks that it leaves."""
    alive = state.alive
    values = _evaluate(*_problem(objective, alive), state.w, state.r, state.pull, state.pulls)
    # the dual optimum is within this radius of s r
    radius = np.sqrt(2 * max(values.primal - values.dual_of_share, 0.0))
    alive = _safe(objective.blocks, alive, objective.norms, values.share, radius, state.pulls)
    return state._replace(values=values, alive=alive)


def _working_set(objective: Any, state: DescentState) -> Array:
    """The non-zero blocks, and as many again of those that are nearest to their bound."""
    alive, blocks = state.alive, objective.blocks
    distance = np.empty(alive.size)
    used = _distances(blocks, alive, objective.norms, state.values.share, state.w, state.pulls, distance)
    size = max(int(GROWTH * used), state.work_size)
    if size >= alive.size:
        return alive
    return alive[distance <= np.partition(distance, size)[size]]


@kernel
def _distances(
    blocks: Blocks, alive: Array, norms: Norms, share: float, w: Array, pulls: Array, distance: Array
) -> int:
    """How far s X_g^T r is from its bound, in units of r; -1 where w_g is not zero, and how many those are."""
    start, members, bound = blocks
    used = 0
    for k in range(alive.size):
        g = alive[k]
        distance[k] = (norms.l1 - share * pulls[g]) / np.sqrt(bound[g] + norms.l2)
        for m in range(start[g], start[g + 1]):
            if w[members[m]] != 0:
                distance[k] = -1.0
        used += distance[k] == -1.0
    return used


@kernel
def _safe(blocks: Blocks, alive: Array, norms: Norms, share: float, radius: float, pulls: Array) -> Array:
    """The blocks that are not excluded by ||X_g^T rho|| < l1 for all rho within `radius` of s r."""
    kept = np.empty_like(alive)
    count = 0
    for g in alive:
        reach = share * pulls[g] + radius * np.sqrt(blocks.bound[g] + norms.l2)
        if reach >= norms.l1 * (1 - 1e-9):
            kept[count] = g
            count += 1
    return kept[:count].copy()
