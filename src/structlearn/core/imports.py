"""How modules are found: names of a package that are imported on first use, and modules that have moved."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader


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


class _Moved:
    """A finder and loader of modules by their old names.

    It is asked first: otherwise the folder of a moved package would answer, with a copy.
    """

    def __init__(self) -> None:
        self.homes: dict[str, str] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if name not in self.homes:
            return None
        return ModuleSpec(name, cast("Loader", self))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self.homes[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own specification back, which importing it by an old name has replaced."""
        found = module.__spec__
        if found is not None and found.name in self.homes:
            module.__spec__ = found.loader_state


_MOVED = _Moved()


def keep_old_names(homes: Mapping[str, str]) -> None:
    """Let modules be imported by their old names, too: `homes` has the new name of each."""
    if _MOVED not in sys.meta_path:
        sys.meta_path.insert(0, _MOVED)
    _MOVED.homes.update(homes)
