"""What training asks of an engine: three methods over objects that live in other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class Lost(NamedTuple):
    """In place of an answer: the worker is gone."""

    why: str


class Engine(Protocol):
    """Keeps a stateful object for each number 0, 1, ..., somewhere.

    The objects' methods return what went wrong as an exception, they do not raise it: whatever the engine
    itself raises, or does not bring back, means that the object is lost.
    """

    @property
    def size(self) -> int:
        """How many machines, or processes, there are."""

    def open(self, make: Sequence[Callable[[], object]]) -> None:
        """Make an object by each call, in place of all that were there; none for an empty list."""

    def call(self, name: str, arguments: Mapping[int, tuple[object, ...]]) -> dict[int, Any]:
        """Call a method of the objects that have arguments here, at once; `Lost` for those that are gone."""

    def revive(self, number: int) -> None:
        """Make a lost object again by its call, on any machine that is there; OSError if there is none."""
