"""What was made of objects, so that it is made once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

T = TypeVar("T")


class Memo:
    """Keeps results by a name and by the object that they were made of, which must not change.

    Objects are told apart by identity; the memo keeps them alive.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[Hashable, int], tuple[object, object]] = {}

    def of(self, source: object, name: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time for this object and name."""
        key = name, id(source)
        if key not in self._kept:
            self._kept[key] = source, make()
        found: T = self._kept[key][1]  # type: ignore[assignment]
        return found

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        """Identities mean nothing in another process: a copy is empty."""
        return Memo, ()
