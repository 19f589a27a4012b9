"""Counts of pairs of texts, sorted and added up in bounded memory: the rest waits in temporary files."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby
from operator import itemgetter
from types import TracebackType
from typing import IO

#: Two texts, the first of which rows are sorted and grouped by, and numbers: a count, and what belongs to it.
Row = tuple[str, str, tuple[int, ...]]

#: Rows of one group that are held at once.
_HELD = 100_000
#: Sorted runs that are read side by side.
_MOST_RUNS = 64


class Sorter:
    """Takes rows in any order and gives them sorted; counts of equal texts are added.

    Parameters
    ----------
    room : int
        Rows in memory; more are written to temporary files, as sorted runs of this length.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._rows: list[Row] = []
        self._runs: list[IO[str]] = []
        self._files = ExitStack()

    def __enter__(self) -> Sorter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()

    def add(self, first: str, second: str, numbers: tuple[int, ...]) -> None:
        self._rows.append((first, second, numbers))
        if len(self._rows) >= self._room:
            self._spill(_add_equal(sorted(self._rows)))
            self._rows.clear()

    def merge(self) -> Iterator[Row]:
        """All rows in order, once."""
        rows, self._rows = sorted(self._rows), []
        return _add_equal(heapq.merge(*map(_read, self._runs), rows))

    def _spill(self, rows: Iterable[Row]) -> None:
        run = self._files.enter_context(_temporary())
        run.writelines(map(_line, rows))
        self._runs.append(run)
        if len(self._runs) >= _MOST_RUNS:
            runs, self._runs = self._runs, []
            self._spill(_add_equal(heapq.merge(*map(_read, runs))))
            for one in runs:
                one.close()


def _temporary() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="\n")


def _line(row: Row) -> str:
    return "\t".join([*row[:2], *map(str, row[2])]) + "\n"


def _read(run: IO[str]) -> Iterator[Row]:
    run.seek(0)
    for line in run:
        first, second, *numbers = line[:-1].split("\t")
        yield first, second, tuple(map(int, numbers))


def _add_equal(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows of equal texts as one: the first of their numbers are added, the others are equal."""
    for (first, second), same in groupby(rows, key=itemgetter(0, 1)):
        numbers = [one[2] for one in same]
        yield first, second, (sum(one[0] for one in numbers), *numbers[0][1:])


def with_totals(rows: Iterable[Row]) -> Iterator[tuple[Row, int]]:
    """Yield sorted rows, each with the sum of the counts of all rows with the same first text."""
    for _, group in groupby(rows, key=itemgetter(0)):
        yield from _with_total(group)


def _with_total(group: Iterator[Row]) -> Iterator[tuple[Row, int]]:
    """Yield the groups; one that is too large for memory waits in a file until its sum is known."""
    held: list[Row] = []
    total = 0
    with ExitStack() as files:
        waiting: IO[str] | None = None
        for row in group:
            total += row[2][0]
            held.append(row)
            if len(held) >= _HELD:
                waiting = waiting or files.enter_context(_temporary())
                waiting.writelines(map(_line, held))
                held.clear()
        for row in _read(waiting) if waiting else ():
            yield row, total
        yield from ((row, total) for row in held)
