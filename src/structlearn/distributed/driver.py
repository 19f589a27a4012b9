"""The driver: a solver whose step is a round of all workers.

Every worker k brings back a change d_k of w and c_k of the cost of z. What is kept of them is the small
quadratic program that threads solve, too (see `structlearn.solvers.bcfw.rounds`): the dual never decreases.

A certificate is the workers' exact values at the common w, never an estimate. It is made only where w is the
sum of the workers' parts w_k, which their products with a random vector tell. Else, and after a worker was
lost, all agree anew.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.linalg import norm

from structlearn.core.contract import Array
from structlearn.core.rounding import Bound
from structlearn.distributed.spread import SpreadObjective
from structlearn.distributed.worker import PartValues, Piece, RoundAnswer, probe
from structlearn.solvers.bcfw.lead import Lead, Pace
from structlearn.solvers.bcfw.led_weights import LedWeights
from structlearn.solvers.bcfw.rounds import Accumulators, combine, compile_combine
from structlearn.solvers.bcfw.stochastic import balance, first_pace, is_estimated_after
from structlearn.solvers.bcfw.totals import COST as TOTAL_COST
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase

#: Relative rounding of sums over all blocks, far above what they show and far below any inconsistency.
ROUNDING = 1e-8
#: Local work of a round should take this many times as long as sending and waiting.
WORTH = 4.0
FEWEST_ROUNDS, MOST_ROUNDS = 4, 20
#: A pass over blocks worth another visit has this many times fewer rounds: its visits are cheap.
CHEAPER = 10
#: Such passes end when one finds at most this fraction of the gap that the full one saw.
ENOUGH = 0.1
CAUTION_OF_TWO = 1.5
#: How much of the measured times a round replaces.
FORGET = 0.2


class JoinedState(NamedTuple):
    """Arrays are changed in place."""

    w: Array
    #: see the names below
    values: Array
    counts: Array
    #: the fractions of the last round, which the workers commit with the next call
    fractions: Array
    pace: Pace
    #: of the stochastic extragradient (see `JoinedExtragradient`)
    lead: Lead | None = None

    @property
    def oracle_calls(self) -> int:
        return int(self.counts[CALLS])


#: The cost of z; what the gap may be; what the current pass has found of it; seconds of a pass, of overhead.
COST, ESTIMATE, FOUND, WORK, OVERHEAD = range(5)
#: The last round; oracle answers; rounds of a full pass; the next piece of the current pass, of how many, and
#: which pass after the last full one it is.
ROUND, CALLS, ROUNDS, PART, PARTS, AGAIN = range(6)


@dataclass(frozen=True)
class JoinedBlocks(SolverBase[JoinedState]):
    """Block-coordinate Frank-Wolfe on the workers' partitions at once.

    Parameters
    ----------
    rounds : int
        Into how many rounds the first pass is divided.
    repeats : int, optional
        How many passes over blocks that are worth another visit may follow a full one; unless given, as many
        as the workers' blocks allow for.
    adapt : bool
        Whether later passes have fewer or more, by the measured times of work and of sending. Without it
        the iterates depend on the seed and the number of partitions alone.
    """

    rounds: int = 10
    repeats: int | None = None
    adapt: bool = True
    accumulates: ClassVar[bool] = True

    def start(
        self, objective: SpreadObjective, rng: np.random.Generator, warm: Solution | None
    ) -> JoinedState:
        state = JoinedState(
            np.zeros(objective.n_weights),
            np.array([0.0, np.inf, 0.0, 0.0, 0.0]),
            np.array([0, 0, self.rounds, 0, self.rounds, 0]),
            np.zeros(objective.n_workers),
            Pace.of_frank_wolfe(objective.regularization),
        )
        return self.restored(objective, state)

    def restored(self, objective: SpreadObjective, saved: JoinedState) -> JoinedState:
        """Take up whatever the workers have now; what `step` needs is compiled."""
        compile_combine(Accumulators(saved.w, np.zeros(4), saved.w[:0], saved.pace))
        self._agree(objective, saved)
        return saved

    def _agree(self, objective: SpreadObjective, state: JoinedState) -> None:
        """Drop the round under way, if any; w and the cost of z as the sum over partitions."""
        t = int(state.counts[ROUND]) + 1
        v, state.values[COST] = objective.agree(t, state.fractions)
        self._take_up(objective, state, v)
        state.counts[ROUND], state.fractions[:] = t, 0.0
        self._begin_pass(state, again=0)

    def _take_up(self, objective: SpreadObjective, state: JoinedState, v: Array) -> None:
        """w(z) is v, afresh."""
        state.w[:] = v

    @staticmethod
    def _begin_pass(state: JoinedState, again: int) -> None:
        rounds = int(state.counts[ROUNDS])
        state.counts[[PART, PARTS, AGAIN]] = [0, max(1, rounds // CHEAPER) if again else rounds, again]
        state.values[FOUND] = 0.0

    def step(self, objective: SpreadObjective, state: JoinedState, rng: np.random.Generator) -> JoinedState:
        begin = time.perf_counter()
        t = int(state.counts[ROUND]) + 1
        part, parts, again = state.counts[[PART, PARTS, AGAIN]].tolist()
        answers = objective.round(t, state.w, state.fractions, Piece(again > 0, part, parts), state.pace)
        if answers is None:
            self._agree(objective, state)
            return state
        took = time.perf_counter() - begin
        self._join(objective, state, answers)
        if self.adapt:
            self._adapt(state, answers, took)
        if state.counts[PART] == parts:
            return self._next_pass(objective, state, any(one.visits for one in answers))
        return state

    def _next_pass(self, objective: SpreadObjective, state: JoinedState, visited: bool) -> JoinedState:
        """Begin another pass over blocks that are worth it, while the last found enough; then a full one."""
        again, found = int(state.counts[AGAIN]), state.values[FOUND]
        settled = again > 0 and (found <= ENOUGH * state.values[ESTIMATE] or not visited)
        repeats = objective.repeats if self.repeats is None else self.repeats
        self._begin_pass(state, 0 if settled or again == repeats else again + 1)
        return state

    def _join(self, objective: SpreadObjective, state: JoinedState, answers: list[RoundAnswer]) -> None:
        """Keep the best fractions of what the workers have done."""
        changes, scalars = np.stack([one.change for one in answers]), np.zeros((len(answers), 4))
        scalars[:, TOTAL_COST] = [one.gain for one in answers]
        totals = np.zeros(4)
        fractions = combine(changes, scalars, state.pace, state.w, totals, state.w[:0])
        state.values[COST] = sum(one.cost for one in answers) + totals[TOTAL_COST]
        state.values[ESTIMATE] = sum(one.estimate for one in answers)
        state.values[FOUND] += sum(one.found for one in answers)
        state.counts[[ROUND, PART, CALLS]] += [1, 1, sum(one.oracle_calls for one in answers)]
        state.fractions[:] = fractions

    def _adapt(self, state: JoinedState, answers: list[RoundAnswer], took: float) -> None:
        """Set the number of rounds per pass, so that the work of each is worth its sending."""
        longest = max(one.seconds for one in answers)
        now = np.array([longest * state.counts[ROUNDS], took - longest])
        old = state.values[[WORK, OVERHEAD]]
        times = now if old[0] == 0.0 else (1 - FORGET) * old + FORGET * now
        state.values[[WORK, OVERHEAD]] = times
        worth = times[0] / (WORTH * max(times[1], 1e-6))
        state.counts[ROUNDS] = int(np.clip(worth, FEWEST_ROUNDS, MOST_ROUNDS))

    def progress(self, state: JoinedState) -> Progress:
        whole = not state.counts[PART]
        estimate = float(state.values[ESTIMATE]) if whole else np.inf
        return Progress(state.oracle_calls, estimate, pending=bool(state.counts[AGAIN]))

    def candidates(self, objective: SpreadObjective, state: JoinedState) -> list[Candidate]:
        for _ in range(2):
            values = self._values(objective, state)
            state.values[COST] = sum(one.cost for one in values)
            w = self._certified_weights(objective, state)
            primal = objective.primal(w, values)
            dual, square = self._dual(objective, state)
            scale = abs(primal) + abs(dual.value)
            v = self._w_of_z(objective, state)
            if consistent(v, int(state.counts[ROUND]), values, primal - dual.value, scale):
                return [Candidate(w, primal, dual, square)]
            self._agree(objective, state)
        raise RuntimeError("The workers' parts do not add up to w even after all have agreed on them.")

    def _certified_weights(self, objective: SpreadObjective, state: JoinedState) -> Array:
        """Return the weights of which P is taken."""
        return state.w

    def _w_of_z(self, objective: SpreadObjective, state: JoinedState) -> Array:
        return state.w

    def _dual(self, objective: SpreadObjective, state: JoinedState) -> tuple[Bound, float]:
        """Return D of z, or of another known point, and ||w(z)||^2."""
        bound = objective.dual(state.w, state.values[COST], float(state.counts[CALLS]))
        return bound, float(state.w @ state.w)

    def _values(self, objective: SpreadObjective, state: JoinedState) -> list[PartValues]:
        """Return every worker's part of a certificate, with all rounds committed."""
        while True:
            w = self._certified_weights(objective, state)
            values = objective.values(int(state.counts[ROUND]), state.fractions, w)
            if values is not None:
                return values
            self._agree(objective, state)

    def settle(self, objective: SpreadObjective, state: JoinedState) -> tuple[JoinedState, None]:
        self._agree(objective, state)
        return state, None


