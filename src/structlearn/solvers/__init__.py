"""Solvers: one file an algorithm, and the only loop. One objective, one certificate.

The names of `public` are imported when the first of them is used: the registry is light, for `--help`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlearn.solvers.public import *  # noqa: F403


def __getattr__(name: str) -> object:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    return getattr(import_module("structlearn.solvers.public"), name)


def __dir__() -> list[str]:
    return sorted(import_module("structlearn.solvers.public").__all__)
