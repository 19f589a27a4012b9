"""The files of the kernel cache: checked before they are used.

Files are pickled, so that reading one executes what its writer wished. Therefore a file is read only if
nobody but this user and root can have written it, and unpickled only if its hash is right.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex

import numba
from numba.core.serialize import dumps

from structlearn.core.loading import unpickled

#: Bits of a mode that let others write.
FOR_OTHERS = 0o022
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
        """What was saved under `key`; None if there is nothing that can be trusted."""
        name = self._index().get(key)
        content = None if name is None else self._read(self._folder / name)
        if content is None or self._data_name(content) != name:
            return None
        return unpickled(content)  # its writer and its hash are checked

    def save(self, key: Hashable, data: object) -> None:
        """Keep `data`; OSError if it cannot be written."""
        if not is_trusted(self._folder):
            return
        content = dumps(data)
        name = self._data_name(content)
        _write(self._folder / name, content)
        with _in_turn(self._folder):
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

    def _index(self) -> dict[Hashable, str]:
        content = self._read(self._index_path) or b""
        known, index = content[:_HASH_BYTES], content[_HASH_BYTES:]
        if known != self._hash(index):
            return {}
        return pickle.loads(index)  # noqa: S301  (likewise)


def read_trusted(path: Path) -> bytes | None:
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
        with open(aside, "xb", opener=lambda name, flags: os.open(name, flags, 0o666 & ~FOR_OTHERS)) as file:
            file.write(content)
        os.replace(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


@contextmanager
def _in_turn(folder: Path) -> Iterator[None]:
    """One process at a time; nobody waits for long, and nobody at all where the system has no locks."""
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
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & FOR_OTHERS
