"""Packages whose names are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def names_of(
    package: str, homes: Mapping[str, str], modules: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make `__getattr__` and `__dir__` of a package whose names are imported when they are first used.

    homes : the module that each name comes from: of the package ("tagger"), or by its whole name
    modules : whole names of modules that are names of the package themselves
    """
    whole = modules or {}

    def find(name: str) -> object:
        if name in whole:
            return import_module(whole[name])
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        return getattr(import_module(home if home.startswith("structlearn.") else f"{package}.{home}"), name)

    return find, lambda: sorted([*homes, *whole])
