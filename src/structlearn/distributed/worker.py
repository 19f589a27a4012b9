"""A worker: one partition, its block of the dual point, and local steps at the common w.

With the partition's fraction P_k of all example weights, its own problem has lambda / P_k in place of lambda:
then a step of a block moves w by the same p_i / lambda as on one machine, and values are P_k times its own.

In round t the worker commits the fraction of round t - 1 that the driver kept, visits some of its blocks at
the w and the pace that it is sent, and answers with what that would change. It refuses a round unless it
stands at the one before, and answers a repeated one from its cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from traceback import format_exc
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.linalg import norm

from structlearn.core.contract import Array
from structlearn.core.rounding import Magnitude
from structlearn.core.threads import blas_threads
from structlearn.data import DataError, Packed, open_packed
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.block_frank_wolfe import BlockFrankWolfe
from structlearn.solvers.bcfw.blocks import BlockState
from structlearn.solvers.bcfw.lead import Pace
from structlearn.solvers.bcfw.rounds import Accumulators, Commit, run_round
from structlearn.solvers.bcfw.stochastic import squared_travel
from structlearn.solvers.bcfw.totals import CACHED_GAP, COST
from structlearn.solvers.checkpoint import Checkpoint, Keeper
from structlearn.solvers.states import refuse_misfits

F = TypeVar("F", bound=Callable[..., object])
#: What a user can do something about; anything else is a bug, whose traceback is wanted.
_SENTENCES = (ValueError, TypeError, OSError, MemoryError)


class PartitionLayout(Protocol):
    """A partition's problem, checked and laid out, but for lambda."""

    @property
    def weight(self) -> float:
        """The sum of the example weights."""

    def objective(self, fraction: float) -> Objective:
        """Return the objective of this partition, which has this fraction of all example weights."""


class WorkerSpec(NamedTuple):
    """What a worker is told when it is made."""

    number: int
    #: the partition, a packed folder, where the worker finds it
    path: str
    #: makes a layout of a partition and its example weights
    lay_out: Callable[[Packed, Array | None], PartitionLayout]
    weight: Array | None
    solver: BlockFrankWolfe
    seed: int
    #: where the worker writes its blocks, and how often
    checkpoint: Checkpoint
    tol: float
    #: how many times its own steps weigh in its view of w: as though others took as many more alike
    aggregation: float = 1.0


class Facts(NamedTuple):
    """What a worker knows of its partition."""

    weight: float
    n_active: int
    n_weights: int
    #: a hash of its data and of all that shapes the iterates
    digest: str
    magnitude: Magnitude
    #: how many passes over blocks worth another visit may follow a full one
    repeats: int


class Piece(NamedTuple):
    """What to visit in a round: the part number `part` of `parts` of a pass."""

    #: whether the pass is over the blocks that are worth another visit after a full one
    again: bool
    part: int
    parts: int


class RoundAnswer(NamedTuple):
    """What a round would change, and what is committed."""

    change: Array
    #: the change of the cost of z, and the cost that is committed
    gain: float
    cost: float
    #: what the gap may be, from each block's last visit; what the visits of another pass have found of it
    estimate: float
    found: float
    #: oracle answers, and blocks that were visited
    oracle_calls: int
    visits: int
    seconds: float


class PartValues(NamedTuple):
    """A partition's part of a certificate at the common w."""

    #: sum_i p_i { max_z [<Phi_i w + c_i, z> - Omega(z)] + Omega(mu_i) - <Phi_i w + c_i, mu_i> }
    loss: float
    #: the cost of z
    cost: float
    #: w_k, this partition's part of w(z), times the random vector of this round; and its norm
    product: float
    norm: float


class Block(NamedTuple):
    """A partition's part of w(z) and of the cost of z, afresh from z."""

    w: Array
    cost: float


def return_errors(method: F) -> F:
    """Have a method return its errors: whatever an engine raises is then the engine's own."""

    @wraps(method)
    def answer(*args: object) -> object:
        try:
            with blas_threads(1):
                return method(*args)
        except Exception as error:
            if not isinstance(error, _SENTENCES):
                error.add_note(format_exc())
            return error

    return cast("F", answer)


