"""Cutting planes with a slack variable for each example (Tsochantaridis et al. 2005).

Each example has a working set of answers s, that is of constraints p_i loss_i(w) >= cost - <w, u>. The
master problem mixes all of them at once: few passes, but a quadratic program that grows with the examples.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.rounding import Bound
from structlearn.core.sentences import ParameterError
from structlearn.problem.objective import Objective
from structlearn.solvers.cutting_plane.master import idle_for, mixture_of_rows
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, SolverBase

CONSTRAINTS_AN_EXAMPLE = 3  # about as many as are kept at once while they are many
BYTES_AN_ENTRY = 12  # of a sparse row: a number and its column


class Constraints(NamedTuple):
    """The working sets of all examples, end to end."""

    #: of shape (n_constraints, n_weights): p_i Phi_i^T (mu_i - s)
    dual_maps: sparse.csr_matrix
    #: over dense dual points: mu_i - s, in the place of example i
    moves: sparse.csr_matrix
    #: p_i <c_i, s - mu_i>
    cost: Array
    owner: Array
    alpha: Array
    #: how many masters in a row gave the constraint no weight
    idle: Array

    def loss(self, w: Array) -> Array:
        """Return p_i times the lower bound that each constraint sets on the loss of its example."""
        return self.cost - self.dual_maps @ w

    def weights(self, regularization: float) -> Array:
        """Return w(z) of the mixture that alpha says."""
        return self.dual_maps.T @ self.alpha / regularization

    def take(self, kept: Array) -> Constraints:
        return Constraints(*(field[kept] for field in self))

    def join(self, other: Constraints) -> Constraints:
        matrices = [sparse.vstack(pair, format="csr") for pair in zip(self[:2], other[:2])]
        return Constraints(*matrices, *(np.concatenate(pair) for pair in zip(self[2:], other[2:])))


class NSlackState(NamedTuple):
    """The weights and dual value of the last master problem, and its constraints."""

    w: Array
    dual: Bound
    constraints: Constraints
    #: what is left of the current pass
    order: Array
    oracle_calls: int


@dataclass(frozen=True)
class NSlack(SolverBase[NSlackState]):
    """Ask a batch of examples, add the constraints that are violated, solve the master problem over all.

    Parameters
    ----------
    examples_at_once : int
        Examples between two master problems.
    violation : float
        Constraints violated by less than this share of the batch's mean violation are not added.
    forget_after : int
        Remove constraints that had no weight in this many master problems in a row.
    max_bytes : float
        Refuse problems whose constraints would take more memory than this.
    """

    examples_at_once: int = 512
    violation: float = 0.1
    forget_after: int = 10
    max_bytes: float = 1e9
    needs: ClassVar[frozenset[str]] = frozenset({"regularization"})
    resumes: ClassVar[bool] = True

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> NSlackState:
        self._refuse_large(objective)
        if warm is not None and isinstance(warm.state, NSlackState):
            return warm.state._replace(oracle_calls=0)
        nothing = objective.active[:0]
        state = NSlackState(
            np.zeros(objective.n_weights), Bound(0.0), _make_constraints(objective, []), nothing, 0
        )
        if warm is None:
            return state
        if warm.z is not None:
            parts = np.split(warm.z, objective.point_start[1:-1])
            known = _make_constraints(objective, [(int(i), parts[i]) for i in objective.active])
            state = self._mix(objective, state._replace(constraints=known))
        return state._replace(w=warm.w.copy())

    def _refuse_large(self, objective: Objective) -> None:
        """Refuse problems too large for memory, by the constraints' rows of a few examples."""
        n, few = objective.n_active, objective.active[:8]
        dual_maps = _make_constraints(
            objective, objective.each_prediction(np.zeros(objective.n_weights), few)
        ).dual_maps
        rows = CONSTRAINTS_AN_EXAMPLE * n * BYTES_AN_ENTRY * dual_maps.nnz / few.size
        needed = rows + 8.0 * min(n, objective.n_weights) ** 2
        if needed > self.max_bytes:
            raise ParameterError(
                "Solver 'n-slack' needs about {needed} GB for the constraints of {n} examples, more than "
                "max_bytes={max_bytes}; use {solver=bcfw}.",
                needed=f"{needed / 1000000000.0:.3g}",
                n=n,
                max_bytes=f"{self.max_bytes:g}",
            )

    def step(self, objective: Objective, state: NSlackState, rng: np.random.Generator) -> NSlackState:
        order = state.order if state.order.size else rng.permutation(objective.active)
        now, later = order[: self.examples_at_once], order[self.examples_at_once :]
        asked = _make_constraints(objective, objective.each_prediction(state.w, now))
        state = state._replace(order=later, oracle_calls=state.oracle_calls + now.size)
        violated = self._find_violated(state, asked)
        if not violated.size:  # weights of another run may violate nothing and be too long
            return state._replace(w=state.constraints.weights(objective.regularization))
        return self._mix(objective, state._replace(constraints=state.constraints.join(asked.take(violated))))

    def _find_violated(self, state: NSlackState, asked: Constraints) -> Array:
        """Find the answers that say more of their example's loss than its working set does."""
        known = np.zeros(int(max(asked.owner.max(), state.constraints.owner.max(initial=0))) + 1)
        np.maximum.at(known, state.constraints.owner, state.constraints.loss(state.w))
        excess = asked.loss(state.w) - known[asked.owner]
        return np.flatnonzero(excess > max(self.violation * float(excess.mean()), 0.0))

    def _mix(self, objective: Objective, state: NSlackState) -> NSlackState:
        """Solve the master problem; forget what has been idle for long."""
        lam, known = objective.regularization, state.constraints
        alpha = mixture_of_rows(known.dual_maps, known.cost, known.owner, lam)
        known = known._replace(alpha=alpha, idle=idle_for(known.idle, alpha))
        w = known.weights(lam)
        kept = known.take(np.flatnonzero(known.idle < self.forget_after))
        return state._replace(w=w, dual=objective.dual(w, float(alpha @ known.cost)), constraints=kept)

    def candidates(self, objective: Objective, state: NSlackState) -> list[Candidate]:
        return [Candidate(state.w, dual=state.dual)]

    def settle(self, objective: Objective, state: NSlackState) -> tuple[NSlackState, Array]:
        """Return the dual point mu_i - sum_k alpha_k (mu_i - s_k)."""
        z = objective.gold_point() - state.constraints.moves.T @ state.constraints.alpha
        return state._replace(order=state.order[:0]), z


