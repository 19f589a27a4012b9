"""A stopwatch for training: seconds by the clock, without those in which kernels were compiled or loaded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
        """Return the seconds so far, the compilation under way included."""
        return self.total + (time.perf_counter() - self._begin if self._depth else 0.0)


_COMPILATIONS = _Compilations()
for _kind in ("numba:compile", GETTING_READY):
    event.register(_kind, _COMPILATIONS)


class Stopwatch:
    """A stopwatch that runs from its creation on; `seconds` are on it then."""

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


#: Runs while work goes on that counts against the `max_seconds` of the training that it is for.
_BUDGET: ContextVar[Stopwatch | None] = ContextVar("budget", default=None)


@contextmanager
def counting_seconds() -> Iterator[None]:
    """Count all that happens inside against `max_seconds`: reading, features, first passes, training.

    The outermost of such blocks counts, so that a command includes what an estimator's `fit` does.
    """
    token = _BUDGET.set(_BUDGET.get() or Stopwatch())
    try:
        yield
    finally:
        _BUDGET.reset(token)


def seconds_spent() -> float:
    """Return the seconds since the outermost `counting_seconds` began; 0 outside of any."""
    budget = _BUDGET.get()
    return 0.0 if budget is None else budget.seconds
