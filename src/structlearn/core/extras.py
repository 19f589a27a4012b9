"""Packages that come with an extra: where one is missing, the error says which extra brings it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from types import FrameType

#: What packages that are imported bring, by the name of their extra in pyproject.toml.
EXTRAS = {"shell": ("typer", "rich", "jinja2", "matplotlib", "PIL", "pooch", "nltk", "defusedxml")}


class MissingExtraError(ModuleNotFoundError):
    """Raised where structlearn imports a package that is not installed, and that an extra brings."""


class _Extras:
    """A finder that is asked last, when nothing else finds a package: it names the extra.

    Only of imports by structlearn's own modules: others go on as they would without it.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> None:
        extra = next((extra for extra, packages in EXTRAS.items() if name in packages), None)
        if extra is not None and _importer(sys._getframe(1)).split(".")[0] == "structlearn":
            raise MissingExtraError(
                f"This needs the package {name}, which is not installed: pip install "
                f"'structlearn[{extra}]' brings it.",
                name=name,
            )


def _importer(frame: FrameType | None) -> str:
    """Return the module that imports something: the first that is not of the import system."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if not name.startswith("importlib"):
            return name
        frame = frame.f_back
    return ""


def name_missing_extras() -> None:
    """Have errors of missing packages name the extra that brings them."""
    if not any(isinstance(one, _Extras) for one in sys.meta_path):
        sys.meta_path.append(_Extras())


@cache
def is_installed(package: str) -> bool:
    """Whether a package can be imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False
