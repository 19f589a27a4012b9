"""Random fits of softmax to structures of one's own that have marginals: P and D from all outputs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from structlearn import StructuredPredictor

from . import fits
from .data import Array, Rng
from .decision_structures import Listed, draw_list
from .reference import EXTENDED, Example, Written

SOLVERS = ("auto", "sdca", "lbfgs", "gradient", "cutting-plane", "subgradient")


class WithMarginals(Listed):
    """A list of outputs: their probabilities, written out."""

    def marginals(self, theta: Array) -> tuple[Array, float]:
        scores = self.vertices @ theta
        share = np.exp(scores - scores.max())
        return share @ self.vertices / share.sum(), float(scores.max() + np.log(share.sum()))


def run(rng: Rng) -> tuple[str, str | None]:
    """The label of a random fit, and what is false of its certificate (None if nothing is)."""
    solver = str(rng.choice(SOLVERS))
    try:
        return f"own marginals / {solver}", "; ".join(complaints(rng, solver)) or None
    except Exception as error:
        return f"own marginals / {solver}", f"{type(error).__name__}: {error}"


def complaints(rng: Rng, solver: str) -> list[str]:
    """Fit a random model, and say what is false of its certificate."""
    vertices = draw_list(rng)
    n, d, K = int(rng.integers(1, 9)), int(rng.integers(1, 4)), vertices.shape[1]
    X = rng.normal(size=(n, K, d)) * 10.0 ** rng.uniform(-6, 6)
    gold = rng.integers(len(vertices), size=n)
    model = StructuredPredictor(
        WithMarginals(vertices),
        loss="softmax",
        solver=solver,
        regularization=float(10.0 ** rng.uniform(-6, 3)),
        tol=float(10.0 ** rng.uniform(-8, -2)),
        max_passes=60,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for message in fits.DESERVED:
            warnings.filterwarnings("ignore", message=message)
        model.fit(list(X), list(vertices[gold]))
    written = written_out(model, vertices, X, gold)
    told = model.certificate_
    found = fits.of_values(told, float(model.history_.dual.max()), written, model.weights_)
    return found + fits.of_status(told, model.tol, written.at_zero()) + fits.of_history(model)


def written_out(model: Any, vertices: Array, X: Array, gold: Array) -> Written:
    """All outputs of every example, less the gold one."""
    examples = []
    for x, g in zip(X.astype(EXTENDED), gold.tolist()):
        away = (vertices - vertices[g]).astype(EXTENDED)
        nothing = np.zeros(len(vertices), dtype=EXTENDED)
        examples.append(Example(EXTENDED(1) / len(X), away @ x, nothing, vertices, g))
    return Written(examples, "softmax", model.regularization)
