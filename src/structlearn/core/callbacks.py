"""Python functions called from compiled code, by their C address."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from structlearn.core.contract import Array, Shape

#: From shape, scores, shared scores, and room for a vertex to a value.
Answer = Callable[[Shape, Array, Array, Array], float]

_Function = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_int64] * 9)


class AnswersAhead(Protocol):
    """Plain Python that may answer before compiled code asks, several questions at once."""

    @property
    def in_processes(self) -> bool:
        """Whether other processes may answer now."""

    def working(self) -> AbstractContextManager[None]:
        """Return a context inside which other processes may answer; they end with it."""

    def prepare(
        self, shapes: Sequence[Shape], thetas: Sequence[Array], n_jobs: int, *, in_turn: bool = False
    ) -> None:
        """Answer questions that will be asked next; `in_turn` where they come in this order, all of them."""

    def forget(self) -> None:
        """Leave no prepared answer."""


class Callback:
    """`maximize` of a structure in plain Python: answer(shape, theta, shared, vertex) -> value.

    `bound`, of the same arguments, is asked for `max_value` in its place, where answers may be below it;
    `others` answer further questions, which compiled code counts from 2 on. Compiled code cannot raise what
    Python raised. The first exception is kept, all later calls return -inf, with which no step is made, and
    `raise_failure` raises it after the pass.
    """

    def __init__(self, answer: Answer, bound: Answer | None = None, *others: Answer) -> None:
        self._answers = (answer, bound or answer, *others)
        self._calls = 0
        self._failure: BaseException | None = None
        self._function = _Function(self._respond)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def _respond(
        self,
        question: int,
        rows: int,
        columns: int,
        theta: int,
        n_theta: int,
        shared: int,
        n_shared: int,
        vertex: int,
        n: int,
    ) -> float:
        if self._failure is not None:
            return -np.inf
        try:
            vectors = _view(theta, n_theta), _view(shared, n_shared), _view(vertex, n)
            self._calls += 1
            return float(self._answers[question]((rows, columns), *vectors))
        except BaseException as error:
            self._failure = error
            return -np.inf

    def __reduce__(self) -> tuple[type[Callback], tuple[object, ...]]:
        return Callback, self._answers

    @property
    def calls(self) -> int:
        """How often there was an answer; an object that answers may count its own `calls`."""
        return int(getattr(self._answers[0], "calls", self._calls))

    def raise_failure(self) -> None:
        """Raise what a call has raised since the last time, if anything."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


def _view(address: int, size: int) -> Array:
    if size == 0:
        return np.empty(0)
    return np.ctypeslib.as_array((ctypes.c_double * size).from_address(address))


# ---- in the place of an operation that was not compiled ----------------------------------------------

# A kernel that could raise where it calls an address would count references around every call; one that calls
# `_note` ends as any other, with NaN, and Python raises after it.
_called = threading.local()


@ctypes.CFUNCTYPE(ctypes.c_double)
def _note() -> float:
    """Take any arguments: by C's convention whoever calls removes them."""
    _called.here = True
    return math.nan


#: Its address.
UNCOMPILED: int = ctypes.cast(_note, ctypes.c_void_p).value or 0


def raise_uncompiled() -> None:
    """Raise a RuntimeError if a kernel has called such an operation in this thread."""
    if getattr(_called, "here", False):
        _called.here = False
        raise RuntimeError(
            "A kernel calls an operation that was not compiled for it; call it by its name inside the "
            "kernel, or inside another kernel that it calls."
        )
