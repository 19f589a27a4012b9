"""Whole applications, from data to result."""

from importlib import import_module
from types import ModuleType

__all__ = ["alignment", "parsing", "tagging", "text"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
