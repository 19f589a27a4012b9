"""What loss="auto" stands for: softmax where marginals are exact and cheap, elsewhere the hinge.

Where a solver, a penalty or a cost goes with another loss alone, that one is taken, and `LossChoice.why` says
so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from structlearn.core.registry import resolve_name
from structlearn.core.sentences import Statement
from structlearn.estimators.choices import name_penalty, penalty_of
from structlearn.problem.registry import LOSSES
from structlearn.solvers.registry import HINGE, PERCEPTRON, SOLVERS, whole_name
from structlearn.solvers.solver import Solver

if TYPE_CHECKING:
    from structlearn.estimators.base import StructuredEstimator

AUTO = "auto"
#: The losses that "auto" may stand for, the usual one first, by what an estimator's outputs allow. The
#: perceptron is taken only where it is the solver.
WITH_MARGINALS = ("softmax", "hinge", "perceptron")
WITH_DEAR_MARGINALS = ("hinge", "softmax", "perceptron")
WITHOUT_MARGINALS = ("hinge", "perceptron")


class LossChoice(NamedTuple):
    """A loss, and a sentence on why it is not the usual one of its estimator, where it is not."""

    name: str
    why: str = ""

    @property
    def uses_costs(self) -> bool:
        """Whether the cost of mistakes counts; False of unknown losses, which `fit` refuses."""
        return self.name in LOSSES and LOSSES[self.name].cost_augmented


def choose_loss(estimator: StructuredEstimator[Any]) -> LossChoice:
    """Return the loss that an estimator's parameters name, or what "auto" stands for beside the others."""
    if estimator.loss != AUTO:
        return LossChoice(estimator.loss)
    usual, *others = estimator.usual_losses
    if _trainable(estimator, usual):
        cost = "" if LOSSES[usual].cost_augmented else cost_given(estimator)
        if not cost or not _trainable(estimator, "hinge"):
            return LossChoice(usual)
        advice = "The loss is 'hinge', because {cost} is given, which {usual} ignores."
        return LossChoice("hinge", Statement(advice, cost=Statement(f"{{{cost}}}"), usual=repr(usual)))
    taken = next((name for name in others if _trainable(estimator, name)), usual)
    if taken == usual:
        return LossChoice(taken)
    advice = "The loss is {taken}, because {cause} {usual}."
    return LossChoice(taken, Statement(advice, taken=repr(taken), cause=_cause(estimator), usual=repr(usual)))


def trained_loss(estimator: StructuredEstimator[Any]) -> str:
    """Return the loss of a fitted estimator; before `fit`, the one that it would train."""
    return getattr(estimator, "loss_", None) or estimator.chosen_loss().name


def cost_given(estimator: StructuredEstimator[Any]) -> str:
    """Return the first parameter that says what mistakes cost and does not have its usual value."""
    usual = {field.name: field.default for field in fields(estimator)}
    return next((n for n in estimator.of_cost if not _is(getattr(estimator, n), usual[n])), "")


def _is(value: object, usual: object) -> bool:
    return value is usual or (isinstance(value, str | int | float) and value == usual)


def _trainable(estimator: StructuredEstimator[Any], loss: str) -> bool:
    """Whether the solver, with its options, trains this loss with this penalty; True for unknown names."""
    solver, family = estimator.solver, LOSSES[loss].family
    if not isinstance(solver, str):
        return _trains(solver, family)
    penalty, options = penalty_of(estimator), set(estimator.solver_options or ())
    if solver == "auto":
        entries = [SOLVERS[name] for name in estimator.usual_solvers.get(family, ())]
        if penalty != "l2":
            entries = [entry for entry in SOLVERS.values() if penalty in entry.penalties]
        return any(family in entry.trains and options <= set(entry.options) for entry in entries)
    entry = SOLVERS.get(whole_name(solver))
    return entry is None or (family in entry.trains and penalty in entry.penalties)


def _trains(solver: Solver, family: str) -> bool:
    """Whether a solver object trains the loss, by its class's needs and the entry of its class."""
    if ("hinge" in solver.needs and family != HINGE) or ("gradient" in solver.needs and family == HINGE):
        return False
    entries = [one for one in SOLVERS.values() if one.make and resolve_name(one.make) is type(solver)]
    known = any(family in entry.trains for entry in entries)
    if family == PERCEPTRON:
        return known
    of_blocks = any(entry.name == "sdca" for entry in entries)  # whose class trains the hinge, too
    return known or not entries or of_blocks


def _cause(estimator: StructuredEstimator[Any]) -> Statement:
    """Return the parameter that decides about the loss, with its value; the usual loss is named next."""
    solver, penalty = estimator.solver, penalty_of(estimator)
    if not isinstance(solver, str):
        return Statement("the solver {kind} does not train", kind=type(solver).__name__)
    if solver != "auto":
        return Statement("{solver=} does not train", solver=solver)
    if penalty != "l2":
        return Statement("{penalised} does not go with", penalised=name_penalty(penalty))
    return Statement("solver_options do not go with")


def take_usual_cost(estimator: Any, cost: object) -> None:
    """Set the cost that is usual for a task, where the loss is one that has costs."""
    if estimator.chosen_loss().uses_costs:
        estimator.set_params(cost=cost)


def has_no_cycle(pairs: Iterable[tuple[object, object]]) -> bool:
    """Whether pairs of labels have no cycles: joining their ends never meets what is joined already."""
    leader: dict[object, object] = {}

    def find(label: object) -> object:
        while leader.get(label, label) != label:
            label = leader[label]
        return label

    for first, second in pairs:
        one, other = find(first), find(second)
        if one == other:
            return False
        leader[one] = other
    return True
