"""Random training problems: their data as a user passes it, and their objective written out.

A problem knows what an output is, its features, its cost and the parts that the squared norm counts, all from
the documentation and none from the package. Weights are read by their public names.
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

import structlearn

from .data import Array, Rng, draw_rows, draw_weights, exact, in_layout, repeated
from .outputs import one_hot, switches
from .reference import EXTENDED, Example, Written

Output = tuple[int, ...]


class Problem:
    """What all problems share.

    Parameters
    ----------
    rng : Generator
    layout : str
        Of the features: "float64", "float32", or either with " csr".
    """

    estimator: ClassVar[str]
    #: sets of corners are small, so that all can be written out
    most_examples: ClassVar[int] = 6

    def __init__(self, rng: Rng, layout: str) -> None:
        self.layout = layout
        self.intercept = bool(rng.integers(2))
        #: further parameters of the estimator
        self.parameters: dict[str, Any] = {}
        self.gold: list[Output] = []
        self.X: Any = []
        self.draw(rng)
        self.sample_weight = draw_weights(rng, len(self.gold))

    def draw(self, rng: Rng) -> None:
        """Set `X`, `gold` and `parameters`."""
        raise NotImplementedError

    def varied(self, rng: Rng) -> Self:
        """Another problem on examples of the same shapes."""
        other = copy(self)
        other.parameters = dict(self.parameters)
        other.sample_weight = draw_weights(rng, len(self.gold))
        other.vary(rng)
        return other

    def vary(self, rng: Rng) -> None:
        """Draw features, costs, gold outputs or the set of outputs anew."""

    def scale(self, factor: float) -> None:
        """Multiply all features of rows."""
        many = isinstance(self.X, list)
        self.X = [factor * x for x in self.X] if many else factor * self.X
        self.rows = [self.constant(x) for x in self.X] if many else self.constant(self.X)

    @property
    def y(self) -> Any:
        """The outputs as `fit` takes them."""
        return [np.array(one) for one in self.gold]

    def model(self, **settings: Any) -> Any:
        """The estimator."""
        kind = getattr(structlearn, self.estimator)
        return kind(fit_intercept=self.intercept, **self.parameters, **settings)

    def vertices(self, i: int) -> list[Output]:
        """All corners of example i."""
        raise NotImplementedError

    def features(self, i: int, y: Output, model: Any) -> Array:
        """Phi_i^T y, in the order of `weights`."""
        raise NotImplementedError

    def cost(self, i: int, y: Output) -> float:
        """Delta_i(y)."""
        raise NotImplementedError

    def bent(self, i: int, y: Output) -> Output:
        """The parts of y that the squared norm counts."""
        return y

    def weights(self, model: Any) -> Array:
        """The weights of a fitted model, by their names."""
        raise NotImplementedError

    def example_weights(self) -> Array:
        """p_i: sample weights over their sum."""
        weight = np.ones(len(self.gold)) if self.sample_weight is None else self.sample_weight
        weight = weight.astype(EXTENDED) * self.class_factors()
        return weight / weight.sum()

    def class_factors(self) -> Array:
        """What class weights multiply the weight of each example with."""
        return np.ones(len(self.gold))

    def written(self, model: Any, loss: str, **penalty: Any) -> Written:
        """The objective that `model` was trained on."""
        weight = self.example_weights()
        return Written([self._example(i, p, model) for i, p in enumerate(weight) if p > 0], loss, **penalty)

    def also(self, model: Any) -> list[str]:
        """What else is untrue of a model, after `written`, as sentences."""
        return []

    def _example(self, i: int, weight: Any, model: Any) -> Example:
        vertices = self.vertices(i)
        gold = vertices.index(self.gold[i])
        table = np.array([self.features(i, y, model) for y in vertices], dtype=EXTENDED)
        cost = np.array([self.cost(i, y) for y in vertices], dtype=EXTENDED)
        bent = np.array([self.bent(i, y) for y in vertices], dtype=np.float64)
        return Example(weight, table - table[gold], cost, bent, gold)

    def constant(self, rows: Array) -> Array:
        """Rows of features with, where there is an intercept, a constant one at their end."""
        rows = exact(rows)
        return np.column_stack([rows, np.ones(len(rows))]) if self.intercept else rows


def recoded(labels: Array) -> tuple[Array, int]:
    """Labels as positions among those that occur, and how many do."""
    found, codes = np.unique(labels, return_inverse=True)
    return codes, len(found)


def by_label(rng: Rng, n_labels: int, tables: bool = False) -> tuple[Any, Array, bool]:
    """A cost: as a parameter, as a table [true, predicted], and whether it is a mean."""
    wrong = 1.0 - np.eye(n_labels)
    kind = rng.integers(5 if tables else 4)
    if kind < 2:
        return ("hamming", "count")[kind], wrong, kind == 0
    price = rng.uniform(0.1, 3.0, size=n_labels) * 10.0 ** rng.integers(-2, 3)
    if kind == 2:
        return price, wrong * price[:, None], True
    if kind == 3:
        price[1:] = 1.0
        return {0: price[0]}, wrong * price[:, None], True
    table = wrong * rng.uniform(0.0, 3.0, size=wrong.shape)
    return table, table, True


def balanced(codes: Array, n_labels: int) -> Array:
    return codes.size / (n_labels * np.maximum(np.bincount(codes, minlength=n_labels), 1))


def draw_class_weight(rng: Rng, codes: Array, n_labels: int) -> tuple[Any, Array]:
    """None, "balanced" or a mapping; and the weight of each label."""
    kind = rng.integers(4)
    if kind < 2:
        return None, np.ones(n_labels)
    if kind == 2:
        return "balanced", balanced(codes, n_labels)
    weight = rng.uniform(0.2, 5.0, size=n_labels)
    return dict(enumerate(weight.tolist())), weight


class Flat(Problem):
    """One label an example."""

    most_examples = 8

    def draw(self, rng: Rng) -> None:
        n, most = int(rng.integers(2, self.most_examples + 1)), self.most_labels(rng)
        labels = np.r_[0, 1, rng.integers(most, size=n - 2)]
        which = repeated(rng, n)
        which = which if len(set(labels[which])) > 1 else np.arange(n)
        codes, self.n_labels = recoded(labels[which])
        self.gold = [(int(code),) for code in codes]
        self.X = in_layout(draw_rows(rng, n, int(rng.integers(1, 5)))[which], self.layout)
        self.parameters["class_weight"], by_class = draw_class_weight(rng, codes, self.n_labels)
        self.factors = by_class[codes]
        self.draw_cost(rng)
        self.rows = self.constant(self.X)

    def vary(self, rng: Rng) -> None:
        codes = np.array(self.gold)[:, 0]
        self.scale(float(rng.choice([1, 2, -1])))
        self.parameters["class_weight"], by_class = draw_class_weight(rng, codes, self.n_labels)
        self.factors = by_class[codes]
        self.draw_cost(rng)

    def most_labels(self, rng: Rng) -> int:
        return int(rng.integers(2, 5))

    def draw_cost(self, rng: Rng) -> None:
        self.parameters["cost"], self.table, _ = by_label(rng, self.n_labels, tables=True)

    @property
    def y(self) -> Any:
        return np.array(self.gold)[:, 0]

    def class_factors(self) -> Array:
        return self.factors


class Binary(Flat):
    """Two classes, one weight vector; `margin` is what a mistake costs."""

    estimator = "BinaryClassifier"

    def most_labels(self, rng: Rng) -> int:
        return 2

    def draw_cost(self, rng: Rng) -> None:
        self.parameters["margin"] = float(rng.choice([1.0, 1.0, 0.1, 20.0]))

    def vertices(self, i: int) -> list[Output]:
        return [(0,), (1,)]

    def features(self, i: int, y: Output, model: Any) -> Array:
        return y[0] * self.rows[i]

    def cost(self, i: int, y: Output) -> float:
        return self.parameters["margin"] * (y != self.gold[i])

    def weights(self, model: Any) -> Array:
        return np.r_[model.coef_[0], model.intercept_[: int(self.intercept)]]


class Multiclass(Flat):
    """One of K classes."""

    estimator = "MulticlassClassifier"

    def vertices(self, i: int) -> list[Output]:
        return [(k,) for k in range(self.n_labels)]

    def features(self, i: int, y: Output, model: Any) -> Array:
        return np.outer(one_hot(y[0], self.n_labels), self.rows[i]).ravel()

    def cost(self, i: int, y: Output) -> float:
        return self.table[self.gold[i][0], y[0]]

    def bent(self, i: int, y: Output) -> Output:
        return tuple(one_hot(y[0], self.n_labels))

    def weights(self, model: Any) -> Array:
        return label_weights(model, self.intercept).ravel()


def label_weights(model: Any, intercept: bool) -> Array:
    """(labels, features): the intercept's last."""
    return np.column_stack([model.coef_, model.intercept_]) if intercept else model.coef_


