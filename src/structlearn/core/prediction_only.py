"""A process may promise to predict only; its estimators then do without scikit-learn."""

from __future__ import annotations

import sys

_promises: list[str] = []


def promise_only_to_predict() -> None:
    """Say, before estimators are imported, that this process trains none and hands none to anybody.

    Then they do without scikit-learn (`structlearn.estimators.scikit`), whose import takes longer than all
    else that the prediction of a small file needs. Where it is imported already nothing changes.
    """
    if "sklearn" not in sys.modules:
        _promises.append("predict")


def only_predicts() -> bool:
    """Tell whether that was promised."""
    return bool(_promises)
