"""Padded batches: score tables of examples of several sizes, and their shapes checked before they are joined.

A batch has scores of local parts, (batch, *axes) with the axes of `Structure.local_axes`, and of shared
parts, which all examples have in common. Where a structure's part vectors have one axis, a batch may also
hold whole part vectors, (batch, parts).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.derivatives import derivative, second_derivative
from structlearn.problem.losses import FenchelYoungLoss, LossTarget
from structlearn.structures import Structure

Axes = tuple[int | str, ...]


class BatchTargets(NamedTuple):
    """What a loss must know of the outputs: mu for local and shared parts, local costs, and Omega(mu)."""

    mu: Array
    of_shared: Array
    cost: Array
    omega: Array


class PaddedBatch(NamedTuple):
    """Where the examples of a padded batch are: example b is theta[b] up to sizes[b] in each leading axis."""

    loss: FenchelYoungLoss
    sizes: Array
    #: those of one example's scores
    axes: Axes

    def ask(self, theta: Array, shared: Array) -> tuple[Array, Array, Array]:
        """Return answers for local parts (zero where padded) and shared parts, and their values."""
        found, values = self._respond(theta, shared)
        return *self._apart(found, theta, shared), values

    def derivative(self, theta: Array, shared: Array, *ways: Array) -> tuple[Array, Array]:
        """Return J v for one way v, D J[u] v for two, u and v: for local and for shared parts.

        A way is given by its local and its shared parts. Examples of one shape are asked together.
        """
        moved_by = (derivative, second_derivative)[len(ways) // 2 - 1]
        given = [self._parts(*pair) for pair in zip((theta, *ways[::2]), (shared, *ways[1::2]))]
        found: list[Any] = [None] * len(theta)
        alike: dict[tuple[int, ...], list[int]] = {}
        for b, one in enumerate(given[0]):
            alike.setdefault(one.shape, []).append(b)
        for rows in alike.values():
            moved = moved_by(self.loss, *(np.stack([each[b] for b in rows]) for each in given))
            for b, one in zip(rows, moved):
                found[b] = one
        return self._apart(found, theta, shared)

    def answers(self, theta: Array, shared: Array) -> Any:
        """Return the part vector of each example's answer."""
        return self._respond(theta, shared)[0]

    def targets(self, theta: Array, shared: Array, ys: Sequence[Any]) -> BatchTargets:
        """Return what the loss must know of the outputs."""
        parts = self._parts(theta, shared)
        found = [self._target(ys[b], b, one) for b, one in enumerate(parts)]
        costs = [np.broadcast_to(one.cost, mu.shape) for one, mu in zip(found, parts)]
        mu, of_shared = self._apart([one.mu for one in found], theta, shared)
        cost = self._apart(costs, theta, shared)[0]
        return BatchTargets(mu, of_shared, cost, np.array([one.omega for one in found]))

    def _target(self, given: Any, b: int, parts: Array) -> LossTarget:
        try:
            return self.loss.target(parts, self._output(given, b))
        except ValueError as error:
            raise ValueError(f"Output {b} does not fit its scores: {error}") from error

    def _output(self, y: Any, b: int) -> Any:
        """Return example b's output; of an array that is padded as scores are, what its sizes cover."""
        if not isinstance(y, np.ndarray) or not y.ndim:
            return y.item() if isinstance(y, np.ndarray) else y
        structure = self.loss.structure
        axes = structure.local_axes if y.ndim == structure.part_ndim > 1 else structure.output_axes
        sizes = dict(zip(self.axes, self.sizes[b].tolist()))
        return y[tuple(slice(sizes.get(axis)) for axis in axes[: y.ndim])]

    def block(self, b: int) -> tuple[slice, ...]:
        return tuple(slice(int(size)) for size in self.sizes[b])

    def _respond(self, theta: Array, shared: Array) -> tuple[Any, Array]:
        parts = self._parts(theta, shared)
        if not parts:
            return [], np.empty(0)
        same = (self.sizes == self.sizes[:1]).all()
        return self.loss.structure.respond(self.loss.record, np.stack(parts) if same else parts)

    def _parts(self, theta: Array, shared: Array) -> list[Array]:
        """Return the part vector of each example."""
        return [self._join(theta[b][self.block(b)], shared[b]) for b in range(len(theta))]

    def _apart(self, parts: Any, theta: Array, shared: Array) -> tuple[Array, Array]:
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
        found = _sizes_of(_checked_mask(np.asarray(mask), scores, axes[:free]))
    elif sizes is not None:
        found = _checked_sizes(np.asarray(sizes), scores, axes[:free])
    else:
        found = np.empty((scores[0], 0), dtype=np.int64)
    _check_examples(structure, scores, shared, found)
    return PaddedBatch(loss, found, axes)


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


def _check_examples(
    structure: Structure, scores: tuple[int, ...], shared: tuple[int, ...] | None, sizes: Array
) -> None:
    """Ask the structure for every shape that an example has; tables of chains have been checked already."""
    if len(scores) != 1 + structure.part_ndim or structure.shared_shapes is None or shared is not None:
        return
    for b, size in zip(*reversed(np.unique(sizes, axis=0, return_index=True))):
        example = (*size.tolist(), *scores[1 + sizes.shape[1] :])
        try:
            structure.shape(np.broadcast_to(0.0, example))
        except ValueError as error:
            at = f" Example {b} has scores of shape {example}." if size.size else ""
            raise _refusal(structure, scores, shared, at) from error


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


def _checked_sizes(sizes: Array, scores: tuple[int, ...], free: Axes) -> Array:
    """Return sizes as an integer table (batch, axes)."""
    table = sizes[:, None] if sizes.ndim == 1 else sizes
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
    if (table < 1).any() or (table > most).any():
        raise ValueError(f"Sizes must be between 1 and the padded {tuple(int(size) for size in most)}.")
    return table.astype(np.int64)


def _checked_mask(mask: Array, scores: tuple[int, ...], free: Axes) -> Array:
    if not free:
        raise ValueError("All examples of this structure have the same size: leave the mask out.")
    if not 2 <= mask.ndim <= 1 + len(free) or mask.shape != tuple(scores[: mask.ndim]):
        raise ValueError(f"A mask must have the shape {_padded_shape(scores, free)}; got {mask.shape}.")
    return mask.astype(bool)


def _sizes_of(mask: Array) -> Array:
    """Return the sizes of a mask whose true entries are a block that begins at 0 in each axis."""
    axes = range(1, mask.ndim)
    sizes = [mask.any(axis=tuple(other for other in axes if other != axis)).sum(axis=1) for axis in axes]
    block = np.zeros_like(mask)
    for b, size in enumerate(np.stack(sizes, axis=1)):
        block[b][tuple(slice(int(one)) for one in size)] = True
    if not np.array_equal(block, mask) or not mask.any(axis=tuple(axes)).all():
        raise ValueError(
            "A mask must be true on a block that begins at 0 in each axis (padding at the end); "
            "give a part that is forbidden the score -inf."
        )
    return np.stack(sizes, axis=1)
