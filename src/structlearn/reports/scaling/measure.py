"""One cell of a study, in a process of its own: train, and note what it took to come to each gap."""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

from sklearn.base import clone

from structlearn.reports.memory import PeakMemory
from structlearn.reports.runs import Trainable
from structlearn.solvers import Row
from structlearn.solvers.clock import Stopwatch

#: Passes of the rehearsal, which loads compiled code: enough for restarts, averages and cached passes.
_REHEARSED = 12
#: On a busy machine a cell may take this many times its limit by the clock.
_PATIENCE = 2.0


class CellJob(NamedTuple):
    """What is to be trained. The limit is one of processor seconds."""

    estimator: Trainable
    X: object
    y: object
    #: a few examples, on which code is loaded before anything is measured
    few: tuple[object, object]
    #: those that are wanted of it
    gaps: tuple[float, ...]
    limit: float
    #: the least gap of the study: when the gap is looked at depends on it
    tol: float


class Effort(NamedTuple):
    """What it took: passes and oracle calls as everywhere; seconds without compilation; bytes at the peak."""

    passes: float
    oracle_calls: int
    cpu_seconds: float
    memory_bytes: int | None


class Measured(NamedTuple):
    """What became of a cell: where it ended, and what each gap that it reached took."""

    #: one of `structlearn.reports.scaling.results`
    status: str
    sentence: str
    gap: float
    end: Effort
    reached: list[Effort | None]


def measure(job: CellJob) -> Measured:
    """Train until the last of the gaps is reached or the limit is spent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the record says what was not reached
        clone(job.estimator).set_params(max_passes=_REHEARSED).fit(*job.few)
        meter = _Meter(job.limit, min(job.gaps))
        estimator = clone(job.estimator).set_params(
            tol=job.tol, max_passes=1e9, max_seconds=_PATIENCE * job.limit, callback=meter
        )
        meter.begin()
        estimator.fit(job.X, job.y)
    return _measurement(estimator, meter, job)


def _measurement(estimator: Trainable, meter: _Meter, job: CellJob) -> Measured:
    found, history = estimator.certificate_, estimator.history_
    last = meter.look()
    efforts = [(row.gap, meter.effort(row, last)) for row in history]
    reached = [next((took for gap, took in efforts if gap <= target), None) for target in job.gaps]
    spent = found.seconds >= _PATIENCE * job.limit or last.cpu_seconds >= job.limit
    status = "reached" if reached[-1] is not None else "out of time" if spent else "stopped"
    return Measured(status, found.status, found.gap, efforts[-1][1], reached)


class _Look(NamedTuple):
    cpu_seconds: float
    memory_bytes: int | None


class _Meter:
    """A callback of training that notes processor seconds and memory at each evaluation of the gap.

    Seconds of compilation do not count, nor those before the solver starts: between the beginning of `fit`
    and the first evaluation the processor is taken to run as the clock does (`row.seconds`).
    """

    def __init__(self, limit: float, gap: float) -> None:
        self._limit, self._gap = limit, gap
        self._looks: list[_Look] = []

    def begin(self) -> None:
        self._memory = PeakMemory()
        self._clock, self._wall, self._cpu = Stopwatch(), time.perf_counter(), time.process_time()
        self._before = 0.0

    def __call__(self, row: Row) -> bool:
        if not self._looks:
            cpu, clock = self._cpu_seconds(), self._clock.seconds
            self._before = cpu * max(0.0, 1.0 - row.seconds / clock) if clock > 0 else 0.0
        self._looks.append(self.look())
        return row.gap <= self._gap or self._looks[-1].cpu_seconds >= self._limit

    def look(self) -> _Look:
        return _Look(self._cpu_seconds() - self._before, self._memory.bytes)

    def effort(self, row: Row, last: _Look) -> Effort:
        """Return the effort of a row of the history; the last one may be later than the last call."""
        look = self._looks[row.iteration] if row.iteration < len(self._looks) else last
        return Effort(float(row.passes), int(row.oracle_calls), *look)

    def _cpu_seconds(self) -> float:
        compiling = time.perf_counter() - self._wall - self._clock.seconds
        return time.process_time() - self._cpu - max(0.0, compiling)
