"""Talk during training: a progress bar on a terminal, lines when asked for, and a word about compilation."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import log
from typing import TYPE_CHECKING

from structlearn.core.compilation import announced

if TYPE_CHECKING:
    from rich.progress import Progress

    from structlearn.core.contract import Array
    from structlearn.solvers import Row, Stopping

#: A run shorter than this shows no bar.
SECONDS_WITHOUT_BAR = 2.0


@contextmanager
def watched(
    stopping: Stopping, *, verbose: int = 0, callback: Callable[[Row], object] | None = None
) -> Iterator[Callable[[Row], object]]:
    """A callback that reports each evaluation on stderr, and calls the user's."""
    bar = _Bar(stopping) if sys.stderr.isatty() and not verbose else None

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
        with announced():
            yield report
    finally:
        if bar is not None and bar.bar is not None:
            bar.bar.stop()


class Watchable:
    """An estimator that can be looked at while it is trained."""

    #: Gets each row of the history, and the estimator as it would be if training had ended there.
    _watch: Callable[..., object] | None = None

    def _shown(self, place: Callable[[Array], object]) -> Callable[[Row, Array], object] | None:
        """What `solve` shows its weights to: `place` gives them to the estimator."""
        watch = self._watch
        if watch is None:
            return None

        def show(row: Row, w: Array) -> None:
            place(w)
            watch(row, self)

        return show


@contextmanager
def counted(task: str, total: int) -> Iterator[Callable[[], object]]:
    """A function to call after each of `total` steps of a task; on a terminal it moves a bar."""
    begin = time.perf_counter()
    done = 0
    bar: Progress | None = None

    def advance() -> None:
        nonlocal bar, done
        done += 1
        if bar is None and sys.stderr.isatty() and time.perf_counter() - begin > SECONDS_WITHOUT_BAR:
            bar = _open_bar(task, total)
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done)

    try:
        with announced():
            yield advance
    finally:
        if bar is not None:
            bar.stop()


class _Bar:
    """How much of the way from the first gap to tol is done, on a logarithmic scale."""

    def __init__(self, stopping: Stopping) -> None:
        self.stopping = stopping
        self.first = 0.0
        self.bar: Progress | None = None

    def update(self, row: Row) -> None:
        self.first = max(self.first, row.gap)
        if row.seconds < SECONDS_WITHOUT_BAR:
            return
        if self.bar is None:
            self.bar = _open_bar("training", 1.0, of_gap=True)
        gap, passes = f"{row.gap:.2g}", f"{row.passes:.0f}"
        self.bar.update(self.bar.task_ids[0], completed=self._done(row), gap=gap, passes=passes)

    def _done(self, row: Row) -> float:
        tol = max(self.stopping.tol, 1e-12)
        by_gap = log(self.first / max(row.gap, tol)) / log(self.first / tol) if self.first > tol else 1.0
        return max(by_gap, row.passes / self.stopping.max_passes)


def _open_bar(task: str, total: float, *, of_gap: bool = False) -> Progress:
    """A bar that ends with the gap and the passes of a run, or with how many steps are done."""
    from rich import progress as rich
    from rich.console import Console

    ends: tuple[rich.ProgressColumn, ...] = rich.MofNCompleteColumn(), rich.TimeRemainingColumn()
    if of_gap:
        gap = rich.TextColumn("gap {task.fields[gap]}, pass {task.fields[passes]}")
        ends = gap, rich.TimeElapsedColumn()
    columns = rich.TextColumn(task), rich.BarColumn(), *ends
    bar = rich.Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    bar.add_task(task, total=total, gap="", passes="")
    return bar
