"""Block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013), with z kept in part space.

With a smooth Omega the same pass is stochastic dual coordinate ascent (Shalev-Shwartz and Zhang 2013; for
CRFs Le Priol et al. 2018): the vertex becomes the marginals or the projection, and a scalar h_i a block keeps
a lower bound of -Omega(z_i), since the entropy cannot be computed from summed transitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array, strong_convexity
from structlearn.problem.objective import Objective
from structlearn.problem.regularizers import Regularizer
from structlearn.solvers.bcfw.dense_rounds import Snapshot
from structlearn.solvers.bcfw.exact_blocks import Shrinking, exact_pass, steepness
from structlearn.solvers.bcfw.orders import Order, Permutation
from structlearn.solvers.bcfw.plain_pass import plain_pass, smooth_start
from structlearn.solvers.bcfw.rounds import (
    Commit,
    Trial,
    Visit,
    attempt,
    round_size,
    rounds_of,
    run_nothing,
    run_round,
)
from structlearn.solvers.bcfw.saved_blocks import check_blocks
from structlearn.solvers.bcfw.totals import CACHED_GAP, COST, LAG_COST, STEPS
from structlearn.solvers.loop import Candidate, Progress
from structlearn.solvers.solution import Solution

_NOTHING = np.empty(0, dtype=np.int64)
#: A round of fewer visits a thread takes longer to start than to play; exact ones are quick.
LEAST_VISITS = 128
LEAST_EXACT_VISITS = 1024
#: Passes over the blocks that are active, between two full ones on a cluster.
MOST_REPEATS = 10


class State(NamedTuple):
    """w = w(z) throughout. Arrays are changed in place, so that an interruption loses nothing."""

    w: Array
    #: the dual point: dense or, for `ActiveBlocks`, an `ActiveSet`
    z: Any
    #: weighted block gaps p_i g_i when last visited
    gaps: Array
    #: scalars, see `structlearn.solvers.bcfw.totals`
    totals: Array
    #: lower bounds of -Omega(z_i); empty where Omega is zero
    h: Array
    #: what the weighted average of the iterates lags behind w, times T (T + 1) / 2; empty without averaging
    lag: Array
    #: what is left of the current pass
    order: Array
    oracle_calls: int = 0
    #: the number of the current cached pass; zero in a pass with the oracle
    cached: int = 0
    #: p ||x_i||^2 of each block where steps are exact, else empty
    steep: Array = _NOTHING
    #: between full passes of exact steps, the rounds over active blocks
    focus: Shrinking = Shrinking.nothing(_NOTHING)


@dataclass(frozen=True)
class DensePoint:
    """A dense dual point; with a smooth Omega, lower bounds h_i of -Omega(z_i)."""

    z: Array
    h: Array
    regularizer: Regularizer
    #: where each example begins
    point_start: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.z.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.z, dtype=dtype, copy=copy)


@dataclass(frozen=True)
class BlockFrankWolfe:
    """For one block at a time, a step towards the oracle's vertex, with the exact step length.

    Parameters
    ----------
    order : Order
        Which blocks a pass visits: `Permutation()`, `Uniform()` or `GapSampling()`.
    averaging : bool
        Whether to certify, beside the iterates, their average weighted by 1, 2, 3, ...
    exact : bool
        Whether to maximise over each block exactly where that is a projection (see `exact_blocks`).
    focus : float
        With exact steps, how many passes' worth of visits may follow each full pass to go to blocks that had
        a gap when last visited, alone; 0 makes every pass a full one.
    smoothing : float, optional
        With the entropy, how far from the gold vertex, where its slope is infinite, towards uniform z starts;
        unless given, as far as is best for the dual, which is then positive from the start.
    examples_at_once : int
        How many examples one compiled call visits; time limits and Ctrl-C act between calls.
    rounds : int
        With several threads, how often a pass joins what they have done (see `rounds`).
    """

    order: Order = field(default_factory=Permutation)
    averaging: bool = False
    exact: bool = True
    focus: float = 8.0
    smoothing: float | None = None
    examples_at_once: int = 16384
    rounds: int = 80
    certifies: ClassVar[bool] = True
    accumulates: ClassVar[bool] = True

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> State:
        z, h, w, cost = self._first_point(objective, warm)
        state = self._first_state(objective, z, w, cost, h)
        if self.exact and objective.has_exact_blocks:
            state = state._replace(steep=steepness(objective.scoring.for_pass(steepness), objective.blocks))
        return self.restored(objective, state)

    def saved(self, objective: Objective, state: State) -> State:
        """The state as it is written to a checkpoint."""
        return state

    def restored(self, objective: Objective, state: State) -> State:
        """The state as it was, checked; what `step` needs is compiled."""
        check_blocks(objective, state)
        nothing = objective.active[:0]
        (self._maximize if state.steep.size else self._visit)(objective, state, nothing)
        if objective.n_jobs > 1:
            before = Snapshot.of(objective, state.z, state.h, nothing)
            run_nothing(state, lambda: before.keep(objective, state.z, state.h, 0.5))
        return state

    def _first_state(self, objective: Objective, z: Any, w: Array, cost: float, h: Array) -> State:
        gaps = np.zeros(objective.scoring.n_examples)
        gaps[objective.active] = np.inf
        totals = np.array([cost, 0.0, 0.0, 0.0])
        return State(w, z, gaps, totals, h, np.zeros(w.size if self.averaging else 0), objective.active[:0])

    def _first_point(self, objective: Objective, warm: Solution | None) -> tuple[Array, Array, Array, float]:
        """z, h, w(z) and the cost of z: from mu towards another run's point, or towards argmin Omega.

        The latter where Omega is steep at vertices. With w_1 = w(uniform), D at a share s of the way is at
        least s mean_i log |Y_i| - s^2 lambda/2 ||w_1||^2, whose best s is taken.
        """
        before = None if warm is None else self._warm_point(objective, warm)
        z, h = before or (objective.gold_point(), np.zeros(self._n_bounds(objective)))
        steep = bool(h.size) and not strong_convexity(objective.oracle.record)
        if before is None and h.size:
            self._fill(objective, 1.0 if steep else 0.0, z, h)
        if before is None and not steep:
            return z, h, np.zeros(objective.n_weights), 0.0
        w, cost = self._afresh(objective, z, h)
        if before is not None and warm is not None:
            fraction = warm.fraction(objective, w, cost)
        else:
            fraction = objective.best_fraction(w, cost) if self.smoothing is None else self.smoothing
        self._shrink(objective, fraction, z, h)
        return z, h, fraction * w, fraction * cost

    @staticmethod
    def _n_bounds(objective: Objective) -> int:
        return objective.scoring.n_examples if objective.regularizer.smooth else 0

    def _warm_point(self, objective: Objective, warm: Solution) -> tuple[Array, Array] | None:
        """Another run's z, with bounds h where Omega needs them; None if there is none that fits."""
        if not warm.fits(objective):
            return None
        z = np.asarray(warm.point)
        if not objective.regularizer.smooth:
            return z.copy(), np.empty(0)
        if getattr(warm.point, "regularizer", None) == objective.regularizer:
            return z.copy(), warm.point.h.copy()
        h = self._bounds(objective, z)
        return None if h is None else (z.copy(), h)

    @staticmethod
    def _shrink(objective: Objective, fraction: float, z: Array, h: Array) -> None:
        """z <- mu + share (z - mu), and h with it: -Omega is concave."""
        if fraction == 1.0:
            return
        z *= fraction
        z += (1.0 - fraction) * objective.gold_point()
        if h.size:
            omega = objective.regularizer.of_gold(objective.gold, np.diff(objective.scoring.start))
            h *= fraction
            h -= (1.0 - fraction) * omega

    def _bounds(self, objective: Objective, z: Array) -> Array | None:
        """-Omega(z_i), where it can be told from the parts."""
        if strong_convexity(objective.oracle.record):
            h = np.zeros(objective.scoring.n_examples)
            self._fill(objective, 0.0, z, h)
            return h
        terms = objective.regularizer.terms(objective.structure, z)
        return None if terms is None else -np.add.reduceat(terms, objective.point_start[:-1])

    @staticmethod
    def _fill(objective: Objective, fraction: float, z: Array, h: Array) -> None:
        n_shared = objective.scoring.n_shared
        objective.oracle.run(smooth_start, objective.blocks, n_shared, fraction, z, h)

    @staticmethod
    def _afresh(objective: Objective, z: Array, h: Array) -> tuple[Array, float]:
        """w(z) and the cost of z, without what rounding has added up."""
        w, cost = objective.weights_of(z)
        return w, cost + (float(objective.weight @ h) + objective.gold_omega if h.size else 0.0)

    def step(self, objective: Objective, state: State, rng: np.random.Generator) -> State:
        if state.steep.size:
            return self._exact_step(objective, state, rng)
        order = state.order if state.order.size else self.draw(objective, state, rng)
        now, later = order[: self.examples_at_once], order[self.examples_at_once :]
        self._visit(objective, state, now)
        return state._replace(order=later, oracle_calls=state.oracle_calls + now.size)

    def _exact_step(self, objective: Objective, state: State, rng: np.random.Generator) -> State:
        """A piece of a full pass, or of the rounds that follow it; it ends where a whole pass does."""
        room = min(self.examples_at_once, objective.n_active - state.oracle_calls % objective.n_active)
        active, goal, left = state.focus
        if active.size and left:
            seed = int(rng.integers(1 << 62))
            visits, active = self._focus(objective, state, min(room, left), seed)
            focus = Shrinking(active, goal, left - visits)
            return state._replace(oracle_calls=state.oracle_calls + visits, focus=focus)
        order = state.order if state.order.size else self.draw(objective, state, rng)
        now, later = order[:room], order[room:]
        self._full_pass(objective, state, now)
        focus = state.focus
        if not later.size:
            focus = Shrinking.after_full_pass(objective.active, state.gaps, self.focus, rng)
        return state._replace(order=later, oracle_calls=state.oracle_calls + now.size, focus=focus)

    def _focus(self, objective: Objective, state: State, room: int, seed: int) -> tuple[int, Array]:
        """At most `room` visits to active blocks: how many were made, and what is active after them.

        Several threads go over them once, sharing out what is worth it.
        """
        active, goal, _ = state.focus
        if objective.n_jobs == 1 or active.size < LEAST_EXACT_VISITS * objective.n_jobs:
            visits, n_active = self._maximize(objective, state, active, room, goal, seed)
            return visits, active[:n_active]
        now, later = active[:room], active[room:]
        self._full_pass(objective, state, now)
        found = now[state.gaps[now] > 0.0]
        if not later.size and float(state.gaps[found].sum()) <= goal:
            return now.size, now[:0]
        return now.size, np.concatenate([later, np.random.default_rng(seed).permutation(found)])

    def _full_pass(self, objective: Objective, state: State, order: Array) -> None:
        """One exact maximisation for each block of `order`."""
        if objective.n_jobs == 1:
            self._maximize(objective, state, order)
            return
        for now in rounds_of(order, round_size(objective, self.rounds, LEAST_EXACT_VISITS)):
            run_round(objective, state, now, self._visitor(objective, state))

    def draw(self, objective: Objective, state: State, rng: np.random.Generator) -> Array:
        """The blocks of the next pass."""
        return self.order.draw(rng, objective.active, state.gaps)

    @property
    def repeats(self) -> int:
        """How many passes over `draw_again` are worth it after a full one."""
        return MOST_REPEATS if self.exact and self.focus else 0

    def draw_again(self, objective: Objective, state: State, rng: np.random.Generator) -> Array:
        """Blocks worth another visit before the next full pass; with exact steps, those active, if few."""
        if not state.steep.size:
            return objective.active[:0]
        return Shrinking.after_full_pass(objective.active, state.gaps, self.focus, rng).active

    def attempt(self, objective: Objective, state: State, order: Array, w: Array, again: bool) -> Trial:
        """Visit distinct blocks at any w, not just w(z): what that changes, of which a share may be kept.

        The blocks are of `draw` or, where `again`, of `draw_again`; then the totals tell the gap that was
        found. The state's w and totals stay; its blocks have moved until the trial is kept or not.
        """
        trial = attempt(objective, order, self._visitor(objective, state), w)
        trial.totals[CACHED_GAP] = state.gaps[order].sum()
        return trial

    def oracle_calls_of(self, objective: Objective, visits: int, again: bool) -> int:
        """How often so many visits ask the oracle."""
        return visits

    def _visitor(self, objective: Objective, state: State) -> Visit:
        """Visits blocks so that a share of their way can be kept."""

        def visit(order: Array, w: Array, totals: Array) -> Commit:
            before = Snapshot.of(objective, state.z, state.h, order)
            own = state._replace(w=w, totals=totals, lag=w[:0])
            if state.steep.size:
                self._maximize(objective, own, order.copy())
            else:
                self._plain(objective, own, order)
            return lambda fraction: before.keep(objective, state.z, state.h, fraction)

        return visit

    @staticmethod
    def _maximize(
        objective: Objective,
        state: State,
        order: Array,
        room: int | None = None,
        goal: float = np.inf,
        seed: int = 0,
    ) -> tuple[int, int]:
        """Visits made and blocks left active by `exact_pass`; one round unless there is a finite goal."""
        return objective.oracle.run(
            exact_pass,
            *_problem(objective, exact_pass),
            state.steep,
            order,
            order.size if room is None else room,
            goal,
            seed,
            *state[:6],
        )

    def _visit(self, objective: Objective, state: State, order: Array) -> None:
        if objective.n_jobs == 1 or not order.size:
            self._plain(objective, state, order)
            return
        for now in rounds_of(order, round_size(objective, self.rounds, LEAST_VISITS)):
            run_round(objective, state, now, self._visitor(objective, state))

    @staticmethod
    def _plain(objective: Objective, state: State, order: Array) -> None:
        objective.oracle.run(plain_pass, *_problem(objective, plain_pass), order, *state[:6])

    def progress(self, state: State) -> Progress:
        estimate = float(state.gaps.sum()) if not state.order.size else np.inf
        return Progress(state.oracle_calls, estimate, pending=state.cached > 0)

    def candidates(self, objective: Objective, state: State) -> list[Candidate]:
        pairs = [(state.w, state.totals[COST])]
        steps = state.totals[STEPS]
        if self.averaging and steps:
            scale = 2.0 / (steps * (steps + 1))
            w = state.w - scale * state.lag
            pairs.append((w, state.totals[COST] - scale * state.totals[LAG_COST]))
        return [Candidate(w, None, objective.dual(w, cost, steps), float(w @ w)) for w, cost in pairs]

    def settle(self, objective: Objective, state: State) -> tuple[State, Any]:
        """w, h and the cost afresh from z: no drift of rounding, no half-made step."""
        if state.h.size and strong_convexity(objective.oracle.record):
            state.h[:] = 0.0
            self._fill(objective, 0.0, state.z, state.h)
        w, state.totals[COST] = self._afresh(objective, state.z, state.h)
        point = DensePoint(state.z, state.h, objective.regularizer, objective.point_start)
        nothing = state.order[:0]
        return state._replace(w=w, order=nothing, focus=Shrinking.nothing(nothing)), point


@dataclass(frozen=True)
class ExactBlocks(BlockFrankWolfe):
    """Coordinate ascent: the dual is maximised over one block at a time, which must be a projection.

    For one switch an example (`Cube(1)`) a block is a box: the coordinate descent of Hsieh et al. 2008.
    """

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> State:
        if not objective.has_exact_blocks:
            raise ValueError(
                "Solver 'coordinate-ascent' needs one row of features an example and no shared parts (binary "
                "and multiclass problems); use solver='bcfw'."
            )
        return super().start(objective, rng, warm)


def _problem(objective: Objective, function: Any) -> tuple[Any, Any, float]:
    """What a pass is told of the problem, beside the structure."""
    return objective.scoring.for_pass(function), objective.blocks, objective.regularization
