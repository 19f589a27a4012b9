"""Constituency trees: binary trees over the words of a sentence, whose spans have labels."""

from __future__ import annotations

from math import isqrt

import numpy as np

from structlearn.core.contract import Array, Shape, log_partition, marginals_workspace
from structlearn.core.forms import count
from structlearn.structures.base import Structure, Weights, label_count, nothing_allowed
from structlearn.structures.registry import stored
from structlearn.structures.tree.cky import ConstituencyRecord, draw_constituents


@stored("binary trees over words whose spans have labels", {"n_labels": count})
class ConstituencyTree(Structure):
    """Binary trees over n words: each of their 2 n - 1 spans, single words included, has one label.

    The parts are an (n, n, K) table, written as one vector: entry [i, j, k] is the span of the words i .. j
    with label k; those with j < i are never used. `maximize` is the algorithm of Cocke, Younger and Kasami,
    `marginals` inside-outside; O(n^3 + n^2 K). A tree that is not binary is written with a label of its own
    for spans that it does not have; then several binary trees may stand for one, which is harmless to
    `maximize` where that label scores 0, and counts in `marginals`.

    An output is an array of 2 n - 1 rows (begin, end, label) with the end exclusive, as in `Segments`.

    Parameters
    ----------
    n_labels : int

    """

    beyond_length = (0, 0)

    def __init__(self, n_labels: int) -> None:
        self.n_labels = label_count(n_labels, "A constituency tree")

    @property
    def record(self) -> ConstituencyRecord:
        return ConstituencyRecord(self.n_labels)

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        return ("words", "words", self.n_labels)

    @property
    def output_axes(self) -> tuple[int | str, ...]:
        return ("spans",)

    def shape(self, theta: Array) -> Shape:
        rows, rest = divmod(np.size(theta), self.n_labels)
        if np.ndim(theta) != 1 or rest or not rows or isqrt(rows) ** 2 != rows:
            raise ValueError(
                f"Spans of n words with {self.n_labels} labels are a vector of n * n * {self.n_labels} "
                f"parts; got shape {np.shape(theta)}."
            )
        return rows, self.n_labels

    def fits(self, shape: Shape | Array) -> bool | Array:
        words = np.rint(np.sqrt(np.maximum(shape[0], 0))).astype(np.int64)
        fits = (shape[0] >= 1) & (words * words == shape[0]) & (shape[1] == self.n_labels)
        return fits if isinstance(shape, np.ndarray) else bool(fits)

    def most_entries(self, shape: Shape) -> int:
        return 2 * isqrt(shape[0]) - 1

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the part vector of the spans `y`, rows (begin, end, label) in any order.

        Rows of the label -1 are padding.
        """
        spans = np.asarray(y)
        if spans.ndim == 2 and spans.shape[1] == 3:
            spans = spans[spans[:, 2] != -1]
        if spans.ndim != 2 or spans.shape[1] != 3 or not len(spans) % 2 or spans.dtype.kind not in "iu":
            raise ValueError(
                "A constituency tree of n words is 2 n - 1 rows of integers (begin, end, label); got "
                f"{spans.dtype} of shape {spans.shape}."
            )
        n = (len(spans) + 1) // 2
        if shape is not None and shape[0] != n * n:
            raise ValueError(f"There are {len(spans)} spans, of {n} words, but {isqrt(shape[0])} words.")
        labels = np.full((n, n + 1), -1)
        for begin, end, label in spans.tolist():
            if not (0 <= begin < end <= n and 0 <= label < self.n_labels):
                raise ValueError(
                    f"The span ({begin}, {end}) with label {label} is not among {n} words and "
                    f"{self.n_labels} labels."
                )
            labels[begin, end] = label
        _check_nested(labels >= 0, n)
        mu = np.zeros((n, n, self.n_labels))
        begin, end = np.nonzero(labels >= 0)
        mu[begin, end - 1, labels[begin, end]] = 1.0
        return mu.ravel()

    def decode(self, vertex: Array) -> Array:
        """Return the spans, an array of rows (begin, end, label): by begin, longer ones first."""
        first, last, label = np.nonzero(self.table(vertex) > 0.5)
        order = np.lexsort((-last, first))
        return np.stack([first, last + 1, label], axis=1)[order]

    def table(self, parts: Array) -> Array:
        """Return a part vector as an (n, n, K) table."""
        n = isqrt(self.shape(parts)[0])
        return parts.reshape(n, n, self.n_labels)

    def cost(
        self, mu: Array, *, weights: object = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return 1 on each wrong span or label, over the number of spans where normalised."""
        if weights is not None or nodes is not None:
            raise ValueError("Spans of constituency trees all weigh the same; leave weights and nodes out.")
        c = 1.0 - np.asarray(mu, dtype=np.float64)
        return c / (2 * isqrt(self.shape(mu)[0]) - 1) if normalized else c

    def sample(
        self, theta: Array, n: int, random_state: int | np.random.Generator | None = None
    ) -> list[Array]:
        """Draw `n` independent trees of p(y) ~ exp <theta, z(y)>, each as `decode` writes it."""
        if n < 0:
            raise ValueError(f"The number of samples must be at least 0; got {n}.")
        theta, shape = self.read_scores(theta)
        words, work = isqrt(shape[0]), marginals_workspace(self.record, shape)
        if log_partition(self.record, shape, theta, theta[:0], work, theta) == -np.inf:
            raise nothing_allowed("The score vector")
        spans = np.empty((n, 2 * words - 1, 3), dtype=np.int64)
        uniform = np.random.default_rng(random_state).random((n, 3 * words))
        draw_constituents(words, theta, work, uniform, spans, np.empty(self.n_labels))
        spans[:, :, 1] += 1
        return [one[np.lexsort((-one[:, 1], one[:, 0]))] for one in spans]


def _check_nested(has: Array, n: int) -> None:
    """Raise a ValueError unless spans, has[begin, end], split from the sentence down to single words."""
    if not has[0, n]:
        raise ValueError(f"The span (0, {n}) of the whole sentence is missing.")
    todo, seen = [(0, n)], 0
    while todo:
        begin, end = todo.pop()
        seen += 1
        if end - begin == 1:
            continue
        middle = [m for m in range(begin + 1, end) if has[begin, m] and has[m, end]]
        if len(middle) != 1:
            raise ValueError(f"The span ({begin}, {end}) does not fall into two spans, each given once.")
        todo += [(begin, middle[0]), (middle[0], end)]
    if seen != int(has.sum()):
        raise ValueError(f"{int(has.sum()) - seen} spans cross others.")
