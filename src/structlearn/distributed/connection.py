"""Connections to a Dask cluster, and clusters of processes on this machine."""

from __future__ import annotations

import errno
import gc
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

import structlearn
from structlearn.core.wording import quote

if TYPE_CHECKING:
    from distributed import Client, WorkerPlugin
    from distributed import Worker as DaskWorker

_LOCAL = re.compile(r"local:([1-9][0-9]*)")
#: Processes that a machine starts at most, whatever its number of cores.
MOST_LOCAL = 64
#: Seconds until a scheduler must have answered, and until a worker must be there.
TIMEOUT = 10.0


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect a client to the scheduler at an address such as ``tcp://host:8786``; closed at the end.

    "local:K" starts K worker processes that listen on the loopback interface alone, and stops them. For
    ``tls://`` addresses the certificates are those of Dask's configuration (distributed.comm.tls).
    """
    local = _LOCAL.fullmatch(address)
    if local is None and "://" not in address:
        raise ValueError(
            f"A cluster is an address such as tcp://scheduler:8786, or local:K for K processes here; got "
            f"{address!r}."
        )
    opened = _local(_number(local[1])) if local else _remote(address)
    with opened as client:
        check_cluster(client)
        yield client


def _number(digits: str) -> int:
    """Return how many processes to start; ValueError if this machine would do nothing else."""
    most = max(MOST_LOCAL, 2 * (os.cpu_count() or 1))
    if len(digits) > len(str(most)) or int(digits) > most:
        raise ValueError(
            f"local:K starts K processes on this machine, at most {most}; got K = {quote(digits, 20)}."
        )
    return int(digits)


@contextmanager
def _local(n_workers: int) -> Iterator[Client]:
    distributed = _import_distributed()
    with ExitStack() as stack:
        try:
            cluster = distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                memory_limit=0,  # mapped files would count
                silence_logs="CRITICAL",
            )
            stack.enter_context(cluster)
            client = stack.enter_context(distributed.Client(cluster, direct_to_workers=True))
            client.register_plugin(_deaf())
        except Exception as error:  # Dask has many for a process that does not come up
            raise OSError(
                errno.ECHILD,
                f"a process of local:{n_workers} ended while it started ({_first_line(error)}); try again, "
                "or with fewer",
            ) from None
        yield client


def _deaf() -> WorkerPlugin:
    """Keep a terminal's Ctrl-C from the workers, for it is meant for the driver."""
    from distributed import WorkerPlugin

    class Deaf(WorkerPlugin):
        def setup(self, worker: DaskWorker) -> None:
            import signal

            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return Deaf()


@contextmanager
def _remote(address: str) -> Iterator[Client]:
    distributed = _import_distributed()
    try:
        with _no_collection():
            client = distributed.Client(address, timeout=TIMEOUT, direct_to_workers=True)
    except TypeError as error:
        if not address.startswith("tls://"):
            raise
        raise ConnectionError(
            f"{address} needs certificates: name them under distributed.comm.tls in Dask's configuration "
            f"({_first_line(error)})."
        ) from None
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"No scheduler answers at {address} ({_first_line(error)}); start one with `dask scheduler`."
        ) from None
    with client:
        yield client


@contextmanager
def _no_collection() -> Iterator[None]:
    """Collect a client that failed now: while the next one starts, each would wait for the other."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _import_distributed() -> ModuleType:
    try:
        import distributed
    except ImportError:
        raise ValueError(
            "A cluster needs the package distributed: pip install 'structlearn[distributed]'."
        ) from None
    return distributed


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def check_cluster(client: Client) -> None:
    """Refuse a cluster without workers, or whose workers have no structlearn or another version of it."""
    try:
        client.wait_for_workers(1, timeout=TIMEOUT)
    except TimeoutError:
        address = client.scheduler.address if client.scheduler else "the address"
        raise ConnectionError(
            f"The scheduler at {address} has no workers: start some with `dask worker {address}`."
        ) from None
    found = client.get_versions(packages=["structlearn"])["workers"]
    check_versions({address: one["packages"]["structlearn"] for address, one in found.items()})


def check_versions(found: Mapping[str, str | None]) -> None:
    """ValueError unless all workers have this version of structlearn."""
    for address, version in found.items():
        if version is None:
            raise ValueError(f"The worker {address} has no structlearn; install {structlearn.__version__}.")
        if version != structlearn.__version__:
            raise ValueError(
                f"The worker {address} has structlearn {version}, this is {structlearn.__version__}: install "
                "the same version on all machines."
            )
