"""The files of the kernel cache: checked before they are used.

Files are pickled, so that reading one executes what its writer wished. Therefore a file is read only if
nobody but this user and root can have written it, or can have put its folder there, and unpickled only if its
hash is right.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex

import numba
from numba.core.serialize import dumps

from structlearn.core.kernel_cache.loading import unpickle

#: Bits of a mode that let others write.
FOR_OTHERS = 0o022
#: Whether the system has users, and modes that tell what they may do.
_HAS_USERS = hasattr(os, "geteuid")
_HASH_BYTES = 16
_TRIES, _SECONDS_BETWEEN = 200, 0.01


class CheckedFiles:
    """The compiled forms of one function.

        NAME.nbi         a hash, and the index that it is of: the data file of each signature
        NAME.HASH.nbc    machine code, named by its hash: two processes never write different ones to a name

    Both are written aside and renamed. Processes that add to an index do it in turn; where the system has no
    locks the last one wins, and what the other one compiled is compiled once more.
    """

    def __init__(
        self, folder: Path, name: str, stamp: str, read: Callable[[Path], bytes | None] | None = None
    ) -> None:
        self._folder = folder
        self._name = name
        self._read = read or read_trusted
        self._stamp = f"{numba.__version__} {stamp}\n".encode()

    def load(self, key: Hashable) -> object:
        """Return what was saved under `key`; None if there is nothing that can be trusted."""
        name = self._index().get(key)
        content = None if name is None else self._read(self._folder / name)
        if content is None or self._data_name(content) != name:
            return None
        return unpickle(content)  # its writer and its hash are checked

    def save(self, key: Hashable, data: object) -> None:
        """Keep `data`; OSError if it cannot be written."""
        if not is_trusted(self._folder):
            return
        content = dumps(data)
        name = self._data_name(content)
        write_whole(self._folder / name, content)
        with _in_turn(self._folder):
            index = dumps({**self._index(), key: name})
            write_whole(self._index_path, self._hash(index) + index)

    def flush(self) -> None:
        """Forget everything."""
        self._index_path.unlink(missing_ok=True)

    @property
    def _index_path(self) -> Path:
        return self._folder / f"{self._name}.nbi"

    def _data_name(self, content: bytes) -> str:
        return f"{self._name}.{self._hash(content).hex()}.nbc"

    def _hash(self, content: bytes) -> bytes:
        """Return the hash of the content for this Numba and these sources: other versions do not match."""
        found = hashlib.blake2b(self._stamp, digest_size=_HASH_BYTES)
        found.update(content)
        return found.digest()

    def _index(self) -> dict[Hashable, str]:
        content = self._read(self._index_path) or b""
        known, index = content[:_HASH_BYTES], content[_HASH_BYTES:]
        if known != self._hash(index):
            return {}
        return pickle.loads(index)  # noqa: S301  (likewise)


def read_trusted(path: Path) -> bytes | None:
    """Return the content of a file of the cache; None if there is none, or others may have written it."""
    if not is_trusted(path.parent):
        return None
    try:
        with open(path, "rb") as file:
            return file.read() if _is_ours(os.fstat(file.fileno())) else None
    except OSError:
        return None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file for this user alone; it is there when it is whole."""
    aside = path.with_name(f"{path.name}.{token_hex(8)}.part")
    try:
        with open(aside, "xb", opener=lambda name, flags: os.open(name, flags, 0o666 & ~FOR_OTHERS)) as file:
            file.write(content)
        os.replace(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


@contextmanager
def _in_turn(folder: Path) -> Iterator[None]:
    """Let one process in at a time, without a long wait, and without any where the system has no locks."""
    with ExitStack() as held:
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            held.callback(os.close, handle)
            for _ in range(_TRIES):
                with suppress(BlockingIOError):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(_SECONDS_BETWEEN)
        yield


# ---- who can have written a file ------------------------------------------------------------------------


def is_trusted(folder: Path) -> bool:
    """Return whether only this user and root can put files into a folder, or another folder in its place.

    For a folder that does not exist yet, the folders above it decide.
    """
    try:
        if os.path.lexists(folder):
            return _is_ours(os.stat(folder)) and _stays(str(folder))
        nearest = next(one for one in folder.absolute().parents if one.exists())
        return nearest.is_dir() and _stays(str(nearest))
    except OSError:
        return False


def _is_ours(found: os.stat_result) -> bool:
    return not _HAS_USERS or (found.st_uid in (0, os.geteuid()) and not found.st_mode & FOR_OTHERS)


@cache
def _stays(folder: str) -> bool:
    """Return whether others can neither rename nor replace a folder, one above it, or a link on the way."""
    ways = Path(os.path.abspath(folder)), Path(os.path.realpath(folder))
    return all(_keeps_entries(os.lstat(step)) for way in ways for step in (way, *way.parents))


def _keeps_entries(found: os.stat_result) -> bool:
    """Return whether others must leave what this user has in a folder, as in a sticky one such as /tmp."""
    if _is_ours(found) or not _HAS_USERS:
        return True
    protected = stat.S_ISLNK(found.st_mode) or found.st_mode & stat.S_ISVTX
    by_group = found.st_mode & FOR_OTHERS == stat.S_IWGRP
    return found.st_uid in (0, os.geteuid()) and bool(protected or (by_group and _is_own(found.st_gid)))


def _is_own(group: int) -> bool:
    """Return whether a group is this user's alone: of the same name, without other members."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}
