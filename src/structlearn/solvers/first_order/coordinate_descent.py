"""Block coordinate descent on working sets, for `LeastSquares`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.core.rounding import Bound
from structlearn.problem.columns import DenseColumns, SparseColumns, along, retreat
from structlearn.problem.least_squares import Iterate, LeastSquares, Squares, Values, primal_and_dual
from structlearn.solvers.registry import NORMS
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase

#: Sweeps between two looks at the gap of a working set, unless a sweep brings less than a share of the aim.
SWEEPS_BETWEEN_GAPS = 10
SWEEPS_AT_ONCE = 50
PROMISE = 0.3
#: How much the gap of a working set must fall below that of the whole problem.
INNER = 0.2
#: The least size of a working set, in blocks and as a share of all; and how much larger the next one may be.
SMALLEST = 100
SHARE = 0.04
GROWTH = 2.0


@leaf
def _step(
    columns: DenseColumns | SparseColumns,
    members: Array,
    bound: float,
    l1: float,
    w: Array,
    r: Array,
    dual_map: Array,
) -> float:
    """Make a proximal step of one block of several features; return about how far the objective fell."""
    squared = 0.0
    for j in members:
        dual_map[j] = w[j] * bound + along(columns, j, r)
        squared += dual_map[j] ** 2
    shrunk = max(1 - l1 / np.sqrt(squared), 0.0) / bound if squared > 0 else 0.0
    fall = 0.0
    for j in members:
        change = shrunk * dual_map[j] - w[j]
        if change != 0:
            w[j] += change
            retreat(columns, j, change, r)
            fall += bound * change * change / 2
    return fall


@leaf
def _sweep(problem: Squares, work: Array, at: Iterate, used: Array) -> tuple[float, int]:
    """Move each block in `work` once; return about how far the objective fell, and the size of `used`."""
    columns, _, _, blocks, norms = problem
    start, members, bound, _, _, single = blocks
    w, r, dual_map, _ = at
    fall, count = 0.0, 0
    for k in range(work.size):
        g = work[k]
        if not single:
            block = members[start[g] : start[g + 1]]
            fall += _step(columns, block, bound[g], norms.l1, w, r, dual_map)
            if _is_used(block, w):
                used[count] = g
                count += 1
            continue
        aim = w[g] * bound[g] + along(columns, g, r)
        new = max(abs(aim) - norms.l1, 0.0) / (bound[g] + norms.l2)
        change = (new if aim > 0 else -new) - w[g]
        if change != 0:
            w[g] += change
            retreat(columns, g, change, r)
            fall += (bound[g] + norms.l2) * change * change / 2
        if new > 0:
            used[count] = g
            count += 1
    return fall, count


@leaf
def _descend(
    problem: Squares, work: Array, at: Iterate, aim: float, max_sweeps: int, used: Array, still: Array
) -> int:
    """Sweep over the blocks in `work` until the gap of their problem is at most `aim`; the sweeps it took.

    After a sweep over all of them come sweeps over those in use, until these bring little.
    """
    everything, size, enough = True, 0, PROMISE * aim
    for sweep in range(1, max_sweeps + 1):
        if everything:
            fall, size = _sweep(problem, work, at, used)
        else:
            fall, _ = _sweep(problem, used[:size], at, still)
        everything = fall <= enough or sweep % SWEEPS_BETWEEN_GAPS == 0
        if everything:
            values = primal_and_dual(problem, work, at)
            gap = values.primal - values.dual
            if gap <= aim:
                return sweep
            enough = fall * aim / gap
    return max_sweeps


@leaf
def _is_used(block: Array, w: Array) -> bool:
    for j in block:  # noqa: SIM110  (Numba has no generators)
        if w[j] != 0:
            return True
    return False


# ---- the solver ------------------------------------------------------------------------------------


class CoordinateState(NamedTuple):
    """The iterate, its values, and how many sweeps it took."""

    at: Iterate
    values: Values
    #: blocks that may be non-zero, here or at the optimum
    alive: Array
    #: how far these are from their bound, and how many are not zero
    distance: Array
    n_used: int
    #: a sweep counts as one
    oracle_calls: int
    work_size: int


@dataclass(frozen=True)
class CoordinateDescent(SolverBase[CoordinateState]):
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
    penalties: ClassVar[tuple[str, ...]] = NORMS
    not_options: ClassVar[frozenset[str]] = frozenset({"tol", "max_sweeps"})

    def start(
        self, objective: LeastSquares, rng: np.random.Generator, warm: Solution | None
    ) -> CoordinateState:
        w = np.zeros(objective.n_weights) if warm is None else warm.w.copy()
        start, members, bound = objective.problem.blocks[:3]
        if w.any():
            w[members[np.repeat(bound == 0, np.diff(start))]] = 0.0  # no step moves them
        at = Iterate(w, objective.y, np.zeros(w.size), np.zeros(bound.size))
        alive = np.flatnonzero(bound > 0)
        _descend(objective.problem, alive[:0], at, 0.0, 0, alive[:0], alive[:0])  # compiles
        return _look(objective, at, alive, 0, max(SMALLEST, int(SHARE * bound.size)))

    def step(
        self, objective: LeastSquares, state: CoordinateState, rng: np.random.Generator
    ) -> CoordinateState:
        problem = objective.problem
        work = _working_set(state)
        gap = state.values.primal - state.values.dual
        aim = max(INNER * gap, 0.8 * self.tol * problem.n)
        most = int(min(SWEEPS_AT_ONCE, max(1, self.max_sweeps - state.oracle_calls)))
        at = state.at._replace(w=state.at.w.copy(), r=state.at.r.copy())  # an interruption finds the old ones
        sweeps = _descend(problem, work, at, aim, most, np.empty_like(work), np.empty_like(work))
        return _look(objective, at, state.alive, state.oracle_calls + sweeps, work.size)

    def progress(self, state: CoordinateState) -> Progress:
        return Progress(state.oracle_calls, 0.0)

    def candidates(self, objective: LeastSquares, state: CoordinateState) -> list[Candidate]:
        n, values = objective.n, state.values
        return [Candidate(state.at.w, values.primal / n, Bound(values.dual / n))]


def _look(objective: LeastSquares, at: Iterate, alive: Array, sweeps: int, work_size: int) -> CoordinateState:
    """Evaluate the whole problem at a fresh residual, and return the blocks that the values leave."""
    problem, at = objective.problem, at._replace(r=objective.residual(at.w))
    values = primal_and_dual(problem, alive, at)
    kept, distance = np.empty_like(alive), np.empty(alive.size)
    count, n_used = _screen_blocks(problem, alive, at, values, kept, distance)
    return CoordinateState(at, values, kept[:count], distance[:count], n_used, sweeps, work_size)


def _working_set(state: CoordinateState) -> Array:
    """Return the non-zero blocks, and more of those that are nearest to their bound."""
    alive, distance = state.alive, state.distance
    size = max(int(GROWTH * state.n_used), state.work_size)
    if size >= alive.size:
        return alive
    return alive[distance <= np.partition(distance, size)[size]]


@leaf
def _screen_blocks(
    problem: Squares, alive: Array, at: Iterate, values: Values, kept: Array, distance: Array
) -> tuple[int, int]:
    """Keep all but the blocks that are zero here, and at the optimum as a safe sphere shows.

    1/2 ||.||^2 is 1-strongly convex, so that the dual optimum is within a radius of s r; a block with
    ||X_g^T rho|| < l1 for all rho that near is zero. The distance of those that are kept is how far s X_g^T r
    is from its bound, in units of r, -1 where w_g is not zero. Returns how many are kept, and how many of
    these are not zero.
    """
    start, members, _, root, _, single = problem.blocks
    l1, fraction = problem.norms.l1, values.fraction
    radius = np.sqrt(2 * max(values.primal + values.rounding - values.dual_of_fraction, 0.0))
    count, n_used = 0, 0
    for k in range(alive.size):
        g = alive[k]
        share = fraction * at.map_norms[g]
        used = at.w[g] != 0 if single else _is_used(members[start[g] : start[g + 1]], at.w)
        if used or share + radius * root[g] >= l1 * (1 - 1e-9):
            kept[count] = g
            distance[count] = -1.0 if used else (l1 - share) / root[g]
            count += 1
            n_used += used
    return count, n_used
