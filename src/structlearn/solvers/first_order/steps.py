"""Step lengths of the subgradient methods: eta_t = numerator / t^power, t = 1, 2, 3, ..."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from structlearn.core.sentences import ParameterError
from structlearn.problem.objective import Objective


class Schedule(NamedTuple):
    """A step rule, ready for a compiled pass."""

    numerator: float
    power: float

    def length(self, t: float) -> float:
        return self.numerator / t**self.power


class StepRule(Protocol):
    """A rule that chooses a schedule for an objective."""

    def schedule(self, objective: Objective) -> Schedule:
        """Return the rule's schedule."""


@dataclass(frozen=True)
class ConstantStep:
    """eta_t = eta: reaches a neighbourhood of the optimum."""

    eta: float = 0.1

    def schedule(self, objective: Objective) -> Schedule:
        return Schedule(self.eta, 0.0)


@dataclass(frozen=True)
class DiminishingStep:
    """eta_t = eta / sqrt(t)."""

    eta: float = 1.0

    def schedule(self, objective: Objective) -> Schedule:
        return Schedule(self.eta, 0.5)


@dataclass(frozen=True)
class PegasosStep:
    """eta_t = 1 / (lambda t), the choice of Pegasos (Shalev-Shwartz et al. 2007)."""

    def schedule(self, objective: Objective) -> Schedule:
        if objective.regularization <= 0:
            raise ParameterError(
                "Steps of 1/(lambda t) need {regularization} > 0; use constant or diminishing steps."
            )
        return Schedule(1.0 / objective.regularization, 1.0)
