"""The cache of compiled kernels: what a process may find there, and can do without.

What is damaged, missing or not to be trusted (`kernel_files`) costs a compilation, and so does a full disk:
never a run. Kernels that came with the installation (`shipped_kernels`) are looked up first.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from structlearn.core.kernel_cache.compilation import begins
from structlearn.core.kernel_cache.files import CheckedFiles, is_trusted
from structlearn.core.kernel_cache.folders import forget_old_folders, make_private_folder
from structlearn.core.kernel_cache.loading import prepare_context
from structlearn.core.kernel_cache.shipped import shipped_kernels
from structlearn.core.kernel_cache.source_hash import PACKAGE, source_hash

if TYPE_CHECKING:
    from numba.core.compiler import CompileResult
    from numba.core.cpu import CPUContext

Kinds = tuple[types.Type, ...]


@cache
def cache_folder(source: Path = Path(__file__)) -> Path:
    """Return the folder of one source file's kernels, named by a hash of all that they may contain.

    ``STRUCTLEARN_CACHE`` overrides the parent folder.
    """
    parent = (
        Path(os.environ.get("STRUCTLEARN_CACHE") or platformdirs.user_cache_dir("structlearn")) / "kernels"
    )
    folder = parent / source_hash(source)
    if not os.path.exists(folder):
        forget_old_folders(parent)
    return folder


class _PackageLocator(_CacheLocator):
    """The place of an index, by the hash of the sources: equal sources share it wherever they lie."""

    def __init__(self, py_func: Callable[..., object], py_file: str) -> None:
        self._line = py_func.__code__.co_firstlineno
        self._folder = cache_folder(Path(py_file))

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        """Make the folder, where it is missing."""
        make_private_folder(self._folder)

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> _PackageLocator:
        return cls(py_func, py_file)


class _PackageCacheImpl(CompileResultCacheImpl):
    _locator_classes = (_PackageLocator,)


class PackageCache(FunctionCache):
    """Numba's cache of one function, in our files."""

    _impl_class = _PackageCacheImpl

    def __init__(self, py_func: Callable[..., object]) -> None:
        super().__init__(py_func)
        self._folder = Path(self.cache_path)
        self._cache_file = self._files(self._folder)

    def _files(self, folder: Path, read: Callable[[Path], bytes | None] | None = None) -> CheckedFiles:
        return CheckedFiles(folder, self._impl.filename_base, self._impl.locator.get_source_stamp(), read)

    def load_overload(self, sig: Kinds, target_context: CPUContext) -> CompileResult | None:
        """Return the compiled form; None where a compilation begins, which is announced."""
        found = None
        for load in (self._load_shipped, self._load_kept):
            with suppress(Exception):  # whatever is wrong with a cache is no reason to end a run
                found = found or load(sig, target_context)
        if found is None:
            begins(self._obstacle())
        return found

    def _load_shipped(self, sig: Kinds, target_context: CPUContext) -> CompileResult | None:
        """Load a shipped kernel as Numba loads from a cache, for the CPU that it was built for."""
        kernels = shipped_kernels()
        if kernels is None or kernels.obstacle:
            return None
        prepare_context(target_context)
        kind, _, code = self._index_key(sig, target_context.codegen())
        files = self._files(kernels.folder / self._folder.name, kernels.read)
        data = files.load((kind, kernels.target, code))
        return None if data is None else self._impl.rebuild(target_context, data)

    def _load_kept(self, sig: Kinds, target_context: CPUContext) -> CompileResult | None:
        prepare_context(target_context)
        return self._load_overload(sig, target_context)

    def _obstacle(self) -> str:
        if is_trusted(self._folder):
            return ""
        return (
            f"the cache {self._folder} is not used: it cannot be read, or other users may write to it or to "
            "a folder above it; remove it or set STRUCTLEARN_CACHE to a folder of your own"
        )

    def save_overload(self, sig: Kinds, data: CompileResult) -> None:
        """Keep what any process can find again: a user's own function or record may be nowhere to import."""
        if "CPUDispatcher" in str(sig) or any(map(_is_foreign, sig)):
            return
        with suppress(Exception):  # a full disk, for one: the next process compiles again
            super().save_overload(sig, data)


def _is_foreign(kind: types.Type) -> bool:
    """Return whether a type is, or holds, a record of a module outside the package."""
    record = getattr(kind, "instance_class", None)
    if record is not None and record.__module__.split(".")[0] != PACKAGE.name:
        return True
    return any(map(_is_foreign, getattr(kind, "types", ())))
