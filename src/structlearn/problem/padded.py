"""Padded batches: score tables of examples of several sizes, and their shapes checked before they are joined.

A batch has scores of local parts, (batch, *axes) with the axes of `Structure.local_axes`, and of shared
parts, which all examples have in common. Where a structure's part vectors have one axis, a batch may also
hold whole part vectors, (batch, parts).
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.batch_answers import answer, room_for_faces
from structlearn.problem.batch_kernels import BatchFound, BatchLayout
from structlearn.problem.derivatives import derivative, second_derivative
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.padded_gold import Target, listed_target, padded_target, single_targets
from structlearn.problem.row_derivatives import RowDerivative, row_derivative
from structlearn.structures import Structure

Axes = tuple[int | str, ...]
#: What scores that fill a block are to a structure, with shared scores or without: asked once for each block.
_SHAPES: WeakKeyDictionary[Structure, dict[tuple[Any, bool], tuple[int, int]]] = WeakKeyDictionary()
MOST_SHAPES = 4096


class PaddedBatch(NamedTuple):
    """Where the examples of a padded batch are: example b is theta[b] up to sizes[b] in each leading axis."""

    loss: FenchelYoungLoss
    sizes: Array
    #: those of one example's scores
    axes: Axes
    #: the shape of the scores, and whether there are shared ones beside them
    scores: tuple[int, ...]
    has_shared: bool
    #: the sizes of two leading axes in which examples differ, or which are laid out by blocks of columns
    lead: tuple[int, int]
    layout: BatchLayout

    def ask(
        self,
        theta: Array,
        shared: Array,
        target: Target,
        n_threads: int = 1,
        faces: Array | None = None,
    ) -> BatchFound:
        """Return z - mu of local parts (zero where padded) and shared parts, values and gold scores.

        theta : (batch, *axes) of float32 or float64; shared : (n_shared,) of float64
        faces : from `room_for_faces`, to be filled in
        """
        table = theta.reshape(len(theta), *self.lead, int(self.layout.widths.sum()))
        found = answer(self.loss, self.layout, target.gold, table, shared, n_threads, faces)
        return found._replace(local=found.local.reshape(theta.shape))

    def room_for_faces(self) -> Array | None:
        """Return room for what derivatives need to know of answers; None if that is nothing."""
        return room_for_faces(self.loss, self.layout)

    def derivative(
        self, theta: Array, shared: Array, *ways: Array, faces: Array | None = None
    ) -> tuple[Array, Array]:
        """Return J v for one way v, D J[u] v for two, u and v: for local and for shared parts.

        A way is given by its local and its shared parts. Examples of one shape are asked together.
        faces : those that `ask` has found, if it has
        """
        given = [self.part_vectors(*pair) for pair in zip((theta, *ways[::2]), (shared, *ways[1::2]))]
        found: list[Any] = [None] * len(theta)
        alike: dict[tuple[int, ...], list[int]] = {}
        for b, one in enumerate(given[0]):
            alike.setdefault(one.shape, []).append(b)
        for rows in alike.values():
            at, *along = (np.stack([each[b] for b in rows]) for each in given)
            if len(along) == 1:
                moved = derivative(self.loss, at, along[0], None if faces is None else faces[rows])
            else:
                moved = second_derivative(self.loss, at, *along)
            for b, one in zip(rows, moved):
                found[b] = one
        return self.apart(found, theta, shared)

    def answers(self, theta: Array, shared: Array) -> Any:
        """Return the part vector of each example's answer."""
        return self._respond(theta, shared)[0]

    def targets(self, y: Any) -> Target:
        """Return what the loss must know of the outputs: a list of them, or an array padded as scores are."""
        found = None
        if isinstance(y, np.ndarray):
            found = padded_target(self.loss, self._trim(y), self.layout.shapes)
        else:
            found = listed_target(self.loss, y, self.layout.shapes)
        if found is None:
            outputs = [self._output(one, b) for b, one in enumerate(y)]
            shapes = [self._part_shape(b) for b in range(len(outputs))]
            found = single_targets(self.loss, outputs, shapes, self.layout.n_local)
        return found

    def add_cost(self, theta: Array, target: Target) -> Array:
        """Add the costs of a target to scores, in place."""
        gold = target.gold
        for b, (n, at) in enumerate(zip(self.layout.n_local, gold.cost_start)) if gold.cost.size else ():
            cost = np.zeros_like(theta[b][self.block(b)])
            parts = np.zeros(cost.size)
            parts[:n] = gold.cost[at : at + n]
            self._fill(cost, parts)
            theta[b][self.block(b)] += cost
        return theta

    @property
    def row_derivative(self) -> RowDerivative | None:
        """J v as a function of answers and v, where answers are rows and know all that is needed."""
        return row_derivative(self.loss)

    def _trim(self, y: Array) -> Array:
        """Cut off columns of outputs (batch, length) in which every example is padded."""
        axes = self.axes[: self.sizes.shape[1]]
        name = self.loss.structure.output_axes[0]
        if y.ndim != 2 or name not in axes or not len(y):
            return y
        return y[:, : self.sizes[:, axes.index(name)].max()]

    def _output(self, y: Any, b: int) -> Any:
        """Return example b's output; of an array that is padded as scores are, what its sizes cover."""
        if not isinstance(y, np.ndarray) or not y.ndim:
            return y.item() if isinstance(y, np.ndarray) else y
        structure = self.loss.structure
        axes = structure.local_axes if y.ndim == structure.part_ndim > 1 else structure.output_axes
        sizes = dict(zip(self.axes, self.sizes[b].tolist()))
        return y[tuple(slice(sizes.get(axis)) for axis in axes[: y.ndim])]

    def _part_shape(self, b: int) -> tuple[int, ...]:
        block = (*self.sizes[b].tolist(), *self.scores[1 + self.sizes.shape[1] :])
        return _part_shape(self.loss.structure, block, self.has_shared)

    def block(self, b: int) -> tuple[slice, ...]:
        return tuple(slice(int(size)) for size in self.sizes[b])

    def _respond(self, theta: Array, shared: Array) -> tuple[Any, Array]:
        parts = self.part_vectors(theta, shared)
        if not parts:
            return [], np.empty(0)
        same = (self.sizes == self.sizes[:1]).all()
        return self.loss.structure.respond(self.loss.record, np.stack(parts) if same else parts)

    def part_vectors(self, theta: Array, shared: Array) -> list[Array]:
        """Return the part vector of each example."""
        return [self._join(theta[b][self.block(b)], shared[b]) for b in range(len(theta))]

    def apart(self, parts: Any, theta: Array, shared: Array) -> tuple[Array, Array]:
        """Split part vectors into local parts, zero where padded, and shared parts."""
        local, of_shared = np.zeros_like(theta), np.zeros_like(shared)
        for b, z in enumerate(parts):
            block = local[b][self.block(b)]
            self._fill(block, z.ravel()[: block.size])
            of_shared[b] = z.ravel()[block.size :]
        return local, of_shared

    def _join(self, local: Array, shared: Array) -> Array:
        if self.loss.structure.part_ndim == local.ndim and not shared.size:
            return local
        return np.concatenate([*(block.ravel() for block in self._blocks(local)), shared])

    def _fill(self, table: Array, values: Array) -> None:
        """Write values, in the order of a part vector, into a table of local parts."""
        at = 0
        for block in self._blocks(table):
            block[...] = values[at : at + block.size].reshape(block.shape)
            at += block.size

    def _blocks(self, table: Array) -> list[Array]:
        """Return the blocks of columns in which a table is laid out, as views."""
        widths = self.loss.structure.column_blocks
        return [table] if table.ndim < 2 or not widths else np.split(table, np.cumsum(widths)[:-1], axis=1)


