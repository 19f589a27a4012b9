"""The folders of the kernel cache: made for this user alone, marked as ours, deleted when they are old."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

from structlearn.core.kernel_cache.files import FOR_OTHERS, write_whole

_SECONDS_KEPT = 30 * 24 * 3600
_NAME = re.compile(r"[0-9a-f]{16}")
#: The sign of a cache that programs for backups know (bford.info/cachedir).
_MARK = "CACHEDIR.TAG"
_FILE = re.compile(r".+\.(nbi|nbc|part)|" + re.escape(_MARK))
_SAID = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# Kernels that structlearn compiled. It deletes this folder when nothing was added for 30 days.\n"
)


def make_private_folder(folder: Path) -> None:
    """Make and mark a folder, with its parents, that only this user may write to, whatever the umask says."""
    for missing in reversed([one for one in (folder, *folder.parents) if not os.path.lexists(one)]):
        missing.mkdir(0o777 & ~FOR_OTHERS, exist_ok=True)
    if not os.path.exists(folder / _MARK):
        write_whole(folder / _MARK, _SAID)


def forget_old_folders(parent: Path) -> None:
    """Delete the folders that bear our mark, hold only our files, and have not changed for a long time."""
    with suppress(OSError):  # it cannot be listed
        for folder in parent.iterdir():
            with suppress(OSError):  # another process was faster
                if time.time() - folder.lstat().st_mtime > _SECONDS_KEPT:
                    _forget(folder)


def _forget(folder: Path) -> None:
    """Delete a folder of ours; any other stays as it is."""
    if folder.is_symlink() or not _NAME.fullmatch(folder.name) or (folder / _MARK).read_bytes() != _SAID:
        return
    with os.scandir(folder) as found:
        entries = list(found)
    if all(one.is_file(follow_symlinks=False) and _FILE.fullmatch(one.name) for one in entries):
        for one in entries:
            os.unlink(one)
        folder.rmdir()
