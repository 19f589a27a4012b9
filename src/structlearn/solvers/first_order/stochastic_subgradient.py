"""Stochastic subgradient descent, one example per step; the averaged perceptron is a case of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array, add_pullback, maximize, score, scoring_workspace, workspace
from structlearn.core.kernels import kernel
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import ExampleBlocks
from structlearn.scoring.erased import ErasedScoring
from structlearn.solvers.bcfw.orders import Order, Permutation
from structlearn.solvers.first_order.steps import ConstantStep, PegasosStep, Schedule, StepRule
from structlearn.solvers.first_order.subgradient import DualAverage
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase
from structlearn.structures.erased import ErasedStructure

# entries of StochasticState.totals; MISTAKES are of this pass, FEWEST of any, BEST_PASS had them first
SCALE, AVERAGE_SCALE, AVERAGE_SHARE, STEPS, COST, MISTAKES, FEWEST, BEST_PASS = range(8)
SMALLEST_SCALE = 1e-9


class StochasticState(NamedTuple):
    """w = SCALE u, average = AVERAGE_SCALE b + AVERAGE_SHARE u: a step only touches its own features."""

    u: Array
    b: Array
    #: sum of p_i Phi_i^T (mu_i - s_i) over this pass's answers
    dual_map: Array
    totals: Array
    #: how often each example was visited in this pass
    visits: Array
    dual_average: DualAverage
    order: Array
    passes: int
    oracle_calls: int


@dataclass(frozen=True)
class StochasticSubgradient(SolverBase[StochasticState]):
    """w <- w - eta_t (lambda w - n p_i Phi_i^T (mu_i - s_i)) for one example i at a time.

    The certificate: a pass's answers, each example's total weight filled up with its gold vertex to the
    largest number of visits, form a dual feasible point (a permutation visits each once: nothing to fill).

    Parameters
    ----------
    step_rule : StepRule
        `PegasosStep` (the default), `ConstantStep` or `DiminishingStep`; by name "pegasos", "constant" or
        "diminishing".
    order : Order
        Which examples a pass visits: `Permutation()`, `Uniform()` or `GapSampling()`; by name "permutation",
        "uniform" or "gap".
    averaging : bool
        Whether to certify, beside the iterates, their average (with weights 1, 2, 3, ...).
    uniform_average : bool
        Whether that average has equal weights instead.
    examples_at_once : int
        How many examples one compiled call visits; time limits and Ctrl-C act between calls.
    """

    step_rule: StepRule = field(default_factory=PegasosStep)
    order: Order = field(default_factory=Permutation)
    averaging: bool = True
    uniform_average: bool = False
    examples_at_once: int = 16384
    resumes: ClassVar[bool] = True

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> StochasticState:
        if warm is not None and isinstance(warm.state, StochasticState):
            return warm.state._replace(oracle_calls=0, order=warm.state.order[:0])
        u = np.zeros(objective.n_weights) if warm is None else warm.w.copy()
        b = u.copy() if self.averaging else np.zeros(0)
        dual_map = np.zeros(u.size)
        visits = np.zeros(objective.scoring.n_examples, dtype=np.int64)
        nothing = objective.active[:0]
        totals = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0, np.inf, 0.0])
        state = StochasticState(u, b, dual_map, totals, visits, DualAverage(np.zeros(u.size)), nothing, 0, 0)
        self._visit(objective, state, nothing)  # compiles
        return state

    def step(self, objective: Objective, state: StochasticState, rng: np.random.Generator) -> StochasticState:
        order = state.order
        if not order.size:
            order = self.order.draw(rng, objective.active, np.ones(state.visits.size))
            state.totals[MISTAKES] = 0.0
        now, later = order[: self.examples_at_once], order[self.examples_at_once :]
        self._visit(objective, state, now)
        state = state._replace(order=later, oracle_calls=state.oracle_calls + now.size)
        return state if later.size else self._close_pass(state)

    @staticmethod
    def _close_pass(state: StochasticState) -> StochasticState:
        """Fold the pass's answers into the dual average, later passes with larger weights."""
        most = float(state.visits.max())
        passes = state.passes + 1
        average = state.dual_average.add(state.dual_map / most, state.totals[COST] / most, passes)
        state.dual_map[:] = 0.0
        state.totals[COST] = 0.0
        state.visits[:] = 0
        if state.totals[MISTAKES] < state.totals[FEWEST]:
            state.totals[[FEWEST, BEST_PASS]] = state.totals[MISTAKES], passes
        return state._replace(dual_average=average, passes=passes)

    def _visit(self, objective: Objective, state: StochasticState, order: Array) -> None:
        problem = objective.blocks, objective.regularization, objective.n_active
        schedule = self.step_rule.schedule(objective)
        objective.run_pass(subgradient_pass, problem, schedule, self.uniform_average, order, state[:5])

    def candidates(self, objective: Objective, state: StochasticState) -> list[Candidate]:
        totals = state.totals
        found = [Candidate(totals[SCALE] * state.u, dual=state.dual_average.value(objective))]
        if self.averaging and totals[STEPS]:
            average = totals[AVERAGE_SCALE] * state.b + totals[AVERAGE_SHARE] * state.u
            found.append(Candidate(average))
        return found