class LabelSets(Problem):
    """Any of K labels, with tables of pairs: none, a tree or all."""

    estimator = "MultiLabelClassifier"
    edges: ClassVar[str] = "none"
    most_examples = 8

    def draw(self, rng: Rng) -> None:
        n, k = int(rng.integers(1, self.most_examples + 1)), int(rng.integers(2, 5))
        which = repeated(rng, n)
        self.on = rng.integers(2, size=(n, k))[which]
        self.gold = [tuple(row) for row in self.on.tolist()]
        self.X = in_layout(draw_rows(rng, n, int(rng.integers(1, 5)))[which], self.layout)
        self.rows = self.constant(self.X)
        cost, table, self.mean = by_label(rng, k)
        price = table.max(axis=1)
        self.parameters.update(cost=cost, edges=self.edges)
        kind = rng.integers(4)
        if kind == 2:
            self.parameters["class_weight"] = "balanced"
            price = price * self.on.size / (k * np.maximum(self.on.sum(axis=0), 1))
        if kind == 3:
            by_class = rng.uniform(0.2, 5.0, size=k)
            self.parameters["class_weight"] = dict(enumerate(by_class.tolist()))
            price = price * by_class
        self.price = price / (k if self.mean else 1)

    def vary(self, rng: Rng) -> None:
        self.scale(float(rng.choice([1, 2, -1])))

    @property
    def y(self) -> Any:
        return self.on

    def vertices(self, i: int) -> list[Output]:
        return switches(self.on.shape[1])

    def features(self, i: int, y: Output, model: Any) -> Array:
        states = [2 * y[a] + y[b] for a, b in model.edges_]
        tables = [one_hot(state, 4) for state in states]
        return np.concatenate([np.outer(y, self.rows[i]).ravel(), np.ravel(tables)])

    def cost(self, i: int, y: Output) -> float:
        return float(self.price @ np.abs(np.subtract(y, self.gold[i])))

    def weights(self, model: Any) -> Array:
        return np.r_[label_weights(model, self.intercept).ravel(), model.pair_coef_.ravel()]


class LabelTrees(LabelSets):
    edges = "tree"


class LabelGraphs(LabelSets):
    edges = "all"
