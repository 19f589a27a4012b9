"""How modules are found: names imported on first use, moved modules, and what waits for a module."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, cast

from structlearn.core.garbage import no_collection

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
        with no_collection():
            module = import_module(home if home.startswith("structlearn.") else f"{package}.{home}")
        return getattr(module, name)

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


class _Awaited:
    """A finder that finds one module as the others do, and lets its loader call a function at the end."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name, self._call = name, call

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        others = (finder.find_spec for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (find(name, path, None) for find in others)), None)
        if spec is not None and spec.loader is not None:
            setattr(spec.loader, "exec_module", self._and_call(spec.loader.exec_module))  # noqa: B010
        return spec

    def _and_call(self, execute: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
        def execute_and_call(module: ModuleType) -> None:
            execute(module)
            self._call()

        return execute_and_call


def after_import(name: str, call: Callable[[], None]) -> Callable[[], None]:
    """Call a function as soon as a module has been imported, whoever imports it: now, if it is there.

    Returns a function that takes this back.
    """
    if name in sys.modules:
        import_module(name)  # waits for a thread that is importing it
        call()
        return lambda: None
    awaited = _Awaited(name, call)
    sys.meta_path.insert(0, awaited)
    return lambda: sys.meta_path.remove(awaited)
