"""Writing files so that nothing is ever half written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def check_writable(path: str | Path) -> Path:
    """`path` if a file can be written there; OSError with a sentence if not. Found before work starts."""
    path = Path(path).resolve() if Path(path).is_symlink() else Path(path)  # a link stays a link
    folder = path.parent
    if path.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a folder.")
    if path.exists() and not path.is_file():
        raise PermissionError(f"Cannot write {path}: it is a device or a pipe, not a file.")
    if not folder.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: the folder {folder} does not exist.")
    try:
        handle, probe = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    except OSError as error:
        raise PermissionError(f"Cannot write {path}: {error.strerror}.") from None
    os.close(handle)
    os.unlink(probe)
    return path


def make_folder(path: str | Path) -> Path:
    """The folder `path`, made if it is not there; OSError with a sentence if it cannot be."""
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"Cannot write into {path}: it is a file, not a folder.")
    path.mkdir(parents=True, exist_ok=True)
    return path


def _sync_folder(folder: Path) -> None:
    """So that a file's new name, too, outlives a power cut; not every system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def written_aside(path: str | Path) -> Iterator[Path]:
    """A path beside `path` to write to; on success it is synced and replaces `path`, else it is removed."""
    path = check_writable(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        with open(aside, "rb") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        aside.chmod(0o666 & ~mask)  # mkstemp makes files that only their owner can read
        os.replace(aside, path)
        _sync_folder(path.parent)
    finally:
        aside.unlink(missing_ok=True)
