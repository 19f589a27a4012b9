"""Flags of `align train` that say how the statistics are made: memory, threads, checkpoints, earlier text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from structlearn.cli.support.errors import say
from structlearn.cli.support.options import Resume, chosen_checkpoint, option

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner


@dataclass(frozen=True)
class StatisticsRun:
    """How the statistics are made."""

    jobs: Annotated[int, option("N", "Threads for the statistics.", min=1)] = 1
    memory: Annotated[
        str | None,
        option(
            "SIZE",
            "Most memory to take, such as 1GB; the text goes to files in $TMPDIR.  [default: no limit]",
        ),
    ] = None
    checkpoint: Annotated[
        Path | None, option("DIR", "Folder to keep the statistics in after each pass over the text.")
    ] = None
    resume: Resume = False
    continue_: Annotated[
        Path | None,
        option("MODEL", "A model of earlier text, which counts as though it were read again.", "--continue"),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the aligner, checked."""
        checkpoint = chosen_checkpoint(self.checkpoint, 0.0, resume=self.resume)
        if checkpoint is not None:
            checkpoint.check()
        return {"n_jobs": self.jobs, "memory": self.memory, "checkpoint": checkpoint}

    def files(self) -> list[Path]:
        return [] if self.continue_ is None else [self.continue_]

    def earlier(self) -> Aligner | None:
        """Return the model that is continued."""
        from structlearn.alignment.aligner import Aligner

        return None if self.continue_ is None else Aligner.load(self.continue_)

    def check_room(self, files: Iterable[Path]) -> None:
        """Say what the working files of a text may take; OSError if there is no room for them."""
        if self.memory is None:
            return
        from structlearn.alignment.statistics.memory_plan import MemoryPlan
        from structlearn.alignment.text.on_disk import check_room, working_bytes

        MemoryPlan.of(self.memory)
        given = list(files)
        n_bytes = working_bytes(given)
        folder = check_room(n_bytes)
        more = ", and what the standard input needs" if Path("-") in given else ""
        say(
            f"Working files: at most {n_bytes / 1e6:.3g} MB{more} in {folder}, while training lasts; and "
            "4 bytes per pair of words that share a line, to save time, if twice that is free."
        )
