"""Random fits whose outputs cannot be written out one by one: the local polytope, features of whole segments.

The local polytope of a graph is a linear program for HiGHS. Features of segments are hashed: their problem is
told by the probabilities of labellings, which must add up to one.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from structlearn import SegmentClassifier

from . import fits
from .data import Array, Rng, exact
from .kinds import KINDS, draw_settings
from .outputs import segmentations
from .problems import label_weights
from .segment_problems import Graphs

#: How exact the linear programs of HiGHS are, in units of the scores.
ACCURATE = 1e-7


def run(seed: int) -> tuple[str, str | None]:
    """The label of a random fit, and what is false of its certificate (None if nothing is)."""
    rng = np.random.default_rng(seed)
    label, check = (("local polytope", local_polytope), ("whole segments", whole_segments))[seed % 2]
    try:
        found = check(rng)
    except Exception as error:
        return label, f"{type(error).__name__}: {error}"
    return label, "; ".join(found) or None


def fitted(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for message in fits.DESERVED:
            warnings.filterwarnings("ignore", message=message)
        return model.fit(X, y, sample_weight)


# ---- the local polytope ----------------------------------------------------------------------------------


def local_polytope(rng: Rng) -> list[str]:
    """P is at least that of the linear program, and D at most that at any weights."""
    kind = next(one for one in KINDS if one.problem is Graphs and (one.loss, one.solver) == ("hinge", "auto"))
    problem = Graphs(rng, "float64")
    settings = draw_settings(rng, kind) | {"regularization": float(10.0 ** rng.uniform(-3, 0)), "n_jobs": 1}
    model = problem.model(polytope="local", **settings)
    fitted(model, problem.X, problem.y, problem.sample_weight)
    told, shares = model.certificate_, (1.0, 0.0, 0.3, 0.7, 1.5)
    values = [relaxed_value(problem, model, share) for share in shares]
    size = ACCURATE * (1 + max(abs(told.primal), *map(abs, values)))
    found = [] if told.primal >= values[0] - size else [f"primal {told.primal!r} below {values[0]!r}"]
    if told.dual > min(values) + size:
        found.append(f"dual {told.dual!r} above P = {min(values)!r}")
    return found + fits.of_status(told, model.tol, values[1])


def relaxed_value(problem: Graphs, model: Any, share: float) -> float:
    """P over the local polytope at a share of the weights of a model."""
    w = share * problem.weights(model)
    total = model.regularization / 2 * float(w @ w)
    nodes, edges = share * label_weights(model, problem.intercept), share * model.edge_coef_
    for i, weight in enumerate(problem.example_weights().astype(float)):
        theta = (problem.rows[i] @ nodes.T).astype(float)
        tables = np.einsum("ef,fab->eab", exact(problem.edges[i]).astype(float), edges)
        gold, graph = problem.gold[i], problem.graphs[i].tolist()
        cost = problem.table[list(gold)] / (len(gold) if problem.mean else 1)
        right = sum(theta[v, k] for v, k in enumerate(gold))
        right += sum(table[gold[u], gold[v]] for table, (u, v) in zip(tables, graph))
        total += weight * (highest(theta + cost, tables, graph) - right) if weight > 0 else 0.0
    return total


def highest(theta: Array, tables: Array, graph: list[list[int]]) -> float:
    """max <theta, x> + <tables, t> over x_v in the simplex and tables t_e whose margins are x_u and x_v."""
    n, k = theta.shape
    size = n * k + len(graph) * k * k
    rows, values = [], []
    for v in range(n):
        rows.append(indicator(size, range(v * k, v * k + k)))
        values.append(1.0)
    for e, (u, v) in enumerate(graph):
        first = n * k + e * k * k
        for a in range(k):
            rows.append(
                indicator(size, range(first + a * k, first + a * k + k)) - indicator(size, [u * k + a])
            )
            rows.append(indicator(size, range(first + a, first + k * k, k)) - indicator(size, [v * k + a]))
            values += [0.0, 0.0]
    scores = np.r_[theta.ravel(), tables.ravel()]
    scale = np.abs(scores).max() or 1.0
    return scale * -linprog(-scores / scale, A_eq=np.array(rows), b_eq=values, bounds=(0, 1)).fun


def indicator(size: int, places: Any) -> Array:
    row = np.zeros(size)
    row[list(places)] = 1.0
    return row


# ---- features of whole segments --------------------------------------------------------------------------


def whole_segments(rng: Rng) -> list[str]:
    """Probabilities add up to one; P is that of the gold outputs, and D at most P at any weights."""
    n_labels, longest = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    lengths = [3, *rng.integers(1, 4, size=int(rng.integers(1, 4))).tolist()]
    X = [[[f"w{rng.integers(4)}"] for _ in range(length)] for length in lengths]
    every = [segmentations(length, n_labels, longest, gaps=True) for length in lengths]
    y = [spans(one[rng.integers(len(one))], n_labels) for one in every]
    y[0] = [(0, longest, 0), *([(longest, longest + 1, n_labels - 1)] if longest < 3 else [])]
    model = SegmentClassifier(
        loss="softmax",
        solver=str(rng.choice(["sdca", "seg", "lbfgs"])),
        regularization=float(10.0 ** rng.uniform(-4, 0)),
        tol=float(rng.choice([1e-2, 1e-5])),
        max_length=longest,
        segment_features=phrase,
        segment_bits=6,
        random_state=0,
    )
    fitted(model, X, y)
    gaps = any(sum(b - a for a, b, _ in one) < length for one, length in zip(y, lengths))
    found = []
    for sentence in X:
        outputs = [spans(one, n_labels) for one in segmentations(len(sentence), n_labels, longest, gaps=gaps)]
        total = np.exp(model.log_probability([sentence] * len(outputs), outputs)).sum()
        if abs(total - 1.0) > 1e-9:
            found.append(f"probabilities of {len(outputs)} outputs add up to {total!r}")
    return found + of_likelihood(rng, model, X, y)


def of_likelihood(rng: Rng, model: Any, X: Any, y: Any) -> list[str]:
    w, told = model.weights_, model.certificate_

    def primal(v: Array) -> float:
        model.weights_ = v
        return float(model.regularization / 2 * (v @ v) - model.log_probability(X, y).mean())

    here = primal(w)
    others = [primal(share * w) for share in (0.0, 0.5, 0.9, 1.1)]
    others += [primal(w + 10.0 ** rng.uniform(-4, -1) * rng.normal(size=w.size)) for _ in range(6)]
    model.weights_ = w
    slack = 1e-9 * (1 + abs(here))
    found = [] if abs(told.primal - here) <= slack else [f"primal {told.primal!r} but P(weights_) = {here!r}"]
    if told.dual > min(here, *others) + slack:
        found.append(f"dual {told.dual!r} above P = {min(here, *others)!r}")
    return found + fits.of_status(told, model.tol, others[0])


def phrase(sentence: Any, start: int, end: int) -> list[str]:
    """The words of a segment, and its length."""
    return [" ".join(token[0] for token in sentence[start:end]), f"length {end - start}"]


def spans(tiles: Any, n_labels: int) -> list[tuple[int, int, int]]:
    """The labelled ones of the tiles of an output."""
    return [tile for tile in tiles if tile[2] < n_labels]
