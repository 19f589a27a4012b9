"""The cache of compiled kernels: files that a process checks before it uses them, and can do without.

What is damaged, missing or not to be trusted costs a compilation, and so does a full disk: never a run. Files
are pickled, so that reading one executes what its writer wished. Therefore a file is read only if nobody but
this user and root can have written it, and unpickled only if its hash is right.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import Any

import numba
import platformdirs
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from structlearn.core.compilation import begins
from structlearn.core.loading import prepare, unpickled

_PACKAGE = Path(__file__).parents[1]
_ANSWERING = ("structures", "scoring")
_IMPORT = re.compile(rb"^\s*from (structlearn[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
_SECONDS_KEPT = 30 * 24 * 3600
_HASH_BYTES = 16
_FOR_OTHERS = 0o022


# ---- where ------------------------------------------------------------------------------------------


@cache
def cache_folder(source: Path = Path(__file__)) -> Path:
    """Folder of the compiled kernels of one source file, keyed by a hash of all that they may contain.

    Numba's own cache only watches the file of the function itself, so an edit in another file of the
    package could give a stale answer. The hash is over the file, the structures and scorings, whose answers
    are compiled into whatever asks them, and all that these import; and over whether bounds are checked.
    ``STRUCTLEARN_CACHE`` overrides the parent folder.
    """
    digest = hashlib.sha256(b"checked" if numba.config.BOUNDSCHECK else b"")
    for found in sorted(map(_file_hash, _answering() | _with_imports({source}))):
        digest.update(found)
    parent = (
        Path(os.environ.get("STRUCTLEARN_CACHE") or platformdirs.user_cache_dir("structlearn")) / "kernels"
    )
    folder = parent / digest.hexdigest()[:16]
    if not os.path.exists(folder):
        _forget_old_folders(parent)
    return folder


@cache
def _answering() -> set[Path]:
    return _with_imports({path for room in _ANSWERING for path in (_PACKAGE / room).rglob("*.py")})


@cache
def _file_hash(path: Path) -> bytes:
    name = path.relative_to(_PACKAGE) if path.is_relative_to(_PACKAGE) else path.name
    return hashlib.sha256(str(name).encode() + b"\n" + _source(path)).digest()


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
    with suppress(OSError):  # it cannot be listed, or another process was faster
        for old in parent.glob("*"):
            if time.time() - old.stat().st_mtime > _SECONDS_KEPT:
                rmtree(old, ignore_errors=True)


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

    def ensure_cache_path(self) -> None:
        """Make the folder, which nobody else may write to whatever the umask says."""
        mode = 0o777 & ~_FOR_OTHERS
        self._folder.parent.mkdir(mode, parents=True, exist_ok=True)
        self._folder.mkdir(mode, exist_ok=True)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _PackageLocator:
        return cls(py_func, py_file)


# ---- files ------------------------------------------------------------------------------------------


class CheckedFiles:
    """The compiled forms of one function.

        NAME.nbi         a hash, and the index that it is of: the data file of each signature
        NAME.HASH.nbc    machine code, named by its hash: two processes never write different ones to a name

    Both are written aside and renamed. Of two processes that write the index at once the last one wins, and
    what the other one compiled is compiled once more.
    """

    def __init__(self, folder: Path, name: str, stamp: str) -> None:
        self._folder = folder
        self._name = name
        self._stamp = f"{numba.__version__} {stamp}\n".encode()

    def load(self, key: Any) -> Any:
        """What was saved under `key`; None if there is nothing that can be trusted."""
        name = self._index().get(key)
        content = None if name is None else _read(self._folder / name)
        if content is None or self._data_name(content) != name:
            return None
        return unpickled(content)  # its writer and its hash are checked

    def save(self, key: Any, data: Any) -> None:
        """Keep `data`; OSError if it cannot be written."""
        if not is_trusted(self._folder):
            return
        content = dumps(data)
        name = self._data_name(content)
        _write(self._folder / name, content)
        index = dumps({**self._index(), key: name})
        _write(self._index_path, self._hash(index) + index)

    def flush(self) -> None:
        """Forget everything."""
        self._index_path.unlink(missing_ok=True)

    @property
    def _index_path(self) -> Path:
        return self._folder / f"{self._name}.nbi"

    def _data_name(self, content: bytes) -> str:
        return f"{self._name}.{self._hash(content).hex()}.nbc"

    def _hash(self, content: bytes) -> bytes:
        """Of the content, for this Numba and these sources: what is of others is as good as damaged."""
        found = hashlib.blake2b(self._stamp, digest_size=_HASH_BYTES)
        found.update(content)
        return found.digest()

    def _index(self) -> dict[Any, str]:
        content = _read(self._index_path) or b""
        known, index = content[:_HASH_BYTES], content[_HASH_BYTES:]
        if known != self._hash(index):
            return {}
        return pickle.loads(index)  # noqa: S301  (likewise)


def _read(path: Path) -> bytes | None:
    """The content of a file of the cache; None if there is none, or others may have written it."""
    if not is_trusted(path.parent):
        return None
    try:
        with open(path, "rb") as file:
            return file.read() if _is_ours(os.fstat(file.fileno())) else None
    except OSError:
        return None


def _write(path: Path, content: bytes) -> None:
    aside = path.with_name(f"{path.name}.{token_hex(8)}.part")
    try:
        with open(aside, "xb", opener=lambda name, flags: os.open(name, flags, 0o666 & ~_FOR_OTHERS)) as file:
            file.write(content)
        os.replace(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def is_trusted(folder: Path) -> bool:
    """Whether nobody but this user and root can put files into a folder; so it is for one not there yet."""
    try:
        return _is_ours(os.stat(folder))
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _is_ours(found: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):  # no such users and modes
        return True
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & _FOR_OTHERS


# ---- Numba's side -----------------------------------------------------------------------------------


class _PackageCacheImpl(CompileResultCacheImpl):
    _locator_classes = (_PackageLocator,)


class PackageCache(FunctionCache):
    """Numba's cache of one function, in our files."""

    _impl_class = _PackageCacheImpl

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._folder = Path(self.cache_path)
        self._cache_file = CheckedFiles(
            self._folder, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled form; None where a compilation begins, which is announced."""
        try:
            prepare(target_context)
            found = self._load_overload(sig, target_context)
        except Exception:  # whatever is wrong with a cache is no reason to end a run
            found = None
        if found is None:
            begins(self._obstacle())
        return found

    def _obstacle(self) -> str:
        if is_trusted(self._folder):
            return ""
        return (
            f"the cache {self._folder} is not used: it cannot be read, or other users may write to it; "
            "remove it or set STRUCTLEARN_CACHE to a folder of your own"
        )

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what any process can find again: a user's own function or record may be nowhere to import."""
        if "CPUDispatcher" in str(sig) or any(map(_is_foreign, sig)):
            return
        with suppress(Exception):  # a full disk, for one: the next process compiles again
            super().save_overload(sig, data)


def _is_foreign(kind: Any) -> bool:
    """Whether a type is, or holds, a record of a module outside the package."""
    record = getattr(kind, "instance_class", None)
    if record is not None and record.__module__.split(".")[0] != _PACKAGE.name:
        return True
    return any(map(_is_foreign, getattr(kind, "types", ())))
