"""Constraints on what exists: at most one title, at least two authors, a budget of positions.

    from structlearn.constraints import AtLeast, AtMost, Budget, Exactly, Implies, Xor

    model.predict(X, constraints=[AtMost(1, "title"), Implies("abstract", "title")])

See docs/constraints.md.
"""

from structlearn.structures.constraints import (
    AtLeast,
    AtMost,
    Budget,
    Constraint,
    Exactly,
    Implies,
    SameType,
    Xor,
)

__all__ = ["AtLeast", "AtMost", "Budget", "Constraint", "Exactly", "Implies", "SameType", "Xor"]


def __dir__() -> list[str]:
    return sorted(__all__)
