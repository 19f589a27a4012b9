"""The base of all chains: the code between label sequences and part vectors, costs, the k best, samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.structures.base import SparseVertices, Structure, Weights, label_count, nothing_allowed
from structlearn.structures.chain.forbidden import Pairs, as_pairs, broken, mask_of
from structlearn.structures.chain.kbest import k_best_sequences
from structlearn.structures.chain.logarithms import log_forward
from structlearn.structures.chain.sampling import sample_backward
from structlearn.structures.chain.spans import SpanLabels, span_probabilities
from structlearn.structures.chain.viterbi import SequenceScores
from structlearn.structures.rows import label_indices, row_costs


class LabelSequences(Structure):
    """Label sequences of any length; first of their parts are the labels' own, position by position."""

    #: Whether the first and the last label have scores of their own.
    start: bool = False
    end: bool = False
    #: Whether each step has scores of its own, not all the same.
    conditioned: bool = False

    def __init__(self, n_labels: int, forbidden: Pairs | None = None) -> None:
        self.n_labels = label_count(n_labels, "A chain")
        #: forbidden steps (before, after), an array of pairs with -1 for the start and the end; None for none
        self.forbidden = as_pairs(forbidden, self.n_labels)
        #: what they add to scores: of steps, of the first and of the last label; empty for none
        self.mask = mask_of(self.forbidden, self.n_labels)

    @property
    def masks(self) -> tuple[Array, Array, Array]:
        """The mask as tables: of steps (K, K), of the first label (K,) and of the last."""
        step, first, last = np.split(self.mask, [self.n_labels**2, self.n_labels * (self.n_labels + 1)])
        return step.reshape(self.n_labels, self.n_labels), first, last

    def broken(self, labels: Array, lengths: Array) -> Array:
        """Find the positions of sequences, end to end, that make a forbidden step, at last to the end."""
        if self.forbidden is None:
            return np.zeros(labels.size, dtype=bool)
        return broken(self.masks, labels, lengths)

    def arguments(self) -> dict[str, object]:
        given = super().arguments()
        return given if self.forbidden is not None else {k: v for k, v in given.items() if k != "forbidden"}

    @property
    def n_columns(self) -> int:
        """The number of local parts of one position."""
        return self.n_labels * (self.n_labels + 1 if self.conditioned else 1)

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        return ("length", self.n_columns)

    @property
    def output_axes(self) -> tuple[int | str, ...]:
        return ("length",)

    def fits(self, shape: Shape | Array) -> bool | Array:
        return (shape[0] >= 1) & (shape[1] == self.n_columns)

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return ones for the labels of the sequence `y` (integers), and how often each step is made."""
        labels = label_indices(y, self.n_labels)
        gold = self.encode_many([labels], np.array([[labels.size, self.n_columns]]))
        return gold.dense(0, labels.size * self.n_columns + self.n_shared)

    def encode_many(self, ys: Iterable[object], shapes: Array) -> SparseVertices:
        k, lengths = self.n_labels, shapes[:, 0]
        labels = label_indices(np.concatenate([np.asarray(y) for y in ys]), k)
        if self.broken(labels, lengths).any():
            raise ValueError("An output makes a forbidden step, so it is not an output of the structure.")
        examples = np.arange(lengths.size)
        owner = np.repeat(examples, lengths)
        last = np.cumsum(lengths) - 1
        position = np.arange(labels.size) - np.repeat(last + 1 - lengths, lengths)
        inner = position > 0
        table = position[inner] * k * k if self.conditioned else 0
        step = np.r_[0, labels[:-1]][inner] * k + labels[inner]
        entries = [(owner, position * k + labels), (owner[inner], lengths[owner[inner]] * k + table + step)]
        if self.start:
            entries.append((examples, lengths * k + k * k + labels[position == 0]))
        if self.end:
            entries.append((examples, lengths * k + self.n_shared - k + labels[last]))
        owners, indices = (np.concatenate(column) for column in zip(*entries))
        return SparseVertices.gather(owners, indices, lengths.size)

    def decode(self, vertex: Array) -> Array:
        length, _ = self.shape(vertex)
        return np.argmax(vertex[: length * self.n_labels].reshape(length, -1), axis=1)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return 1 on each wrong label, over the length where normalised; zero on transitions.

        `weights` of shape (K,) by gold label or (K, K) as [gold, predicted]; `nodes` of shape (L,).
        """
        gold = self.decode(mu)
        labels = row_costs(gold, self.n_labels, weights, nodes) / (gold.size if normalized else 1)
        return np.concatenate([labels.ravel(), np.zeros(mu.size - labels.size)])

    @abstractmethod
    def label_and_step_scores(self, theta: Array, shape: Shape) -> tuple[Array, Array]:
        """Return scores of labels, (L, K), start and end included, and of steps, (L, K, K); -inf forbids."""

    def _mask_forbidden(self, unary: Array, steps: Array) -> tuple[Array, Array]:
        """Return the scores with -inf for what is forbidden."""
        if self.forbidden is None:
            return unary, steps
        step, first, last = self.masks
        unary = unary.copy()
        unary[0] += first
        unary[-1] += last
        return unary, steps + step

    def allows(self, theta: Array) -> bool:
        """Return whether there is an output of finite score."""
        unary, steps = self.label_and_step_scores(*self.read_scores(theta))
        reached = unary[0] > -np.inf
        for t in range(1, len(unary)):
            reached = (reached[:, None] & (steps[t] > -np.inf)).any(axis=0) & (unary[t] > -np.inf)
        return bool(reached.any())

    def k_best(self, theta: Array, k: int) -> tuple[Array, Array]:
        """Return the k best label sequences, (k', L), and their scores, (k',), best first.

        k' < k where fewer are allowed. `theta` is one part vector of scores, as in `maximize`.
        """
        return k_best_sequences(*self.label_and_step_scores(*self.read_scores(theta)), k)

    def sample(self, theta: Array, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw `n` independent label sequences of p(y) ~ exp <theta, z(y)>, an (n, L) array of integers.

        `theta` is one part vector of scores, as in `marginals`; `random_state` a seed or a Generator.
        """
        _, steps, ahead = self._run_forward(theta)
        return sample_backward(steps, ahead, n, np.random.default_rng(random_state))

    def score(self, theta: Array, y: Array) -> float:
        """Return <theta, z(y)> of the label sequence `y` (integers); -inf where it is not allowed."""
        unary, steps = self.label_and_step_scores(*self.read_scores(theta))
        labels = label_indices(y, self.n_labels)
        at = np.arange(labels.size)
        return float(unary[at, labels].sum() + steps[at[1:], labels[:-1], labels[1:]].sum())

    def log_partition(self, theta: Array) -> float:
        """Return log sum_y exp <theta, z(y)>."""
        return self._run_forward(theta)[0]

    def span_probabilities(self, theta: Array, spans: Array, labels: SpanLabels) -> Array:
        """Return probabilities of spans, rows (begin, end, kind), within p(y) ~ exp <theta, z(y)>: (n,)."""
        return span_probabilities(*self.label_and_step_scores(*self.read_scores(theta)), spans, labels)

    def _run_forward(self, theta: Array) -> tuple[float, Array, Array]:
        """Return log Z, the scores of steps, and what the forward recursion in logarithms leaves."""
        unary, steps = self.label_and_step_scores(*self.read_scores(theta))
        ahead, largest, total = np.empty((3, *unary.shape))
        none = np.empty(0)
        log_z = log_forward(SequenceScores(unary, steps, none, none), ahead, largest, total)
        if log_z == -np.inf:
            raise nothing_allowed("The score vector")
        return log_z, steps, ahead
