"""Structures that decide, drawn at random, with all of their decisions written out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations, product
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from structlearn.structures import (
    Assignment,
    Knapsack,
    Program,
    ShortestPath,
    SpanningTree,
    Subset,
    Tour,
)

from .data import Array, Rng
from .reference import best_mixture


class Drawn(NamedTuple):
    """A structure, all of its decisions, and what it is called."""

    structure: Any
    vertices: Array
    label: str
    loss: str = "spo+"
    #: from the scores of one example to the most by which the bound of its answer may be above the maximum
    looseness: Callable[[Array], float] | None = None
    #: whether it is certain that gold decisions are the best ones
    exact_gold: bool = True
    #: relative error of its values
    accuracy: float = 1e-12


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


def tour(rng: Rng) -> Drawn:
    """Tours through 3 to 5 nodes: every order of the nodes but the first, in one of its two directions."""
    n = int(rng.integers(3, 6))
    edges = [tuple(one) for one in np.transpose(np.triu_indices(n, 1)).tolist()]

    def parts(order: tuple[int, ...]) -> Array:
        ways = zip((0, *order), (*order, 0))
        used = {tuple(sorted(way)) for way in ways}
        return np.array([edge in used for edge in edges], dtype=float)

    found = [parts(order) for order in permutations(range(1, n)) if order[0] < order[-1]]
    return Drawn(Tour(n), np.array(found), "tour")


# ---- programs ---------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """A z <= b and lower <= z <= upper, in whole numbers, with a point that is not zero."""

    A: Array
    b: Array
    lower: Array
    upper: Array


def draw_program(rng: Rng, most_parts: int) -> Rows:
    K, m = int(rng.integers(1, most_parts + 1)), int(rng.integers(1, 4))
    lower, upper = rng.integers(-1, 1, size=K), rng.integers(1, 3, size=K)
    A = rng.integers(-2, 6, size=(m, K)).astype(float)
    inside = np.maximum(rng.integers(lower, upper + 1), 0)
    inside[int(rng.integers(K))] = 1
    return Rows(A, A @ inside + rng.integers(0, 3, size=m), lower.astype(float), upper.astype(float))


def whole_points(rows: Rows) -> Array:
    """All solutions in whole numbers."""
    ranges = [np.arange(low, high + 1) for low, high in zip(rows.lower, rows.upper)]
    points = np.array(list(product(*ranges)), dtype=float)
    return points[(points @ rows.A.T <= rows.b + 1e-9).all(axis=1)]


def corners(rows: Rows) -> Array:
    """All vertices of the linear program: as many limits as there are parts hold with equality."""
    K = rows.lower.size
    A = np.vstack([rows.A, np.eye(K), -np.eye(K)])
    b = np.concatenate([rows.b, rows.upper, -rows.lower])
    found = []
    for chosen in map(list, combinations(range(len(b)), K)):
        if abs(np.linalg.det(A[chosen])) > 1e-9:
            z = np.linalg.solve(A[chosen], b[chosen])
            if (A @ z <= b + 1e-9).all():
                found.append(z)
    _, first = np.unique(np.round(found, 9), axis=0, return_index=True)
    return np.array(found)[first]


def as_program(rows: Rows, **options: Any) -> Program:
    return Program(rows.A, rows.b, bounds=np.stack([rows.lower, rows.upper], axis=1), **options)


def linear_program(rng: Rng) -> Drawn:
    rows = draw_program(rng, 3)
    return Drawn(as_program(rows), corners(rows), "linear program", accuracy=1e-8)


def whole_program(rng: Rng) -> Drawn:
    rows = draw_program(rng, 4)
    structure = as_program(rows, integrality=True)
    return Drawn(structure, whole_points(rows), "mixed-integer program", accuracy=1e-8)


def stopped_program(rng: Rng) -> Drawn:
    """A program that may stop at a relative gap: bound - value <= gap |value|, and value <= best <= bound."""
    rows, gap = draw_program(rng, 6), float(rng.choice([0.05, 0.3]))
    vertices = whole_points(rows)

    def looseness(theta: Array) -> float:
        best = abs(float((vertices @ theta).max()))
        return gap / (1 - gap) * best + 1e-8 * float(np.abs(theta).max()) * (1 + np.abs(vertices).max())

    structure = as_program(rows, integrality=True, mip_gap=gap)
    return Drawn(structure, vertices, "stopped program", looseness=looseness, accuracy=1e-8)


# ---- oracles of one's own ---------------------------------------------------------------------------------


def draw_list(rng: Rng) -> Array:
    """A few decisions, not all of them zero."""
    K = int(rng.integers(1, 6))
    vertices = np.unique(rng.integers(0, 2, size=(int(rng.integers(2, 9)), K)).astype(float), axis=0)
    return vertices if vertices.any() else np.ones((1, K))


class Listed:
    """A list of decisions, in plain Python."""

    def __init__(self, vertices: Array) -> None:
        self.vertices = vertices

    def maximize(self, theta: Array) -> Any:
        return self.vertices[np.argmax(self.vertices @ theta)]


class Projected(Listed):
    """With a projection of its own."""

    def project(self, theta: Array) -> Array:
        scores = self.vertices @ theta
        return best_mixture(scores - scores.max(), self.vertices) @ self.vertices


class Approximate(Listed):
    """Sometimes the second-best decision; always a bound that is above the maximum, by a share of it."""

    bounded = True

    def __init__(self, vertices: Array, share: float) -> None:
        super().__init__(vertices)
        self.share = share

    def maximize(self, theta: Array) -> tuple[Array, float]:
        order = np.argsort(-(self.vertices @ theta), kind="stable")
        worse = len(order) > 1 and crc32(theta.tobytes()) % 5 == 0
        best = float(self.vertices[order[0]] @ theta)
        return self.vertices[order[int(worse)]], best + self.looseness(theta)

    def looseness(self, theta: Array) -> float:
        return self.share * float(np.abs(theta).sum())


def own(rng: Rng) -> Drawn:
    vertices = draw_list(rng)
    return Drawn(Listed(vertices), vertices, "own")


def own_projection(rng: Rng) -> Drawn:
    vertices = draw_list(rng)
    return Drawn(Projected(vertices), vertices, "own projection", loss="sparsemax")


def approximate(rng: Rng) -> Drawn:
    vertices = draw_list(rng)
    vertices = vertices[vertices.any(axis=1)]
    structure = Approximate(vertices, float(rng.choice([0.0, 0.01, 0.3])))
    return Drawn(structure, vertices, "approximate", looseness=structure.looseness, exact_gold=False)


DRAWS = (
    *(paths, knapsack, subset, spanning_tree, assignment, tour),
    *(linear_program, whole_program, stopped_program, own, own_projection, approximate),
)