def _make_constraints(objective: Objective, answers: Iterable[tuple[int, Array]]) -> Constraints:
    """Make constraints from pairs of an example and a point of its polytope."""
    dual_maps, moves, cost, owner = [], [], [], []
    for i, parts in answers:
        dual_map, paid = objective.plane(i, parts)
        dual_maps.append(_entries(dual_map, 0))
        moves.append(_entries(objective.gold.dense(i, parts.size) - parts, objective.point_start[i]))
        cost.append(paid)
        owner.append(i)
    return Constraints(
        _stack(dual_maps, objective.n_weights),
        _stack(moves, int(objective.point_start[-1])),
        np.array(cost, dtype=np.float64),
        np.array(owner, dtype=np.int64),
        np.zeros(len(owner)),
        np.zeros(len(owner), dtype=np.int64),
    )


def _entries(vector: Array, offset: int) -> tuple[Array, Array]:
    """Return columns and values of what is not zero."""
    column = np.flatnonzero(vector)
    return column + offset, vector[column]


def _stack(rows: list[tuple[Array, Array]], width: int) -> sparse.csr_matrix:
    first = np.cumsum([0, *(column.size for column, _ in rows)])
    columns = np.concatenate([np.empty(0, dtype=np.int64), *(column for column, _ in rows)])
    values = np.concatenate([np.empty(0), *(value for _, value in rows)])
    return sparse.csr_matrix((values, columns, first), shape=(len(rows), width))
