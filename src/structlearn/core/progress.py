"""How far work is: one line per step on a terminal, for whatever takes more than two seconds.

A step is opened with `show_progress` (or `counted`, for an iterator), told how far it is, and closed. Where
stderr is no terminal nothing is shown, and a step costs a function call. Steps may lie in one another: those
that have taken long enough are shown below each other, and all are wiped out when they end.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from structlearn.core.extras import is_installed
from structlearn.core.wording import plain

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

T = TypeVar("T")
#: A step that takes less shows nothing, and what is shown changes after so many seconds.
SECONDS, PAUSE = 2.0, 0.1
_LONGEST = 40


class Step:
    """Something that takes time.

    what : what is being done, in a word or two
    total : how much there is to do, where it is known
    moves : where a step goes on between two calls of `reach`, how much is done by now
    """

    def __init__(
        self, what: str, total: float | None = None, *, moves: Callable[[], float] | None = None
    ) -> None:
        self.what, self.total, self.moves = plain(what, _LONGEST), total, moves
        self.done, self.says = 0.0, ""
        self.begun = time.perf_counter()
        self._next = 0.0
        self._closed = not on_terminal()
        if not self._closed:
            _display.open(self)

    def advance(self, n: float = 1, says: str | None = None) -> None:
        """Say that n more are done."""
        self.reach(self.done + n, says)

    def reach(self, done: float, says: str | None = None) -> None:
        """Say how much is done, and perhaps what else is to be known."""
        self.done = done
        if self._closed:
            return
        self.says = self.says if says is None else says
        now = time.perf_counter()
        if self.is_long(now) and (now >= self._next or says is not None):
            self._next = now + PAUSE
            _display.show(self)

    def is_long(self, now: float) -> bool:
        """Whether this has taken long enough; in a command that has, a tenth of that is."""
        least = SECONDS / 10 if _commands and now - _commands[0] >= SECONDS else SECONDS
        return now - self.begun >= least

    def close(self) -> None:
        """Wipe out the line."""
        if not self._closed:
            self._closed = True
            _display.close(self)

    @property
    def words(self) -> str:
        """What stands behind the bar: what was said, or how many are done."""
        if self.says or self.moves or self.total is None:
            return self.says
        return f"{self.done:.0f}/{self.total:.0f}"


@contextmanager
def show_progress(what: str, total: float | None = None) -> Iterator[Step]:
    """Provide a step, which ends with the context."""
    step = Step(what, total)
    try:
        yield step
    finally:
        step.close()


def counted(items: Iterable[T], what: str, total: int) -> Iterable[T]:
    """Return items whose number is shown as they are taken; elsewhere than on a terminal, themselves."""
    return _counted(items, what, total) if on_terminal() else items


def _counted(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    with show_progress(what, total) as step:
        for item in items:
            yield item
            step.advance()


@contextmanager
def without_progress() -> Iterator[None]:
    """Show nothing, as where a command writes its answers to the same terminal."""
    _silent.append(None)
    try:
        yield
    finally:
        _silent.pop()


@contextmanager
def one_command() -> Iterator[None]:
    """Count the seconds of what is done here together, so that many short steps are shown, too."""
    _commands.append(time.perf_counter())
    try:
        yield
    finally:
        _commands.pop()


_silent: list[None] = []
#: When the commands that run began.
_commands: list[float] = []


def on_terminal() -> bool:
    """Whether progress is shown at all."""
    with suppress(AttributeError, ValueError):  # no stderr, or a closed one
        return not _silent and sys.stderr.isatty() and is_installed("rich")
    return False


class _Display:
    """The lines of all steps that are open and have taken long enough."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._lines: dict[Step, Any] = {}
        self._bars: Progress | None = None
        self._lock = threading.RLock()

    def open(self, step: Step) -> None:
        with self._lock:
            self._steps.append(step)

    def show(self, step: Step) -> None:
        """Draw what a step says, and those around it that have taken long enough."""
        with self._lock:
            if step not in self._steps:
                return
            self._bars = self._bars or _open_bars(self)
            now = time.perf_counter()
            for one in self._steps:
                if one not in self._lines and one.is_long(now):
                    self._lines[one] = self._bars.add_task(one.what, total=one.total, says=one.words)
            if step in self._lines:
                self._draw(step)

    def _draw(self, step: Step) -> None:
        if self._bars is not None:
            line = self._lines[step]
            self._bars.update(line, completed=step.done, total=step.total, says=step.words, refresh=True)

    def close(self, step: Step) -> None:
        with self._lock:
            self._steps.remove(step)
            if self._bars is None or step not in self._lines:
                return
            self._draw(step)
            line = self._lines.pop(step)
            if self._lines:
                self._bars.remove_task(line)
            else:
                self._bars.stop()
                self._bars = None

    def move(self) -> None:
        """Have lines go on between two calls."""
        for step, line in list(self._lines.items()):
            if step.moves is not None and self._bars is not None:
                self._bars.update(line, completed=step.moves())


_display = _Display()


def _open_bars(display: _Display) -> Progress:
    """Open an empty list of lines."""
    from rich import progress as rich
    from rich.console import Console

    class Lines(rich.Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            display.move()
            yield from super().get_renderables()

    bars = Lines(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.TextColumn("{task.fields[says]}", markup=False),
        rich.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
    )
    bars.start()
    return bars
