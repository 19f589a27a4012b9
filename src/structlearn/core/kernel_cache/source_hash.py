"""A hash of all source that a kernel may contain."""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path

import numba

#: The package's folder.
PACKAGE = Path(__file__).parents[2]
_IMPLEMENTING = ("structures", "scoring")
_IMPORT = re.compile(rb"^[ \t]*from (structlearn[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


@cache
def source_hash(source: Path = Path(__file__)) -> str:
    """Return the 16-digit hash of every source that one file's kernels may contain.

    Numba's own cache only watches the file of the function itself, so an edit in another file of the
    package could give a stale answer. The hash is over the file, the structures and scorings, whose kernels
    are compiled into whatever calls them, and all that these import; and over whether bounds are checked.
    """
    digest = hashlib.sha256(b"checked" if numba.config.BOUNDSCHECK else b"")
    for found in sorted(map(_file_hash, _implementing() | _with_imports({str(source)}))):
        digest.update(found)
    return digest.hexdigest()[:16]


# Every process that loads a kernel comes through here, so paths are strings, which are quicker than `Path`.


@cache
def _implementing() -> set[str]:
    rooms = (os.walk(PACKAGE / room) for room in _IMPLEMENTING)
    files = (os.path.join(folder, name) for room in rooms for folder, _, names in room for name in names)
    return _with_imports({path for path in files if path.endswith(".py")})


@cache
def _file_hash(path: str) -> bytes:
    folder = f"{PACKAGE}{os.sep}"
    name = Path(path[len(folder) :]).as_posix() if path.startswith(folder) else os.path.basename(path)
    return hashlib.sha256(name.encode() + b"\n" + _source(path)).digest()


@cache
def _source(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@cache
def _imports(path: str) -> set[str]:
    """Return the files of the package that a file imports."""
    return set().union(*(_files_of(*found) for found in _IMPORT.findall(_source(path))))


@cache
def _files_of(module: bytes, names: bytes) -> set[str]:
    """Return the files that `from module import names` may read."""
    folder = os.path.join(PACKAGE, *module.decode().split(".")[1:])
    submodules = (os.path.join(folder, f"{name}.py") for name in re.findall(r"\w+", names.decode()))
    return {
        path for path in (f"{folder}.py", os.path.join(folder, "__init__.py"), *submodules) if _is_file(path)
    }


_is_file = cache(os.path.isfile)


def _with_imports(paths: set[str]) -> set[str]:
    """Return `paths` and all files that they import, directly or through others."""
    reached: set[str] = set()
    while paths:
        reached |= paths
        paths = set().union(*map(_imports, paths)) - reached
    return reached
