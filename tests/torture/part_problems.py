"""Random problems with features for each part: matchings, cuts, trees, and structures of one's own."""

from __future__ import annotations

from copy import copy
from functools import cache
from itertools import combinations
from typing import Any, ClassVar

import numba
import numpy as np

from structlearn.structures import Chain, NonProjectiveTree, ProjectiveTree

from .data import Array, Rng, draw_rows, draw_scale, exact, in_layout
from .outputs import cuts, matchings, one_hot, sequences, switches, transitions, trees
from .problems import Output, Problem, recoded
from .reference import EXTENDED

all_trees = cache(trees)


class PartProblem(Problem):
    """Features for every part: theta = F w."""

    def part_features(self, rng: Rng, n_parts: list[int]) -> list[Array]:
        """A table for each example, all of one texture; some examples are repeated."""
        d = int(rng.integers(1, 5))
        rows = draw_rows(rng, sum(n_parts), d)
        return [in_layout(one, self.layout) for one in np.split(rows, np.cumsum(n_parts)[:-1])]

    def features(self, i: int, y: Output, model: Any) -> Array:
        return np.array(self.parts(i, y), dtype=EXTENDED) @ self.rows[i]

    def draw_gold(self, rng: Rng) -> None:
        self.gold = [all_[rng.integers(len(all_))] for all_ in map(self.vertices, range(len(self.gold)))]

    def parts(self, i: int, y: Output) -> Output:
        return y

    def bent(self, i: int, y: Output) -> Output:
        return self.parts(i, y)

    def weights(self, model: Any) -> Array:
        return np.r_[model.coef_, [model.intercept_] if self.intercept else []]


class Matchings(PartProblem):
    """Links between two sides, at most so many a node."""

    estimator = "MatchingClassifier"

    def draw(self, rng: Rng) -> None:
        n, self.capacities = int(rng.integers(1, 5)), (1, 1)
        if rng.random() < 0.4:
            self.capacities = (int(rng.integers(1, 3)), int(rng.integers(1, 3)))
        self.unmatched = bool(rng.integers(2))
        most = 4 if self.capacities == (1, 1) else 3
        self.shapes = [tuple(rng.integers(1, most, size=2).tolist()) for _ in range(n)]
        tables = self.part_features(rng, [a * b for a, b in self.shapes])
        self.rows = [self.constant(table) for table in tables]
        self.X = [table.reshape(*shape, -1) for table, shape in zip(tables, self.shapes)]
        self.gold = [all_[rng.integers(len(all_))] for all_ in map(self.vertices, range(n))]
        self.parameters.update(unmatched=self.unmatched, capacities=self.capacities)
        self.missed, self.spurious = 1.0, 1.0
        self.mean = bool(rng.integers(2))
        self.parameters["cost"] = "hamming" if self.mean else "count"
        if rng.random() < 0.4:
            self.mean, (self.missed, self.spurious) = True, rng.uniform(0, 3, size=2).tolist()
            self.parameters["cost"] = {"missed": self.missed, "spurious": self.spurious}

    def vary(self, rng: Rng) -> None:
        """Other capacities, and whether nodes may stay alone."""
        self.capacities = (int(rng.integers(1, 3)), int(rng.integers(1, 3)))
        self.unmatched = bool(rng.integers(2))
        self.parameters.update(unmatched=self.unmatched, capacities=self.capacities)
        self.draw_gold(rng)

    @property
    def y(self) -> Any:
        return [np.reshape(one, shape) for one, shape in zip(self.gold, self.shapes)]

    def vertices(self, i: int) -> list[Output]:
        return matchings(*self.shapes[i], self.unmatched, self.capacities)

    def cost(self, i: int, y: Output) -> float:
        gold = self.gold[i]
        missed = sum(g and not z for g, z in zip(gold, y))
        spurious = sum(z and not g for g, z in zip(gold, y))
        total = self.missed * missed + self.spurious * spurious
        return total / (max(1, sum(gold)) if self.mean else 1)


