"""Constraints on label sets: a factor graph of switches, with the tables of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.structures.constraints import (
    Budget,
    Constraint,
    CountConstraint,
    Implies,
    check_constraints,
)
from structlearn.structures.factors.factor_graph import FactorAnswer, FactorGraph


def label_limits(constraints: object, classes: Array) -> list[Constraint]:
    """Return constraints on labels as constraints on their positions in `classes`."""
    place = {label: k for k, label in enumerate(classes.tolist())}

    def position(label: object) -> int:
        if label not in place:
            raise ValueError(f"constraints name {quote(label)}, which is not a label of the model.")
        return place[label]

    return [_of_positions(one, position) for one in check_constraints(constraints)]


def _of_positions(one: Constraint, position: Callable[[object], int]) -> Constraint:
    if isinstance(one, CountConstraint):
        return one.of_members([position(member) for member in one.members])
    if isinstance(one, Budget):
        return Budget(one.limit, {position(member): cost for member, cost in one.costs.items()})
    if isinstance(one, Implies):
        return Implies(position(one.first), position(one.then))
    raise ValueError(f"{one!r} is about sequences; label sets take AtMost, Budget, Implies and the like.")


class LimitedSets:
    """Label sets within constraints.

    Parameters
    ----------
    constraints : list of Constraint
    classes : (K,), the labels
    edges : (E, 2) pairs of labels that have scores
    """

    def __init__(self, constraints: object, classes: Array, edges: Array) -> None:
        self.constraints = check_constraints(constraints)
        self.limits = label_limits(self.constraints, classes)
        pairs = [tuple(pair) for pair in edges.tolist()]
        self.graph = FactorGraph([2] * len(classes), [*pairs, *self.limits])

    def best(self, scores: Array, tables: Array) -> Iterator[FactorAnswer]:
        """Yield the best label set of each row; scores : (n, K) of labels that are on, tables : (E, 2, 2)."""
        states = np.zeros((scores.shape[1], 2))
        for i, row in enumerate(scores):
            states[:, 1] = row
            theta = np.concatenate([states.ravel(), tables.ravel()])
            try:
                yield self.graph.solve(theta)
            except ValueError:
                raise self._nothing(theta, i) from None

    def _nothing(self, theta: Array, i: int) -> ValueError:
        needed = [id(one) for one in self.graph.conflict(theta)]
        names = [repr(one) for one, own in zip(self.constraints, self.limits) if id(own) in needed]
        verb = "leave" if len(names) > 1 else "leaves"
        return ValueError(f"{' and '.join(names)} {verb} no label set of row {i}.")
