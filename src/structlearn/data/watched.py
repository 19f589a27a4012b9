"""Files that say on a terminal how much of them is read, if that takes long."""

from __future__ import annotations

import io
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from structlearn.core.wording import plain

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: Reading that takes less shows nothing, and what is shown changes after so many seconds.
SECONDS_WITHOUT_WORDS, _PAUSE = 2.0, 0.2


class WatchedFile(io.FileIO):
    """A file of bytes; while it is read, a line on the terminal says how far."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "rb")
        self._total = os.fstat(self.fileno()).st_size
        self._done = 0
        self._shown = ""
        self._next = time.perf_counter() + SECONDS_WITHOUT_WORDS

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        n = super().readinto(buffer)
        self._done += n or 0
        if time.perf_counter() >= self._next and sys.stderr.isatty():
            self._next = time.perf_counter() + _PAUSE
            share = f" {100 * self._done // self._total}%" if self._total else ""
            self._show(f"Reading {plain(os.path.basename(str(self.name)), 40)}{share}")
        return n

    def _show(self, words: str) -> None:
        with suppress(OSError, ValueError):  # a closed stderr
            print(f"\r{words.ljust(len(self._shown))}", end="\r", file=sys.stderr, flush=True)
        self._shown = words

    def close(self) -> None:
        if getattr(self, "_shown", ""):
            self._show("")
            self._shown = ""
        super().close()
