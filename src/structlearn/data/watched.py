"""Files that say on a terminal how much of them is read, if that takes long."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from structlearn.core.progress import Step

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class WatchedFile(io.FileIO):
    """A file of bytes; while it is read, a line on the terminal says how far."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "rb")
        self._total = os.fstat(self.fileno()).st_size
        self._step = Step(f"Reading {os.path.basename(name)}", self._total or None)

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        n = super().readinto(buffer)
        done = self._step.done + (n or 0)
        self._step.reach(done, f"{100 * done // self._total:.0f}%" if self._total else "")
        return n

    def close(self) -> None:
        if hasattr(self, "_step"):
            self._step.close()
        super().close()
