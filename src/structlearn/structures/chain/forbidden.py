"""Forbidden pairs of neighbouring labels: the polytope of the sequences that make none of these steps.

    mask = [step (K * K) | first (K) | last (K)],   0 where allowed, -inf where not

Kernels add the mask to scores in scratch memory only. What solvers hold stays finite, so that no forbidden
part is ever multiplied by the zero that its marginal is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.forms import form
from structlearn.core.kernels import kernel

if TYPE_CHECKING:
    from structlearn.structures.chain.chain import ChainRecord

#: What stands for the start (before) or the end (after) in an array of pairs.
OUTSIDE = -1
#: Pairs of label numbers, before and after; None is the start or the end.
Pairs: TypeAlias = Iterable[tuple[int | None, int | None]] | Array


@form("an array of pairs of label numbers, or nothing")
def forbidden_pairs(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.shape[1:] == (2,)


def as_pairs(forbidden: Pairs | None, n_labels: int) -> Array | None:
    """Return pairs as an array of shape (m, 2), `OUTSIDE` for None; None where none is given."""
    given = [] if forbidden is None else list(forbidden)
    if not given:
        return None
    try:
        pairs = [[OUTSIDE if one is None else int(one) for one in pair] for pair in given]
        found = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            "Forbidden pairs must be (before, after), each a number of a label or None."
        ) from None
    if found.min() < OUTSIDE or found.max() >= n_labels or (found == OUTSIDE).all(axis=1).any():
        raise ValueError(
            f"Forbidden pairs must be of labels 0 .. {n_labels - 1}, or None for the start or the end."
        )
    return found


def mask_of(pairs: Array | None, n_labels: int) -> Array:
    """Return the mask of pairs; empty where none is forbidden."""
    if pairs is None:
        return np.empty(0)
    mask = np.zeros(n_labels * (n_labels + 2))
    before, after = pairs.T
    inner = (before != OUTSIDE) & (after != OUTSIDE)
    mask[(before * n_labels + after)[inner]] = -np.inf
    mask[n_labels * n_labels + after[before == OUTSIDE]] = -np.inf
    mask[n_labels * (n_labels + 1) + before[after == OUTSIDE]] = -np.inf
    return mask


def broken(masks: tuple[Array, Array, Array], labels: Array, lengths: Array) -> Array:
    """Find the positions of sequences, end to end, whose label may not come after the one before.

    masks : of steps (K, K), of the first label (K,) and of the last, which may be wrong at the last position
    lengths : of the sequences, none of which is empty
    """
    step, at_first, at_last = masks
    last = np.cumsum(lengths) - 1
    first = last + 1 - lengths
    wrong = np.r_[False, step[labels[:-1], labels[1:]] < 0]
    wrong[first] = at_first[labels[first]] < 0
    wrong[last] |= at_last[labels[last]] < 0
    return wrong


@kernel
def add_masks(structure: ChainRecord, shared: Array, room: Array) -> None:
    """room <- the mask, and the scores of steps, start and end where the structure has them."""
    n, mask = structure.n_labels, structure.mask
    for i in range(n * n):
        room[i] = shared[i] + mask[i]
    for k in range(n):
        room[n * n + k] = mask[n * n + k] + (shared[n * n + k] if structure.start else 0.0)
        room[n * n + n + k] = mask[n * n + n + k] + (shared[shared.size - n + k] if structure.end else 0.0)
