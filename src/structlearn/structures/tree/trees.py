"""Trees over the words of a sentence: every word has a head, another word or the root."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array, Shape, log_partition, marginals_workspace
from structlearn.core.sentences import ParameterError
from structlearn.structures.base import Structure, Weights, nothing_allowed
from structlearn.structures.registry import stored
from structlearn.structures.tree import matrix_tree  # noqa: F401  (registers its answers)
from structlearn.structures.tree.arborescence import NonProjectiveTreeRecord
from structlearn.structures.tree.eisner import ProjectiveTreeRecord
from structlearn.structures.tree.kbest import k_best_trees
from structlearn.structures.tree.sampling import draw_trees


class Tree(Structure):
    """The base of projective and non-projective trees.

    The parts are the arcs, an (n + 1, n) table: entry [h, m - 1] is the arc from head h, 0 for the root, to
    word m in 1 .. n. Arcs from a word to itself are never used. An output is the vector of the n heads.

    Parameters
    ----------
    single_root : bool
        Whether exactly one word has the root as its head; if not, at least one.
    """

    part_ndim = 2
    beyond_length = (1, 0)

    def __init__(self, single_root: bool = True) -> None:
        self.single_root = single_root

    def shape(self, theta: Array) -> Shape:
        found = np.shape(theta)
        if len(found) != 2 or found[0] != found[1] + 1 or found[1] < 1:
            raise ValueError(f"Arcs of n words are an (n + 1, n) table, n >= 1; got shape {found}.")
        return found[0], found[1]

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        return ("words + 1", "words")

    @property
    def output_axes(self) -> tuple[int | str, ...]:
        return ("words",)

    def fits(self, shape: Shape | Array) -> bool | Array:
        return (shape[1] >= 1) & (shape[0] == shape[1] + 1)

    def most_entries(self, shape: Shape) -> int:
        return shape[1]

    def k_best(self, theta: Array, k: int) -> tuple[Array, Array]:
        """Return the k best trees, (k', n) heads, and scores, (k',), best first; k' < k if there are fewer.

        `theta` is one table of scores, as in `maximize`. Takes about k n times as long as the best alone.
        """
        return k_best_trees(self, theta, k)

    def by_choice(self, parts: Array) -> Array:
        """Return parts as a table (choices of a word, words): here a word chooses its head."""
        n = int((parts.size + 0.25) ** 0.5)
        return parts.reshape(n + 1, n)

    def from_choices(self, table: Array) -> Array:
        """Invert `by_choice`."""
        return table

    def sample(self, theta: Array, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw `n` independent trees of p(y) ~ exp <theta, z(y)>, an (n, words) array of heads.

        `theta` is one table of scores, as in `marginals`; `random_state` a seed or a Generator.
        """
        if n < 0:
            raise ValueError(f"The number of samples must be at least 0; got {n}.")
        theta, shape = self.read_scores(theta)
        heads = np.empty((n, shape[1]), dtype=np.int64)
        uniform = np.random.default_rng(random_state).random((n, 2 * shape[1]))  # enough for all choices
        work, flat = marginals_workspace(self.record, shape), theta.ravel()
        if log_partition(self.record, shape, flat, flat[:0], work, flat) == -np.inf:
            raise nothing_allowed("The score table")
        draw_trees(self.record, shape, flat, work, uniform, heads)
        return heads

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the table of arcs of the heads `y`, integers in 0 .. n with 0 for the root."""
        heads = self._checked_heads(np.asarray(y), shape)
        mu = np.zeros((heads.size + 1, heads.size))
        mu[heads, np.arange(heads.size)] = 1.0
        return mu

    def _checked_heads(self, heads: Array, shape: Shape | None) -> Array:
        if heads.ndim != 1 or not np.issubdtype(heads.dtype, np.integer) or heads.size == 0:
            raise ValueError("A tree must be a vector of heads, one integer per word, with 0 for the root.")
        n = heads.size
        if shape is not None and n != shape[1]:
            raise ValueError(f"There are {n} heads but {shape[1]} words.")
        outside_sentence = np.flatnonzero((heads < 0) | (heads > n))
        if outside_sentence.size:
            m = outside_sentence[0] + 1
            raise ValueError(f"Word {m} has head {heads[m - 1]}, which is not in 0 .. {n}.")
        roots = np.flatnonzero(heads == 0) + 1
        if self.single_root and roots.size > 1:
            raise ParameterError(
                "Words {first} and {second} are both under the root; use {single_root=False}.",
                first=roots[0],
                second=roots[1],
            )
        self._check_cycles(heads)
        return heads

    @staticmethod
    def _check_cycles(heads: Array) -> None:
        depth = np.arange(1, heads.size + 1)
        above = np.concatenate([[0], heads])
        for _ in range(heads.size):
            depth = above[depth]
        if depth.any():
            raise ValueError(f"The heads have a cycle through word {depth[depth > 0][0]}.")

    def decode(self, vertex: Array) -> Array:
        return np.argmax(vertex, axis=0)

    def cost(
        self, mu: Array, *, weights: object = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return 1 on each wrong arc, over the number of words where normalised; `nodes` weigh the words."""
        if weights is not None:
            raise ValueError("Trees have no labels to weigh; give weights of words as nodes.")
        n = mu.shape[1]
        c = 1.0 - np.asarray(mu, dtype=np.float64)
        if nodes is not None:
            nodes = np.asarray(nodes, dtype=np.float64)
            if nodes.shape != (n,) or not (nodes >= 0).all():
                raise ValueError(f"nodes are {n} weights of at least 0, one per word; got {nodes!r}.")
            c = c * nodes
        return c / n if normalized else c


@stored("trees over words whose arcs do not cross", {"single_root": bool})
class ProjectiveTree(Tree):
    """Trees whose arcs do not cross: `maximize` by Eisner's algorithm, `marginals` by inside-outside."""

    @property
    def record(self) -> ProjectiveTreeRecord:
        return ProjectiveTreeRecord(bool(self.single_root))

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        mu = super().encode(y, shape)
        crossing = crossing_arcs(np.asarray(y))
        if crossing is not None:
            raise ValueError(
                f"The arcs of words {crossing[0]} and {crossing[1]} cross; use NonProjectiveTree."
            )
        return mu

    def nearest_tree(self, heads: Array) -> Array:
        """Return the projective tree with most arcs of a tree; other words go to heads above if possible."""
        n = heads.size
        theta = np.zeros((n + 1, n))
        above, worth = np.concatenate([[0], heads]), float(n)
        upward = heads.copy()
        while worth > 1.0 / n:
            theta[upward, np.arange(n)] = np.maximum(theta[upward, np.arange(n)], worth)
            upward, worth = above[upward], worth / (2 * n)
        return self.decode(self.maximize(theta))


def crossing_arcs(heads: Array) -> tuple[int, int] | None:
    """Return two words whose arcs from their heads cross, if any do."""
    words = np.arange(1, heads.size + 1)
    low, high = np.minimum(heads, words), np.maximum(heads, words)
    inside = (low[None, :] > low[:, None]) & (low[None, :] < high[:, None])
    crossing = np.argwhere(inside & (high[None, :] > high[:, None]))
    return (int(crossing[0, 0]) + 1, int(crossing[0, 1]) + 1) if crossing.size else None


@stored("all trees over words", {"single_root": bool})
class NonProjectiveTree(Tree):
    """All trees: `maximize` by the Chu-Liu-Edmonds algorithm, `marginals` by the matrix-tree theorem."""

    @property
    def record(self) -> NonProjectiveTreeRecord:
        return NonProjectiveTreeRecord(bool(self.single_root))
