"""Factors as text in model files: tables by their variables, constraints by their names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from structlearn.core.forms import form
from structlearn.structures.constraints import (
    AtLeast,
    AtMost,
    Budget,
    CountConstraint,
    Exactly,
    Implies,
    Xor,
)

_DAMAGED = "factors are none of a factor graph"
_COUNTS: dict[str, type[CountConstraint]] = {"AtMost": AtMost, "AtLeast": AtLeast, "Exactly": Exactly}


def write_factors(factors: Sequence[object]) -> str:
    """Return the text of factors."""
    return json.dumps([_entry(one) for one in factors])


def _entry(factor: Any) -> list[object]:
    if isinstance(factor, Xor):
        return ["Exactly", 1, *factor.members]
    if isinstance(factor, CountConstraint):
        return [type(factor).__name__, factor.k, *factor.members]
    if isinstance(factor, Budget):
        return ["Budget", factor.limit, *([member, cost] for member, cost in factor.costs.items())]
    if isinstance(factor, Implies):
        return ["Implies", factor.first, factor.then]
    return ["Table", *map(int, factor)]


def read_factors(text: str) -> list[object]:
    """Return the factors of a text; ValueError for any other text."""
    try:
        found = json.loads(text)
        if not isinstance(found, list):
            raise ValueError(_DAMAGED)
        return [_factor(*one) for one in found]
    except (TypeError, AttributeError, IndexError) as error:
        raise ValueError(_DAMAGED) from error


def _factor(kind: str, *rest: Any) -> object:
    if kind == "Table":
        return tuple(rest)
    if kind == "Budget":
        return Budget(rest[0], {_member(member): cost for member, cost in rest[1:]})
    if kind == "Implies":
        first, then = map(_member, rest)
        return Implies(first, then)
    if kind not in _COUNTS:
        raise ValueError(_DAMAGED)
    return _COUNTS[kind](rest[0], *map(_member, rest[1:]))


def _member(given: Any) -> Any:
    return tuple(given) if isinstance(given, list) else given


@form("the text of factors")
def factor_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        read_factors(value)
    except ValueError:
        return False
    return True
