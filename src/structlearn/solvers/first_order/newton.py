"""Newton's method for the softmax loss of single rows, whose scores are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.kept_scores import KeptScores, OnLine, SavedScores
from structlearn.problem.objective import Objective
from structlearn.solvers.first_order.curvature import Curvature, estimate_curvature
from structlearn.solvers.first_order.lbfgs import (
    AT_THE_LIMIT,
    LBFGS,
    LBFGSState,
    apply_inverse,
    candidate_from,
    gradient_at,
)
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase
from structlearn.solvers.states import misfit

#: A step length will do where the slope is at most this share of that at the beginning.
FLAT = 0.25
#: The most step lengths that are tried: features may have any scale.
MOST_TRIALS = 100
#: A sample is enlarged where a step leaves more than this share of the squared gradient, in its own metric.
SLOW = 0.3


class NewtonState(NamedTuple):
    """What L-BFGS keeps, the scores at w, and the estimate of the curvature."""

    inner: LBFGSState
    scores: KeptScores
    curvature: Curvature
    #: <gradient, (H + lambda I)^-1 gradient> before the last step; very large before the first
    decrement: float = 1e300

    @property
    def oracle_calls(self) -> int:
        return self.inner.oracle_calls


class SavedNewton(NamedTuple):
    """What a checkpoint holds of a state."""

    inner: LBFGSState
    scores: SavedScores
    curvature: float
    decrement: float


@dataclass(frozen=True)
class Newton(SolverBase[NewtonState]):
    """Newton's steps by an estimate of the curvature, with line searches on scores that are kept.

    1. p = -(H + lambda I)^-1 gradient, where H is the Hessian of a sample of the rows if weights are few, and
       else made of second moments of the columns, or of their diagonal, and corrected by the last steps as in
       L-BFGS
    2. X p, one product; then a root of P'(w + s p), for a few exponentials per row and trial
    3. the gradient there, one product

    The certificate is free, as in L-BFGS.

    Parameters
    ----------
    memory : int
        How many past steps correct an estimate that is not a Hessian.
    """

    memory: int = 10
    needs: ClassVar[frozenset[str]] = frozenset({"rows"})
    takes_all_at_once: ClassVar[bool] = True

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> NewtonState:
        w = np.zeros(objective.n_weights) if warm is None else warm.w.copy()
        scores = KeptScores(objective, w)
        here = scores.predictions(scores.at(0.0))
        inner = LBFGSState(w, here, (), (), objective.n_active)
        return NewtonState(inner, scores, estimate_curvature(objective))

    def saved(self, objective: Objective, state: NewtonState) -> Any:
        return SavedNewton(state.inner, state.scores.saved(), state.curvature.saved(), state.decrement)

    def restored(self, objective: Objective, saved: Any) -> NewtonState:
        inner = LBFGS().restored(objective, saved.inner)
        scores, curvature = KeptScores(objective, inner.w), estimate_curvature(objective)
        if not (scores.restore(saved.scores) and curvature.restore(saved.curvature)):
            raise misfit()
        return NewtonState(inner, scores, curvature, saved.decrement)

    def step(self, objective: Objective, state: NewtonState, rng: np.random.Generator) -> NewtonState:
        inner, scores, curvature, before = state
        gradient = gradient_at(objective, inner.w, inner.here)
        curvature.update(scores)
        direction = -self._apply_inverse(curvature, gradient, inner)
        decrement = -float(gradient @ direction)
        if curvature.is_current and decrement > SLOW * before:
            curvature.refine()
        scores.aim(direction)
        line = Line(scores, inner.w, direction, objective.regularization, inner.here.primal, -decrement)
        length, found, trials = line.search()
        oracle_calls = inner.oracle_calls + trials * objective.n_active
        if found is None:
            done = inner._replace(oracle_calls=oracle_calls, finished=AT_THE_LIMIT)
            return NewtonState(done, scores, curvature)
        scores.move(length)
        here = scores.predictions(found)
        step, change = scores.w - inner.w, gradient_at(objective, scores.w, here) - gradient
        kept = inner.pairs_with(step, change, 0 if curvature.is_current else self.memory)
        return NewtonState(LBFGSState(scores.w, here, *kept, oracle_calls), scores, curvature, decrement)

    def _apply_inverse(self, curvature: Curvature, gradient: Array, inner: LBFGSState) -> Array:
        """Multiply the gradient by the inverse of the estimate, corrected by the last steps."""
        scale = curvature.scale
        if inner.steps:
            step, change = inner.steps[-1], inner.changes[-1]
            bent = float(step @ change) - curvature.strength * float(step @ step)
            scale = max(bent / float(step @ curvature.multiply(step)), LEAST_SCALE * scale)
        return apply_inverse(
            gradient, inner.steps, inner.changes, lambda v: curvature.apply_inverse(v, scale)
        )

    def progress(self, state: NewtonState) -> Progress:
        return Progress(state.oracle_calls, 0.0, state.inner.finished)

    def candidates(self, objective: Objective, state: NewtonState) -> list[Candidate]:
        return [candidate_from(objective, state.inner.w, state.inner.here)]


#: The least scale of an estimate, relative to that at w = 0.
LEAST_SCALE = 1e-6


@dataclass(frozen=True)
class Line:
    """P along w + s p, for 0 <= s."""

    scores: KeptScores
    w: Array
    direction: Array
    strength: float
    primal: float
    slope: float

    def search(self) -> tuple[float, OnLine | None, int]:
        """Return a length at which the slope is nearly zero, what is there, and the number of trials.

        Newton's method for P' = 0 inside a bracket. None where no length lowers P.
        """
        square = self.strength * float(self.direction @ self.direction)
        across = self.strength * float(self.w @ self.direction)
        fixed = self.strength / 2 * float(self.w @ self.w)
        low, high, length = 0.0, np.inf, 1.0
        for trial in range(1, MOST_TRIALS + 1):
            found = self.scores.at(length)
            slope = found.slope + across + length * square
            value = found.losses + fixed + length * across + length * length * square / 2
            lower = value < self.primal
            if lower and (abs(slope) <= -FLAT * self.slope or trial > MOST_TRIALS / 2):
                return length, found, trial
            if slope > 0 or not lower:
                high = length
            else:
                low = length
            length = _between(low, high, length, slope / (found.bend + square))
            if not low < length < high:
                break
        return 0.0, None, trial


def _between(low: float, high: float, length: float, step: float) -> float:
    """Return Newton's next length, unless that is outside the bracket or hardly inside."""
    aim = length - step
    if np.isinf(high):
        return min(aim, 10.0 * length) if aim > low else 2.0 * length
    margin = 0.05 * (high - low)
    return aim if low + margin < aim < high - margin else (low + high) / 2
