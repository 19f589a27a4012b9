"""Solvers: what minimises the objective, all with the same loop and the same certificate.

The names of `public` are imported when the first of them is used: the registry is light, for `--help`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlearn.solvers.public import *  # noqa: F403


def __getattr__(name: str) -> object:
    if name == "__all__":
        return __dir__()
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module("structlearn.solvers.public"), name)


def __dir__() -> list[str]:
    public = vars(import_module("structlearn.solvers.public"))
    return sorted(name for name in public if not name.startswith("_"))
