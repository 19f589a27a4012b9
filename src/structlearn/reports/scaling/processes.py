"""Measure cells in processes of their own, several at a time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from structlearn.core.processes import ctrl_c_kept_back, end_with_parent
from structlearn.reports.scaling.measure import CellJob, Measured, measure

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

Key = TypeVar("Key")
#: A process is ended after `_TIMES` its limit and `_MORE` seconds: it reads, lays out and compiles, too.
_TIMES, _MORE = 4.0, 300.0
#: What is wrong with the request or the machine; anything else is a bug and keeps its traceback.
_EXPECTED = (ValueError, TypeError, NotImplementedError, OSError, MemoryError)


class Answer(NamedTuple, Generic[Key]):
    """What came of a job: what was measured, or a sentence on why nothing was; and seconds by the clock."""

    key: Key
    measured: Measured | None
    sentence: str
    seconds: float


class _Under(NamedTuple):
    """A job under way."""

    key: object
    process: BaseProcess
    begin: float
    end: float


def measured_apart(
    jobs: Iterable[tuple[Key, CellJob]], at_once: int, end: float = np.inf
) -> Iterator[Answer[Key]]:
    """Yield the answers as they come; a job is taken from `jobs` when there is room for it.

    What is under way at `end`, by `time.monotonic`, is ended without an answer.
    """
    methods = get_all_start_methods()
    # A server that has imported all this starts a process in milliseconds, by forking before anything ran.
    server = "forkserver" in methods
    context = get_context("forkserver") if server else get_context("spawn")
    if server:
        context.set_forkserver_preload([__name__, "structlearn.estimators", "structlearn.solvers"])
    waiting, under = iter(jobs), dict[Connection, _Under]()
    try:
        while True:
            while len(under) < at_once and (job := next(waiting, None)) is not None:
                receiver, one = _start(context, *job)
                under[receiver] = one
            if not under or time.monotonic() >= end:
                return
            late = min(end, *(one.end for one in under.values())) - time.monotonic()
            ready = set(wait(list(under), timeout=max(0.0, late)))
            ended = [one for one in under if one in ready or under[one].end <= time.monotonic()]
            for receiver in ended:
                yield _finish(receiver, under.pop(receiver), answered=receiver in ready)
    finally:
        for one in under.values():
            one.process.terminate()
            one.process.join()


def _start(context: ForkServerContext | SpawnContext, key: object, job: CellJob) -> tuple[Connection, _Under]:
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, job), daemon=True)
    with ctrl_c_kept_back():
        process.start()
    sender.close()
    begin = time.monotonic()
    return receiver, _Under(key, process, begin, begin + _TIMES * job.limit + _MORE)


def _finish(receiver: Connection, one: _Under, *, answered: bool) -> Answer:
    seconds = time.monotonic() - one.begin
    try:
        answer = receiver.recv() if answered else "It was ended: it took far longer than its limit."
    except EOFError:
        one.process.join()
        answer = f"Its process ended early, with code {one.process.exitcode}."
    one.process.terminate()
    one.process.join()
    if isinstance(answer, Measured):
        return Answer(one.key, answer, answer.sentence, seconds)
    return Answer(one.key, None, str(answer), seconds)


def _child(sender: Connection, job: CellJob) -> None:
    end_with_parent()
    try:
        sender.send(measure(job))
    except _EXPECTED as error:
        sender.send(f"{type(error).__name__}: {error}" if isinstance(error, MemoryError) else str(error))
