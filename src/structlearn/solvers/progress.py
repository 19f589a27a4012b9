"""Talk during training: a progress bar on a terminal, lines when asked for, and a word about compilation."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import isfinite, log
from typing import TYPE_CHECKING

from structlearn.core.kernel_cache.compilation import announce_compilation
from structlearn.core.progress import Step, on_terminal, show_progress

if TYPE_CHECKING:
    from structlearn.core.contract import Array
    from structlearn.solvers import Row, Stopping


@contextmanager
def report_progress(
    stopping: Stopping, *, verbose: int = 0, callback: Callable[[Row], object] | None = None
) -> Iterator[Callable[[Row], object]]:
    """Provide a callback that reports each evaluation on stderr, and calls the user's."""
    bar = _Bar(stopping) if on_terminal() and not verbose else None

    def report(row: Row) -> object:
        if verbose:
            with suppress(OSError, ValueError):  # a closed stderr
                print(
                    f"pass {row.passes:g}  seconds {row.seconds:.2f}  "
                    f"primal {row.primal:.6g}  dual {row.dual:.6g}  gap {row.gap:.3g}",
                    file=sys.stderr,
                    flush=True,
                )
        if bar is not None:
            bar.update(row)
        return callback(row) if callback is not None else None

    try:
        with announce_compilation():
            yield report
    finally:
        if bar is not None:
            bar.step.close()


class Watchable:
    """An estimator that can be watched while it is trained."""

    #: Gets each row of the history, and the estimator as it would be if training had ended there.
    _watch: Callable[..., object] | None = None

    def _weights_watcher(self, place: Callable[[Array], object]) -> Callable[[Row, Array], object] | None:
        """Return what `solve` shows its weights to: `place` gives them to the estimator."""
        watch = self._watch
        if watch is None:
            return None

        def show(row: Row, w: Array) -> None:
            place(w)
            watch(row, self)

        return show


@contextmanager
def count_steps(task: str, total: int) -> Iterator[Callable[[], object]]:
    """Provide a function to call after each of `total` steps of a task; on a terminal it moves a bar."""
    with announce_compilation(), show_progress(task, total) as step:
        yield step.advance


class _Bar:
    """A bar for how much of the way from the first gap to tol is done, on a logarithmic scale.

    Between two evaluations, which get rarer, it goes on as fast as between the last two, at most half of the
    way that is left.
    """

    def __init__(self, stopping: Stopping) -> None:
        self.stopping = stopping
        self.first = 0.0
        self.tol = 0.0
        self.done = 0.0
        self.speed = 0.0
        self.told = time.perf_counter()
        self.step = Step("training", 1.0, moves=self.estimate_done)

    def update(self, row: Row) -> None:
        if isfinite(row.gap):
            self.first = max(self.first, row.gap)
        done, now = self._fraction_done(row), time.perf_counter()
        self.speed = max(done - self.done, 0.0) / max(now - self.told, 1e-9)
        self.done, self.told = done, now
        self.step.begun = min(self.step.begun, now - row.seconds)
        self.step.reach(done, _describe_row(row))

    def estimate_done(self) -> float:
        """Estimate how much is done by now."""
        ahead = self.speed * (time.perf_counter() - self.told)
        return self.done + min(ahead, (1.0 - self.done) / 2)

    def _fraction_done(self, row: Row) -> float:
        # P(0) is not in the history, but the first value is near
        self.tol = self.tol or max(self.stopping.tolerance(row.primal).gap, 1e-12)
        tol, by_gap = self.tol, 0.0
        if isfinite(row.gap):
            by_gap = log(self.first / max(row.gap, tol)) / log(self.first / tol) if self.first > tol else 1.0
        return min(max(by_gap, row.passes / self.stopping.max_passes), 1.0)


def _describe_row(row: Row) -> str:
    """Write the gap, where the solver knows one, and the passes."""
    gap = f"gap {row.gap:.2g}, " if isfinite(row.gap) else ""
    return f"{gap}pass {row.passes:.0f}"
