"""Writing files so that nothing is ever half written."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Errors of a full disk, a full share of it, and a file that is too large.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_writable(path: str | Path) -> Path:
    """`path` if a file can be written there; OSError with a sentence if not. Found before work starts."""
    path = Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)  # a link stays a link
    folder = path.parent
    if path.is_symlink():
        raise OSError(f"Cannot write {path}: it is a link that leads back to itself.")
    if path.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a folder.")
    if path.exists() and not path.is_file():
        raise PermissionError(f"Cannot write {path}: it is a device or a pipe, not a file.")
    if not folder.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: the folder {folder} does not exist.")
    with removed_aside(path) as probe:
        try:
            probe.touch(0o600, exist_ok=False)
        except OSError as error:
            raise PermissionError(f"Cannot write {path}: {error.strerror}.") from None
    return path


@contextmanager
def removed_aside(path: Path) -> Iterator[Path]:
    """Give the name of a file beside `path` that nobody has; at the end it is removed, if it is there.

    The name is known before there is a file, so that Ctrl-C, at whatever moment, leaves none behind.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield aside
    finally:
        with suppress(OSError):  # what was never made, in a folder that cannot be written
            aside.unlink()


def make_folder(path: str | Path) -> Path:
    """Make the folder `path` if it is not there; OSError with a sentence if it cannot be made."""
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"Cannot write into {path}: it is a file, not a folder.")
    path.mkdir(parents=True, exist_ok=True)
    return path


def put_in_place(aside: Path, path: Path, mode: int) -> None:
    """Give what was written aside its name, and of the rights `mode` those that whatever is new has.

    The folder is synced, so that the new name, too, outlives a power cut; not every system can.
    """
    aside.chmod(_new_mode(path, mode))
    os.replace(aside, path)
    with suppress(OSError):
        handle = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _new_mode(path: Path, mode: int) -> int:
    """Return what is left of the rights `mode` for a new file beside `path`, found by making one.

    Asking for the umask sets it, for files that other threads make at this moment, too.
    """
    with removed_aside(path) as probe:
        os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        return stat.S_IMODE(os.stat(probe).st_mode)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Name the file in the error of a disk that is full, which lacks it."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Give a path beside `path` to write to.

    On success it is synced and replaces `path`, else it is removed.
    """
    path = check_writable(path)
    with naming(path), removed_aside(path) as aside:
        aside.touch(0o600, exist_ok=False)
        yield aside
        with open(aside, "rb") as file:
            os.fsync(file.fileno())
        put_in_place(aside, path, 0o666)
