"""Figures of answers on tables, and those of the best constant answer beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from structlearn import metrics
from structlearn.core.contract import Array
from structlearn.metrics import Outputs


def probability_figures(classifier: Any, X: object, codes: Array) -> dict[str, float]:
    """Return log_loss, if the classifier has probabilities, and auc, if it has two classes.

    Parameters
    ----------
    codes : int array
        The class of each example by its place in `classes_`. Examples of unknown classes, -1, are left out.

    """
    found: dict[str, float] = {}
    known = codes >= 0
    if not known.any():
        return found
    if hasattr(classifier, "predict_proba"):
        found["log_loss"] = metrics.log_loss(codes[known], classifier.predict_proba(X)[known])
    if len(classifier.classes_) == 2:
        found["auc"] = metrics.area_under_curve(codes[known] == 1, classifier.decision_function(X)[known])
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