class Proposal(NamedTuple):
    """What one machine has done at a w, which stays, and how a fraction of it is committed."""

    change: Array
    #: the scalars of `totals`, from zero
    totals: Array
    commit: Commit
    #: what w(z) moves by where the weights that score move by one (see `structlearn.solvers.bcfw.lead`)
    ratio: float = 1.0


def propose(objective: Objective, state: BlockState, order: Array, w: Array, pace: Pace) -> Proposal:
    """Visit distinct blocks at any w, not just w(z), and at any pace, by all threads.

    The state's w and totals stay; its blocks have moved until the proposal is committed or not. What threads
    have settled among them can be committed in part later.
    """
    own = Accumulators(w.copy(), np.zeros(4), w[:0], pace)
    visit = partial(state.blocks.visit, objective, state)
    alone = objective.n_jobs == 1 or not order.size
    commits = [visit(order, own)] if alone else run_round(objective, own, order, visit)
    return Proposal(own.w - w, own.totals, lambda fraction: sum(commit(fraction) for commit in commits))


def probe(t: int, size: int) -> Array:
    """Return the random vector of a round.

    Unequal weights have, but by a miracle, unequal products with it.
    """
    return np.random.default_rng(t).standard_normal(size)


class Worker:
    """Holds a partition; see the module."""

    objective: Objective
    keeper: Keeper

    def __init__(self, post: WorkerSpec) -> None:
        self.post = post
        self.layout: PartitionLayout | None = None
        self.state: Any = None
        self.rng = np.random.default_rng([post.seed, post.number])
        #: the last round that was answered, its proposal until it is committed, and its answer
        self.at = 0
        self.proposal: Proposal | None = None
        self.answer: RoundAnswer | None = None
        self.order: Array = np.empty(0, dtype=np.int64)

    # ---- beginning -----------------------------------------------------------------------------------

    @return_errors
    def load(self) -> float:
        """Open the partition; the sum of its example weights."""
        if self.layout is None:
            if not Path(self.post.path).is_dir():
                raise DataError(
                    f"A worker does not see the partition {self.post.path}: put it where all of them do "
                    "(`structlearn data split`, or TMPDIR on a shared folder)."
                )
            self.layout = self.post.lay_out(open_packed(self.post.path), self.post.weight)
        return self.layout.weight

    @return_errors
    def begin(self, total: float) -> Facts:
        """Take up the partition's part of the problem, from the last checkpoint if there is one."""
        assert self.layout is not None  # noqa: S101  (`load` came first)
        if self.state is None:
            self.fraction = self.layout.weight / total
            self.objective = self.layout.objective(self.fraction)
            self.keeper = self.post.checkpoint.open_shared(self.objective, self.post.solver, self.post.tol)
            self._start(self.keeper.load())
        objective = self.objective
        sizes = objective.n_active, objective.n_weights
        repeats = self.state.blocks.repeats
        return Facts(self.layout.weight, *sizes, self.keeper.digest, objective.magnitude, repeats)

    def _start(self, kept: Any) -> None:
        solver = self.post.solver
        if kept is None:
            self.state = solver.start(self.objective, self.rng, None)
        else:
            with refuse_misfits():
                self.rng.bit_generator.state = kept["random"]
                self.at = kept["at"]
                self.state = solver.restored(self.objective, kept["state"])
        nothing = self.objective.active[:0]  # compiles what a round will need
        self._propose(nothing, self.state.w, Pace.of_frank_wolfe(1.0)).commit(0.5)
        squared_travel(self.objective, self.state.blocks.point)

    # ---- rounds --------------------------------------------------------------------------------------

    @return_errors
    def round(self, t: int, w: Array, fraction: float, piece: Piece, pace: Pace) -> RoundAnswer:
        """Commit `fraction` of round t - 1, visit a piece of a pass at w, and say what came out.

        pace : where p_i are the weights of examples among those of all partitions
        """
        if t == self.at and self.answer is not None:
            return self.answer
        if t != self.at + 1:
            raise RuntimeError(f"Worker {self.post.number} stands at round {self.at} and refuses {t}.")
        begin = time.perf_counter()
        self._commit(fraction)
        if self.keeper.is_due():
            self.keep()
        self.at, self.answer = t, None
        order = self._blocks_of(piece)
        self.state = self.state._replace(again=int(piece.again))
        self.proposal = self._propose(order, w, pace)
        cached = piece.again and not self.state.blocks.asks_again
        calls = 0 if cached else order.size
        self.state = self.state._replace(oracle_calls=self.state.oracle_calls + calls)
        found = self.proposal.totals[CACHED_GAP] if cached else self.state.gaps[order].sum()
        self.answer = RoundAnswer(
            self.proposal.change,
            self.fraction * float(self.proposal.totals[COST]),
            self.cost,
            self.fraction * float(self.state.gaps.sum()),
            self.fraction * float(found),
            calls,
            order.size,
            time.perf_counter() - begin,
        )
        return self.answer

    def _propose(self, order: Array, w: Array, pace: Pace) -> Proposal:
        """Visit blocks with caution (Ma et al. 2015); the change is what has truly changed."""
        times = self.fraction * self.post.aggregation  # the same step moves w further
        own = Pace(pace.strength / times, pace.metric / times)
        found = propose(self.objective, self.state, order, w, own)
        ratio = pace.strength / (self.fraction * self.objective.regularization)
        return found._replace(change=found.change / self.post.aggregation, ratio=ratio)

    @property
    def cost(self) -> float:
        """The cost of z, as far as it is committed."""
        return self.fraction * float(self.state.totals[COST])

    def _blocks_of(self, piece: Piece) -> Array:
        """Return distinct blocks to visit; the first piece of a pass draws it."""
        if piece.part == 0:
            if piece.again:
                self.order = self.state.blocks.draw_again(self.objective, self.state.gaps, self.rng)
            else:
                self.order = self.post.solver.draw(self.objective, self.state, self.rng)
        at = [self.order.size * part // piece.parts for part in (piece.part, piece.part + 1)]
        blocks = self.order[at[0] : at[1]]
        _, first = np.unique(blocks, return_index=True)
        return blocks if first.size == blocks.size else blocks[np.sort(first)]

    def _stand_at(self, t: int, fraction: float) -> None:
        """Commit `fraction` of round t, which must be the last."""
        if t != self.at:
            raise RuntimeError(f"Worker {self.post.number} stands at round {self.at}, not at {t}.")
        self._commit(fraction)

    def _commit(self, fraction: float) -> None:
        """Commit a fraction of the last proposal, once; state.w is w(z) of this partition alone."""
        if self.proposal is None:
            return
        proposal, self.proposal = self.proposal, None
        beyond = proposal.commit(fraction) if fraction < 1.0 else 0.0
        self.state.totals[COST] += fraction * proposal.totals[COST] + beyond
        w = self.state.w
        w += fraction * proposal.ratio * proposal.change

    def keep(self) -> None:
        """Write what is committed."""
        state = self.post.solver.saved(self.objective, self.state)
        self.keeper.keep({"state": state, "random": self.rng.bit_generator.state, "at": self.at})

    # ---- certificates, agreement ---------------------------------------------------------------------

    @return_errors
    def values(self, t: int, fraction: float, w: Array) -> PartValues:
        """Commit `fraction` of round t, at which this worker must stand; its part of the certificate at w."""
        self._stand_at(t, fraction)
        own_w = self.state.w
        return PartValues(self._loss(w), self.cost, float(own_w @ probe(t, w.size)), float(norm(own_w)))

    @return_errors
    def travelled(self, t: int, fraction: float) -> float:
        """Return this partition's part of z's squared travel, with `fraction` of round t committed."""
        self._stand_at(t, fraction)
        return self.fraction**2 * squared_travel(self.objective, self.state.blocks.point)

    @return_errors
    def loss(self, w: Array) -> float:
        """Return the losses of this partition, its part of P at any w."""
        return self._loss(w)

    def _loss(self, w: Array) -> float:
        return self.fraction * (self.objective.primal(w) - self.objective.penalty.value(w))

    @return_errors
    def agree(self, t: int, fraction: float) -> Block:
        """Stand at round t, with `fraction` of t - 1 committed and what was done in t dropped.

        Whoever comes from a checkpoint or from the start has nothing to commit: any mix of feasible blocks is
        feasible, as long as w is recomputed from them.
        """
        self._commit(fraction if self.at == t - 1 else 0.0)
        self.at, self.answer = t, None
        self.state, _ = self.post.solver.settle(self.objective, self.state)
        return Block(self.state.w, self.cost)
