"""Penalties that leave few weights, for estimators over structures: parameters in, R(w) out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from structlearn.core.sentences import ParameterError
from structlearn.estimators.base import S, StructuredEstimator
from structlearn.estimators.choices import Auto, check_number, one_of
from structlearn.problem.penalties import ElasticNet, Penalty

if TYPE_CHECKING:
    from structlearn.solvers.solver import Solver
    from structlearn.solvers.stopping import Stopping

#: The penalties of estimators over structures.
PENALTIES = ("l2", "l1", "elasticnet")


@dataclass(kw_only=True, eq=False, repr=False)
class SparseWeights(StructuredEstimator[S]):
    """Two parameters, of which weights that are exactly zero come.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}
        R(w), with lambda = `regularization`:

        - "l2": lambda/2 ||w||^2
        - "l1": lambda ||w||_1, for smooth losses
        - "elasticnet": lambda (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)
    l1_ratio : float
        Of the elastic net: from 0, which is "l2", to less than 1.
    """

    penalty: str = "l2"
    l1_ratio: float = 0.5

    def _checked_parameters(self, auto: Auto | None = None) -> tuple[Solver, Stopping]:
        one_of("penalty", self.penalty, PENALTIES)
        if check_number("l1_ratio", self.l1_ratio) >= 1:
            raise ParameterError(
                "{l1_ratio} must be below 1; got {given}. For 1 use {penalty=l1}.", given=repr(self.l1_ratio)
            )
        return super()._checked_parameters(auto)

    def _penalty(self) -> Penalty | None:
        """R; None for the squared norm."""
        ratio = {"l2": 0.0, "l1": 1.0}.get(self.penalty, float(self.l1_ratio))
        return ElasticNet(self.regularization, ratio) if ratio > 0 else None