# ---- shapes ---------------------------------------------------------------------------------------------


def padded_batch(
    loss: FenchelYoungLoss,
    scores: tuple[int, ...],
    shared: tuple[int, ...] | None,
    sizes: Any = None,
    mask: Any = None,
) -> PaddedBatch:
    """Make a batch of scores and shared scores of these shapes; ValueError for what does not fit."""
    structure = loss.structure
    axes = _axes(structure, scores, shared)
    if sizes is not None and mask is not None:
        raise ValueError("Give sizes or a mask, not both.")
    free = next((k for k, axis in enumerate(axes) if isinstance(axis, int)), len(axes))
    if mask is not None:
        sizes, mask = _lengths_of(structure, np.asarray(mask), scores)
    if mask is not None:
        found = _sizes_of(_checked_mask(mask, scores, axes[:free]))
    elif sizes is not None:
        found = _checked_sizes(np.asarray(sizes), scores, axes[:free], structure.beyond_length)
    else:
        found = np.empty((scores[0], 0), dtype=np.int64)
    if found.shape[1] > 2:
        raise ValueError(f"At most two axes of scores can be padded; got sizes of {found.shape[1]}.")
    by_blocks = len(scores) == 3 and bool(structure.column_blocks)
    n_lead = max(found.shape[1], int(by_blocks))
    lead = scores[1] if n_lead else 1, scores[2] if n_lead == 2 else 1
    layout = _layout(structure, scores, shared, found, n_lead)
    return PaddedBatch(loss, found, axes, scores, shared is not None, lead, layout)


