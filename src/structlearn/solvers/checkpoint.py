"""Checkpoints: a training run written to disk at intervals, from which it goes on bit for bit.

The file holds the solver's state, the random state and the loop's record. It is written aside, synced and
renamed: at any moment there is a whole one or none. A run that writes into a folder has it for itself.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structlearn.core.content import NoContentError, content_hash
from structlearn.core.memory import Memory
from structlearn.problem.problem import Problem
from structlearn.solvers.states import load_state, open_state, save_state
from structlearn.storage.atomic import make_folder
from structlearn.storage.locks import FolderLock

#: Since 2, all of a file is hashed; since 3, runs are known by the state of structures and solvers.
VERSION = 3
NAME = "checkpoint.safetensors"
#: Writing takes at most this share of the time, however short the interval.
BUSY = 0.1


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often to write, and whether to go on from what is there.

    Parameters
    ----------
    folder : path
        Made if it is not there. It holds one checkpoint.
    seconds : float
        Between two checkpoints; more where writing one takes more than a tenth of that.
    resume : bool
        Go on from the checkpoint in the folder, if there is one. Without it, a folder with a checkpoint is
        refused.
    """

    folder: str | Path
    seconds: float = 60.0
    resume: bool = False

    @property
    def path(self) -> Path:
        return Path(self.folder) / NAME

    def open(self, objective: Problem, solver: object, tol: float) -> Keeper:
        """Open the keeper of a run's checkpoint, which keeps the folder from others until it is closed."""
        return self.open_as(digest(objective, solver, tol), objective.memory)

    def open_as(self, digest: str, memory: Memory | None = None) -> Keeper:
        """Open as `open` does, for a run of any kind, by a hash of all that shapes it."""
        lock = self._lock()
        try:
            if lock.held:  # nobody else is writing: these are of a run that was killed while it wrote
                for fragment in Path(self.folder).glob(f".{NAME}.*.part"):
                    with suppress(OSError):
                        fragment.unlink()
            return Keeper(self, digest, memory, lock)
        except BaseException:
            lock.release()
            raise

    def open_shared(self, objective: Problem, solver: object, tol: float) -> Keeper:
        """Open as `open` does, on behalf of a run that has a lock of its own, and may be replaced."""
        make_folder(self.folder)
        return Keeper(self, digest(objective, solver, tol), objective.memory)

    def check(self) -> None:
        """Refuse what cannot work: OSError; BlockingIOError for a folder that another run writes to."""
        self._lock().release()

    def _lock(self) -> FolderLock:
        """Lock the folder for this run; FileExistsError for a checkpoint in it that is not to be used."""
        lock = FolderLock(make_folder(self.folder))
        if self.path.exists() and not self.resume:
            lock.release()
            raise FileExistsError(
                f"{self.folder} holds a checkpoint: resume from it, or remove {NAME} to begin afresh."
            )
        return lock


class Keeper:
    """The writer and reader of one run's checkpoint; use it as a context."""

    def __init__(
        self, checkpoint: Checkpoint, digest: str, memory: Memory | None, lock: FolderLock | None = None
    ) -> None:
        self.checkpoint = checkpoint
        self.lock = lock
        self.memory = memory
        self.digest = digest
        self.last = time.perf_counter()
        self.took = 0.0

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_: object) -> None:
        """Let others have the folder."""
        if self.lock is not None:
            self.lock.release()

    def load(self) -> Any:
        """Return what was kept last, None if nothing was; ValueError if it is damaged or another run's."""
        path = self.checkpoint.path
        if not path.exists():
            return None
        file = open_state(path, self.memory)
        if not file.hashed or not isinstance(file.notes, dict) or file.notes.get("version") != VERSION:
            raise ValueError(f"{path} does not have the checkpoint format {VERSION}: begin without it.")
        if file.notes.get("digest") != self.digest:
            raise ValueError(
                f"{path} is of other data or other parameters: give the same ones, or another folder."
            )
        return load_state(file)

    def is_due(self) -> bool:
        wait = max(self.checkpoint.seconds, self.took / BUSY)
        return time.perf_counter() - self.last >= wait

    def keep(self, value: object) -> None:
        """Write `value`; where that fails the last good checkpoint stays, and an OSError says so."""
        begin = time.perf_counter()
        path = self.checkpoint.path
        try:
            save_state(path, value, version=VERSION, digest=self.digest)
        except OSError as error:
            kept = "the last good one is kept" if path.exists() else "there is none yet"
            why = f"the checkpoint could not be written ({error.strerror or error}); {kept}"
            raise OSError(error.errno, why, str(path)) from error
        self.last = time.perf_counter()
        self.took = self.last - begin


def digest(objective: Problem, solver: object, tol: float) -> str:
    """Hash the data and all that shapes the iterates; budgets and the seed are not part of it."""
    try:
        return content_hash(solver, tol, *objective.content)
    except NoContentError as error:
        raise ValueError(
            f"A checkpoint of this training could not be recognised again. {error} Give the structure a "
            "__getstate__ that returns what its answers depend on, or train without a checkpoint."
        ) from error
