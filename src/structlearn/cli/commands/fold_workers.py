"""Folds side by side: in processes of this machine, or on the workers of a Dask cluster."""

from __future__ import annotations

import errno
import multiprocessing
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from structlearn.cli.commands.folds import Fold, FoldedExamples
from structlearn.cli.commands.search import PathPoint, TunedSetting, paths
from structlearn.core.processes import ctrl_c_kept_back, end_with_parent, start_method


class FoldWorkers:
    """Processes that try settings on folds, each with one thread.

    number : how many there are
    share : sends what all calls need to everyone, and returns what calls are given in its place
    """

    def __init__(self, executor: Executor, number: int, share: Callable[[Any], Any]) -> None:
        self.executor, self.number, self.share = executor, number, share

    def run(
        self, settings: Sequence[TunedSetting], examples: FoldedExamples, folds: Sequence[Fold]
    ) -> Iterator[list[list[PathPoint]]]:
        """Yield the models of all settings, fold by fold; if workers outnumber folds, they share settings."""
        shared = self.share(examples)
        n_parts = min(len(settings), -(-self.number // max(1, len(folds))))
        parts = [list(settings[k::n_parts]) for k in range(n_parts)]
        with ctrl_c_kept_back():  # processes start with the first calls
            waiting = [
                [self.executor.submit(_try_fold, part, shared, fold) for part in parts] for fold in folds
            ]
        for calls in waiting:
            found: list[list[PathPoint]] = [[] for _ in settings]
            for k, call in enumerate(calls):
                found[k::n_parts] = call.result()
            yield found


def _try_fold(
    settings: Sequence[TunedSetting], examples: FoldedExamples, fold: Fold
) -> list[list[PathPoint]]:
    """Try settings on one fold, in another process."""
    from sklearn.exceptions import ConvergenceWarning

    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        here = examples.in_folder(Path(folder))
        return [list(points) for points in paths(settings, here, fold)]


@contextmanager
def fold_workers(jobs: int, cluster: str | None) -> Iterator[FoldWorkers | None]:
    """Provide the workers of a cluster, or `jobs` processes, until the context ends; None for one job."""
    if cluster is not None:
        from structlearn.distributed import connected

        with connected(cluster) as client:
            number = sum(client.nthreads().values())
            yield FoldWorkers(
                client.get_executor(pure=False), number, partial(client.scatter, broadcast=True)
            )
    elif jobs == 1:
        yield None
    else:
        with _processes(jobs) as executor:
            yield FoldWorkers(executor, jobs, lambda shared: shared)


@contextmanager
def _processes(number: int) -> Iterator[Executor]:
    """Provide processes that end at once where the context ends with an error, such as a Ctrl-C."""
    before = set(multiprocessing.active_children())
    with ProcessPoolExecutor(number, start_method(), end_with_parent) as executor:
        try:
            yield executor
        except BrokenProcessPool:
            raise OSError(
                errno.ECHILD, "A process that tried a fold ended early; fewer --jobs need less memory"
            ) from None
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
            raise
