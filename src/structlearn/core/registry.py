"""Registries: a solver, a loss, a structure or a task is described once, in one entry with a name.

Registries import nothing heavy, so that `--help` can be made of them: an entry names its class as
"package.module:Name", which is imported when it is used first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, ValuesView
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar


class Named(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=Named)


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries by their names, in the order in which they came.

    what : what an entry is, in words, for refusals
    homes : of names that are not registered yet the module that registers them when it is imported
    """

    def __init__(
        self, what: str, entries: Iterable[Entry] = (), homes: Mapping[str, str] | None = None
    ) -> None:
        self.what = what
        self._homes = dict(homes or {})
        self._entries: dict[str, Entry] = {}
        for entry in entries:
            self.register(entry)

    def register(self, entry: Entry) -> Entry:
        """Add an entry; ValueError if its name is taken."""
        if entry.name in self:
            raise ValueError(f"There is a {self.what} {entry.name!r} already.")
        self._entries[entry.name] = entry
        return entry

    def forget(self, name: str) -> None:
        """Take an entry out again."""
        del self._entries[name]

    def entry(self, name: object) -> Entry:
        """Return the entry of this name, or raise a ValueError that lists all and suggests the nearest."""
        return self[one_of(self.what, name, self)]

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries and name in self._homes:
            import_module(self._homes[name])
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def values(self) -> ValuesView[Entry]:
        """Return the entries; every fit asks for them, and `Mapping` would look up each by its name."""
        return self._all().values()

    def _all(self) -> dict[str, Entry]:
        """Return all entries, those of every home among them."""
        for home in self._homes.values():
            import_module(home)
        return self._entries


def resolve_name(where: Any) -> Any:
    """Import what "package.module:Name" names; return anything but a string as it is."""
    if not isinstance(where, str):
        return where
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)


def one_of(what: str, name: object, valid: Iterable[str]) -> str:
    """Return `name` if it is valid; else a ValueError lists the valid ones and suggests the nearest."""
    valid = list(valid)
    if isinstance(name, str) and name in valid:
        return name
    near = nearest(str(name), valid)
    hint = f" Did you mean {near!r}?" if near else ""
    raise ValueError(f"Unknown {what} {name!r}; valid are {', '.join(map(repr, valid))}.{hint}")


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """Return the valid name that is spelled most like `name`, in whatever case; None if none is."""
    known = {one.lower(): one for one in valid}
    near = get_close_matches(name.lower(), known, n=1)
    return known[near[0]] if near else None


def either(names: Iterable[str]) -> str:
    """Join names for a sentence: a, b or c."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
