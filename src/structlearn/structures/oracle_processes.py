"""A `maximize` in plain Python that answers in several processes: threads would wait for one another.

The user's object is sent to each process once, when the first questions are asked, and scores and answers go
to and fro. Nothing is written to a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

from structlearn.core.contract import Array
from structlearn.core.errors import OracleError
from structlearn.core.processes import ctrl_c_kept_back, end_with_parent, start_method

#: Pieces of work per process where many questions are asked: whoever is done takes the next one.
PIECES = 4


class Question(NamedTuple):
    """Scores of one example, and the number of its instance, or -1 if examples have no instances."""

    theta: Array
    which: int


class OracleProcesses:
    """Processes that answer for a `maximize`; they end with `close`.

    Parameters
    ----------
    maximize : callable
    instances : sequence, optional
        What belongs to each example.
    n_jobs : int
        The number of processes.
    """

    def __init__(self, maximize: Callable[..., Any], instances: Sequence[object] | None, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        with ctrl_c_kept_back():
            self._pool = ProcessPoolExecutor(
                n_jobs, start_method(), _begin, (_as_bytes(maximize, instances),)
            )

    def answer(self, questions: Sequence[Question]) -> list[Any]:
        """Return the answers, in the order of the questions; raise what `maximize` raises."""
        at_once = max(1, len(questions) // (PIECES * self.n_jobs))
        pieces = [questions[k : k + at_once] for k in range(0, len(questions), at_once)]
        try:
            with ctrl_c_kept_back():  # processes start with the first questions
                waiting = [self._pool.submit(_answer, piece) for piece in pieces]
            return [one for piece in waiting for one in piece.result()]
        except BrokenProcessPool:
            raise OracleError(
                "A process in which `maximize` ran ended early; leave out parallel = 'processes' to see why."
            ) from None

    def close(self) -> None:
        """End all processes; questions that wait are not asked."""
        self._pool.shutdown(cancel_futures=True)


def _as_bytes(maximize: Callable[..., Any], instances: Sequence[object] | None) -> bytes:
    """Return what is sent to each process; TypeError if the user's object cannot be sent."""
    try:
        return bytes(ForkingPickler.dumps((maximize, instances)))
    except Exception as error:
        raise TypeError(
            f"The oracle cannot be sent to other processes ({error}); define its class at the top level of a "
            "module and keep only data in it, or leave out parallel = 'processes'."
        ) from None


# ---- in the other processes --------------------------------------------------------------------------------

_received: dict[str, Any] = {}


def _begin(sent: bytes) -> None:
    end_with_parent()
    _received["sent"] = sent


def _answer(questions: Sequence[Question]) -> list[Any]:
    maximize, instances = _oracle()
    if instances is None:
        return [maximize(one.theta) for one in questions]
    return [maximize(one.theta, instances[one.which]) for one in questions]


def _oracle() -> tuple[Callable[..., Any], Sequence[object] | None]:
    """Return what was sent; OracleError if it cannot be read here, such as a class of a notebook."""
    if "oracle" not in _received:
        try:
            _received["oracle"] = ForkingPickler.loads(_received["sent"])
        except Exception as error:
            raise OracleError(
                f"The oracle cannot be read in another process ({error}); define its class in a module that "
                "can be imported, or leave out parallel = 'processes'."
            ) from None
    found: tuple[Callable[..., Any], Sequence[object] | None] = _received["oracle"]
    return found
