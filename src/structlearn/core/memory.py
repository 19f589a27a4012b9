"""Arrays that need not fit into memory: beyond a limit they are mapped files, which end with the process."""

from __future__ import annotations

import errno
import mmap
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import SupportsInt

import numpy as np
from numpy.typing import DTypeLike

from structlearn.core.sentences import ParameterError

#: Smaller arrays are always in memory.
SMALL = 1 << 20
#: The share of the limit for arrays that stay; the rest is for what passes by.
SHARE_KEPT = 0.5
#: A limit must leave this many bytes beside what the program takes when training begins.
LEAST = 128 << 20
_UNITS = {"": 1} | {
    f"{letter}{i}B": base**power
    for i, base in (("", 1000), ("I", 1024))
    for power, letter in enumerate("KMGT", start=1)
}
_SIZE = re.compile(r"([0-9.]+)\s*([KMGT]I?B|)", re.IGNORECASE)


class Memory:
    """Room for arrays: in memory as long as the limit allows, then in mapped files.

    Parameters
    ----------
    limit : int or str, optional
        Most bytes of memory, mapped files not counted, that the process shall take; "2GB" is 2e9.
    folder : path, optional
        Where the files go; the folder for temporary files (``TMPDIR``) unless given.
    """

    def __init__(self, limit: int | str | None = None, folder: str | Path | None = None) -> None:
        self.limit = None if limit is None else parse_size(limit)
        self.folder = Path(folder or tempfile.gettempdir())
        self._left = 0.0
        if self.limit is not None:
            taken = anonymous_bytes()
            if self.limit < taken + LEAST:
                raise ParameterError(
                    "{memory=} is too little: the program itself takes {taken} MB; use at least {least}MB.",
                    memory=limit,
                    taken=f"{taken / 1000000.0:.0f}",
                    least=f"{(taken + LEAST) / 1000000.0 + 1:.0f}",
                )
            self._left = SHARE_KEPT * (self.limit - taken)

    def empty(self, size: SupportsInt, dtype: DTypeLike = np.float64) -> np.ndarray:
        """Return an array of `size` entries, whatever is in them."""
        return self._array(size, dtype, np.empty)

    def zeros(self, size: SupportsInt, dtype: DTypeLike = np.float64) -> np.ndarray:
        return self._array(size, dtype, np.zeros)

    def _array(
        self, size: SupportsInt, dtype: DTypeLike, make: Callable[[int, DTypeLike], np.ndarray]
    ) -> np.ndarray:
        n_bytes = int(size) * np.dtype(dtype).itemsize
        if self.limit is None or n_bytes < SMALL:
            return make(int(size), dtype)
        if n_bytes > self._left:
            return map_zero_bytes(n_bytes, self.folder).view(dtype)
        array = make(int(size), dtype)
        self._left -= n_bytes
        weakref.finalize(array, self._give_back, n_bytes)
        return array

    def _give_back(self, n_bytes: int) -> None:
        self._left += n_bytes


def map_zero_bytes(n_bytes: int, folder: Path) -> np.ndarray:
    """Map zero bytes of a nameless file, whose room is reserved now and freed when nobody uses it."""
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            if n_bytes > shutil.disk_usage(folder).free:
                raise OSError(errno.ENOSPC, "")
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            else:
                file.truncate(n_bytes)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                raise
            need = f"not enough disk for {n_bytes / 1e9:.3g} GB that do not fit into memory; set TMPDIR"
            raise OSError(errno.ENOSPC, f"{need} to a folder with more room", str(folder)) from None
        return np.frombuffer(mmap.mmap(file.fileno(), n_bytes), dtype=np.uint8)


def parse_size(size: int | str) -> int:
    """Return bytes from a number or from text such as "2GB" (1e9 each) or "512MiB" (2**20 each)."""
    found = _SIZE.fullmatch(str(size).strip())
    try:
        n_bytes = float(found[1]) * _UNITS[found[2].upper()] if found else 0.0
    except (ValueError, KeyError):
        n_bytes = 0.0
    if n_bytes < 1:
        raise ParameterError(
            "{memory} must be a size such as '2GB' or '512MiB'; got {size}.", size=repr(size)
        )
    return int(n_bytes)


def anonymous_bytes() -> int:
    """Return the bytes of this process that are not mapped files; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))
