"""Block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013), with z kept in part space."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structlearn.contract import Array, corner, move, score, scratch, squared_norm, workspace
from structlearn.kernels import kernel
from structlearn.objective import Objective
from structlearn.solvers.loop import Candidate, Progress
from structlearn.solvers.orders import Order, Permutation
from structlearn.solvers.solution import Solution

COST, STEPS, LAG_COST = range(3)  # entries of State.totals


class State(NamedTuple):
    """w = w(z) throughout. Arrays are changed in place, so that an interruption loses nothing."""

    w: Array
    z: Array
    #: weighted block gaps p_i g_i when last visited
    gaps: Array
    #: sum_i p_i <c_i, z_i - mu_i>; steps taken; what the average's cost lags behind
    totals: Array
    #: what the weighted average of the iterates lags behind w, times T (T + 1) / 2; empty without averaging
    lag: Array
    #: what is left of the current pass
    order: Array
    answers: int


@dataclass(frozen=True)
class BlockFrankWolfe:
    """For one block at a time, a step towards the oracle's corner, with the exact step length.

    Parameters
    ----------
    order : Order
        Which blocks a pass visits: `Permutation()`, `Uniform()` or `GapSampling()`.
    averaging : bool
        Whether to certify, beside the iterates, their average weighted by 1, 2, 3, ...
    examples_at_once : int
        How many examples one compiled call visits; time limits and Ctrl-C act between calls.
    """

    order: Order = field(default_factory=Permutation)
    averaging: bool = False
    examples_at_once: int = 16384
    certifies: ClassVar[bool] = True

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> State:
        z = objective.gold_point()
        w = np.zeros(objective.n_weights)
        cost = 0.0
        if warm is not None and warm.z is not None and warm.z.shape == z.shape:
            z = warm.z.copy()
            w, cost = objective.weights_of(z)
        gaps = np.zeros(objective.scoring.n_examples)
        gaps[objective.active] = np.inf
        lag = np.zeros(w.size if self.averaging else 0)
        nothing = objective.active[:0]
        state = State(w, z, gaps, np.array([cost, 0.0, 0.0]), lag, nothing, 0)
        self._visit(objective, state, nothing)  # compiles
        return state

    def step(self, objective: Objective, state: State, rng: np.random.Generator) -> State:
        order = state.order
        if not order.size:
            order = self.order.draw(rng, objective.active, state.gaps)
        now, later = order[: self.examples_at_once], order[self.examples_at_once :]
        self._visit(objective, state, now)
        return state._replace(order=later, answers=state.answers + now.size)

    @staticmethod
    def _visit(objective: Objective, state: State, order: Array) -> None:
        objective.oracle.run(plain_pass)(
            objective.structure.record,
            objective.scoring.record,
            objective.blocks,
            objective.regularization,
            order,
            *state[:5],
        )

    def progress(self, state: State) -> Progress:
        return Progress(state.answers, float(state.gaps.sum()) if not state.order.size else np.inf)

    def candidates(self, objective: Objective, state: State) -> list[Candidate]:
        cost = state.totals[COST]
        found = [Candidate(state.w, dual=objective.dual(state.w, cost))]
        steps = state.totals[STEPS]
        if self.averaging and steps:
            scale = 2.0 / (steps * (steps + 1))
            w = state.w - scale * state.lag
            found.append(Candidate(w, dual=objective.dual(w, cost - scale * state.totals[LAG_COST])))
        return found

    def settle(self, objective: Objective, state: State) -> tuple[State, Array]:
        """W and the cost afresh from z: no drift of rounding, no half-made step."""
        w, state.totals[COST] = objective.weights_of(state.z)
        return state._replace(w=w, order=state.order[:0]), state.z


@kernel
def advance(z: Any, gamma: Any, delta: Any) -> None:
    """z <- z + gamma delta. Compiled also where the pass is not: an interruption cannot tear it."""
    for j in range(z.size):
        z[j] += gamma * delta[j]


@kernel
def plain_pass(
    structure: Any,
    scoring: Any,
    blocks: Any,
    regularization: Any,
    order: Any,
    w: Any,
    z: Any,
    gaps: Any,
    totals: Any,
    lag: Any,
) -> None:
    """Algorithm 4 of the paper, for the blocks of `order`; the comments number its lines."""
    work = workspace(structure, blocks.largest)
    tools = scratch(scoring)
    n_shared = scoring.n_shared
    shared = w[w.size - n_shared :]
    scores = np.empty(blocks.most_parts)
    corners = np.empty(blocks.most_parts + n_shared)
    for q in range(order.size):
        i = order[q]  # line 3: pick a block
        first = blocks.start[i]
        size = blocks.start[i + 1] - first
        p = blocks.weight[i]
        cost = blocks.cost[first : first + size]
        z_i = z[first + i * n_shared : first + size + (i + 1) * n_shared]
        theta = scores[:size]
        delta = corners[: size + n_shared]
        # line 4: s = argmax <theta + c, s>
        score(scoring, i, w, tools, theta)
        for j in range(size):
            theta[j] += cost[j]
        shape = (blocks.shapes[i, 0], blocks.shapes[i, 1])
        best = corner(structure, shape, theta, shared, work, delta)
        # line 5: delta = s - z_i and the block gap g = <theta + c, delta>
        here = 0.0
        for j in range(size):
            here += theta[j] * z_i[j]
            delta[j] -= z_i[j]
        for j in range(n_shared):
            here += shared[j] * z_i[size + j]
            delta[size + j] -= z_i[size + j]
        gap = best - here
        gaps[i] = p * gap
        totals[STEPS] += 1.0
        if gap <= 0.0:
            continue
        # line 6: the exact step, gamma = lambda g / (p ||Phi^T delta||^2), at most 1
        norm = squared_norm(scoring, i, delta, tools)
        gamma = 1.0
        if p * norm > regularization * gap:
            gamma = regularization * gap / (p * norm)
        # line 7: z_i and w move together
        paid = 0.0
        for j in range(size):
            paid += cost[j] * delta[j]
        advance(z_i, gamma, delta)
        length = -gamma * p / regularization
        move(scoring, i, delta, length, w, tools)
        totals[COST] += p * gamma * paid
        if lag.size:  # line 8: sum_t t w_t = T (T + 1) / 2 w_T - sum_t t (t - 1) / 2 (w_t - w_{t-1})
            age = totals[STEPS] * (totals[STEPS] - 1.0) / 2.0
            move(scoring, i, delta, age * length, lag, tools)
            totals[LAG_COST] += age * p * gamma * paid
