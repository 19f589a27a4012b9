"""How much memory work takes: resident memory at its peak, above that before it (Linux only)."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_FORGET = Path("/proc/self/clear_refs")


class PeakMemory:
    """The peak since this object was made. Where the system does not tell, `bytes` is None."""

    def __init__(self) -> None:
        self._known = True
        self._most = 0
        self._forget()
        self._base = self._read("VmRSS")

    @property
    def bytes(self) -> int | None:
        self._look()
        return self._most if self._known else None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave out of the count the memory of the work inside, and what it leaves behind (such as code)."""
        self._look()
        _give_back()
        before = self._read("VmRSS")
        yield
        self._forget()
        self._base += self._read("VmRSS") - before

    def _look(self) -> None:
        self._most = max(self._most, self._read("VmHWM") - self._base)

    def _read(self, name: str) -> int:
        try:
            lines = _STATUS.read_text().splitlines()
            (size,) = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
        except (OSError, ValueError):
            self._known = False
            return 0
        return 1024 * int(size)

    def _forget(self) -> None:
        """Let the system's mark of the peak begin anew."""
        _give_back()
        try:
            _FORGET.write_text("5")
        except OSError:
            self._known = False


def _give_back() -> None:
    """Return free memory to the system, so that it is not counted as in use."""
    gc.collect(1)  # what has lived long is not worth looking through again: it takes a tenth of a second
    with suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
