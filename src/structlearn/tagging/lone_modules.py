"""Single modules of other packages, without the import of the whole package, which may take far longer.

NLTK's splitting of text, for one, is imported in a thirtieth of the time of `import nltk`, which imports
SciPy's statistics and scikit-learn.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any


def import_alone(name: str) -> ModuleType:
    """Return a module as `import_module` does, but without executing the packages that it is in.

    It and what it imports of its package are copies of its own, which nobody else sees: `sys.modules` stays
    as it is. Where the package is imported already, or this fails, the module is imported as usual.
    """
    if name.split(".")[0] in sys.modules:
        return import_module(name)
    try:
        return _Alone(name.split(".")[0]).module(name)
    except Exception:  # the package is made otherwise than expected
        return import_module(name)


class _Alone:
    """The modules of one package, with an `import` statement that finds them here.

    A package that is not asked for itself is an empty one.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, ModuleType] = {}

    def module(self, name: str) -> ModuleType:
        """Return a module, executed."""
        if name not in self._known:
            self._known[name] = module = self._unexecuted(name)
            loader = module.__spec__.loader if module.__spec__ else None
            if loader is not None and not hasattr(module, "__path__"):
                module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
                loader.exec_module(module)
        return self._known[name]

    def _unexecuted(self, name: str) -> ModuleType:
        parent, _, last = name.rpartition(".")
        spec = self._find(name)
        if spec is None:
            raise ImportError(f"No module named {name!r}", name=name)
        module = module_from_spec(spec)
        if parent:
            setattr(self.module(parent), last, module)
        return module

    def _find(self, name: str) -> ModuleSpec | None:
        parent = name.rpartition(".")[0]
        return PathFinder.find_spec(name, self.module(parent).__path__ if parent else None)

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        """Stand for `__import__` inside these modules."""
        if level or name.split(".")[0] != self._root:
            return builtins.__import__(name, globals, locals, fromlist, level)
        module = self.module(name)
        for part in fromlist or ():
            if not hasattr(module, part):
                self.module(f"{name}.{part}")
        return module if fromlist else self.module(self._root)
