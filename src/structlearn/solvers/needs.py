"""What a solver may need of an objective. Its class declares it; `solve` checks it, at one door.

needs: ClassVar[frozenset[str]] = frozenset({"gradient"})
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structlearn.problem.objective import Objective


@dataclass(frozen=True)
class Need:
    """A need: in words, and from an objective to why it has not what is needed (nothing where it has)."""

    what: str
    lack: Callable[[Any], str]


def _regularization(objective: Objective) -> str:
    """Checked with the estimators' parameters: a radius, or the perceptron, does without."""
    return ""


def _gradient(objective: Objective) -> str:
    return objective.no_gradient


def _hinge(objective: Objective) -> str:
    smooth = objective.regularizer.smooth
    return "is for loss='hinge'; use solver='sdca' for smooth losses" if smooth else ""


def _local_parts(objective: Objective) -> str:
    return "is for structures without shared parts; use solver='bcfw'" if objective.scoring.n_shared else ""


def _exact_blocks(objective: Objective) -> str:
    if objective.has_exact_blocks:
        return ""
    return (
        "needs one row of features an example and no shared parts (binary and multiclass problems); use "
        "solver='bcfw'"
    )


NEEDS = {
    "regularization": Need("lambda > 0", _regularization),
    "gradient": Need("an objective with a gradient", _gradient),
    "hinge": Need("the hinge", _hinge),
    "local parts": Need("no shared parts", _local_parts),
    "exact blocks": Need("one row of features per example and no shared parts", _exact_blocks),
}


def check_needs(solver: object, objective: Any) -> None:
    """ValueError if the objective lacks what the solver's class needs."""
    for need in sorted(getattr(solver, "needs", ())):
        lack = NEEDS[need].lack(objective)
        if lack:
            raise ValueError(f"Solver {_name_of(solver)!r} {lack}.")


def _name_of(solver: object) -> str:
    """What users call it, or that of its class."""
    from structlearn.core.registry import located
    from structlearn.solvers.registry import SOLVERS

    made = (entry.name for entry in SOLVERS.values() if entry.make and located(entry.make) is type(solver))
    return next(made, type(solver).__name__)
