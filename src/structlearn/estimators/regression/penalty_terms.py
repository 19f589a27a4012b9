"""From the parameters of a regressor to the penalty R(w), in the form that least squares takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.inputs.groups import group_ids
from structlearn.problem.penalties import ElasticNet, GroupNorm, Penalty

if TYPE_CHECKING:
    from structlearn.estimators.regression.regressor import LinearRegressor


class PenaltyTerms(NamedTuple):
    """R(w), the weights of its norm and of its square, and where each group's features are."""

    penalty: Penalty
    l1: float
    l2: float
    #: where each group begins in the second array, which has the features group by group
    groups: tuple[Array, Array] | None


def penalty_terms(regressor: LinearRegressor, n_features: int) -> PenaltyTerms:
    """Return the terms of the penalty that the regressor's parameters name."""
    strength = float(regressor.regularization)
    if regressor.penalty == "group" and regressor.groups is not None:
        group = group_ids(regressor.groups, n_features)
        start = np.concatenate([[0], np.cumsum(np.bincount(group))])
        members = np.argsort(group, kind="stable")
        return PenaltyTerms(GroupNorm(strength, group), strength, 0.0, (start, members))
    ratio = {"l2": 0.0, "l1": 1.0}.get(regressor.penalty, float(regressor.l1_ratio))
    return PenaltyTerms(ElasticNet(strength, ratio), strength * ratio, strength * (1 - ratio), None)
