"""Training a predictor of decisions on a cluster: a worker asks for the best decisions of its examples.

Lambda is that of one machine: regularization="auto" is computed from all examples before they are split,
which asks the oracle twice per example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.distributed import Partitions
from structlearn.estimators.decisions.costs import (
    Costs,
    check_alike,
    check_one_each,
    common_axes,
    cost_arrays,
)
from structlearn.estimators.decisions.features import has_part_rows
from structlearn.estimators.decisions.layout import Instances, refuse_nothing
from structlearn.estimators.inputs.checking import stack_examples
from structlearn.estimators.loss_choice import AUTO
from structlearn.estimators.scikit import Rows, checked_examples
from structlearn.estimators.training.cluster import train_on
from structlearn.estimators.training.running import training_of
from structlearn.storage.packed import PackedExamples

if TYPE_CHECKING:
    from structlearn.estimators.decisions.predictor import DecisionPredictor
    from structlearn.estimators.training.cluster import Cluster

#: Losses whose examples are those of the data: others draw noise, or are least squares.
_LOSSES = ("spo+", "imitation", "sparsemax")


def refuse_on_cluster(estimator: DecisionPredictor, instances: Instances, known_costs: Costs | None) -> None:
    """Raise ValueError for what workers cannot do: they know features and costs alone."""
    if estimator.chosen_loss().name not in _LOSSES:
        raise ParameterError("A cluster trains decisions with {loss=spo+}, 'imitation' or 'sparsemax'.")
    if instances is not None:
        raise ValueError("Instances of single examples are not split over a cluster; train on them here.")
    if known_costs is not None:
        raise ValueError("Known costs are not split over a cluster; train with them here.")
    if estimator.positive:
        raise ParameterError("{positive} needs all examples in one place; leave it out on a cluster.")
    if estimator.early_stopping:
        raise ParameterError("{early_stopping} needs all examples in one place; leave it out on a cluster.")


def train_decisions_on(
    client: Cluster,
    estimator: DecisionPredictor,
    X: Any,
    costs: Costs | None,
    sample_weight: ArrayLike | None,
) -> None:
    """Fit `estimator` on a cluster, to features and costs, or to `Partitions` of them and None."""
    if isinstance(X, Partitions):
        if estimator.regularization == AUTO:
            raise ParameterError("Partitions are never in one place; give {regularization} as a number.")
        train_on(client, estimator, X, cast(Any, costs), sample_weight)
        estimator.regularization_ = float(estimator.regularization)
        return
    true = cost_arrays(cast(Costs, costs))
    rows = _checked(estimator, X, true)
    strength = _strength(estimator, rows, true, sample_weight)
    train_on(client, estimator, rows, true, sample_weight, strength)
    estimator.part_shape_ = common_axes(true)
    estimator.regularization_ = strength


def _checked(estimator: DecisionPredictor, X: Any, costs: list[Array]) -> Rows | PackedExamples:
    """Return features as they are split: a matrix with one row per example, or tables of parts."""
    if not has_part_rows(X):
        rows = checked_examples(estimator, X, accept_sparse="csr")
        check_one_each(costs, rows.shape[0])
        check_alike(costs)
        return rows
    rows, axes = stack_examples(X, ndim=costs[0].ndim + 1, noun="Example")
    check_one_each(costs, len(axes))
    return PackedExamples(rows, np.cumsum([0, *axes.prod(axis=1)]), axes)


def _strength(
    estimator: DecisionPredictor, X: Any, costs: list[Array], sample_weight: ArrayLike | None
) -> float:
    """Return lambda, for "auto" from all examples."""
    if estimator.regularization != AUTO:
        return float(estimator.regularization)
    problem = estimator.lay_out(X, costs, sample_weight)
    refuse_nothing(problem.gold, estimator.sense)
    return training_of(estimator).strength(problem)
