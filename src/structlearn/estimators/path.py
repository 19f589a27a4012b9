"""Models along lambda: each starts from the last, and the grid may follow from the gap alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isnan, sqrt
from typing import Any

import numpy as np
from sklearn.base import clone

from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.choices import check_number
from structlearn.solvers import Solution


def regularization_path(
    estimator: Any,
    X: Any,
    y: Any,
    regularizations: Any,
    *,
    gap: float | None = None,
    sample_weight: Any = None,
) -> list[Any]:
    """Fitted copies of `estimator` along decreasing lambda, each started from the one before.

    Parameters
    ----------
    estimator : StructuredEstimator
        Its own `regularization` is not used.
    X, y : as its `fit` takes them
    regularizations : sequence of float
        The values of lambda. With `gap`, the ends of a range.
    gap : float, optional
        Chooses the values of lambda between the ends: each model is within `gap` of the optimum not only at
        its own lambda but at every one down to the next model's. Each is trained to half of it. For
        penalty="l2".
    sample_weight : optional, as `fit` takes it

    Returns
    -------
    list of estimators, lambda decreasing, each with its `regularization` and `certificate_`. With `gap`, the
    model for any lambda of the range is the last one whose `regularization` is at least that.

    Notes
    -----
    Let w and a dual point z be known at lambda, and let t = lambda'/lambda < 1. At lambda' the same w has the
    primal value P - (1 - t) lambda/2 ||w||^2, and the point mu + s (z - mu), t <= s <= 1, a dual value of at
    least s D + s/2 (1 - s/t) lambda ||w(z)||^2. Their difference bounds the distance of w from the optimum,
    is known without a pass over the data, and is convex in lambda' (Giesen, Jaggi and Laue 2010).
    """
    if not isinstance(estimator, StructuredEstimator) or estimator.loss == "perceptron":
        raise TypeError(
            "regularization_path is for the estimators of this package that minimise lambda/2 ||w||^2 + mean "
            "loss; LinearRegressor and loss='perceptron' are not among them."
        )
    values = np.sort([check_number("regularizations", float(one), strict=True) for one in regularizations])
    if not values.size:
        raise ValueError("regularizations is empty; give at least one value of lambda.")
    if gap is None:
        found = _along(estimator, X, y, values[::-1], sample_weight)
    else:
        if getattr(estimator, "penalty", "l2") != "l2":
            raise ValueError("gap is for penalty='l2'; give all regularizations instead.")
        gap = check_number("gap", gap, strict=True)
        found = _within(estimator, X, y, float(values[-1]), float(values[0]), gap, sample_weight)
    return [_finished(model, estimator) for model in found]


def _finished(model: Any, estimator: Any) -> Any:
    """A model without what only the next one needed."""
    del model._solution
    return model.set_params(warm_start=estimator.warm_start)


def _fitted(estimator: Any, X: Any, y: Any, sample_weight: Any, before: Any, **parameters: Any) -> Any:
    model = clone(estimator).set_params(warm_start=True, **parameters)
    if before is not None:
        model._solution = before._solution
    return model.fit(X, y, sample_weight)


def _along(estimator: Any, X: Any, y: Any, values: Any, sample_weight: Any) -> Iterator[Any]:
    before = None
    for value in values:
        model = _fitted(estimator, X, y, sample_weight, before, regularization=float(value))
        if before is not None:
            yield before
        before = model
    yield before


def _within(
    estimator: Any, X: Any, y: Any, largest: float, smallest: float, gap: float, sample_weight: Any
) -> Iterator[Any]:
    """Models whose ranges, each within `gap` of the optimum, meet."""
    value, before, tol = largest, None, min(estimator.tol, gap / 2)
    while True:
        model = _fitted(estimator, X, y, sample_weight, before, regularization=value, tol=tol)
        if model.certificate_.gap > gap:
            raise RuntimeError(
                f"Training at regularization={value:g} ended with gap {model.certificate_.gap:.3g}, above "
                f"{gap:g}: raise max_passes or gap."
            )
        if before is not None:
            yield before
        before = model
        if gap_at(smallest, value, model._solution) <= gap:
            break
        value = max(reach(value, model._solution, gap), smallest)
    yield before


def gap_at(other: float, regularization: float, solution: Solution) -> float:
    """A bound of P(w) - min P at another, smaller lambda, from what is known at this one."""
    t, known = other / regularization, solution.certificate
    norm = float(solution.w @ solution.w)
    # q >= ||w(z)||^2: a gap is at least lambda/2 ||w - w(z)||^2, whichever z it belongs to
    q = solution.dual_norm
    if isnan(q):
        q = (sqrt(norm) + sqrt(2 * max(known.gap, 0.0) / regularization)) ** 2
    scale = regularization * q
    s = min(max(t * (0.5 + known.dual / scale) if scale > 0 else inf, t), 1.0)
    dual = s * known.dual + s / 2 * (1 - s / t) * scale
    return known.primal - (1 - t) * regularization / 2 * norm - dual


def reach(regularization: float, solution: Solution, gap: float) -> float:
    """The least lambda at which `gap_at` is at most `gap`, by bisection: it is convex."""
    within, beyond = 1.0, 0.0
    while within - beyond > 1e-9 * within:
        t = (within + beyond) / 2
        if gap_at(t * regularization, regularization, solution) <= gap:
            within = t
        else:
            beyond = t
    return within * regularization
