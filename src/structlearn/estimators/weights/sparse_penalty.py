"""Penalties that leave few weights, for estimators over structures: parameters in, R(w) out."""

from __future__ import annotations

from typing import Protocol

from structlearn.core.sentences import ParameterError
from structlearn.estimators.choices import check_number, one_of
from structlearn.problem.penalties import ElasticNet, Penalty


class Penalised(Protocol):
    """The parameters of a penalty."""

    penalty: str
    l1_ratio: float
    regularization: float


#: The penalties of estimators over structures.
PENALTIES = ("l2", "l1", "elasticnet")


def check_penalty(estimator: Penalised, kinds: tuple[str, ...] = PENALTIES) -> None:
    """Raise ValueError unless `penalty` and `l1_ratio` are those of an R."""
    one_of("penalty", estimator.penalty, kinds)
    if check_number("l1_ratio", estimator.l1_ratio) >= 1:
        raise ParameterError(
            "{l1_ratio} must be below 1; got {given}. For 1 use {penalty=l1}.", given=repr(estimator.l1_ratio)
        )


def elastic_net(estimator: Penalised) -> Penalty | None:
    """Return R; None for the squared norm."""
    ratio = {"l2": 0.0, "l1": 1.0}.get(estimator.penalty, float(estimator.l1_ratio))
    return ElasticNet(estimator.regularization, ratio) if ratio > 0 else None
