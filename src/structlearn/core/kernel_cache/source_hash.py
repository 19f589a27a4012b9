"""A hash of all source that a kernel may contain."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

import numba

#: The package's folder.
PACKAGE = Path(__file__).parents[2]
_IMPLEMENTING = ("structures", "scoring")
_IMPORT = re.compile(rb"^\s*from (structlearn[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


@cache
def source_hash(source: Path = Path(__file__)) -> str:
    """Return the 16-digit hash of every source that one file's kernels may contain.

    Numba's own cache only watches the file of the function itself, so an edit in another file of the
    package could give a stale answer. The hash is over the file, the structures and scorings, whose kernels
    are compiled into whatever calls them, and all that these import; and over whether bounds are checked.
    """
    digest = hashlib.sha256(b"checked" if numba.config.BOUNDSCHECK else b"")
    for found in sorted(map(_file_hash, _implementing() | _with_imports({source}))):
        digest.update(found)
    return digest.hexdigest()[:16]


@cache
def _implementing() -> set[Path]:
    return _with_imports({path for room in _IMPLEMENTING for path in (PACKAGE / room).rglob("*.py")})


@cache
def _file_hash(path: Path) -> bytes:
    name = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path.name
    return hashlib.sha256(str(name).encode() + b"\n" + _source(path)).digest()


@cache
def _source(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _imports(path: Path) -> frozenset[Path]:
    """Return the files of the package that a file imports."""
    found = set()
    for module, names in _IMPORT.findall(_source(path)):
        folder = PACKAGE.joinpath(*module.decode().split(".")[1:])
        submodules = (folder / f"{name}.py" for name in re.findall(r"\w+", names.decode()))
        found.update({folder.with_suffix(".py"), folder / "__init__.py", *submodules})
    return frozenset(path for path in found if path.is_file())


def _with_imports(paths: set[Path]) -> set[Path]:
    """Return `paths` and all files that they import, directly or through others."""
    reached: set[Path] = set()
    while paths:
        reached |= paths
        paths = {found for path in paths for found in _imports(path)} - reached
    return reached