def _layout(
    structure: Structure, scores: tuple[int, ...], shared: tuple[int, ...] | None, sizes: Array, n_lead: int
) -> BatchLayout:
    """Ask the structure for every shape that an example has."""
    n, columns = sizes.shape
    rest = scores[1 + columns :]
    first, inverse = np.arange(min(n, 1)), np.zeros(n, dtype=np.int64)
    if columns:
        key = sizes[:, 0] * (scores[2] + 1) + sizes[:, 1] if columns == 2 else sizes[:, 0]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    known = _SHAPES.setdefault(structure, {})
    if len(known) > MOST_SHAPES:
        known.clear()
    found = []
    for b, leading in zip(first.tolist(), sizes[first].tolist()):
        block = (*leading, *rest)
        shape = known.get((block, shared is None))
        if shape is None:
            shape = known[block, shared is None] = _shape_of(structure, scores, shared, b, block)
        found.append(shape)
    shapes = np.array(found, dtype=np.int64).reshape(-1, 2)[inverse]
    filled = np.ones((n, 2), dtype=np.int64)
    filled[:, :n_lead] = sizes if columns else scores[1 : 1 + n_lead]
    row = int(np.prod(scores[1 + n_lead :], dtype=np.int64))
    blocks = structure.column_blocks if n_lead and len(scores) == 3 else ()
    widths = np.array(blocks or [row], dtype=np.int64)
    n_local = np.asarray(structure.n_local(shapes.T), dtype=np.int64)
    return BatchLayout(filled, widths, shapes, n_local, structure.n_shared if shared is None else 0)


def _axes(structure: Structure, scores: tuple[int, ...], shared: tuple[int, ...] | None) -> Axes:
    """Return the axes of one example's scores; ValueError if the structure takes no such batch."""
    axes, shapes = structure.local_axes, structure.shared_shapes
    if shapes is None and len(scores) > 1:  # a structure of the user's own knows itself what it takes
        return (*axes, *(f"axis {k}" for k in range(2, len(scores))))
    if shared is None and len(scores) == 2 and structure.part_ndim == 1 and (shapes or len(axes) > 1):
        return ("parts",)
    fits = len(scores) == 1 + len(axes) and all(
        isinstance(axis, str) or axis == size for axis, size in zip(axes, scores[1:])
    )
    if not fits or (bool(shapes) if shared is None else shared not in (shapes or ())):
        raise _refusal(structure, scores, shared)
    return axes


def _shape_of(
    structure: Structure,
    scores: tuple[int, ...],
    shared: tuple[int, ...] | None,
    b: int,
    block: tuple[int, ...],
) -> tuple[int, int]:
    """Return what scores of example b, which fill `block`, are to the structure."""
    template = np.broadcast_to(0.0, _part_shape(structure, block, shared is not None))
    try:
        shape = structure.shape(template)
        if structure.fits(shape) and structure.n_local(shape) + structure.n_shared == template.size:
            return shape
        raise ValueError(f"{type(structure).__name__} has no output of {template.size} parts.")
    except ValueError as error:
        if structure.shared_shapes is None:
            raise
        at = "" if block == tuple(scores[1:]) else f" Example {b} has scores of shape {block}."
        raise _refusal(structure, scores, shared, at) from error


def _part_shape(structure: Structure, block: tuple[int, ...], has_shared: bool) -> tuple[int, ...]:
    """Return the shape of the part vector of an example whose scores fill `block`."""
    if len(block) == structure.part_ndim and not has_shared:
        return block
    return (int(np.prod(block, dtype=np.int64)) + (structure.n_shared if has_shared else 0),)


