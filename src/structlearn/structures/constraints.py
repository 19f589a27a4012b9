"""Constraints on what an output may have: how many of some members, at what cost, and what follows from what.

Members are labels of a sequence or of a label set, or variables of a `FactorGraph`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from structlearn.core.forms import count
from structlearn.core.wording import quote

#: What is counted in label sequences.
COUNTED = ("spans", "positions")


class Constraint:
    """What all constraints have in common."""


@dataclass(frozen=True, init=False)
class CountConstraint(Constraint):
    """low <= (how many of some members there are) <= high.

    Parameters
    ----------
    k : int
    members : labels or variables, counted together
    of : "spans" or "positions"
        In label sequences: spans of these labels or types (runs of like labels, unless labels are B-, I-, E-
        and S- tags), or positions with such a label.
    """

    k: int
    members: tuple[Any, ...]
    of: str

    def __init__(self, k: int, *members: Any, of: str = "spans") -> None:
        if not count(k):
            raise ValueError(f"{type(self).__name__} takes a number of at least 0 first; got {quote(k)}.")
        if not members:
            raise ValueError(f"{type(self).__name__}({k}) needs at least one label.")
        if of not in COUNTED:
            raise ValueError(f'of is "spans" or "positions"; got {quote(of)}.')
        for name, value in (("k", k), ("members", members), ("of", of)):
            object.__setattr__(self, name, value)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest number."""
        raise NotImplementedError

    def of_members(self, members: Iterable[Any]) -> CountConstraint:
        """Return the same constraint of other members."""
        return type(self)(self.k, *members, of=self.of)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, (self.k, *self.members)))})"


class AtMost(CountConstraint):
    """At most k of the members: ``AtMost(1, "title")`` for one title, whatever its length."""

    @property
    def limits(self) -> tuple[float, float]:
        return 0, self.k


class AtLeast(CountConstraint):
    """At least k of the members."""

    @property
    def limits(self) -> tuple[float, float]:
        return self.k, inf


class Exactly(CountConstraint):
    """Exactly k of the members."""

    @property
    def limits(self) -> tuple[float, float]:
        return self.k, self.k


class Xor(Exactly):
    """Exactly one of the members."""

    def __init__(self, *members: Any, of: str = "spans") -> None:
        super().__init__(1, *members, of=of)

    def of_members(self, members: Iterable[Any]) -> CountConstraint:
        return Xor(*members, of=self.of)

    def __repr__(self) -> str:
        return f"Xor({', '.join(map(repr, self.members))})"


@dataclass(frozen=True)
class Budget(Constraint):
    """The costs of the members that there are add up to at most `limit`: whole numbers of at least 0."""

    limit: int
    costs: Mapping[Any, int]
    of: str = "positions"

    def __post_init__(self) -> None:
        if not count(self.limit) or not self.costs or not all(map(count, self.costs.values())):
            raise ValueError("Budget takes a limit and a mapping to costs, whole numbers of at least 0.")
        if self.of not in COUNTED:
            raise ValueError(f'of is "spans" or "positions"; got {quote(self.of)}.')

    @property
    def members(self) -> tuple[Any, ...]:
        return tuple(self.costs)


@dataclass(frozen=True)
class Implies(Constraint):
    """If there is one of `first`, there is one of `then`."""

    first: Any
    then: Any

    @property
    def members(self) -> tuple[Any, ...]:
        return (self.first, self.then)

    @property
    def cases(self) -> tuple[CountConstraint, CountConstraint]:
        """Two constraints of which one must hold."""
        return AtMost(0, self.first, of="positions"), AtLeast(1, self.then, of="positions")


class SameType(Constraint):
    """All tokens of a group whose labels have a type have the same one: a name has one type in a document.

    Types are those of spans: PER of B-PER and I-PER, or the label itself where labels are no tags; a token
    labelled O has none. It holds of all sequences together.

    Parameters
    ----------
    groups : list of lists of (sequence, position)
    """

    def __init__(self, groups: Iterable[Iterable[tuple[int, int]]]) -> None:
        self.groups = [[(int(i), int(t)) for i, t in group] for group in groups]

    @classmethod
    def of_words(cls, X: Sequence[Sequence[Any]], documents: Sequence[Hashable] | None = None) -> SameType:
        """Group equal words that begin with a capital letter, within each document.

        X : sentences, lists of words or of tuples that begin with the word
        documents : of each sentence, which document it is of; all are of one, unless given
        """
        found: dict[tuple[Hashable, str], list[tuple[int, int]]] = {}
        for i, sentence in enumerate(X):
            document = None if documents is None else documents[i]
            for t, token in enumerate(sentence):
                word = token if isinstance(token, str) else token[0]
                if word[:1].isupper():
                    found.setdefault((document, word), []).append((i, t))
        return cls(group for group in found.values() if len(group) > 1)

    def __repr__(self) -> str:
        return f"SameType of {len(self.groups)} groups"


def check_constraints(given: object) -> list[Constraint]:
    """Return constraints as a list; ValueError for anything else."""
    found: list[Constraint] = []
    for one in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(one, Constraint):
            raise ValueError(
                "constraints are a list of AtMost, AtLeast, Exactly, Xor, Budget, Implies and SameType of "
                f"structlearn.constraints; got {quote(one)}."
            )
        found.append(one)
    return found
