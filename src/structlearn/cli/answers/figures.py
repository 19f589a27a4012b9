"""Figures of answers on tables, and those of the best constant answer beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from structlearn import metrics
from structlearn.core.contract import Array
from structlearn.metrics import Outputs


def class_scores(classifier: Any, X: object) -> Array | None:
    """Return probabilities of shape (n, K) or, of two classes without these, the scores of the second."""
    if hasattr(classifier, "predict_proba"):
        probabilities: Array = classifier.predict_proba(X)
        return probabilities
    return classifier.decision_function(X) if len(classifier.classes_) == 2 else None


def score_figures(codes: Array, scores: Array) -> dict[str, float]:
    """Return log_loss of probabilities, and auc of two classes.

    Parameters
    ----------
    codes : int array
        The class of each example by its place in `classes_`. Examples of unknown classes, -1, are left out.
    scores : array
        As `class_scores` returns them.

    """
    known = codes >= 0
    codes, scores = codes[known], scores[known]
    found: dict[str, float] = {}
    if not len(codes):
        return found
    if scores.ndim == 2:
        found["log_loss"] = metrics.log_loss(codes, scores)
    if scores.ndim == 1 or scores.shape[1] == 2:
        found["auc"] = metrics.area_under_curve(codes == 1, scores if scores.ndim == 1 else scores[:, 1])
    return found


def most_frequent_share(rows: Outputs) -> float:
    """Return the share of the most frequent row."""
    _, counts = np.unique(np.asarray(rows), axis=0, return_counts=True)
    return float(counts.max() / counts.sum())


def error_sizes(errors: Array) -> dict[str, float]:
    """Return the root of the mean square and the mean of the absolute values."""
    return {
        "rmse": float(np.sqrt(np.mean(np.square(errors)))),
        "mae": float(np.mean(np.abs(errors))),
    }
