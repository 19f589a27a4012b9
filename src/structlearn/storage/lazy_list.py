"""Lists whose items are made when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, overload

Item = TypeVar("Item")


class LazyList(Sequence[Item]):
    """A list whose items `_item` makes."""

    @overload
    def __getitem__(self, key: int) -> Item: ...
    @overload
    def __getitem__(self, key: slice) -> list[Item]: ...
    def __getitem__(self, key: int | slice) -> Item | list[Item]:
        if isinstance(key, slice):
            return [self._item(i) for i in range(*key.indices(len(self)))]
        if not -len(self) <= key < len(self):
            raise IndexError(key)
        return self._item(key % len(self))

    def _item(self, i: int) -> Item:
        raise NotImplementedError
