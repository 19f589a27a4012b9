"""Compiled Python: the one decorator, and how a question finds its compiled answer.

A *question* (`structlearn.contract`) is a generic function such as `corner(structure, ...)`. A *kernel* is
a function compiled by Numba. `answer(question, Record)` registers a kernel as the answer of every
problem whose first argument is that NamedTuple; the choice is made at compile time, by type.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from shutil import rmtree
from typing import Any, TypeVar

import numba
import platformdirs
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
_ANSWERING = ("structures", "scoring")
_IMPORT = re.compile(rb"^\s*from (structlearn[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
_SECONDS_KEPT = 30 * 24 * 3600

# Reductions may be reordered (so that LLVM vectorises them); NaN and infinities keep their meaning.
FAST_SUMS = {"reassoc", "contract", "nsz", "arcp"}


@cache
def cache_folder(source: Path = Path(__file__)) -> Path:
    """Folder of the compiled kernels of one source file, keyed by a hash of all that they may contain.

    Numba's own cache only watches the file of the function itself, so an edit in another file of the
    package could give a stale answer. The hash is over the file, the structures and scorings, whose answers
    are compiled into whatever asks them, and all that these import; and whether indices are checked
    (``NUMBA_BOUNDSCHECK=1``). ``STRUCTLEARN_CACHE`` overrides the parent folder.
    """
    answering = (path for room in _ANSWERING for path in (_PACKAGE / room).rglob("*.py"))
    digest = hashlib.sha256(b"checked" if numba.config.BOUNDSCHECK else b"")
    for path in sorted(_with_imports({source, *answering})):
        name = path.relative_to(_PACKAGE) if path.is_relative_to(_PACKAGE) else path.name
        digest.update(str(name).encode())
        digest.update(_source(path))
    parent = (
        Path(os.environ.get("STRUCTLEARN_CACHE") or platformdirs.user_cache_dir("structlearn")) / "kernels"
    )
    folder = parent / digest.hexdigest()[:16]
    if not folder.exists():
        _forget_old_folders(parent)
    return folder


@cache
def _source(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _imports(path: Path) -> frozenset[Path]:
    """Files of the package that a file imports."""
    found = set()
    for module, names in _IMPORT.findall(_source(path)):
        folder = _PACKAGE.joinpath(*module.decode().split(".")[1:])
        submodules = (folder / f"{name}.py" for name in re.findall(r"\w+", names.decode()))
        found.update({folder.with_suffix(".py"), folder / "__init__.py", *submodules})
    return frozenset(path for path in found if path.is_file())


def _with_imports(paths: set[Path]) -> set[Path]:
    """`paths` and, again and again, what they import."""
    reached: set[Path] = set()
    while paths:
        reached |= paths
        paths = {found for path in paths for found in _imports(path)} - reached
    return reached


def _forget_old_folders(parent: Path) -> None:
    for old in parent.glob("*"):
        try:
            if time.time() - old.stat().st_mtime > _SECONDS_KEPT:
                rmtree(old, ignore_errors=True)
        except OSError:  # another process was faster
            continue


class _PackageLocator(_CacheLocator):
    """Stores an index under the hash of the sources: equal sources share it wherever they are installed."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._line = py_func.__code__.co_firstlineno
        self._folder = cache_folder(Path(py_file))

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _PackageLocator | None:
        locator = cls(py_func, py_file)
        try:
            locator.ensure_cache_path()
        except OSError:  # a read-only home: compile in memory
            return None
        return locator


class _PackageCacheImpl(CompileResultCacheImpl):
    _locator_classes = (_PackageLocator,)


class _PackageCache(FunctionCache):
    _impl_class = _PackageCacheImpl

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what any process can find again: a user's own function or record may be nowhere to import."""
        if "CPUDispatcher" not in str(sig) and not any(map(_is_foreign, sig)):
            super().save_overload(sig, data)


def _is_foreign(kind: Any) -> bool:
    """Whether a type is, or holds, a record of a module outside the package."""
    record = getattr(kind, "instance_class", None)
    if record is not None and record.__module__.split(".")[0] != __package__:
        return True
    return any(map(_is_foreign, getattr(kind, "types", ())))


def kernel(function: F) -> F:
    """Compile `function` on first call; keep the result on disk; release the GIL while it runs."""
    return _compiled(function, counts=True)


def leaf(function: F) -> F:
    """As `kernel`, for a function that makes no array and calls none that does.

    It does not count references to the arrays it is given, which takes longer than a short loop over them.
    """
    return _compiled(function, counts=False)


def _compiled(function: F, *, counts: bool) -> F:
    compiled = numba.njit(nogil=True, fastmath=FAST_SUMS, error_model="numpy", _nrt=counts)(function)
    with suppress(RuntimeError):  # no folder can be written: compile in each process
        compiled._cache = _PackageCache(compiled.py_func)
    return compiled


_ANSWERS: dict[tuple[str, type], Callable[..., Any]] = {}


def question(name: F) -> F:
    """Make a generic function of a stub: the type of its first argument chooses who answers.

    In compiled code the choice is made at compile time among the kernels registered with `answer`. In plain
    Python the same kernel is called or, where the first argument is an ordinary object, its method.
    """
    return _asked(name, counts=False)


def request(name: F) -> F:
    """As `question`, where the answer is new memory."""
    return _asked(name, counts=True)


def _asked(name: F, *, counts: bool) -> F:
    key = name.__name__

    @wraps(name)
    def ask(*args: Any) -> Any:
        own = _ANSWERS.get((key, type(args[0])))
        if own is None and hasattr(args[0], key):
            return getattr(args[0], key)(*args[1:])
        found = own or _ANSWERS[key, object]
        return found(*args) if isinstance(args[0], tuple) else found.py_func(*args)  # type: ignore[attr-defined]

    @overload(ask, jit_options={"_nrt": counts})
    def choose(*args):  # type: ignore[no-untyped-def]  # Numba compares signatures, annotations included
        asked = args[0]
        if not isinstance(asked, types.NamedTuple | types.NamedUniTuple):
            return None
        found = _registered(key, asked.instance_class)
        return None if found is None else lambda *args: found(*args)

    return ask  # type: ignore[return-value]


def answer(asked: Callable[..., Any], record: type) -> Callable[[F], F]:
    """Register the decorated kernel as the answer of every NamedTuple of class `record` to a question.

    The class `object` stands for all that have no answer of their own.
    """

    def register(function: F) -> F:
        _ANSWERS[asked.__name__, record] = function
        return function

    return register


def is_answered(asked: Callable[..., Any], value: Any) -> bool:
    """Whether a record, or a plain object, answers a question."""
    return _registered(asked.__name__, type(value)) is not None or hasattr(value, asked.__name__)


def _registered(key: str, record: type) -> Callable[..., Any] | None:
    """The record's own answer or, for a question that has one, the answer of all others."""
    return _ANSWERS.get((key, record)) or _ANSWERS.get((key, object))
