"""Models along lambda: each starts from the last, and the grid may follow from the gap alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, isnan, sqrt
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from structlearn.core.sentences import ParameterError, Statement
from structlearn.estimators.advice.learned import inner_fits
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.choices import check_number
from structlearn.estimators.completion.completion import NoWarmStart
from structlearn.estimators.inputs.checking import Tables
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.regression.regressor import LinearRegressor
from structlearn.estimators.scikit import Table
from structlearn.estimators.training.fresh_fit import solution_of
from structlearn.metrics import Outputs
from structlearn.solvers import Solution

E = TypeVar("E", bound=StructuredEstimator[Any])
#: What is trained by lambda.
Regularized = TypeVar("Regularized", bound=StructuredEstimator[Any] | LinearRegressor)


def regularization_path(
    estimator: E,
    X: Table | Tables,
    y: Outputs,
    regularizations: Iterable[float],
    *,
    gap: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> list[E]:
    """Fit copies of `estimator` along decreasing lambda, each started from the one before.

    Parameters
    ----------
    estimator : StructuredEstimator
        Its own `regularization` is not used.
    X, y : as its `fit` takes them
    regularizations : sequence of float
        The values of lambda. With `gap`, the ends of a range.
    gap : float, optional
        Chooses the values of lambda between the ends: each model is within `gap` of the optimum not only at
        its own lambda but at every one down to the next model's. Each is trained to half of it. Where P(0)
        is far from 1 it is relative, as `tol` is. For penalty="l2".
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
    if not isinstance(estimator, StructuredEstimator) or estimator.chosen_loss().name == "perceptron":
        raise TypeError(
            Statement(
                "regularization_path is for the estimators of this package that minimise lambda/2 ||w||^2 "
                "+ mean loss; LinearRegressor and {loss=perceptron} are not among them."
            )
        )
    values = np.sort([check_number("regularizations", float(one), strict=True) for one in regularizations])
    if not values.size:
        raise ValueError("regularizations is empty; give at least one value of lambda.")
    if gap is None:
        return list(models_along(estimator, X, y, values[::-1].tolist(), sample_weight))
    if getattr(estimator, "penalty", "l2") != "l2":
        raise ParameterError("gap is for {penalty=l2}; give all regularizations instead.")
    tol = min(estimator.tol, check_number("gap", gap, strict=True) / 2)
    models: list[E] = []
    chosen = _choose_values(models, values.tolist(), gap)
    for model in models_along(clone(estimator).set_params(tol=tol), X, y, chosen, sample_weight):
        models.append(model)
    return models


def models_along(
    estimator: Regularized,
    X: Table | Tables,
    y: Outputs,
    regularizations: Iterable[float],
    sample_weight: ArrayLike | None = None,
) -> Iterator[Regularized]:
    """Yield fitted copies of `estimator`, one per lambda on demand, each started from the one before.

    Where labels are known in part, which knows no warm start, each is trained by itself.
    """
    last: Regularized | None = None
    warm = True
    for value in regularizations:
        model = clone(estimator).set_params(warm_start=warm, regularization=value)
        if last is not None and warm:
            _go_on(model, last)
        with inner_fits():
            try:
                model.fit(X, y, sample_weight)
            except NoWarmStart:
                warm = False
                model = model.set_params(warm_start=False).fit(X, y, sample_weight)
        if last is not None:
            _finish(last, estimator.warm_start)
        yield model
        last = model
    if last is not None:
        _finish(last, estimator.warm_start)


def _go_on(model: Any, last: Any) -> None:
    """Start where the last model ended: at its solution, over the same features."""
    for name in ("weights_", "certificate_") if isinstance(last, LinearRegressor) else ("_solution",):
        if hasattr(last, name):  # a closed form has no solution to go on from
            setattr(model, name, getattr(last, name))
    if isinstance(last, MappedRows) and hasattr(last, "row_transformer_"):
        model.row_transformer_ = last.row_transformer_


def _finish(model: Any, warm_start: bool) -> None:
    """Remove what only the next model needed."""
    vars(model).pop("_solution", None)
    model.set_params(warm_start=warm_start)


def _choose_values(models: list[E], ends: list[float], gap: float) -> Iterator[float]:
    """Yield the largest lambda, then each at which the last model leaves `gap`, down to the smallest."""
    value: float | None = ends[-1]
    while value is not None:
        yield value
        value = _next_value(models[-1], ends[0], gap * _scale(models[-1]))


def _scale(model: StructuredEstimator[Any]) -> float:
    """Return what `tol`, and so `gap`, is a share of; 1 if it is absolute."""
    return model.certificate_.tolerance / model.tol if model.tol > 0 else 1.0


def _next_value(model: StructuredEstimator[Any], smallest: float, gap: float) -> float | None:
    """Return the lambda down to which a model is within `gap` of the optimum; None for the whole range."""
    value, solution = model.regularization, solution_of(model)
    if solution.certificate.gap > gap:
        raise RuntimeError(
            f"Training at regularization={value:g} ended with gap {solution.certificate.gap:.3g}, above "
            f"{gap:g}: raise max_passes or gap."
        )
    if gap_at(smallest, value, solution) <= gap:
        return None
    return max(reach(value, solution, gap), smallest)


def gap_at(other: float, regularization: float, solution: Solution) -> float:
    """Return a bound of P(w) - min P at another, smaller lambda, from what is known at this one."""
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
    """Return the least lambda at which `gap_at` is at most `gap`, by bisection: it is convex."""
    within, beyond = 1.0, 0.0
    while within - beyond > 1e-9 * within:
        t = (within + beyond) / 2
        if gap_at(t * regularization, regularization, solution) <= gap:
            within = t
        else:
            beyond = t
    return within * regularization
