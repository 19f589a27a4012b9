"""L-BFGS (Liu and Nocedal 1989) for smooth losses with the squared norm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective, Predictions
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase
from structlearn.solvers.states import misfit

SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.9  # the constants of the weak Wolfe conditions
MOST_TRIALS = 120  # of step lengths, each at least half of the one before: features may have any scale
AT_THE_LIMIT = (
    "Stopped at the limit of rounding: no step along the search direction lowers the objective; scale the "
    "features, or raise tol."
)
MOST_LONGER = 100.0  # times that a trial may be longer than the one before, when steps are too short


class LBFGSState(NamedTuple):
    """An iterate, what is known there, and the last steps with their changes of gradient."""

    w: Array
    here: Predictions
    steps: tuple[Array, ...]
    changes: tuple[Array, ...]
    oracle_calls: int
    finished: str = ""

    def pairs_with(
        self, step: Array, change: Array, memory: int
    ) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Return the last steps and changes with one more of each, unless rounding hides its curvature."""
        if memory == 0:
            return (), ()
        if float(step @ change) <= 1e-16 * float(change @ change):
            return self.steps, self.changes
        first = max(len(self.steps) - memory + 1, 0)
        return (*self.steps[first:], step), (*self.changes[first:], change)


@dataclass(frozen=True)
class LBFGS(SolverBase[LBFGSState]):
    """Quasi-Newton steps with a weak Wolfe line search by bisection.

    The certificate is free: the predictions z at w form a dual point, whose gap is sum_i p_i times the
    Bregman divergences between them and the point that w belongs to.

    Parameters
    ----------
    memory : int
        How many past steps shape the next one.
    """

    memory: int = 10
    needs: ClassVar[frozenset[str]] = frozenset({"gradient"})
    takes_all_at_once: ClassVar[bool] = True

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> LBFGSState:
        w = np.zeros(objective.n_weights) if warm is None else warm.w.copy()
        return LBFGSState(w, objective.predictions(w), (), (), objective.n_active)

    def restored(self, objective: Objective, state: LBFGSState) -> LBFGSState:
        """Return the state as it was; the pairs that shape the next step must have a curvature above zero."""
        sizes = {array.shape for array in (*state.steps, *state.changes)}
        if len(state.steps) != len(state.changes) or sizes - {state.w.shape}:
            raise misfit()
        if any(float(step @ change) <= 0.0 for step, change in zip(state.steps, state.changes)):
            raise misfit()
        return state

    def step(self, objective: Objective, state: LBFGSState, rng: np.random.Generator) -> LBFGSState:
        gradient = gradient_at(objective, state.w, state.here)
        direction = -apply_inverse(gradient, state.steps, state.changes)
        slope = float(gradient @ direction)
        low, high = 0.0, np.inf
        length = 1.0 if state.steps else min(1.0, 1.0 / max(float(np.abs(gradient).sum()), 1e-300))
        trials = 0
        while True:
            w = state.w + length * direction
            here = objective.predictions(w)
            trials += 1
            after = gradient_at(objective, w, here)
            if here.primal > state.here.primal + SUFFICIENT_DECREASE * length * slope:
                high = length
            elif (there := float(after @ direction)) < CURVATURE * slope:
                low = length
            else:
                break
            if trials >= MOST_TRIALS:
                break
            length = (low + high) / 2 if np.isfinite(high) else _lengthen(length, slope, there)
        oracle_calls = state.oracle_calls + trials * objective.n_active
        if here.primal >= state.here.primal:
            return state._replace(oracle_calls=oracle_calls, finished=AT_THE_LIMIT)
        kept = state.pairs_with(w - state.w, after - gradient, self.memory)
        return LBFGSState(w, here, *kept, oracle_calls)

    def progress(self, state: LBFGSState) -> Progress:
        return Progress(state.oracle_calls, 0.0, state.finished)

    def candidates(self, objective: Objective, state: LBFGSState) -> list[Candidate]:
        return [candidate_from(objective, state.w, state.here)]


def _lengthen(length: float, slope: float, there: float) -> float:
    """Return a longer step: where the slope would vanish by the secant, 2 to `MOST_LONGER` times as long."""
    times = slope / (slope - there) if there > slope else MOST_LONGER
    return min(max(times, 2.0), MOST_LONGER) * length


def candidate_from(objective: Objective, w: Array, here: Predictions) -> Candidate:
    """Make the certificate that comes with the predictions at w."""
    return Candidate(w, here.primal, objective.dual_of_map(here.dual_map, here.cost))


def gradient_at(objective: Objective, w: Array, here: Predictions) -> Array:
    return objective.regularization * w - here.dual_map


def apply_inverse(
    gradient: Array,
    steps: tuple[Array, ...],
    changes: tuple[Array, ...],
    first: Callable[[Array], Array] | None = None,
) -> Array:
    """Multiply the gradient by the inverse Hessian estimate, by the two-loop recursion.

    `first` multiplies by the estimate that the steps correct: a multiple of the identity unless given.
    """
    q = gradient.copy()
    fractions = []
    for step, change in zip(reversed(steps), reversed(changes)):
        fraction = float(step @ q) / float(step @ change)
        fractions.append(fraction)
        q -= fraction * change
    if first is not None:
        q = first(q)
    elif steps:
        q *= float(steps[-1] @ changes[-1]) / float(changes[-1] @ changes[-1])
    for step, change, fraction in zip(steps, changes, reversed(fractions)):
        q += (fraction - float(change @ q) / float(step @ change)) * step
    return q
