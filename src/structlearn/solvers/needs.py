"""What a solver may need of an objective: its class declares it, and `solve` checks it, in one place.

needs: ClassVar[frozenset[str]] = frozenset({"gradient"})
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from structlearn.core.sentences import ParameterError

if TYPE_CHECKING:
    from structlearn.problem.problem import Problem
    from structlearn.solvers.solver import Solver


@dataclass(frozen=True)
class Need:
    """A need in words, and a function that says why an objective lacks it (empty where it does not)."""

    what: str
    lack: Callable[[Problem], str]


def _regularization(objective: Problem) -> str:
    """Return nothing: estimators check the parameter; a radius, or the perceptron, does without."""
    return ""


def _gradient(objective: Problem) -> str:
    return objective.no_gradient


def _hinge(objective: Problem) -> str:
    return "" if objective.is_hinge else "is for {loss=hinge}; use {solver=sdca} for smooth losses"


def _local_parts(objective: Problem) -> str:
    return "" if objective.is_local else "is for structures without shared parts; use {solver=bcfw}"


def _exact_blocks(objective: Problem) -> str:
    if objective.has_exact_blocks:
        return ""
    return (
        "needs one row of features per example and no shared parts (binary and multiclass problems); use "
        "{solver=bcfw}"
    )


def _chains(objective: Problem) -> str:
    from structlearn.problem.stretches import can_be_cut

    if can_be_cut(objective):
        return ""
    return (
        "is for {loss=softmax} on label sequences whose first and last labels have no weights of their own; "
        "use {solver=stochastic-extragradient}"
    )


def _rows(objective: Problem) -> str:
    from structlearn.problem.kept_scores import can_keep_scores
    from structlearn.problem.objective import Objective

    if isinstance(objective, Objective) and can_keep_scores(
        objective.structure, objective.regularizer, objective.scoring, objective.memory
    ):
        return ""
    return (
        "is for {loss=softmax} of single rows (classes, label sets without pairs) whose scores fit into "
        "memory; use {solver=lbfgs}"
    )


NEEDS = {
    "regularization": Need("lambda > 0", _regularization),
    "gradient": Need("an objective with a gradient", _gradient),
    "hinge": Need("the hinge", _hinge),
    "local parts": Need("no shared parts", _local_parts),
    "chains": Need("the softmax loss of label sequences", _chains),
    "rows": Need("the softmax loss of single rows", _rows),
    "exact blocks": Need("one row of features per example and no shared parts", _exact_blocks),
}


def check_needs(solver: Solver, objective: Problem) -> None:
    """Raise a ValueError if the objective lacks what the solver's class needs."""
    for need in sorted(solver.needs):
        lack = NEEDS[need].lack(objective)
        if lack:
            raise ParameterError(f"Solver {{name}} {lack}.", name=repr(_name_of(solver)))


def _name_of(solver: Solver) -> str:
    """Return the name that users know, or else that of the class."""
    from structlearn.core.registry import resolve_name
    from structlearn.solvers.registry import SOLVERS

    made = (
        entry.name for entry in SOLVERS.values() if entry.make and resolve_name(entry.make) is type(solver)
    )
    return next(made, type(solver).__name__)
