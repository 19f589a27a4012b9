"""Threads: ours are the only ones that share out the work, over compiled code that releases the GIL."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


class Map(Protocol):
    """A function with the signature of the built-in `map`."""

    def __call__(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterable[Result]: ...


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes milliseconds: once


#: The limits that hold now, one inside the other.
_LIMITS: list[int] = []


@contextmanager
def blas_threads(number: int) -> Iterator[None]:
    """Limit BLAS to `number` threads in this context; do nothing inside a context that is as strict."""
    if _LIMITS and min(_LIMITS) <= number:
        yield
        return
    with _controller().limit(limits=number, user_api="blas"):
        _LIMITS.append(number)
        try:
            yield
        finally:
            _LIMITS.remove(number)


@contextmanager
def in_order(n_jobs: int) -> Iterator[Map]:
    """Provide a `map` that works on `n_jobs` threads, at most 2 n_jobs items ahead of their use."""
    if n_jobs == 1:
        yield map
        return
    with ThreadPoolExecutor(n_jobs) as pool:

        def ahead(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
            waiting: deque[Future[Result]] = deque()
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * n_jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

        yield ahead


class Team:
    """Threads that stay alive, for short pieces of work: calls made together, one of them in this thread."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._pool = ThreadPoolExecutor(max(n_jobs - 1, 1))

    def deal(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return what `work` returns for each item; a thread that is done takes the next one.

        Where one fails, or is interrupted, no further item is begun.
        """
        if self.n_jobs == 1:
            return [work(item) for item in items]
        results: list[Any] = [None] * len(items)
        waiting = iter(enumerate(items))

        def part() -> None:
            for k, item in waiting:
                results[k] = work(item)

        if items:
            self.together([part] * min(self.n_jobs, len(items)), stop=lambda: list(waiting))
        return results

    def share_out(self, n: int, work: Callable[[int, int], object], least: int = 1) -> None:
        """Split 0 .. n - 1 into one range per thread, each of at least `least`, and call `work` on each."""
        if self.n_jobs == 1:
            work(0, n)
            return
        k = max(1, min(self.n_jobs, n // least))
        self.deal(lambda some: work(*some), list(pairwise(n * j // k for j in range(k + 1))))

    def together(
        self, calls: Sequence[Callable[[], Result]], stop: Callable[[], object] = lambda: None
    ) -> list[Result]:
        """Return what the calls return, in their order; all have ended, even where one was interrupted.

        Where one fails, `stop` is called: others may wait for it.
        """

        def run(call: Callable[[], Result]) -> Result:
            try:
                return call()
            except BaseException:
                stop()
                raise

        others: list[Future[Result]] = []
        try:
            others.extend(self._pool.submit(run, call) for call in calls[1:])
            return [calls[0](), *(other.result() for other in others)]
        except BaseException:
            stop()
            raise
        finally:
            wait(others)
