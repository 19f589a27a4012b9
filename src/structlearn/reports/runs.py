"""One training run of a comparison, in this process or in one of its own."""

from __future__ import annotations

import errno
import multiprocessing
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from structlearn.core.processes import ctrl_c_kept_back, end_with_parent
from structlearn.reports.memory import PeakMemory
from structlearn.solvers import Certificate, History, Row

#: What is wrong with the request or the machine; anything else is a bug and keeps its traceback.
_EXPECTED = (ValueError, TypeError, OSError, MemoryError)


class Trainable(Protocol):
    """An estimator of the library; what data is like is its own affair."""

    @property
    def certificate_(self) -> Certificate: ...
    @property
    def history_(self) -> History: ...
    def check_parameters(self) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **parameters: object) -> Self: ...
    def fit(self, X: Any, y: Any, **options: Any) -> object: ...
    def predict(self, X: Any) -> Any: ...
    def score(self, X: Any, y: Any) -> float: ...


class Job(NamedTuple):
    """What is to be trained, and how it is judged meanwhile."""

    name: str
    estimator: Trainable
    X: object
    y: object
    #: from an estimator to its test error
    error: Callable[[Trainable], float] | None


class Run(NamedTuple):
    """What became of a job."""

    name: str
    history: History
    certificate: Certificate
    #: the test error at each row of the history; empty where there is no test
    errors: list[float]
    #: bytes at the peak of training above those before it; None where the system does not tell
    memory: int | None


def rehearse_job(job: Job) -> None:
    """Train for a pass or two: refusals come before the work, and compiled code is loaded."""
    with _quiet():
        clone(job.estimator).set_params(max_passes=1, callback=None, verbose=0).fit(job.X, job.y)


def execute(job: Job) -> Run:
    """Train, and record the test error at each evaluation; neither clock nor memory count that."""
    estimator, errors = clone(job.estimator), {}
    memory = PeakMemory()
    if job.error is not None:
        judge = job.error

        def watch(row: Row, model: Trainable) -> None:
            with memory.aside():
                errors[row.iteration] = float(judge(model))

        estimator._watch = watch
    with _quiet():
        estimator.fit(job.X, job.y)
    peak = memory.bytes
    history = estimator.history_
    if job.error is not None:
        errors[history[-1].iteration] = float(job.error(estimator))
    found = [errors.get(row.iteration, np.nan) for row in history] if errors else []
    return Run(job.name, history, estimator.certificate_, found, peak)


def execute_apart(job: Job) -> Run:
    """Train in a new process, so that runs cannot disturb each other's time and memory."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, job), daemon=True)
    try:  # a Ctrl-C that was kept back arrives as soon as the process has started
        try:
            with ctrl_c_kept_back():
                process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"{job.name!r} cannot go to a process of its own ({error}); run all in one."
            ) from None
        sender.close()
        answer = receiver.recv()
    except EOFError:
        process.join()
        sentence = f"The process of {job.name!r} ended early, with code {process.exitcode}"
        raise ChildProcessError(errno.ECHILD, sentence) from None
    finally:
        if process.pid is not None:
            process.terminate()
            process.join()
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _child(sender: Connection, job: Job) -> None:
    end_with_parent()
    try:
        rehearse_job(job)
        sender.send(execute(job))
    except _EXPECTED as error:
        sender.send(error)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence warnings of convergence: the report says which runs reached the gap."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