def _refusal(
    structure: Structure, scores: tuple[int, ...], shared: tuple[int, ...] | None, at: str = ""
) -> ValueError:
    wanted = f"scores of shape ({', '.join(map(str, ('batch', *structure.local_axes)))})"
    if structure.shared_shapes:
        shapes = " or ".join(map(str, structure.shared_shapes))
        wanted += f" and shared scores of shape {shapes}, the same for all examples"
    got = f"scores of shape {tuple(scores)}"
    if shared is not None or structure.shared_shapes:
        got += f" and {'no shared scores' if shared is None else f'shared scores of shape {tuple(shared)}'}"
    return ValueError(f"{type(structure).__name__} takes {wanted}; got {got}.{at}")


def _padded_shape(scores: tuple[int, ...], axes: Axes) -> str:
    names = ", ".join(map(str, ("batch", *axes)))
    return f"({names}), here {tuple(scores[: 1 + len(axes)])}"


def _checked_sizes(
    sizes: Array, scores: tuple[int, ...], free: Axes, beyond: tuple[int, ...] = (0,)
) -> Array:
    """Return sizes as an integer table (batch, axes); one number per example is its length."""
    table = sizes[:, None] + np.array(beyond[: len(free)]) if sizes.ndim == 1 else sizes
    if not free:
        raise ValueError("All examples of this structure have the same size: leave sizes out.")
    if table.ndim != 2 or len(table) != scores[0] or not 1 <= table.shape[1] <= len(free):
        columns = (
            "" if len(free) == 1 else f" or ({scores[0]}, {len(free)}), for {' and '.join(map(str, free))}"
        )
        raise ValueError(f"Sizes must have the shape ({scores[0]},){columns}; got {sizes.shape}.")
    if table.size and not np.issubdtype(table.dtype, np.integer):
        raise ValueError(f"Sizes must be integers; got {table.dtype}.")
    most = np.array(scores[1 : 1 + table.shape[1]])
    wrong = np.flatnonzero(((table < 1) | (table > most)).any(axis=1))
    if wrong.size:
        raise ValueError(
            f"Sizes must be between 1 and the padded {tuple(int(size) for size in most)}; example {wrong[0]} "
            f"has {tuple(table[wrong[0]].tolist())}."
        )
    return table.astype(np.int64)


def _checked_mask(mask: Array, scores: tuple[int, ...], free: Axes) -> Array:
    if not free:
        raise ValueError("All examples of this structure have the same size: leave the mask out.")
    if not 2 <= mask.ndim <= 1 + len(free) or mask.shape != tuple(scores[: mask.ndim]):
        raise ValueError(f"A mask must have the shape {_padded_shape(scores, free)}; got {mask.shape}.")
    return mask.astype(bool)


def _lengths_of(structure: Structure, mask: Array, scores: tuple[int, ...]) -> tuple[Any, Any]:
    """Return (lengths, None) for a mask of words where one length decides several axes, else (None, mask)."""
    words = structure.beyond_length.index(0) + 1
    if len(structure.beyond_length) > 1 and mask.shape == (scores[0], scores[words]):
        return _sizes_of(mask.astype(bool))[:, 0], None
    return None, mask


def _sizes_of(mask: Array) -> Array:
    """Return the sizes of a mask whose true entries are a block that begins at 0 in each axis."""
    if mask.ndim == 2:
        lengths = mask.sum(axis=1)
        if lengths.min(initial=1) and (mask == (np.arange(mask.shape[1]) < lengths[:, None])).all():
            return lengths[:, None]
    axes = range(1, mask.ndim)
    sizes = [mask.any(axis=tuple(other for other in axes if other != axis)).sum(axis=1) for axis in axes]
    block = np.ones((1,) * mask.ndim, dtype=bool)
    for axis, size in zip(axes, sizes):
        at = np.arange(mask.shape[axis]).reshape([-1 if k == axis else 1 for k in range(mask.ndim)])
        block = block & (at < size.reshape(-1, *[1] * (mask.ndim - 1)))
    wrong = np.flatnonzero((block != mask).any(axis=tuple(axes)) | (sizes[0] == 0))
    if wrong.size:
        raise ValueError(
            f"The mask of example {wrong[0]} must be true on a block that begins at 0 in each axis (padding "
            "at the end); give a part that is forbidden the score -inf."
        )
    return np.stack(sizes, axis=1)
