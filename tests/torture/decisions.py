"""Random decision problems: P and D of SPO+ recomputed from all decisions, written out.

Costs and features have scales of 1e-6 to 1e6; costs are tied, degenerate or smooth. The objective is that of
the textbook, with nothing of the package but the data: lambda/2 ||B||^2 + mean of
max_z <alpha s c_hat - s c, z - mu>.
"""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from structlearn import DecisionPredictor
from structlearn.structures import Assignment, Knapsack, ShortestPath, SpanningTree, Subset

from . import fits
from .data import Array, Rng
from .reference import EXTENDED, Example, Written

SOLVERS = ("auto", "auto", "bcfw", "fw", "n-slack", "cutting-plane", "extragradient", "subgradient")


class Drawn(NamedTuple):
    """A structure, all of its decisions, and what it is called."""

    structure: Any
    vertices: Array
    label: str


def run(seed: int) -> tuple[str, str | None]:
    """The label of a random fit, and what is false of its certificate (None if nothing is)."""
    rng = np.random.default_rng(seed)
    drawn = (paths, knapsack, subset, spanning_tree, assignment, own)[seed % 6](rng)
    solver = str(rng.choice(SOLVERS))
    label = f"{drawn.label} / {solver}"
    try:
        return label, "; ".join(complaints(rng, drawn, solver)) or None
    except Exception as error:
        return label, f"{type(error).__name__}: {error}"


def complaints(rng: Rng, drawn: Drawn, solver: str) -> list[str]:
    """Fit a random model, and say what is false of its certificate."""
    n, d, K = int(rng.integers(1, 9)), int(rng.integers(1, 4)), drawn.vertices.shape[1]
    sense, of_parts = str(rng.choice(["min", "max"])), bool(rng.random() < 0.4)
    X = rng.normal(size=(n, K, d) if of_parts else (n, d)) * 10.0 ** rng.uniform(-6, 6)
    costs = draw_costs(rng, n, K)
    sign = -1.0 if sense == "min" else 1.0
    best = [drawn.vertices[np.argmax(drawn.vertices @ (sign * c))] for c in costs]
    if not any(one.any() for one in best):
        costs = sign * (np.abs(costs) + 1.0)
    model = DecisionPredictor(
        drawn.structure,
        sense=sense,
        solver=solver,
        alpha=float(rng.choice([2.0, 0.5])),
        regularization="auto" if rng.random() < 0.5 else float(10.0 ** rng.uniform(-6, 3)),
        tol=float(10.0 ** rng.uniform(-8, -2)),
        max_passes=60,
        fit_intercept=bool(rng.random() < 0.5),
        random_state=0,
    )
    given = X if of_parts or rng.random() < 0.7 else sparse.csr_matrix(X)
    known = costs * rng.random() if rng.random() < 0.3 else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for message in fits.DESERVED:
            warnings.filterwarnings("ignore", message=message)
        model.fit(given, costs, known_costs=known)
    written = written_out(model, drawn, X, costs, known)
    told = model.certificate_
    found = fits.of_values(told, float(model.history_.dual.max()), written, model.weights_)
    if told.gap != told.primal - told.dual or told.gap < 0:
        found.append(f"gap {told.gap!r} is not primal - dual, or below zero")
    if told.converged != (told.gap <= told.tolerance):
        found.append(f"converged is {told.converged} at gap {told.gap!r}")
    return found


def draw_costs(rng: Rng, n: int, K: int) -> Array:
    """Smooth costs, tied ones, or many that are equal; of a scale of their own."""
    kind = rng.integers(3)
    if kind == 0:
        costs = rng.normal(size=(n, K)) + rng.choice([0.0, 3.0])
    elif kind == 1:
        costs = rng.integers(-2, 4, size=(n, K)).astype(float)
    else:
        costs = np.where(rng.random((n, K)) < 0.8, 1.0, rng.random((n, K)))
    return costs * 10.0 ** rng.uniform(-6, 6)


