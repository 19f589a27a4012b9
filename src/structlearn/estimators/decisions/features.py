"""Features of decisions: one row per example that scores every part, or one row per part.

Scores are theta = s alpha c_hat, with the predicted costs c_hat = X B (s is -1 where costs are minimised, 1
where they are maximised). So rows, and the constant, are multiplied by s alpha, and the weights are B itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array, Shape
from structlearn.core.memory import Memory
from structlearn.estimators.scikit import Rows
from structlearn.scoring import PartScoring, RowScoring, Scoring
from structlearn.scoring.parts.sparse_parts import SparsePartScoring


def has_part_rows(X: Any) -> bool:
    """Whether X has features for each part: an array of three axes or more, or a list of tables."""
    if sparse.issparse(X) or hasattr(X, "columns"):
        return False
    if isinstance(X, np.ndarray):
        return X.ndim > 2
    one = X[0] if isinstance(X, Sequence) and not isinstance(X, str) and len(X) else None
    return one is not None and (sparse.issparse(one) or np.ndim(one) > 1)


def n_part_axes(X: Any) -> int:
    """Return how many axes the parts of an example have, where X has features for each part."""
    return int(X.ndim - 2 if isinstance(X, np.ndarray) else np.ndim(X[0]) - 1)


def scaled_rows(rows: Rows, factor: float, *, constant: bool) -> Rows:
    """Return rows times a factor, with one more column of that factor where there is a constant."""
    if isinstance(rows, np.ndarray):
        found = np.empty((rows.shape[0], rows.shape[1] + constant))
        np.multiply(rows, factor, out=found[:, : rows.shape[1]])
        found[:, rows.shape[1] :] = factor
        return found
    scaled = rows.astype(np.float64) * factor
    if constant:
        ones = sparse.csr_matrix(np.full((rows.shape[0], 1), factor))
        scaled = sparse.hstack([scaled, ones], format="csr")
    return scaled.tocsr()


def row_scoring(rows: Rows, shapes: Sequence[Shape] | Array, n_parts: int, memory: Memory) -> Scoring:
    """Return the scoring of one row per example, whose parts all have weights of their own."""
    one_each = np.ones(rows.shape[0], dtype=np.int64)
    found = RowScoring(rows, one_each, n_parts, sparsify=memory.limit is None, memory=memory)
    found.shapes = np.array(shapes, dtype=np.int64)
    return found


def part_scoring(rows: Rows, shapes: Sequence[Shape] | Array, sizes: Array) -> Scoring:
    """Return the scoring of one row per part; the parts of all examples share their weights."""
    kind = PartScoring if isinstance(rows, np.ndarray) else SparsePartScoring
    return kind(rows, np.array(shapes, dtype=np.int64), sizes=sizes, intercept=False)