class Cuts(Problem):
    """Two labels on small graphs, or on images of 2 x 2 pixels."""

    estimator = "CutSegmenter"

    def draw(self, rng: Rng) -> None:
        n, d = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        self.images = bool(rng.random() < 0.2)
        self.sizes = [4 if self.images else int(rng.integers(1, 5)) for _ in range(n)]
        self.sizes[0] = max(2, self.sizes[0])
        self.graphs = [self._edges(rng, size) for size in self.sizes]
        nodes = np.split(draw_rows(rng, sum(self.sizes), d), np.cumsum(self.sizes)[:-1])
        width, size = (1, 1.0) if self.images else (int(rng.integers(1, 3)), draw_scale(rng))
        self.nodes = [in_layout(one, self.layout) for one in nodes]
        self.edges = [in_layout(rng.normal(size=(len(g), width)) * size, self.layout) for g in self.graphs]
        if self.images:
            self.edges = [np.ones((4, 1)) for _ in self.graphs]
            self.parameters["edge_features"] = "constant"
            self.X = [one.reshape(2, 2, -1) for one in self.nodes]
        else:
            self.X = list(zip(self.nodes, self.graphs, self.edges))
        labels = rng.integers(2, size=sum(self.sizes))
        labels[:2] = 0, 1
        pieces = np.split(labels, np.cumsum(self.sizes)[:-1])
        self.gold = [
            (*y, *(int(y[a] != y[b]) for a, b in g))
            for y, g in zip([p.tolist() for p in pieces], self.graphs)
        ]
        self._draw_cost(rng)

    def vary(self, rng: Rng) -> None:
        self.parameters.pop("class_weight", None)
        self._draw_cost(rng)

    def _edges(self, rng: Rng, size: int) -> Array:
        pairs = [(0, 1), (2, 3), (0, 2), (1, 3)] if self.images else list(combinations(range(size), 2))
        if not self.images:
            pairs = [pairs[k] for k in rng.permutation(len(pairs))[: rng.integers(5)]]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def _draw_cost(self, rng: Rng) -> None:
        kind, self.price = int(rng.integers(3)), np.ones(2)
        if kind == 2:
            self.price = rng.uniform(0.1, 3.0, size=2)
        self.mean = kind != 1
        self.parameters["cost"] = ("hamming", "count", self.price)[kind]
        if rng.random() < 0.3:
            by_class = rng.uniform(0.2, 5.0, size=2)
            self.parameters["class_weight"] = dict(enumerate(by_class.tolist()))
            self.price = self.price * by_class

    @property
    def y(self) -> Any:
        labels = [np.array(one[:size]) for one, size in zip(self.gold, self.sizes)]
        return [one.reshape(2, 2) for one in labels] if self.images else labels

    def vertices(self, i: int) -> list[Output]:
        return cuts(self.sizes[i], self.graphs[i].tolist())

    def features(self, i: int, y: Output, model: Any) -> Array:
        nodes, edges = np.array(y[: self.sizes[i]]), np.array(y[self.sizes[i] :])
        return np.concatenate([nodes @ self.constant(self.nodes[i]), -edges @ exact(self.edges[i])])

    def cost(self, i: int, y: Output) -> float:
        size = self.sizes[i]
        total = sum(self.price[gold] for gold, label in zip(self.gold[i][:size], y) if gold != label)
        return total / (size if self.mean else 1)

    def weights(self, model: Any) -> Array:
        return np.r_[model.coef_, [model.intercept_] if self.intercept else [], model.edge_coef_]


class OwnProblem(PartProblem):
    """A problem of `StructuredPredictor`."""

    estimator = "StructuredPredictor"

    def draw_cost(self, rng: Rng) -> None:
        self.mean = bool(rng.integers(2))
        self.parameters["cost"] = "hamming" if self.mean else "count"

    def vary(self, rng: Rng) -> None:
        self.draw_cost(rng)


