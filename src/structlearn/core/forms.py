"""Forms of values that files hold: each knows what it accepts, and how an error message describes that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """A test of a value, and the words for what passes it.

    Attributes
    ----------
    what : what passes, in words: "a number of at least 0"
    accepts : says whether a value is that
    """

    what: str
    accepts: Callable[[object], bool]

    def __call__(self, value: object) -> bool:
        return self.accepts(value)


def form(what: str) -> Callable[[Callable[[object], bool]], Form]:
    """Make a form of a function that says whether a value is `what`."""
    return lambda accepts: Form(what, accepts)


@form("a number of at least 0")
def count(value: object) -> bool:
    return type(value) is int and value >= 0