def written_out(model: Any, drawn: Drawn, X: Array, costs: Array, known: Any) -> Written:
    """All decisions of every example, less the best one: what they score, and what they cost."""
    sign = -1.0 if model.sense == "min" else 1.0
    factor, vertices = EXTENDED(sign * model.alpha), drawn.vertices.astype(EXTENDED)
    oracle = model.best_decisions(costs)
    examples = []
    for i, c in enumerate(costs.astype(EXTENDED)):
        gold = int(np.flatnonzero((drawn.vertices == oracle[i]).all(axis=1))[0])
        scores = vertices @ (sign * c)
        if scores.max() - scores[gold] > 1e-12 * np.abs(c).sum():
            raise AssertionError(f"example {i} has a better decision than the best one")
        away = vertices - vertices[gold]
        shift = -sign * c + (0 if known is None else factor * known[i].astype(EXTENDED))
        features = away @ part_features(model, X[i].astype(EXTENDED), len(c)) * factor
        examples.append(Example(EXTENDED(1) / len(costs), features, away @ shift, away, gold))
    return Written(examples, "hinge", model.regularization_)


def part_features(model: Any, x: Array, K: int) -> Array:
    """Features of each part, of shape (parts, weights): its own row, or the example's in its own columns."""
    row = np.concatenate([x, np.ones((*x.shape[:-1], int(model.fit_intercept)), dtype=x.dtype)], axis=-1)
    if row.ndim == 2:
        return row
    return np.einsum("j,kl->kjl", row, np.eye(K, dtype=x.dtype)).reshape(K, -1)


# ---- structures, and all of their decisions -------------------------------------------------------------


def every(n: int) -> Array:
    return np.array(list(product((0.0, 1.0), repeat=n)))


def paths(rng: Rng) -> Drawn:
    """Ways through a random graph whose edges lead from lower to higher nodes, by following each of them."""
    n = int(rng.integers(2, 5))
    edges = [(a, b) for a in range(n) for b in range(a + 1, n) if b == a + 1 or rng.random() < 0.6]
    order = rng.permutation(n).tolist()

    def ways(node: int) -> list[list[int]]:
        if node == n - 1:
            return [[]]
        return [[e, *rest] for e, (a, b) in enumerate(edges) if a == node for rest in ways(b)]

    vertices = np.array([np.isin(np.arange(len(edges)), way) for way in ways(0)], dtype=float)
    named = [(order[a], order[b]) for a, b in edges]
    return Drawn(ShortestPath(named, order[0], order[n - 1]), vertices, "paths")


def knapsack(rng: Rng) -> Drawn:
    K, dimensions = int(rng.integers(1, 6)), int(rng.integers(1, 3))
    weights = rng.integers(1, 7, size=(dimensions, K)) * int(rng.choice([1, 1, 10**7]))
    capacity = weights.max(axis=1) + rng.integers(0, 9, size=dimensions)
    fits_in = (every(K) @ weights.T <= capacity).all(axis=1)
    return Drawn(Knapsack(weights, capacity), every(K)[fits_in], "knapsack")


def subset(rng: Rng) -> Drawn:
    K = int(rng.integers(1, 6))
    least = int(rng.integers(0, K + 1))
    most = int(rng.integers(max(least, 1), K + 1))
    sizes = every(K).sum(axis=1)
    return Drawn(Subset(K, least, most), every(K)[(sizes >= least) & (sizes <= most)], "subset")


def spanning_tree(rng: Rng) -> Drawn:
    n = int(rng.integers(2, 5))
    edges = [(a, b) for a in range(n) for b in range(a) if b == a - 1 or rng.random() < 0.6]

    def is_tree(z: Array) -> bool:
        groups = list(range(n))
        for a, b in (edges[e] for e in np.flatnonzero(z)):
            groups = [groups[a] if one == groups[b] else one for one in groups]
        return z.sum() == n - 1 and len(set(groups)) == 1

    return Drawn(SpanningTree(edges), np.array([z for z in every(len(edges)) if is_tree(z)]), "spanning tree")


def assignment(rng: Rng) -> Drawn:
    m, n = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    tables = every(m * n).reshape(-1, m, n)
    once = (tables.sum(axis=1).max(axis=1) <= 1) & (tables.sum(axis=2).max(axis=1) <= 1)
    full = once & (tables.sum(axis=(1, 2)) == min(m, n))
    return Drawn(Assignment(m, n), tables[full].reshape(full.sum(), -1), "assignment")


def own(rng: Rng) -> Drawn:
    """A list of decisions, in plain Python."""
    K = int(rng.integers(1, 6))
    vertices = np.unique(rng.integers(0, 2, size=(int(rng.integers(2, 9)), K)).astype(float), axis=0)
    vertices = vertices if vertices.any() else np.ones((1, K))

    class Listed:
        def maximize(self, theta: Array) -> Array:
            return vertices[np.argmax(vertices @ theta)]

    return Drawn(Listed(), vertices, "own")
