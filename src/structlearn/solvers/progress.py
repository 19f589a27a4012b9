"""Talk during training: a progress bar on a terminal, lines when asked for, and a word about compilation."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from structlearn.core.compilation import announced

if TYPE_CHECKING:
    from structlearn.solvers import Row, Stopping

#: A run shorter than this shows no bar.
SECONDS_WITHOUT_BAR = 2.0


@contextmanager
def watched(
    stopping: Stopping, *, verbose: int = 0, callback: Callable[[Row], Any] | None = None
) -> Iterator[Callable[[Row], Any]]:
    """A callback that reports each evaluation on stderr, and calls the user's."""
    bar = _Bar(stopping) if sys.stderr.isatty() and not verbose else None

    def report(row: Row) -> Any:
        if verbose:
            _say(
                f"pass {row.passes:g}  seconds {row.seconds:.2f}  "
                f"primal {row.primal:.6g}  dual {row.dual:.6g}  gap {row.gap:.3g}"
            )
        if bar is not None:
            bar.update(row)
        return callback(row) if callback is not None else None

    try:
        with announced():
            yield report
    finally:
        if bar is not None:
            bar.close()


class Watchable:
    """An estimator that can be looked at while it is trained."""

    #: Gets each row of the history, and the estimator as it would be if training had ended there.
    _watch: Any = None

    def _shown(self, place: Callable[[Any], Any]) -> Callable[[Row, Any], Any] | None:
        """What `solve` shows its weights to: `place` gives them to the estimator."""
        watch = self._watch
        if watch is None:
            return None

        def show(row: Row, w: Any) -> None:
            place(w)
            watch(row, self)

        return show


@contextmanager
def counted(task: str, total: int) -> Iterator[Callable[[], Any]]:
    """A function to call after each of `total` steps of a task; on a terminal it moves a bar."""
    begin = time.perf_counter()
    done = 0
    bar: Any = None

    def advance() -> None:
        nonlocal bar, done
        done += 1
        if bar is None and sys.stderr.isatty() and time.perf_counter() - begin > SECONDS_WITHOUT_BAR:
            bar = _open_counting_bar(task, total)
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done)

    try:
        with announced():
            yield advance
    finally:
        if bar is not None:
            bar.stop()


def _say(sentence: str) -> None:
    with suppress(OSError, ValueError):  # a closed stderr
        print(sentence, file=sys.stderr, flush=True)


class _Bar:
    """How much of the way from the first gap to tol is done, on a logarithmic scale."""

    def __init__(self, stopping: Stopping) -> None:
        self.stopping = stopping
        self.first = 0.0
        self.bar: Any = None

    def update(self, row: Row) -> None:
        self.first = max(self.first, row.gap)
        if row.seconds < SECONDS_WITHOUT_BAR:
            return
        if self.bar is None:
            self.bar, self.task = _open_bar()
        self.bar.update(
            self.task, completed=self._done(row), gap=f"{row.gap:.2g}", passes=f"{row.passes:.0f}"
        )

    def _done(self, row: Row) -> float:
        from math import log

        tol = max(self.stopping.tol, 1e-12)
        by_gap = log(self.first / max(row.gap, tol)) / log(self.first / tol) if self.first > tol else 1.0
        return max(by_gap, row.passes / self.stopping.max_passes)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def _open_bar() -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("training"),
        BarColumn(),
        TextColumn("gap {task.fields[gap]}, pass {task.fields[passes]}"),
    )
    bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task("training", total=1.0, gap="", passes="")


def _open_counting_bar(task: str, total: int) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(task), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    bar.add_task(task, total=total)
    return bar
