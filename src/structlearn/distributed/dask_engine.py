"""Dask as an engine: each object is an actor on one of the scheduler's workers."""

from __future__ import annotations

import errno
import time
from asyncio import run_coroutine_threadsafe
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from structlearn.distributed.engine import Lost

if TYPE_CHECKING:
    from distributed import Actor, Client, Future

#: Seconds between looks at whether a worker that has not answered yet is still there.
LOOK = 0.5
#: Seconds to wait for a worker when none is there: a nanny starts lost ones again.
PATIENCE = 60.0


class DaskEngine:
    """Actors by way of a `distributed.Client`, whose connections (TLS or not) are the user's.

    Parameters
    ----------
    client : distributed.Client
        With ``direct_to_workers=True`` calls do not go through the scheduler.
    patience : float
        Seconds to wait where no worker is there.
    """

    def __init__(self, client: Client, patience: float = PATIENCE) -> None:
        self.client = client
        self.patience = patience
        self._make: list[Callable[[], object]] = []
        self._futures: list[Future | None] = []
        self._actors: list[Actor | None] = []
        self._homes: list[str] = []

    @property
    def size(self) -> int:
        return len(self._wait_for_workers())

    def open(self, make: Sequence[Callable[[], object]]) -> None:
        n = len(make)
        self._make, self._homes = list(make), [""] * n
        self._actors, self._futures = [None] * n, [None] * n  # nobody holds the old: the scheduler lets go
        for number in range(n):
            self._place(number)
        for number in range(n):
            self._bind(number)

    def call(self, name: str, arguments: Mapping[int, tuple[object, ...]]) -> dict[int, Any]:
        waiting = {number: self._ask(number, name, values) for number, values in arguments.items()}
        return {
            number: asked if isinstance(asked, Lost) else self._answer(number, asked)
            for number, asked in waiting.items()
        }

    def revive(self, number: int) -> None:
        self._actors[number] = self._futures[number] = None
        self._homes[number] = ""
        self._place(number)
        self._bind(number)

    def workers(self) -> list[str]:
        """Return the addresses of the workers that are there now."""
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])

    def _place(self, number: int) -> None:
        """Ask for the object on the worker that has the fewest."""
        there = self._wait_for_workers()
        home = min(there, key=lambda address: (self._homes.count(address), address))
        self._homes[number] = home
        self._futures[number] = self.client.submit(
            self._make[number], actor=True, workers=[home], pure=False, allow_other_workers=False
        )

    def _bind(self, number: int) -> None:
        """Make the object; None if its worker is lost meanwhile."""
        with suppress(Exception):
            self._actors[number] = self._result(number, self._futures[number])

    def _wait_for_workers(self) -> list[str]:
        end = time.monotonic() + self.patience
        while not (there := self.workers()):
            if time.monotonic() > end:
                raise OSError(
                    errno.ECHILD,
                    f"the cluster has no workers, and none came within {self.patience:g} seconds",
                )
            time.sleep(LOOK / 5)
        return there

    def _ask(self, number: int, name: str, values: tuple[object, ...]) -> Future | Lost:
        actor = self._actors[number]
        if actor is None:
            return Lost("it could not be made")
        return run_coroutine_threadsafe(_execute(actor, name, values), self.client.loop.asyncio_loop)

    def _answer(self, number: int, asked: Future) -> object:
        try:
            return self._result(number, asked)
        except Exception as error:
            return Lost(str(error) or type(error).__name__)

    def _result(self, number: int, asked: Future) -> object:
        """Return the result of a call; raise where its worker is gone, which a call itself may not notice."""
        while True:
            try:
                return asked.result(timeout=LOOK)
            except TimeoutError:
                if asked.done():
                    continue
                future = self._futures[number]
                if future is None or future.status not in ("pending", "finished"):
                    raise
                if self._homes[number] not in self.workers():
                    raise OSError(f"{self._homes[number]} is gone") from None


async def _execute(actor: Actor, name: str, values: tuple[object, ...]) -> object:
    """Call a method of an actor; whatever goes wrong on the way is raised.

    `actor.name(*values)` does the same, but for some errors never ends.
    """
    from distributed.protocol import to_serialize

    found = await actor._worker_rpc.actor_execute(
        function=name, actor=actor.key, args=[to_serialize(value) for value in values], kwargs={}
    )
    if found["status"] != "OK":
        raise found["exception"]
    return found["result"]