@dataclass(frozen=True)
class Perceptron(StochasticSubgradient):
    """The averaged structured perceptron (Collins 2002): w <- w + Phi_i^T (mu_i - s_i) wherever s_i is wrong.

    Runs on an objective without regulariser and cost, of which w = 0 is a minimiser: there is nothing to
    certify. Done when a whole pass makes no mistake, or `patience` passes bring no fewer.

    Parameters
    ----------
    averaging : bool
        Whether to answer with the average of the iterates.
    patience : int
        Passes without fewer mistakes after which it ends.
    """

    step_rule: StepRule = field(default_factory=lambda: ConstantStep(1.0))
    uniform_average: bool = True
    patience: int = 10
    not_options: ClassVar[frozenset[str]] = frozenset({"step_rule", "uniform_average"})
    certifies: ClassVar[bool] = False

    def progress(self, state: StochasticState) -> Progress:
        if state.passes == 0 or state.order.size:
            return Progress(state.oracle_calls)
        if state.totals[MISTAKES] == 0:
            return Progress(state.oracle_calls, finished="Converged: a whole pass made no mistake.")
        if state.passes - state.totals[BEST_PASS] >= self.patience:
            fewest = int(state.totals[FEWEST])
            done = f"Converged: {self.patience} passes brought no fewer mistakes than {fewest} examples."
            return Progress(state.oracle_calls, finished=done)
        return Progress(state.oracle_calls)

    def candidates(self, objective: Objective, state: StochasticState) -> list[Candidate]:
        return super().candidates(objective, state)[-1:]


@kernel
def _rescale(x: Array, scale: float) -> None:
    for j in range(x.size):
        x[j] = scale * x[j] if scale != 0.0 else 0.0


@kernel
def subgradient_pass(
    structure: ErasedStructure,
    scoring: ErasedScoring,
    problem: tuple[ExampleBlocks, float, int],
    schedule: Schedule,
    uniform_average: bool,
    order: Array,
    sums: tuple[Array, Array, Array, Array, Array],
) -> None:
    """Step on the examples of `order`; `problem` is the blocks, lambda and n, `sums` what steps change."""
    blocks, regularization, n_active = problem
    u, b, dual_map, totals, visits = sums
    work = workspace(structure, blocks.largest)
    tools = scoring_workspace(scoring)
    n_shared = scoring.n_shared
    shared = np.empty(n_shared)
    scores = np.empty(blocks.most_parts)
    vertices = np.empty(blocks.most_parts + n_shared)
    for q in range(order.size):
        i = order[q]
        first = blocks.start[i]
        size = blocks.start[i + 1] - first
        p = blocks.weight[i]
        cost = blocks.cost[first : first + size]
        theta = scores[:size]
        delta = vertices[: size + n_shared]
        # s = argmax <theta + c, s> at w = SCALE u
        score(scoring, i, u, tools, theta)
        for j in range(size):
            theta[j] = totals[SCALE] * theta[j] + cost[j]
        for j in range(n_shared):
            shared[j] = totals[SCALE] * u[u.size - n_shared + j]
        maximize(structure, (blocks.shapes[i, 0], blocks.shapes[i, 1]), theta, shared, work, delta)
        # delta = s - mu, and what it costs
        for e in range(blocks.gold_start[i], blocks.gold_start[i + 1]):
            delta[blocks.gold_index[e]] -= blocks.gold_value[e]
        wrong = False
        paid = 0.0
        for j in range(size):
            paid += cost[j] * delta[j]
            wrong = wrong or delta[j] != 0.0
        visits[i] += 1
        totals[COST] += p * paid
        totals[MISTAKES] += 1.0 if wrong else 0.0
        # w <- (1 - eta lambda) w - eta n p delta
        totals[STEPS] += 1.0
        t = totals[STEPS]
        eta = schedule.numerator / t**schedule.power
        totals[SCALE] *= 1.0 - eta * regularization
        if abs(totals[SCALE]) < SMALLEST_SCALE:
            if b.size:
                # the average is AVERAGE_SCALE b + AVERAGE_SHARE u: write it out before u changes its meaning
                for j in range(b.size):
                    b[j] = totals[AVERAGE_SCALE] * b[j] + totals[AVERAGE_SHARE] * u[j]
                totals[AVERAGE_SCALE] = 1.0
                totals[AVERAGE_SHARE] = 0.0
            _rescale(u, totals[SCALE])
            totals[SCALE] = 1.0
        if wrong:
            length = -eta * n_active * p / totals[SCALE]
            add_pullback(scoring, i, delta, length, u, tools)
            if regularization > 0.0:
                add_pullback(scoring, i, delta, -p, dual_map, tools)
            if b.size and totals[AVERAGE_SHARE] != 0.0:
                add_pullback(
                    scoring, i, delta, -length * totals[AVERAGE_SHARE] / totals[AVERAGE_SCALE], b, tools
                )
        if b.size:
            # average <- (1 - rho) average + rho w
            rho = 1.0 / t if uniform_average else 2.0 / (t + 1.0)
            totals[AVERAGE_SCALE] *= 1.0 - rho
            totals[AVERAGE_SHARE] = (1.0 - rho) * totals[AVERAGE_SHARE] + rho * totals[SCALE]
            if totals[AVERAGE_SCALE] < SMALLEST_SCALE:
                _rescale(b, totals[AVERAGE_SCALE])
                totals[AVERAGE_SCALE] = 1.0
