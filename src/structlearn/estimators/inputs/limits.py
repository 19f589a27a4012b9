"""Constraints on label sequences as limits of counts: what each step from label to label counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.estimators.inputs.spans import SpanReading, span_reading
from structlearn.structures.chain.agreement import Agreement
from structlearn.structures.chain.constrained import ConstrainedSequence, Limit, best_within_limits
from structlearn.structures.constraints import (
    Budget,
    Constraint,
    CountConstraint,
    Implies,
    SameType,
    check_constraints,
)

#: Implications double the problems to be solved.
_MOST_IMPLICATIONS = 8


class SequenceLimits:
    """What label sequences over some classes are limited to.

    Parameters
    ----------
    constraints : list of Constraint
    classes : (K,), the labels
    """

    def __init__(self, constraints: object, classes: Array) -> None:
        self.constraints, self.classes = check_constraints(constraints), classes
        reading = _LabelReading(classes)
        implied = [one for one in self.constraints if isinstance(one, Implies)]
        if len(implied) > _MOST_IMPLICATIONS:
            raise ValueError(f"At most {_MOST_IMPLICATIONS} constraints may be Implies; got {len(implied)}.")
        self.groups = [group for one in self.constraints if isinstance(one, SameType) for group in one.groups]
        self.kind = reading.kind
        others = [one for one in self.constraints if not isinstance(one, Implies | SameType)]
        self._always = [reading.limit(one) for one in others]
        self._cases = [[reading.limit(one) for one in case] for case in product(*(i.cases for i in implied))]

    def solve(self, asked: Iterable[tuple[int, tuple[Array, Array]]]) -> Iterator[ConstrainedSequence]:
        """Yield the best sequences; asked : of each its number, and its scores of labels and steps."""
        if self.groups:
            yield from self._solve_together(list(asked))
            return
        for i, tables in asked:
            found = self.best(*tables)
            if not found.labels.size:
                raise self._nothing(tables, i, found.bound)
            yield found

    def _solve_together(self, asked: list[tuple[int, tuple[Array, Array]]]) -> Iterator[ConstrainedSequence]:
        """Yield the best sequences that agree; those of groups share what may be missing."""
        place = {i: q for q, (i, _) in enumerate(asked)}
        groups = [[(place.get(i, -1), t) for i, t in group] for group in self.groups]
        for group, given in zip(groups, self.groups):
            for (q, t), token in zip(group, given):
                if q < 0 or not 0 <= t < len(asked[q][1][0]):
                    raise ValueError(f"SameType names token {token}, which is not in X.")
        agreement = Agreement([tables for _, tables in asked], groups, self.kind, self.best)
        found = agreement.solve()
        for (i, tables), labels in zip(asked, found.labels):
            if not labels.size:
                raise self._nothing(tables, i, self.best(*tables).bound)
        missing = (found.bound - found.values.sum()) / max(len(agreement.joined), 1)
        for q, (labels, value) in enumerate(zip(found.labels, found.values.tolist())):
            yield ConstrainedSequence(labels, value, value + missing * (q in agreement.own))

    def best(self, unary: Array, steps: Array) -> ConstrainedSequence:
        """Return the best sequence: over all ways in which implications may hold."""
        found = ConstrainedSequence(np.zeros(0, dtype=np.int64), -np.inf, -np.inf)
        for case in self._cases:
            one = best_within_limits(unary, steps, [*self._always, *case], found.value)
            bound = max(found.bound, one.bound)
            found = (one if one.labels.size else found)._replace(bound=bound)
        return found

    def _conflict(self, tables: tuple[Array, Array]) -> list[Constraint]:
        """Return constraints that exclude everything together, and would not if one of them were left out."""
        needed = [one for one in self.constraints if not isinstance(one, SameType)]
        for one in list(needed):
            fewer = [other for other in needed if other is not one]
            if SequenceLimits(fewer, self.classes).best(*tables).bound == -np.inf:
                needed = fewer
        return needed

    def _nothing(self, tables: tuple[Array, Array], i: int, bound: float) -> ValueError:
        """Return the error for sequence i, of which no labelling within the limits was found."""
        if bound > -np.inf:
            return ValueError(
                f"No labelling of sequence {i} that keeps all constraints was found, though there may be one."
            )
        names = " and ".join(map(repr, self._conflict(tables))) or "The allowed labels"
        leaves = "leave" if " and " in names or names.endswith("labels") else "leaves"
        return ValueError(f"{names} {leaves} no labelling of sequence {i}, of {len(tables[0])} tokens.")


class _LabelReading:
    """Which labels the members of constraints are: labels, or types of spans."""

    def __init__(self, classes: Array) -> None:
        self.names: list[object] = classes.tolist()
        self.reading: SpanReading = span_reading(tuple(self.names))
        labels = self.reading.labels
        self.kind, self.parted = labels.kind, labels.parted
        self.types = self.reading.types

    def limit(self, one: Constraint) -> Limit:
        """Return the limit of a constraint that counts."""
        if isinstance(one, Budget):
            return Limit(self._events(one.costs, one.of), 0, one.limit)
        assert isinstance(one, CountConstraint)  # noqa: S101  (implications are cases of these)
        return Limit(self._events(dict.fromkeys(one.members, 1), one.of), *one.limits)

    def _events(self, costs: Mapping[object, int], of: str) -> Array:
        k = len(self.names)
        event = np.zeros((k + 1, k), dtype=np.int64)
        for member, cost in costs.items():
            own = self._labels(member)
            begins = np.ones((k + 1, k), dtype=bool)
            if of == "spans":
                begins[:k] = self.parted
                begins[np.ix_(own, [x for x in own if self.kind[x] < 0])] = False  # a run outside of spans
            event[:, own] = np.maximum(event[:, own], cost * begins[:, own])
        return event

    def _labels(self, member: object) -> Sequence[int]:
        if member in self.names:
            return [self.names.index(member)]
        if str(member) in self.types:
            return np.flatnonzero(self.kind == self.types[str(member)]).tolist()
        raise ValueError(
            f"constraints name {quote(member)}, which is neither a label of the model nor a type."
        )
