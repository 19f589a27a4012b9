"""Blocks of a dense z: Frank-Wolfe steps towards what the oracle answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.blocks import BlockState, Representation
from structlearn.solvers.bcfw.dense_point import DensePoint, Snapshot
from structlearn.solvers.bcfw.plain_pass import plain_pass
from structlearn.solvers.bcfw.rounds import (
    Accumulators,
    Commit,
    compile_combine,
    is_mostly_sums,
    round_size,
    rounds_of,
    run_round,
)
from structlearn.solvers.bcfw.saved_blocks import check_dense
from structlearn.solvers.solution import Solution

if TYPE_CHECKING:
    from typing import Self

    from structlearn.solvers.bcfw.block_frank_wolfe import BlockFrankWolfe


class SavedDense(NamedTuple):
    """Dense blocks as a checkpoint holds them."""

    z: Array
    h: Array


class DenseBlocks(Representation):
    """z as one vector; with a smooth Omega, lower bounds of -Omega(z_i) beside it."""

    point: DensePoint
    #: A round of fewer visits per thread takes longer to start than to run.
    least_visits: ClassVar[int] = 128

    def __init__(self, objective: Objective, options: BlockFrankWolfe, point: DensePoint) -> None:
        self.options, self.point = options, point

    @classmethod
    def start(
        cls, objective: Objective, options: BlockFrankWolfe, warm: Solution | None
    ) -> tuple[Self, Array, float]:
        point, w, cost = DensePoint.start(objective, options.smoothing, warm)
        return cls(objective, options, point), w, cost

    @classmethod
    def restored(cls, objective: Objective, options: BlockFrankWolfe, saved: Any) -> Self:
        check_dense(objective, saved.z, saved.h)
        return cls(objective, options, DensePoint.of(objective, saved.z, saved.h))

    def saved(self) -> tuple[object, ...]:
        return SavedDense(self.point.z, self.point.h)

    def compile(self, objective: Objective, state: BlockState) -> None:
        nothing = objective.active[:0]
        self._pass(objective, state, nothing, state.sums)
        if objective.n_jobs > 1:
            compile_combine(state.sums)
            Snapshot.of(objective, self.point, nothing).commit(objective, self.point, 0.5)

    def visit(self, objective: Objective, state: BlockState, order: Array, own: Accumulators) -> Commit:
        before = Snapshot.of(objective, self.point, order)
        self._pass(objective, state, order, own)
        return partial(before.commit, objective, self.point)

    def run(self, objective: Objective, state: BlockState, order: Array) -> None:
        if objective.n_jobs == 1 or is_mostly_sums(objective, self.least_visits):
            self._pass(objective, state, order, state.sums)
            return
        for now in rounds_of(order, round_size(objective, self.options.rounds, self.least_visits)):
            run_round(objective, state.sums, now, partial(self.visit, objective, state))

    def _pass(self, objective: Objective, state: BlockState, order: Array, own: Accumulators) -> None:
        """Visit each block of `order` once, in this thread."""
        point = self.point.z, self.point.h, state.gaps
        objective.run_pass(plain_pass, objective.blocks, order, own, point)
