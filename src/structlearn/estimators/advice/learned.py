"""Models that have learned nothing, and warnings of them.

What the best constant would lose on the training data follows from how often labels occur, and what a model
loses from its certificate. Only where the two are alike does it take answers on the training data to tell.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.errors import NothingLearnedWarning
from structlearn.core.sentences import Statement
from structlearn.estimators.loss_choice import cost_given, trained_loss
from structlearn.estimators.models.linear import model_of
from structlearn.structures import Cube, Simplex

if TYPE_CHECKING:
    from structlearn.estimators.base import StructuredEstimator
    from structlearn.estimators.training.running import TrainingProblem
    from structlearn.problem.objective import Objective

#: The share of a constant's loss by which a model must be better.
BETTER = 1e-3
#: Where the gap is a larger share of the objective, nothing is said: training ended early.
OPTIMAL = 0.05
#: Of fewer examples nothing is said.
ENOUGH = 20


@contextmanager
def inner_fits() -> Iterator[None]:
    """Keep models quiet that are a part or a try of others, such as those of the strongest lambdas."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingLearnedWarning)
        yield


def warn_of_nothing(
    estimator: StructuredEstimator[Any], problem: TrainingProblem[Any], objective: Objective
) -> None:
    """Warn of an optimum whose weights are all zero, or of flat labels, that is a constant."""
    told, w = estimator.certificate_, estimator.weights_
    optimal = told.converged and told.tolerance > 0 and told.gap <= OPTIMAL * told.primal
    if not optimal or problem.scoring.n_examples < ENOUGH:
        return
    mean = told.primal - float(objective.penalty.value(w))
    if mean <= told.tolerance:
        return
    if not w.any():
        said = "All weights are zero"
    elif _no_better(estimator, problem, mean) and _answers_alike(estimator, problem):
        said = "The model predicts the same for all training examples"
    else:
        return
    warning = NothingLearnedWarning(Statement("{said}: {advice}", said=said, advice=_advice(estimator)))
    warnings.warn(warning, stacklevel=4)


def _advice(estimator: StructuredEstimator[Any]) -> Statement:
    other = ""
    if getattr(estimator, "positive", False):
        other = Statement("{positive=False} or ")
    elif trained_loss(estimator) != "softmax" and "softmax" in estimator.usual_losses:
        other = Statement("{loss=softmax} or ")
    used = getattr(estimator, "regularization_", estimator.regularization)
    return Statement(
        "train with {other}a {regularization} below {used}, or scale the features, as with "
        "{row_transformer=StandardScaler()}.",
        other=other,
        used=f"{used:g}",
    )


def _no_better(estimator: StructuredEstimator[Any], problem: TrainingProblem[Any], mean: float) -> bool:
    """Whether the mean loss is hardly below that of the best constant scores.

    False where that is unknown, or hardly above zero, as where nearly all labels are the same.
    """
    shares = getattr(estimator, "_frequencies", None)
    if shares is None or not isinstance(problem.structure, Simplex | Cube):
        return False
    constant = _constant_loss(estimator, shares, one_of_all=isinstance(problem.structure, Simplex))
    return constant is not None and mean >= (1 - BETTER) * constant > estimator.certificate_.tolerance


def _constant_loss(estimator: StructuredEstimator[Any], shares: Array, *, one_of_all: bool) -> float | None:
    """Return the mean loss of the best constant scores, given the shares of classes or switches."""
    if trained_loss(estimator) in ("softmax", "logistic"):
        return _entropy(shares) + (0.0 if one_of_all else _entropy(1 - shares))
    if trained_loss(estimator) != "hinge" or cost_given(estimator):
        return None
    seldom = 1 - shares.max() if one_of_all else np.minimum(shares, 1 - shares).mean()
    return float(min(1.0, 2 * seldom))


def _entropy(shares: Array) -> float:
    some = shares[shares > 0]
    return float(-some @ np.log(some))


def _answers_alike(estimator: StructuredEstimator[Any], problem: TrainingProblem[Any]) -> bool:
    """Whether all answers on the training data are the same; the first that differs ends the search."""
    answers = (parts for _, parts in model_of(estimator, problem.structure).best_parts(problem.scoring))
    first = next(answers).copy()
    return all(np.array_equal(one, first) for one in answers)
