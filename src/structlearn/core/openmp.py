"""The threads of OpenMP that another library has started: work is shared out among them.

Between two calls such threads wait by spinning, for milliseconds, before they sleep. Threads of our own would
run beside them and share their cores; on these threads the work begins within microseconds.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from threading import get_ident
from typing import Any

from structlearn.core.threads import Result, Team

_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class OpenMPTeam(Team):
    """A team whose calls run on the threads of a loaded OpenMP, the calling one among them."""

    def together(
        self, calls: Sequence[Callable[[], Result]], stop: Callable[[], object] = lambda: None
    ) -> list[Result]:
        """Return what the calls return, in their order; all have ended, even where one was interrupted."""
        results: list[Any] = [None] * len(calls)
        failures: list[BaseException] = []
        ended: list[int] = []
        waiting = iter(enumerate(calls))

        def work(_: object) -> None:
            try:
                for k, call in waiting:
                    results[k] = call()
                ended.append(get_ident())
            except BaseException as failure:
                failures.append(failure)
                stop()

        # as many threads as the others use: another number would end some of theirs, or begin new ones
        _parallel()(_WORK(work), None, self.n_jobs, 0)
        if failures:
            raise failures[0]
        if get_ident() not in ended:  # interrupted outside of the try: ctypes prints such errors, and goes on
            raise KeyboardInterrupt
        return results


def team_of(n_jobs: int) -> Team:
    """Return a team for this process: on OpenMP's threads where they are loaded, else on its own.

    A forked process has none of its parent's threads, and libgomp may not be called there.
    """
    return _team(n_jobs, os.getpid())


@lru_cache(maxsize=4)
def _team(n_jobs: int, process: int) -> Team:
    return OpenMPTeam(n_jobs) if process == _FIRST and _parallel() is not None else Team(n_jobs)


@cache
def _parallel() -> Any:
    """Return GOMP_parallel(function, data, threads, flags), what `#pragma omp parallel` calls; else None."""
    mode = getattr(os, "RTLD_NOLOAD", None)
    if mode is None:
        return None
    try:
        found = ctypes.CDLL("libgomp.so.1", mode=mode | os.RTLD_NOW).GOMP_parallel
    except (OSError, AttributeError):
        return None
    found.argtypes, found.restype = [_WORK, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
    return found


_FIRST = os.getpid()
