"""Random decision problems: P and D of SPO+ recomputed from all decisions, written out.

Costs and features have scales of 1e-6 to 1e6; costs are tied, degenerate or smooth. The objective is that of
the textbook, with nothing of the package but the data: lambda/2 ||B||^2 + mean of
max_z <alpha s c_hat - s c, z - mu>. Where answers come with bounds that may be above the maximum, P may be
above that by as much, and the optimum is still between D and P. Own projections train with sparsemax; own
marginals, which no loss of decisions asks for, train a `StructuredPredictor` (`own_marginals`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from structlearn import DecisionPredictor

from . import fits, own_marginals
from .data import Array, Rng
from .decision_structures import DRAWS, Drawn
from .optimum import best_weights
from .reference import EXTENDED, Example, Written

SOLVERS = {
    "spo+": ("auto", "auto", "bcfw", "fw", "n-slack", "cutting-plane", "extragradient", "subgradient"),
    "sparsemax": ("auto", "sdca", "lbfgs", "gradient", "cutting-plane", "subgradient"),
}
#: What the questions of `fit` may say of approximate answers, if they happen to be worse for most.
REFUSAL = "is not maximal"


def run(seed: int) -> tuple[str, str | None, bool]:
    """The label of a random fit, what is false of its certificate (None if nothing is), if it was refused."""
    rng = np.random.default_rng(seed)
    kind = seed % (len(DRAWS) + 1)
    if kind == len(DRAWS):
        return (*own_marginals.run(rng), False)
    drawn = DRAWS[kind](rng)
    solver = str(rng.choice(SOLVERS[drawn.loss]))
    label = f"{drawn.label} / {solver}"
    try:
        return label, "; ".join(complaints(rng, drawn, solver)) or None, False
    except Exception as error:
        refused = not drawn.exact_gold and REFUSAL in str(error)
        return label, None if refused else f"{type(error).__name__}: {error}", refused


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
        loss=drawn.loss,
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
    known = costs * rng.random() if rng.random() < 0.3 and drawn.loss == "spo+" else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for message in fits.DESERVED:
            warnings.filterwarnings("ignore", message=message)
        model.fit(given, costs, known_costs=known)
    written = written_out(model, drawn, X, costs, known)
    told = model.certificate_
    highest = float(model.history_.dual.max())
    if drawn.looseness is None:
        found = fits.of_values(told, highest, written, model.weights_)
    else:
        found = of_bounds(told, highest, written, model.weights_, loosest(model, drawn, X, costs, known))
    if told.gap != told.primal - told.dual or told.gap < 0:
        found.append(f"gap {told.gap!r} is not primal - dual, or below zero")
    if told.converged != (told.gap <= told.tolerance):
        found.append(f"converged is {told.converged} at gap {told.gap!r}")
    return found


def of_bounds(told: Any, highest: float, written: Written, w: Array, loose: float) -> list[str]:
    """P is at least P(weights_), and above it by at most `loose`; D is at most P anywhere."""
    here, slack = written.value(w), told.rounding
    found = []
    if not here.below - slack <= told.primal <= here.above + loose + slack:
        found.append(f"primal {told.primal!r}, but P(weights_) = {float(here.above)!r}, loose by {loose!r}")
    best = min(float(here.above), *(float(written.value(v).above) for v in best_weights(written)))
    if max(told.dual, highest) > best:
        found.append(f"dual {max(told.dual, highest)!r} above the optimum, which is at most {best!r}")
    return found


def loosest(model: Any, drawn: Drawn, X: Array, costs: Array, known: Any) -> float:
    """The mean of what bounds of answers may be above the maxima at the model's weights."""
    sign = -1.0 if model.sense == "min" else 1.0
    shift = -sign * costs + (0 if known is None else sign * model.alpha * known)
    found = [
        drawn.looseness(sign * model.alpha * part_features(model, x, len(c)) @ model.weights_ + c)
        for x, c in zip(X, shift)
    ]
    return float(np.mean(found)) * (1 + 1e-9)


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
        distance = np.abs(drawn.vertices - oracle[i]).max(axis=1)
        gold = int(np.argmin(distance))
        if distance[gold] > 1e-6:
            raise AssertionError(f"the best decision of example {i} is none: {oracle[i]}")
        scores = vertices @ (sign * c)
        if drawn.exact_gold and scores.max() - scores[gold] > drawn.accuracy * np.abs(c).sum():
            raise AssertionError(f"example {i} has a better decision than the best one")
        away = vertices - vertices[gold]
        shift = -sign * c + (0 if known is None else factor * known[i].astype(EXTENDED))
        features = away @ part_features(model, X[i].astype(EXTENDED), len(c)) * factor
        examples.append(Example(EXTENDED(1) / len(costs), features, away @ shift, drawn.vertices, gold))
    loss = {"spo+": "hinge"}.get(drawn.loss, drawn.loss)
    return Written(examples, loss, model.regularization_)


def part_features(model: Any, x: Array, K: int) -> Array:
    """Features of each part, of shape (parts, weights): its own row, or the example's in its own columns."""
    row = np.concatenate([x, np.ones((*x.shape[:-1], int(model.fit_intercept)), dtype=x.dtype)], axis=-1)
    if row.ndim == 2:
        return row
    return np.einsum("j,kl->kjl", row, np.eye(K, dtype=x.dtype)).reshape(K, -1)