class Trees(OwnProblem):
    """Dependency trees, with features for each arc."""

    projective: ClassVar[bool] = True

    def draw(self, rng: Rng) -> None:
        n, self.single_root = int(rng.integers(1, 5)), bool(rng.integers(2))
        self.sizes = rng.integers(1, 5 if self.single_root else 4, size=n).tolist()
        tables = self.part_features(rng, [size * (size + 1) for size in self.sizes])
        self.rows = [self.constant(table) for table in tables]
        self.X = [table.reshape(size + 1, size, -1) for table, size in zip(tables, self.sizes)]
        self.gold = [all_[rng.integers(len(all_))] for all_ in map(self.vertices, range(n))]
        kind = ProjectiveTree if self.projective else NonProjectiveTree
        self.parameters["structure"] = kind(self.single_root)
        self.draw_cost(rng)

    def vary(self, rng: Rng) -> None:
        """Trees of another kind."""
        self.single_root, self.projective = bool(rng.integers(2)), bool(rng.integers(2))
        kind = ProjectiveTree if self.projective else NonProjectiveTree
        self.parameters["structure"] = kind(self.single_root)
        self.draw_gold(rng)
        self.draw_cost(rng)

    def vertices(self, i: int) -> list[Output]:
        return all_trees(self.sizes[i], self.projective, self.single_root)

    def parts(self, i: int, y: Output) -> Output:
        heads = range(self.sizes[i] + 1)
        return tuple(int(head == h) for h in heads for head in y)

    def cost(self, i: int, y: Output) -> float:
        wrong = sum(a != b for a, b in zip(y, self.gold[i]))
        return wrong / (len(y) if self.mean else 1)


class FreeTrees(Trees):
    """Trees whose arcs may cross."""

    projective = False


class Parsers(Trees):
    """Sentences, whose arcs have hashed features.

    Which features is asked of the model: the scores of its arcs at each unit vector of weights.
    """

    estimator = "TreeParser"

    def draw(self, rng: Rng) -> None:
        n, self.single_root = int(rng.integers(1, 5)), bool(rng.integers(2))
        self.projective = bool(rng.integers(2))
        self.intercept = False
        self.sizes = rng.integers(1, 5 if self.single_root else 4, size=n).tolist()
        self.X = [[[str(rng.choice(["a", "b", "c"]))] for _ in range(size)] for size in self.sizes]
        self.gold = [all_[rng.integers(len(all_))] for all_ in map(self.vertices, range(n))]
        templates = ["", "h.form m.form", "m.form"][: int(rng.integers(1, 4))]
        self.parameters.update(projective=self.projective, single_root=self.single_root, bits=4)
        self.parameters.update(columns=("form",), templates=templates, min_count=1)
        self.draw_cost(rng)

    def vary(self, rng: Rng) -> None:
        super().vary(rng)
        del self.parameters["structure"]
        self.parameters.update(projective=self.projective, single_root=self.single_root)

    def written(self, model: Any, loss: str, **penalty: Any) -> Any:
        probe = copy(model)
        columns = []
        for unit in np.eye(model.weights_.size):
            probe.weights_ = unit
            columns.append([theta.ravel() for theta in probe.decision_function(self.X)])
        self.rows = [exact(np.stack(column, axis=1)) for column in zip(*columns)]
        return super().written(model, loss, **penalty)

    def weights(self, model: Any) -> Array:
        return model.weights_


