"""Random problems of segmentations, and of labels on the nodes of small graphs."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np

from .data import Array, Rng, draw_rows, draw_scale, exact, in_layout
from .outputs import one_hot, segmentations, sequences
from .problems import Output, Problem, by_label, draw_class_weight, label_weights, recoded
from .reference import EXTENDED

#: (start, end, state)
Tiles = tuple[tuple[int, int, int], ...]


class Segmentations(Problem):
    """Labelled spans and gaps: an output is its tiles; each token of a gap is one, of the last state."""

    estimator = "SegmentClassifier"

    def draw(self, rng: Rng) -> None:
        n, most, longest = int(rng.integers(1, 5)), int(rng.integers(1, 3)), int(rng.integers(1, 4))
        lengths = rng.integers(1, 4, size=n)
        gaps = bool(rng.integers(2))
        drawn = [self._drawn(rng, int(length), most, longest, gaps) for length in lengths]
        drawn[0] = ((0, 1, 0), *((t, t + 1, 0) for t in range(1, int(lengths[0]))))
        labels = sorted({k for one in drawn for _, _, k in one if k < most})
        self.n_labels, place = len(labels), {k: j for j, k in enumerate(labels)}
        self.tiled = [tuple((a, b, place.get(k, self.n_labels)) for a, b, k in one) for one in drawn]
        self.n_states = self.n_labels + any(k == self.n_labels for one in self.tiled for _, _, k in one)
        found = max(b - a for one in self.tiled for a, b, k in one if k < self.n_labels)
        self.parameters["max_length"] = None if rng.integers(2) else int(rng.integers(found, 4))
        self.longest = min(self.parameters["max_length"] or found, int(lengths.max()))
        self.gold = self.tiled
        rows = draw_rows(rng, lengths.sum(), int(rng.integers(1, 4)))
        self.X = [in_layout(one, self.layout) for one in np.split(rows, np.cumsum(lengths)[:-1])]
        self.rows = [self.constant(x) for x in self.X]
        self._draw_cost(rng)
        self.parameters.update(start=bool(rng.integers(2)), end=bool(rng.integers(2)))

    @staticmethod
    def _drawn(rng: Rng, length: int, n_labels: int, longest: int, gaps: bool) -> Tiles:
        every = segmentations(length, n_labels, longest, gaps=gaps)
        return every[rng.integers(len(every))]

    def _draw_cost(self, rng: Rng) -> None:
        cost, self.table, self.mean = by_label(rng, self.n_states, tables=True)
        self.parameters["cost"] = "hamming" if isinstance(cost, dict) else cost
        if isinstance(cost, dict):
            self.table = 1.0 - np.eye(self.n_states)

    def vary(self, rng: Rng) -> None:
        self.scale(float(rng.choice([1, 2])))
        self._draw_cost(rng)

    @property
    def y(self) -> Any:
        return [[tile for tile in one if tile[2] < self.n_labels] for one in self.tiled]

    def vertices(self, i: int) -> list[Any]:
        return segmentations(
            len(self.rows[i]), self.n_labels, self.longest, gaps=self.n_states > self.n_labels
        )

    def states(self, y: Any) -> list[int]:
        return [k for a, b, k in y for _ in range(a, b)]

    def _tokens(self, y: Any) -> Array:
        """(length, n_states + 2 n_labels): the state of each token, the span it is the first, the last of."""
        n, k = self.n_states, self.n_labels
        table = np.zeros((y[-1][1], n + 2 * k))
        for a, b, state in y:
            table[a:b, state] = 1
            if state < k:
                table[a, n + state] = table[b - 1, n + k + state] = 1
        return table

    def features(self, i: int, y: Any, model: Any) -> Array:
        n, k, form = self.n_states, self.n_labels, self.parameters
        steps, lengths = np.zeros((n, n)), np.zeros((self.longest, k))
        for (_, _, before), (_, _, after) in pairwise(y):
            steps[before, after] += 1
        for a, b, state in y:
            if state < k:
                lengths[b - a - 1, state] += 1
        ends = [one_hot(y[0][2], n) if form["start"] else [], one_hot(y[-1][2], n) if form["end"] else []]
        tokens = self._tokens(y).astype(EXTENDED).T @ self.rows[i]
        return np.concatenate([tokens.ravel(), steps.ravel(), lengths.ravel(), *ends])

    def cost(self, i: int, y: Any) -> float:
        gold, found = self.states(self.tiled[i]), self.states(y)
        total = sum(self.table[pair] for pair in zip(gold, found))
        return total / (len(gold) if self.mean else 1)

    def bent(self, i: int, y: Any) -> Output:
        return tuple(self._tokens(y).ravel())

    def weights(self, model: Any) -> Array:
        n_ends = self.n_states * (self.parameters["start"] + self.parameters["end"])
        ends = model.weights_[model.weights_.size - n_ends :]
        tables = label_weights(model, self.intercept), model.transition_coef_, model.length_coef_, ends
        return np.concatenate([np.ravel(one) for one in tables])


class Graphs(Problem):
    """One of K labels for each node, tables of weights for edges."""

    estimator = "GraphClassifier"

    def draw(self, rng: Rng) -> None:
        n, most = int(rng.integers(1, 5)), int(rng.integers(2, 4))
        sizes = rng.integers(1, 5 if most == 2 else 4, size=n)
        sizes[0] = max(2, sizes[0])
        labels = rng.integers(most, size=sizes.sum())
        labels[:2] = 0, 1
        codes, self.n_labels = recoded(labels)
        ends = np.cumsum(sizes)[:-1]
        self.gold = [tuple(one.tolist()) for one in np.split(codes, ends)]
        self.graphs = [self._edges(rng, int(size)) for size in sizes]
        nodes = np.split(draw_rows(rng, sizes.sum(), int(rng.integers(1, 4))), ends)
        width, size = int(rng.integers(1, 3)), draw_scale(rng)
        self.nodes = [in_layout(one, self.layout) for one in nodes]
        self.edges = [in_layout(rng.normal(size=(len(g), width)) * size, self.layout) for g in self.graphs]
        self.X = list(zip(self.nodes, self.graphs, self.edges))
        self.rows = [self.constant(one) for one in self.nodes]
        self.parameters["pairs"] = str(rng.choice(["full", "symmetric", "antisymmetric", "potts"]))
        self._draw_cost(rng, codes)

    def vary(self, rng: Rng) -> None:
        self.parameters["pairs"] = str(rng.choice(["full", "symmetric", "antisymmetric", "potts"]))
        self._draw_cost(rng, np.concatenate(self.gold))

    def _draw_cost(self, rng: Rng, codes: Array) -> None:
        self.parameters["cost"], table, self.mean = by_label(rng, self.n_labels, tables=True)
        self.parameters["class_weight"], by_class = draw_class_weight(rng, codes, self.n_labels)
        self.table = table * by_class[:, None]

    @staticmethod
    def _edges(rng: Rng, size: int) -> Array:
        pairs = [pair[:: 1 - 2 * int(rng.integers(2))] for pair in combinations(range(size), 2)]
        kept = [pairs[k] for k in rng.permutation(len(pairs))[: rng.integers(5)]]
        return np.array([*kept, *kept[: int(rng.random() < 0.2)]], dtype=np.int64).reshape(-1, 2)

    def vertices(self, i: int) -> list[Output]:
        return sequences(self.n_labels, len(self.gold[i]))

    def features(self, i: int, y: Output, model: Any) -> Array:
        k, edges = self.n_labels, exact(self.edges[i])
        nodes = np.array([one_hot(label, k) for label in y]).T @ self.rows[i]
        tables = np.zeros((edges.shape[1], k, k), dtype=EXTENDED)
        for (u, v), values in zip(self.graphs[i].tolist(), edges):
            tables[:, y[u], y[v]] += values
        return np.concatenate([nodes.ravel(), self._free(tables, summed=True).ravel()])

    def _free(self, tables: Array, *, summed: bool) -> Array:
        """The entries of tables that are weights of their own; `summed`, what each is multiplied with."""
        a, b = np.triu_indices(self.n_labels)
        other = tables.transpose(0, 2, 1)
        match self.parameters["pairs"]:
            case "symmetric":
                both = tables + other
                both[:, range(self.n_labels), range(self.n_labels)] /= 2
                return (both if summed else tables)[:, a, b]
            case "antisymmetric":
                return (tables - other if summed else tables)[:, a[a < b], b[a < b]]
            case "potts":
                like = tables[:, range(self.n_labels), range(self.n_labels)]
                return like.sum(axis=1) if summed else like[:, 0]
        return tables

    def cost(self, i: int, y: Output) -> float:
        total = sum(self.table[pair] for pair in zip(self.gold[i], y))
        return total / (len(y) if self.mean else 1)

    def bent(self, i: int, y: Output) -> Output:
        return tuple(np.ravel([one_hot(label, self.n_labels) for label in y]))

    def weights(self, model: Any) -> Array:
        pairs = self._free(model.edge_coef_, summed=False)
        return np.concatenate([label_weights(model, self.intercept).ravel(), pairs.ravel()])
