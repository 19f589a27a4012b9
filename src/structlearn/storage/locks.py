"""A folder for one run at a time. The system gives it up when its holder ends, however it ends."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

NAME = ".lock"
#: What a file system answers that has no locks.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}
_TAKEN = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}


class FolderLock:
    """The right to write into a folder.

    Attributes
    ----------
    held : bool
        False where the file system has no locks: then nobody can tell who else writes.
    """

    def __init__(self, folder: str | Path) -> None:
        """Take the lock; BlockingIOError if another run has it."""
        self.path = Path(folder) / NAME
        self._file = self._take_lock()
        self.held = self._file is not None

    def _take_lock(self) -> IO[bytes] | None:
        while True:
            file = open(self.path, "ab")  # noqa: SIM115  (held until `release`)
            try:
                _lock(file)
            except OSError as error:
                file.close()
                if error.errno in _NO_LOCKS:
                    return None
                if error.errno not in _TAKEN:
                    raise
                raise BlockingIOError(
                    f"Another run writes its checkpoints into {self.path.parent}: wait for it to end, or "
                    "give another folder."
                ) from None
            with suppress(FileNotFoundError):  # its last holder removed it while we waited
                if os.path.samestat(os.fstat(file.fileno()), os.stat(self.path)):
                    return file
            file.close()

    def release(self) -> None:
        """Give it up; nothing is left in the folder."""
        if self._file is None:
            return
        with suppress(OSError):  # Windows removes no open file; an empty one does no harm
            self.path.unlink()
        self._file.close()
        self._file = None


def _lock(file: IO[bytes]) -> None:
    """Take an exclusive lock or raise an OSError at once."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        return
    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
