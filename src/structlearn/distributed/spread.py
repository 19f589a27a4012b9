"""The objective of data that is spread over workers, and the calls to all of them at once.

    P(w) = lambda/2 ||w||^2 + sum_k loss_k(w),   D(z) = -lambda/2 ||sum_k w_k||^2 + sum_k cost_k

Every sum is over partitions. Whoever is lost is revived from its last checkpoint, or from the start. From
then on w and the cost of z are those of other blocks: they count only after all have agreed on them anew.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.core.rounding import Bound, Magnitude
from structlearn.core.threads import Team
from structlearn.distributed.engine import Engine, Lost
from structlearn.distributed.worker import (
    Block,
    Facts,
    PartValues,
    Piece,
    RoundAnswer,
    Worker,
    WorkerSpec,
)
from structlearn.problem.penalties import SquaredL2
from structlearn.solvers.bcfw.lead import Pace
from structlearn.structures import Structure

#: How often in succession workers may be lost before training gives up.
MOST_REVIVALS = 20


class SpreadObjective:
    """A `Problem` for the solvers of `driver` alone: what is asked of it is asked of the workers.

    Parameters
    ----------
    engine : Engine
    structure : Structure
    regularization : float
        lambda.
    facts : list of Facts, one a worker
    """

    def __init__(
        self, engine: Engine, structure: Structure, regularization: float, facts: Sequence[Facts]
    ) -> None:
        self.engine = engine
        self.structure = structure
        self.regularization = regularization
        self.facts = facts
        self.penalty = SquaredL2(regularization)
        self.memory, self.team = Memory(), Team(1)
        self.total = sum(one.weight for one in facts)
        self.n_active = sum(one.n_active for one in facts)
        self.n_weights = facts[0].n_weights
        fractions = [one.weight / self.total for one in facts]
        self.magnitude = Magnitude.of_parts([one.magnitude for one in facts], fractions)
        self.revivals = 0

    @property
    def n_workers(self) -> int:
        return len(self.facts)

    @property
    def repeats(self) -> int:
        """How many passes over blocks worth another visit may follow a full one."""
        return max(one.repeats for one in self.facts)

    @property
    def exact(self) -> bool:
        return self.structure.exact

    @property
    def content(self) -> tuple[object, ...]:
        return (self.regularization, *(one.digest for one in self.facts))

    #: No run goes on from another's dual point.
    content_hash = polytopes = ""
    #: Solvers for data on one machine find nothing that they need.
    no_gradient = "needs all data on one machine"
    is_hinge = is_local = has_exact_blocks = False

    def dual(self, w: Array, cost: float, steps: float = 0.0) -> Bound:
        """Return D of z, from w(z) and the cost of z; see `Objective.dual`."""
        return self.magnitude.lower_bound(float(w @ w), cost, self.regularization, steps)

    def primal_rounding(self, w: Array, value: float) -> float:
        return self.magnitude.primal(w, value)

    def primal(self, w: Array, values: Sequence[PartValues] | None = None) -> float:
        """Return P(w), from the workers' values at w; they are asked for their losses, unless given."""
        losses = None if values is None else [one.loss for one in values]
        while losses is None:
            losses = self._each("loss", [(w,)] * self.n_workers)
        return self.penalty.value(w) + sum(losses)

    # ---- asked of all workers ------------------------------------------------------------------------

    def round(self, t: int, w: Array, fractions: Array, piece: Piece, pace: Pace) -> list[RoundAnswer] | None:
        """Return the workers' answers; None where one of them was lost."""
        return self._each("round", [(t, w, float(fraction), piece, pace) for fraction in fractions])

    def travelled(self, t: int, fractions: Array) -> float | None:
        """Return what z has travelled, squared, in all blocks together; None where a worker was lost."""
        parts = self._each("travelled", [(t, float(fraction)) for fraction in fractions])
        return None if parts is None else sum(parts)

    def values(self, t: int, fractions: Array, w: Array) -> list[PartValues] | None:
        """Return the workers' parts of a certificate; None where one of them was lost."""
        return self._each("values", [(t, float(fraction), w) for fraction in fractions])

    def agree(self, t: int, fractions: Array) -> tuple[Array, float]:
        """Return w(z) and the cost of z, as the sum over what every partition has now."""
        found: list[Block] | None = None
        while found is None:
            found = self._each("agree", [(t, float(fraction)) for fraction in fractions])
        w: Array = np.sum([one.w for one in found], axis=0)
        return w, sum(one.cost for one in found)

    def close(self) -> None:
        self.engine.open([])

    def _each(self, name: str, arguments: Sequence[tuple[object, ...]]) -> list[Any] | None:
        answers = self.engine.call(name, dict(enumerate(arguments)))
        lost = {number: one for number, one in answers.items() if isinstance(one, Lost)}
        answers = {number: one for number, one in answers.items() if number not in lost}
        raise_first(answers)
        if lost:
            self._revive(lost)
            return None
        self.revivals = 0
        return [answers[number] for number in range(len(arguments))]

    def _revive(self, lost: Mapping[int, Lost]) -> None:
        """Make the lost anew, until all stand where their last checkpoints are."""
        while lost:
            self.revivals += len(lost)
            if self.revivals > MOST_REVIVALS:
                why = next(iter(lost.values())).why
                raise OSError(errno.ECHILD, f"workers were lost {self.revivals} times in succession ({why})")
            for number in lost:
                self.engine.revive(number)
            ready = load_partitions(self.engine, list(lost), self.total)
            lost = {number: one for number, one in ready.items() if isinstance(one, Lost)}


def raise_first(answers: Mapping[int, object]) -> None:
    """Raise here what went wrong in a worker."""
    for one in answers.values():
        if isinstance(one, Exception):
            raise one


def load_partitions(engine: Engine, numbers: Sequence[int], total: float | None = None) -> dict[int, Any]:
    """Let workers load their partitions and begin: their facts, or `Lost`.

    One of them begins first: what it has to compile, the others find compiled, where they share a folder.
    """
    answers = engine.call("load", dict.fromkeys(numbers, ()))
    raise_first(answers)
    there = [number for number in numbers if not isinstance(answers[number], Lost)]
    if total is None:
        total = sum(answers[number] for number in there)
    for some in (there[:1], there[1:]):
        answers.update(engine.call("begin", dict.fromkeys(some, (total,))))
        raise_first(answers)
    return answers


def spread_out(
    engine: Engine, posts: Sequence[WorkerSpec], structure: Structure, regularization: float
) -> SpreadObjective:
    """Make a worker for each post, and the objective that they have in common."""
    engine.open([partial(Worker, post) for post in posts])
    facts = load_partitions(engine, range(len(posts)))
    for one in facts.values():
        if isinstance(one, Lost):
            raise OSError(errno.ECHILD, f"a worker was lost before training began ({one.why})")
    return SpreadObjective(engine, structure, regularization, [facts[k] for k in range(len(posts))])
