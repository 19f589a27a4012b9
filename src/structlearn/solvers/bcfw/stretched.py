"""The stochastic extragradient on stretches of long sequences (see `structlearn.problem.stretches`).

A long sequence is one block with one step length, which the most doubtful of its positions keeps short. This
solver begins with many short stretches. When their gap has closed to a share of D, it asks the model which
borders it is sure of, keeps those, and merges the others; then again whenever the gap has fallen to a
quarter. Kept borders never cost more than a small share of the gap, so that in the end none is left but those
at which the model has no doubt at all: it converges to the optimum of whole sequences, of which P always is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.problem.stretches import Stretches
from structlearn.solvers.bcfw.blocks import BlockState
from structlearn.solvers.bcfw.dense import DenseBlocks, SavedDense
from structlearn.solvers.bcfw.dense_point import DensePoint
from structlearn.solvers.bcfw.stochastic import StochasticExtragradient, weights_with_lead
from structlearn.solvers.bcfw.totals import COST, STEPS
from structlearn.solvers.solution import DualPoint, Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase

#: Borders are looked at first when the gap is at most this share of D, then whenever it has fallen to that.
FIRST_LOOK, NEXT_LOOK = 0.1, 0.25
#: Positions between the first borders, at least.
LEAST = 20
#: The share of the gap that borders may cost.
COST_OF_BORDERS = 0.05


class StretchedState(NamedTuple):
    """Borders, the state of the problem of their stretches, and what happened before."""

    #: in a checkpoint, their rows
    stretches: Stretches | Array
    inner: BlockState
    #: oracle calls for whole sequences before these borders, and for each one that all stretches are visited
    calls_before: int
    n_sequences: int
    n_stretches: int
    #: the gap when borders were last looked at
    looked_at: float = np.inf

    @property
    def oracle_calls(self) -> int:
        """Visits of all stretches of a sequence count as one of the sequence."""
        return self.calls_before + self.inner.oracle_calls * self.n_sequences // self.n_stretches


@dataclass(frozen=True)
class StretchedExtragradient(SolverBase[StretchedState]):
    """The stochastic extragradient on stretches between positions that the model is sure of.

    For the softmax loss of few long sequences. The certificate is that of whole sequences.

    Parameters
    ----------
    every : int, optional
        How many positions apart the first borders are. Unless given, as many as there are labels, at least
        20: what stretches share then takes no more memory than their positions.
    follows : int
        As in `StochasticExtragradient`.
    """

    every: int | None = None
    follows: int = 2
    needs: ClassVar[frozenset[str]] = StochasticExtragradient.needs | {"chains"}
    penalties: ClassVar[tuple[str, ...]] = ("l2", "elasticnet")

    @property
    def _steps(self) -> StochasticExtragradient:
        return StochasticExtragradient(follows=self.follows)

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> StretchedState:
        """Start with short stretches or, where a dual point of whole sequences is known, with those."""
        every = max(LEAST, objective.scoring.shapes[:, 1].max()) if self.every is None else self.every
        if every < 2:
            raise ValueError(f"every must be at least 2; got {every}.")
        if warm is not None and warm.point is not None:
            return self._start(Stretches(objective, np.empty(0, dtype=np.int64)), rng, warm)
        return self._start(Stretches.every(objective, int(every)), rng, None)

    def _start(self, stretches: Stretches, rng: np.random.Generator, warm: Solution | None) -> StretchedState:
        inner = self._steps.start(stretches.objective, rng, warm)
        return StretchedState(stretches, inner, 0, stretches.whole.n_active, stretches.objective.n_active)

    def step(self, objective: Objective, state: StretchedState, rng: np.random.Generator) -> StretchedState:
        stretches = stretches_of(state)
        inner = self._steps.step(stretches.objective, state.inner, rng)
        state = state._replace(inner=inner)
        if inner.order.size or not stretches.borders.size:
            return state
        gap = float(inner.gaps.sum())
        dual = self._dual(stretches.objective, inner)
        due = gap <= FIRST_LOOK * (dual + gap) and gap <= NEXT_LOOK * state.looked_at
        return self._look(state, gap, rng) if due else state

    def _dual(self, objective: Objective, inner: BlockState) -> float:
        bound, _ = weights_with_lead(objective, inner).dual(inner.totals[COST], inner.totals[STEPS])
        return bound.value

    def _look(self, state: StretchedState, gap: float, rng: np.random.Generator) -> StretchedState:
        """Keep the borders that the model is sure of."""
        stretches, inner = stretches_of(state), state.inner
        losses = stretches.losses(weights_with_lead(stretches.objective, inner).certified_weights)
        order = np.argsort(losses, kind="stable")
        kept = np.sort(stretches.borders[order[np.cumsum(losses[order]) <= COST_OF_BORDERS * gap]])
        state = state._replace(looked_at=gap)
        return state if kept.size == stretches.borders.size else self._merge(state, kept, rng)

    def _merge(self, state: StretchedState, kept: Array, rng: np.random.Generator) -> StretchedState:
        """Go on with fewer borders; weights, means and pace stay, and so does D."""
        stretches, inner, calls = stretches_of(state), state.inner, state.oracle_calls
        point = inner.blocks.point
        assert isinstance(point, DensePoint)  # noqa: S101
        try:
            coarse, z, (h, gaps) = stretches.merge(kept, point.z, point.h, inner.gaps)
        except ValueError:  # scores beyond all measure have got past a border: begin with whole sequences
            return self._start(Stretches(stretches.whole, kept[:0]), rng, None)._replace(calls_before=calls)
        objective = coarse.objective
        blocks = DenseBlocks.restored(objective, self._steps, SavedDense(z, h))
        inner = inner._replace(blocks=blocks, gaps=gaps, oracle_calls=0)
        counts = calls, state.n_sequences, objective.n_active
        return StretchedState(coarse, inner, *counts, state.looked_at)

    def progress(self, state: StretchedState) -> Progress:
        return self._steps.progress(state.inner)._replace(oracle_calls=state.oracle_calls)

    def candidates(self, objective: Objective, state: StretchedState) -> list[Candidate]:
        return self._steps.candidates(stretches_of(state).objective, state.inner)

    def settle(self, objective: Objective, state: StretchedState) -> tuple[StretchedState, DualPoint | None]:
        """Compute all afresh from z; the dual point is that of whole sequences."""
        stretches = stretches_of(state)
        inner, point = self._steps.settle(stretches.objective, state.inner)
        state = state._replace(inner=inner)
        assert isinstance(point, DensePoint)  # noqa: S101
        if not stretches.borders.size:
            return state, point
        try:
            _, z, (h,) = stretches.merge(stretches.borders[:0], point.z, point.h)
        except ValueError:
            return state, None
        return state, DensePoint.of(objective, z, h)

    def saved(self, objective: Objective, state: StretchedState) -> StretchedState:
        stretches = stretches_of(state)
        inner = self._steps.saved(stretches.objective, state.inner)
        return state._replace(stretches=stretches.borders, inner=inner)

    def restored(self, objective: Objective, saved: Any) -> StretchedState:
        """Return the state as it was; ValueError if its borders cannot be those of these sequences."""
        stretches = Stretches(objective, check_borders(objective, saved.stretches))
        inner = self._steps.restored(stretches.objective, saved.inner)
        counts = stretches.whole.n_active, stretches.objective.n_active
        if (saved.n_sequences, saved.n_stretches) != counts or saved.calls_before < 0:
            raise ValueError("The checkpoint's counts are not those of its stretches; begin afresh.")
        return saved._replace(stretches=stretches, inner=inner)


def stretches_of(state: StretchedState) -> Stretches:
    assert isinstance(state.stretches, Stretches)  # noqa: S101
    return state.stretches


def check_borders(objective: Objective, borders: Any) -> Array:
    """Return borders that were read from a file; ValueError unless they are rows inside of sequences."""
    allowed = Stretches.every(objective, 1).borders
    fits = isinstance(borders, np.ndarray) and borders.dtype == allowed.dtype and borders.ndim == 1
    if not fits or not np.isin(borders, allowed).all() or (np.diff(borders) <= 0).any():
        raise ValueError("The checkpoint's borders are not those of these sequences; begin afresh.")
    return np.asarray(borders)
