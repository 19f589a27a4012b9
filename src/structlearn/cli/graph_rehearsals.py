"""Rehearsals of graphs, which are trained from Python."""

from __future__ import annotations

import warnings

import numpy as np

#: Images of so many pixels a side are too wide to be eliminated.
_WIDE = 13


def rehearse_graphs(kind: str, loss: str) -> None:
    """Train on tiny graphs, or on one image that message passing takes, and predict."""
    from structlearn import GraphClassifier, GridClassifier

    rng = np.random.default_rng(0)
    model: GraphClassifier
    if kind == "grids":
        model = GridClassifier(loss=loss, max_passes=2, tol=1.0)
        X: list = [rng.normal(size=(_WIDE, _WIDE, 2))]
        y = [rng.integers(0, 3, (_WIDE, _WIDE))]
    else:
        model = GraphClassifier(loss=loss, max_passes=20, tol=0.1)
        edges = np.array([[0, 1], [1, 2], [2, 0], [2, 3]])
        X = [(rng.normal(size=(4, 2)), edges, rng.normal(size=(4, 2))) for _ in range(6)]
        y = [rng.permutation([0, 1, 2, 0]) for _ in X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few passes do
        model.fit(X, y).predict(X)
    if loss != "hinge":
        model.predict_marginals(X)
