"""Questions to a structure about a whole padded batch: scratch memory that is kept, threads, and errors.

Scratch memory belongs to a loss and is lent to one call at a time, so that calls may run side by side. It is
neither copied nor stored with the loss, and stays valid in a process that is forked.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np

from structlearn.core.contract import Array, Shape, face_size, find_face, project_workspace
from structlearn.core.erased import operations_of
from structlearn.core.kernels import is_implemented
from structlearn.core.openmp import team_of
from structlearn.problem.batch_kernels import BatchFound, BatchGold, BatchLayout, answer_batch
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.structures.base import nothing_allowed
from structlearn.structures.erased import ErasedStructure, erase_structure
from structlearn.structures.regularized import Quadratic
from structlearn.structures.remembering import Remembering

#: With fewer parts per thread, threads take longer to begin than they save.
LEAST_PARTS = 8192
#: Ranges of examples per thread: the thread that is done takes the next one.
RANGES = 4


class Scratch(NamedTuple):
    """A structure behind addresses, what lives as long, the largest shape it serves, and room for parts."""

    structure: ErasedStructure | Remembering
    owner: object
    largest: Shape
    room: Array


Make = Callable[[FenchelYoungLoss, Shape], tuple[ErasedStructure | Remembering, object]]
_FREE: WeakKeyDictionary[FenchelYoungLoss, list[Scratch]] = WeakKeyDictionary()
#: The same for answers whose faces are kept.
_REMEMBERING: WeakKeyDictionary[FenchelYoungLoss, list[Scratch]] = WeakKeyDictionary()


def answer(
    loss: FenchelYoungLoss,
    layout: BatchLayout,
    gold: BatchGold,
    theta: Array,
    shared: Array,
    n_threads: int = 1,
    faces: Array | None = None,
) -> BatchFound:
    """Return z(theta + c) - mu, values and gold scores; ValueError for scores that have no answer.

    theta : (batch, A, B, C), as `layout` says; shared : scores of parts that all examples share, (n,)
    faces : from `room_for_faces`, to be filled in
    """
    n = len(theta)
    found = BatchFound(
        np.empty_like(theta),
        np.empty((n, shared.size)),
        np.zeros(n),
        np.zeros(n),
        np.ones(n, dtype=np.bool_),
    )
    if not np.all(shared < np.inf):
        raise ValueError("Shared scores must be finite or -inf (a forbidden part); got NaN or +inf.")
    if not n:
        return found
    largest = int(layout.shapes[:, 0].max()), int(layout.shapes[:, 1].max())
    most = int(layout.n_local.max()) + layout.n_shared + shared.size
    free = (_FREE if faces is None else _REMEMBERING).setdefault(loss, [])

    def work(first: int, last: int) -> None:
        scratch = _borrow(loss, free, largest, most, _erase if faces is None else _remember)
        structure = scratch.structure
        if isinstance(structure, Remembering):
            structure = structure._replace(faces=cast(Array, faces)[first:last], kept=np.zeros(1, np.int64))
        answer_batch(structure, layout, gold, theta, shared, found, scratch.room, first, last)
        free.append(scratch)

    k = min(n_threads, theta.size // LEAST_PARTS, n) if loss.structure.compiled else 1
    if k <= 1:
        work(0, n)
    else:
        ends = [n * j // (RANGES * k) for j in range(RANGES * k + 1)]
        team_of(n_threads).deal(lambda some: work(*some), list(pairwise(ends)))
    loss.structure.raise_failure()
    _check(found)
    return found


def keeps_faces(loss: FenchelYoungLoss) -> bool:
    """Return whether answers have faces that can be kept for derivatives."""
    return isinstance(loss.record, Quadratic) and is_implemented(find_face, loss.record.inner)


def room_for_faces(loss: FenchelYoungLoss, layout: BatchLayout) -> Array | None:
    """Return room for the faces of a batch's answers; None for answers that have none."""
    if not len(layout.shapes) or not keeps_faces(loss):
        return None
    largest = int(layout.shapes[:, 0].max()), int(layout.shapes[:, 1].max())
    room = np.empty((len(layout.shapes), face_size(loss.structure.record, largest)))
    room[:, 0] = np.nan  # not known yet
    return room


def _borrow(loss: FenchelYoungLoss, free: list[Scratch], largest: Shape, most: int, make: Make) -> Scratch:
    """Take scratch memory that is large enough, or make it."""
    try:
        found = free.pop()
    except IndexError:
        found = None
    if found is not None:
        if found.largest[0] >= largest[0] and found.largest[1] >= largest[1] and found.room.shape[1] >= most:
            return found
        largest = max(largest[0], found.largest[0]), max(largest[1], found.largest[1])
        most = max(most, found.room.shape[1])
    structure, owner = make(loss, largest)
    return Scratch(structure, owner, largest, np.empty((2, most)))


def _erase(loss: FenchelYoungLoss, largest: Shape) -> tuple[ErasedStructure, object]:
    return erase_structure(loss.record, largest, operations_of(answer_batch))


def _remember(loss: FenchelYoungLoss, largest: Shape) -> tuple[Remembering, object]:
    record: Any = loss.structure.record
    none = np.empty((0, 0)), np.zeros(1, np.int64)
    return Remembering(record, cast(Any, project_workspace(record, largest)), *none), None


def _check(found: BatchFound) -> None:
    if found.usable.all() and found.values.min() > -np.inf and found.gold.min() > -np.inf:
        return
    unusable = np.flatnonzero(~found.usable)
    if unusable.size:
        raise ValueError(
            f"Scores must be finite or -inf (a forbidden part); example {unusable[0]} has NaN or +inf."
        )
    forbidden = np.flatnonzero(np.isneginf(found.values))
    if forbidden.size:
        raise nothing_allowed(f"Example {forbidden[0]}")
    impossible = np.flatnonzero(np.isneginf(found.gold))
    if impossible.size:
        raise ValueError(
            f"Output {impossible[0]} uses a part whose score is -inf, so that its loss is infinite: allow "
            "the part, or leave the example out."
        )
