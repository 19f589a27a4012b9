"""Newton's method for sparse penalties on the softmax loss of single rows, on working sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import Bound
from structlearn.problem.kept_scores import KeptScores
from structlearn.problem.objective import Objective, Predictions
from structlearn.problem.penalties import ElasticNet, GroupNorm
from structlearn.solvers.first_order.lbfgs import AT_THE_LIMIT
from structlearn.solvers.first_order.model_descent import ColumnReader, Strengths, descend, model_at
from structlearn.solvers.registry import NORMS
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase

#: The least number of features in a working set, also as a share of all, and how many times those in use.
SMALLEST, SHARE, GROWTH = 50, 0.02, 2
#: A step must bring this share of the decrease that the model promises, and is halved at most so often.
SUFFICIENT_DECREASE, MOST_HALVINGS = 1e-4, 40


class ProximalNewtonState(NamedTuple):
    """An iterate and what is known there."""

    w: Array
    here: Predictions
    dual: Bound
    scores: KeptScores
    columns: ColumnReader
    oracle_calls: int
    finished: str = ""


class SavedState(NamedTuple):
    """What a checkpoint holds of it: the rest follows from w."""

    w: Array
    oracle_calls: int
    finished: str = ""


@dataclass(frozen=True)
class ProximalNewton(SolverBase[ProximalNewtonState]):
    """Proximal Newton steps on working sets (Lee, Sun and Saunders 2014; Massias, Gramfort and Salmon 2018).

    1. the working set: features in use, and those whose u_j is nearest to entering
    2. coordinate descent on R(w + p) plus the second-order model of the losses, over the working set
    3. X p, one product; then step lengths 1, 1/2, ... at a few exponentials per row
    4. u for all features, one product, and with it the certificate
    """

    needs: ClassVar[frozenset[str]] = frozenset({"rows"})
    penalties: ClassVar[tuple[str, ...]] = NORMS
    takes_all_at_once: ClassVar[bool] = True

    def start(
        self, objective: Objective, rng: np.random.Generator, warm: Solution | None
    ) -> ProximalNewtonState:
        w = np.zeros(objective.n_weights) if warm is None else warm.w.copy()
        return _look(objective, w, objective.n_active, "")

    def saved(self, objective: Objective, state: ProximalNewtonState) -> Any:
        return SavedState(state.w, state.oracle_calls, state.finished)

    def restored(self, objective: Objective, saved: Any) -> ProximalNewtonState:
        return _look(objective, saved.w, saved.oracle_calls, saved.finished)

    def step(
        self, objective: Objective, state: ProximalNewtonState, rng: np.random.Generator
    ) -> ProximalNewtonState:
        scores, k = state.scores, state.scores.n_labels
        norms, W = norms_of(objective), state.w.reshape(-1, k)
        work = _working_set(W, state.here.dual_map.reshape(-1, k), norms.grouped)
        model = model_at(
            scores.gold - scores.mean, scores.mean, objective.weight, coupled=objective.couples_labels
        )
        best = W[work]
        promise = descend(state.columns.take(work), model, norms, best)
        direction = np.zeros_like(W)
        direction[work] = best - W[work]
        scores.aim(direction.ravel())
        primal, length = state.here.primal, 1.0
        for trial in range(1, MOST_HALVINGS + 1):  # noqa: B007
            found = scores.at(length)
            value = found.losses + objective.penalty.value(state.w + length * scores.direction)
            if value < primal - SUFFICIENT_DECREASE * length * promise:
                break
            length /= 2
        else:
            return state._replace(finished=AT_THE_LIMIT)
        scores.move(length)
        here = scores.predictions(found)
        oracle_calls = state.oracle_calls + trial * objective.n_active
        dual = scores.dual(here)
        return ProximalNewtonState(scores.w, here, dual, scores, state.columns, oracle_calls)

    def progress(self, state: ProximalNewtonState) -> Progress:
        return Progress(state.oracle_calls, 0.0, state.finished)

    def candidates(self, objective: Objective, state: ProximalNewtonState) -> list[Candidate]:
        return [Candidate(state.w, state.here.primal, state.dual)]


def norms_of(objective: Objective) -> Strengths:
    """Return the penalty as compiled code knows it."""
    penalty = objective.penalty
    if isinstance(penalty, ElasticNet):
        return Strengths(penalty.strength * penalty.ratio, penalty.squared, grouped=False)
    if isinstance(penalty, GroupNorm):
        return Strengths(penalty.strength, 0.0, grouped=True)
    return Strengths(0.0, objective.regularization, grouped=False)


def _look(objective: Objective, w: Array, oracle_calls: int, finished: str) -> ProximalNewtonState:
    """Evaluate everything at w."""
    scores = KeptScores(objective, w)
    here = scores.predictions(scores.at(0.0))
    columns = ColumnReader(objective.scoring)
    return ProximalNewtonState(w, here, scores.dual(here), scores, columns, oracle_calls, finished)


def _working_set(W: Array, U: Array, grouped: bool) -> Array:
    """Return the features in use, and as many again of those with the largest u_j, in their order."""
    used = W.any(axis=1)
    size = max(SMALLEST, int(SHARE * len(W)), GROWTH * int(used.sum()))
    if size >= len(W):
        return np.arange(len(W))
    pull = np.sqrt((U * U).sum(axis=1)) if grouped else np.abs(U).max(axis=1)
    pull[used] = np.inf
    return np.sort(np.argpartition(-pull, size)[:size])