class WholeChains(OwnProblem):
    """Chains with features for each part, the transitions (summed over positions) among them."""

    def draw(self, rng: Rng) -> None:
        n, k = int(rng.integers(1, 5)), int(rng.integers(2, 4))
        self.lengths = rng.integers(1, 4, size=n).tolist()
        labels = rng.integers(k, size=sum(self.lengths))
        codes, _ = recoded(np.r_[np.arange(k), labels])
        self.n_labels = k
        pieces = np.split(codes[k:], np.cumsum(self.lengths)[:-1])
        self.gold = [tuple(piece.tolist()) for piece in pieces]
        self.X = self.part_features(rng, [length * k + k * k for length in self.lengths])
        self.rows = [self.constant(x) for x in self.X]
        self.parameters["structure"] = Chain(k)
        self.draw_cost(rng)

    def vertices(self, i: int) -> list[Output]:
        return sequences(self.n_labels, self.lengths[i])

    def parts(self, i: int, y: Output) -> Output:
        return (*self.bent(i, y), *transitions(y, self.n_labels))

    def bent(self, i: int, y: Output) -> Output:
        return tuple(bit for label in y for bit in one_hot(label, self.n_labels))

    def cost(self, i: int, y: Output) -> float:
        wrong = sum(a != b for a, b in zip(y, self.gold[i]))
        return wrong / (len(y) if self.mean else 1)


class TwoOf:
    """A user's own structure: exactly two of the parts are chosen."""

    def maximize(self, theta: Array) -> Array:
        vertex = np.zeros(theta.size)
        vertex[np.argsort(-theta, kind="stable")[:2]] = 1.0
        return vertex


class SomeOf:
    """As many of the parts as is said."""

    def __init__(self, k: int) -> None:
        self.k = k

    def maximize(self, theta: Array) -> Array:
        vertex = np.zeros(theta.size)
        vertex[np.argsort(-theta, kind="stable")[: self.k]] = 1.0
        return vertex


@numba.njit
def two_of(theta, out):  # type: ignore[no-untyped-def]
    first, second = -1, -1
    for k in range(theta.size):
        out[k] = 0.0
        if first < 0 or theta[k] > theta[first]:
            first, second = k, first
        elif second < 0 or theta[k] > theta[second]:
            second = k
    out[first] = 1.0
    out[second] = 1.0
    return theta[first] + theta[second]


class LocalCopy(OwnProblem):
    """Two of some parts, by a plain `maximize`."""

    structure: ClassVar[Any] = TwoOf()
    k: ClassVar[int] = 2

    def draw(self, rng: Rng) -> None:
        n, equal = int(rng.integers(1, 5)), bool(rng.integers(2))
        self.sizes = [4] * n if equal else rng.integers(2, 6, size=n).tolist()
        self.X = self.part_features(rng, self.sizes)
        self.rows = [self.constant(x) for x in self.X]
        self.gold = [all_[rng.integers(len(all_))] for all_ in map(self.vertices, range(n))]
        self.parameters["structure"] = self.structure
        self.price = np.ones(5)
        self.draw_cost(rng)
        if equal and rng.integers(2):
            self.mean, self.price = True, rng.uniform(0, 3, size=4)
            self.parameters["cost"] = self.price

    def vary(self, rng: Rng) -> None:
        """Another number of parts."""
        self.k = int(rng.integers(1, min(self.sizes) + 1))
        self.parameters["structure"] = SomeOf(self.k)
        self.draw_gold(rng)

    def vertices(self, i: int) -> list[Output]:
        return [bits for bits in switches(self.sizes[i]) if sum(bits) == self.k]

    def cost(self, i: int, y: Output) -> float:
        total = sum(price for price, a, b in zip(self.price, y, self.gold[i]) if a != b)
        return float(total) / (len(y) if self.mean else 1)


class OwnCompiled(LocalCopy):
    """The same by a compiled oracle."""

    structure: ClassVar[Any] = staticmethod(two_of)


class Careless:
    """An oracle that is not maximal: it never takes the last part."""

    def maximize(self, theta: Array) -> Array:
        vertex = (theta > 0).astype(float)
        vertex[-1] = 0.0
        return vertex


class WrongOracle(LocalCopy):
    """Switches, with an oracle that is wrong: the truth is out of reach, but a negative gap gives it away."""

    structure: ClassVar[Any] = Careless()

    def vertices(self, i: int) -> list[Output]:
        return switches(self.sizes[i])
