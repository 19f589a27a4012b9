"""A stopwatch for training: seconds by the clock, without those in which kernels were compiled or loaded."""

from __future__ import annotations

import time

from numba.core import event

from structlearn.core.dispatchers import GETTING_READY


class _Compilations(event.Listener):
    """Seconds that this process has spent getting kernels; a compilation may start others."""

    def __init__(self) -> None:
        self.total = 0.0
        self._depth = 0
        self._begin = 0.0

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._begin = time.perf_counter()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.total += time.perf_counter() - self._begin

    def seconds(self) -> float:
        """So far, the one under way included."""
        return self.total + (time.perf_counter() - self._begin if self._depth else 0.0)


_COMPILATIONS = _Compilations()
for _kind in ("numba:compile", GETTING_READY):
    event.register(_kind, _COMPILATIONS)


class Stopwatch:
    """Runs from when it is made; `seconds` are on it then."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._begin = self._now() - seconds

    @staticmethod
    def _now() -> float:
        return time.perf_counter() - _COMPILATIONS.seconds()

    @property
    def seconds(self) -> float:
        return self._now() - self._begin

    def set_back(self, to: float) -> None:
        """Forget what has passed since it showed `to`."""
        self._begin = self._now() - to