@dataclass(frozen=True)
class JoinedExtragradient(JoinedBlocks):
    """The stochastic extragradient on the workers' partitions at once: w runs ahead of w(z) at the driver.

    Workers visit blocks at the pace that they are sent, and know nothing else of it. w follows w(z) after
    each round, by as many visits as that had.

    Parameters
    ----------
    smooth : bool
        Whether the loss is, which the pace depends on.
    """

    smooth: bool = False
    accumulates: ClassVar[bool] = False

    def start(
        self, objective: SpreadObjective, rng: np.random.Generator, warm: Solution | None
    ) -> JoinedState:
        state = super().start(objective, rng, warm)._replace(lead=Lead.of(objective.n_weights))
        pace = first_pace(self.smooth) / objective.regularization
        return state._replace(pace=_led_weights(objective, state).set_pace(pace, left=0.0))

    def _take_up(self, objective: SpreadObjective, state: JoinedState, v: Array) -> None:
        if state.lead is None:  # before the start
            state.w[:] = v
            return
        _led_weights(objective, state).anchor_at(v)
        _led_weights(objective, state).forget_means()

    def _join(self, objective: SpreadObjective, state: JoinedState, answers: list[RoundAnswer]) -> None:
        super()._join(objective, state, answers)
        _led_weights(objective, state).follow(sum(one.visits for one in answers))

    def _next_pass(self, objective: SpreadObjective, state: JoinedState, visited: bool) -> JoinedState:
        state = super()._next_pass(objective, state, visited)
        weights, full = _led_weights(objective, state), not state.counts[AGAIN]
        weights.join(state.values[COST], state.values[ESTIMATE], full=full)
        passes = round(state.oracle_calls / objective.n_active)
        if not (full and is_estimated_after(passes)):
            return state
        far = objective.travelled(int(state.counts[ROUND]), state.fractions)
        if far is None:
            self._agree(objective, state)
            return state
        return state._replace(pace=weights.balance_pace(far, balance(self.smooth), passes))

    def _certified_weights(self, objective: SpreadObjective, state: JoinedState) -> Array:
        return _led_weights(objective, state).certified_weights

    def _w_of_z(self, objective: SpreadObjective, state: JoinedState) -> Array:
        return _led_weights(objective, state).w_of_z

    def _dual(self, objective: SpreadObjective, state: JoinedState) -> tuple[Bound, float]:
        return _led_weights(objective, state).dual(state.values[COST], float(state.counts[CALLS]))


def _led_weights(objective: SpreadObjective, state: JoinedState) -> LedWeights:
    assert state.lead is not None  # noqa: S101  (`start` sees to it)
    return LedWeights(objective, state.w, state.lead, state.pace)


def aggregation_of(n_workers: int) -> float:
    """Return how cautious each of several workers should be (see `WorkerSpec`), from measurements.

    Where each counts its steps as those of all, all that they do can be kept (Ma et al. 2015). Two workers
    gain by going part of that way; with four or more, sometimes the one is better, sometimes the other.
    """
    return CAUTION_OF_TWO if n_workers == 2 else 1.0


def consistent(w: Array, t: int, values: list[PartValues], gap: float, scale: float) -> bool:
    """Whether w is the sum of the workers' parts, as far as products show, and the gap is not negative."""
    apart = sum(one.product for one in values) - float(w @ probe(t, w.size))
    size = float(norm(w)) + sum(one.norm for one in values)
    return abs(apart) <= ROUNDING * size and gap >= -ROUNDING * scale
