"""`structlearn warm`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.options import argument, option, registry_names

if TYPE_CHECKING:
    from structlearn.cli.tasks.rehearsals import Rehearsal


@handling_errors()
def warm(
    tasks: Annotated[
        list[str] | None,
        argument(
            "[TASK]...",
            "classify, multilabel, regress, tag, chunk, ner, parse, match, graph, grid or align.  [default: "
            "all]",
            registry_names("structlearn.cli.tasks.registry:TASKS", "align"),
        ),
    ] = None,
    jobs: Annotated[
        int | None, option("N", "Processes.  [default: as many as there are cores]", min=1)
    ] = None,
) -> None:
    """Compile what tasks need beforehand, so that their first use is as quick as any later one.

    Trains and predicts with tiny made-up data of each TASK, with its default loss and with hinge, softmax and
    sparsemax where it has them (chunk and ner also with --model segments), in several processes. Kernels that
    are there already are not compiled again.
    """
    from structlearn.cli.tasks.rehearsals import REHEARSALS
    from structlearn.core.kernel_cache.cache import cache_folder
    from structlearn.estimators.choices import one_of
    from structlearn.solvers.progress import count_steps

    chosen = dict.fromkeys(one_of("task", name, REHEARSALS) for name in tasks or REHEARSALS)
    rehearsals = [one for name in chosen for one in REHEARSALS[name]]
    processes = min(jobs or os.cpu_count() or 1, len(rehearsals))
    folder = cache_folder().parent
    before = set(folder.glob("*/*.nbc"))
    say(f"Compiling for {', '.join(chosen)} in {processes} process{'es' if processes > 1 else ''} ...")
    with count_steps("compiling", len(rehearsals)) as advance:
        _in_processes(rehearsals, processes, advance)
    say(f"Added {len(set(folder.glob('*/*.nbc')) - before)} kernels to {folder}.")


def _in_processes(rehearsals: Sequence[Rehearsal], processes: int, advance: Callable[[], object]) -> None:
    """Go through all; on an error or Ctrl-C no process is left."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import active_children, get_context
    from tempfile import TemporaryDirectory

    from structlearn.cli.tasks.rehearsals import rehearse
    from structlearn.core.processes import ctrl_c_kept_back, end_with_parent

    with (
        TemporaryDirectory() as place,
        ProcessPoolExecutor(processes, get_context("spawn"), end_with_parent) as pool,
    ):
        try:
            with ctrl_c_kept_back():
                waiting = [pool.submit(rehearse, one, place) for one in rehearsals]
            for done in as_completed(waiting):
                done.result()
                advance()
        except BrokenProcessPool:
            raise ChildProcessError(errno.ECHILD, "A process that compiled ended early") from None
        except BaseException:
            for child in active_children():
                child.terminate()
            raise
