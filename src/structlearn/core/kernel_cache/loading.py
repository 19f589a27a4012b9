"""Compiled kernels read back, without what only compiling needs.

Before Numba loads a function from a cache it imports all that it implements itself and, with the function,
the modules of all others that were compiled into it, for names that machine code never looks up. That takes
longer than to predict a small file. Like `dispatchers`, this is for versions of Numba that it was tried with.
"""

from __future__ import annotations

import pickle
import sys
from io import BytesIO
from typing import TYPE_CHECKING

from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import rtsys

from structlearn.core.dispatchers import is_lean

if TYPE_CHECKING:
    from numba.core.cpu import CPUContext


def prepare_context(target_context: CPUContext) -> None:
    """Make a context ready to load functions; what compiles one makes it ready for that, too."""
    if is_lean():
        rtsys.initialize(target_context)
    else:
        target_context.refresh()


def unpickle(content: bytes) -> object:
    """Unpickle a compiled function; the caller must trust the content."""
    if not is_lean():
        return pickle.loads(content)  # noqa: S301  (see above)
    return _Unpickler(BytesIO(content)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: list[object], name: str) -> Environment:
    """Rebuild an environment as Numba's `_rebuild_env` does, without importing modules for object mode."""
    found = lookup_environment(name)
    if found is None:
        found = Environment(vars(sys.modules[module]) if module in sys.modules else {"__name__": module})
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found
    return found
