"""Modules that have moved: their old names lead to the modules themselves, not to copies of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Moved:
    """Finds and loads modules by old names.

    It is asked first: otherwise the folder of a moved package would answer, with a copy.
    """

    def __init__(self) -> None:
        self.homes: dict[str, str] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if name not in self.homes:
            return None
        return ModuleSpec(name, self)  # type: ignore[arg-type]

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
