"""Run a study of one problem: cells in processes of their own, each kept as it ends, within a budget."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

import structlearn
from structlearn.reports.comparison import GAPS
from structlearn.reports.runs import Trainable
from structlearn.reports.scaling.grid import Cell, Named, cells, sample_sizes
from structlearn.reports.scaling.measure import CellJob, Measured
from structlearn.reports.scaling.processes import Answer, measured_apart
from structlearn.reports.scaling.results import FAILED, CellResult, Results
from structlearn.storage.atomic import atomic_write, make_folder
from structlearn.storage.errors import DataError

FILE, CELLS = "study.json", "cells"
#: Examples on which compiled code is loaded.
_FEW = 12
#: No cell has less time than this.
_LEAST = 0.5
#: The part of a budget that is kept for the report: this fraction, at most this many seconds.
_REPORT, _REPORT_SECONDS = 0.05, 30.0


class StudyProblem(NamedTuple):
    """A problem that can be had in any size up to `total`."""

    name: str
    what: str
    estimator: Trainable
    total: int
    #: a number of examples, as `fit` takes them; fewer are the first of more
    first: Callable[[int], tuple[object, object]]


@dataclass(frozen=True)
class StudyPlan:
    """How a study is run: what is compared, up to what size, with how many processes at once."""

    solvers: Mapping[str, Named]
    largest: int | None = None
    seed: int = 0
    jobs: int = 1
    gaps: tuple[float, ...] = GAPS


class TimeBudget:
    """Seconds of `jobs` processes that are left for cells; some are kept for the report.

    spent : those that earlier runs took of it
    """

    def __init__(self, minutes: float, jobs: int, spent: float) -> None:
        seconds = 60.0 * minutes - min(_REPORT * 60.0 * minutes, _REPORT_SECONDS)
        self._jobs, self._total, self._begin = jobs, seconds * jobs - spent, time.monotonic()

    @property
    def end(self) -> float:
        """When it is spent, by `time.monotonic`: no cell goes on after that."""
        return self._begin + self._total / self._jobs

    @property
    def left(self) -> float:
        return self._total - self._jobs * (time.monotonic() - self._begin)

    def share(self, parts: int) -> Callable[[], float]:
        """Return one of this many equal parts of what is left now."""
        kept = self.left * (1.0 - 1.0 / parts)
        return lambda: self.left - kept


def run_study(
    problem: StudyProblem,
    plan: StudyPlan,
    folder: Path,
    left: Callable[[], float],
    tell: Callable[[str], object],
    end: float = np.inf,
) -> Results:
    """Measure all cells of a problem that `folder` does not hold yet.

    Parameters
    ----------
    problem, plan : what is studied
    folder : Path
        Keeps study.json and a file for each cell, written when it ends: a study that was ended goes on there.
        DataError if it holds a study of other data, solvers, sizes, gaps or seed.
    left : callable
        Seconds of processes that are left for this problem.
    tell : callable
        Gets a sentence at the end of each cell.
    end : float
        When, by `time.monotonic`, cells that are under way are given up; they count as not run.
    """
    study = _Study(problem, plan, folder)
    for n in study.results.sizes:
        if left() <= 0.0:
            break
        limit = study.limit(n, left())
        for answer in measured_apart(study.jobs(n, limit, left), plan.jobs, end):
            tell(study.keep(answer, limit))
    return study.results


def spent_seconds(folder: Path) -> float:
    """Return the seconds of processes that the cells kept in a folder took."""
    return sum(one.seconds for one in _read_cells(folder))


def read_results(folder: Path) -> Results:
    """Read the results that a folder holds; DataError if it holds none."""
    path = folder / FILE
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))["settings"]
        names = ("problem", "what", "solvers", "sizes", "gaps")
        return Results(**{name: settings[name] for name in names}, found=_read_cells(folder))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is not the file of a scaling study ({error}).") from None


def _read_cells(folder: Path) -> list[CellResult]:
    found = []
    for path in sorted((folder / CELLS).glob("*.json")):
        try:
            found.append(CellResult.from_json(json.loads(path.read_text(encoding="utf-8"))))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError(f"{path} is damaged; remove it, and that cell is measured again.") from None
    return found


class _Study:
    """A study on its way: its results so far, and the limits that cells of each size have."""

    def __init__(self, problem: StudyProblem, plan: StudyPlan, folder: Path) -> None:
        self._problem, self._plan, self._folder = problem, plan, folder
        self._sizes = sample_sizes(problem.total, plan.largest)
        self._examples = problem.first(self._sizes[-1])
        self._settings = self._describe()
        self._limits = self._stored_limits()
        make_folder(folder / CELLS)
        self._write()
        names, gaps = list(plan.solvers), sorted(plan.gaps, reverse=True)
        self.results = Results(problem.name, problem.what, names, self._sizes, gaps, _read_cells(folder))

    def _describe(self) -> dict[str, object]:
        """All that results depend on."""
        plan, problem = self._plan, self._problem
        return {
            "problem": problem.name,
            "what": problem.what,
            "version": structlearn.__version__,
            "seed": plan.seed,
            "sizes": self._sizes,
            "data": _content(self._examples),
            "gaps": sorted(plan.gaps, reverse=True),
            "solvers": {name: [solver, dict(options)] for name, (solver, options) in plan.solvers.items()},
        }

    def _stored_limits(self) -> dict[str, float]:
        """Return the limits of the study that the folder holds, if it is this one; none if it holds none."""
        path = self._folder / FILE
        if not path.exists():
            if any((self._folder / CELLS).glob("*.json")):
                raise DataError(
                    f"{self._folder} holds cells of a study without its {FILE}; choose another folder."
                )
            return {}
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            settings, limits = dict(kept["settings"]), dict(kept["limits"])
        except (ValueError, KeyError, TypeError):
            raise DataError(f"{path} is not the file of a scaling study; choose another folder.") from None
        for name, value in self._settings.items():
            if settings.get(name) != value:
                raise DataError(
                    f"{self._folder} holds a study with other {_NAMES.get(name, name)}: choose another "
                    "folder, or give the same options to go on with that one."
                )
        return limits

    def _write(self) -> None:
        _write_json(self._folder / FILE, {"settings": self._settings, "limits": self._limits})

    def waiting(self, n: int) -> list[Cell]:
        """Return the cells of a size that have not run and are not skipped."""
        found = self.results
        return [one for one in cells(found.solvers, n) if one not in found and found.targets(one)]

    def limit(self, n: int, left: float) -> float:
        """Return a cell's processor seconds: sizes, and the cells of a size, share equally what is left."""
        if str(n) not in self._limits:
            cells_left = [len(self.waiting(m)) for m in self._sizes if m >= n]
            share = left / max(1, sum(map(bool, cells_left))) / max(1, cells_left[0])
            self._limits[str(n)] = max(_LEAST, share - self._overhead())
            self._write()
        return self._limits[str(n)]

    def _overhead(self) -> float:
        """Return seconds that a cell takes beside its training, as those of the largest size so far did."""
        done = [one for one in self.results.found if one.end is not None]
        most = max((one.n for one in done), default=0)
        taken = [one.seconds - one.end.cpu_seconds for one in done if one.n == most and one.end is not None]
        return float(np.median(taken)) if taken else 0.0

    def jobs(self, n: int, limit: float, left: Callable[[], float]) -> Iterator[tuple[Cell, CellJob]]:
        """Yield the cells of a size that are to run, as long as there is time."""
        X, y = self._problem.first(n)
        few = self._problem.first(min(_FEW, n))
        for cell in self.waiting(n):
            if left() <= 0.0:
                return
            targets = tuple(self.results.targets(cell))
            yield cell, CellJob(self.estimator(cell), X, y, few, targets, limit, min(self._plan.gaps))

    def estimator(self, cell: Cell) -> Trainable:
        """Return the estimator of a cell."""
        solver, options = self._plan.solvers[cell.solver]
        return clone(self._problem.estimator).set_params(
            solver=solver,
            solver_options=dict(options) or None,
            regularization=cell.regularization,
            tol=min(self.results.targets(cell)),
        )

    def keep(self, answer: Answer[Cell], limit: float) -> str:
        """Write the result of a cell; a sentence on it."""
        one = _result(answer, self.results.targets(answer.key), limit)
        _write_json(self._folder / CELLS / one.cell.file, one.to_json())
        self.results.add(one)
        where = f"{self._problem.name}, n = {one.n}, lambda = {one.lam}, {one.solver}"
        if one.end is None or one.gap is None:
            return f"{where}: {one.sentence}"
        return f"{where}: {one.status}, gap {one.gap:.2g} in {one.end.cpu_seconds:.2f} s of {limit:.1f}"


#: What a setting is called in sentences.
_NAMES = {"what": "problems", "version": "versions of structlearn"}


def _result(answer: Answer[Cell], targets: list[float], limit: float) -> CellResult:
    cell, found = answer.key, answer.measured
    shared: dict[str, Any] = {
        **cell._asdict(),
        "tol": min(targets),
        "limit": limit,
        "seconds": answer.seconds,
    }
    if not isinstance(found, Measured):
        return CellResult(status=FAILED, sentence=answer.sentence, gap=None, end=None, reached={}, **shared)
    reached = dict(zip(targets, found.reached, strict=True))
    return CellResult(
        status=found.status,
        sentence=found.sentence,
        gap=found.gap,
        end=found.end,
        reached=reached,
        **shared,
    )


def _write_json(path: Path, value: object) -> None:
    with atomic_write(path) as aside:
        aside.write_text(json.dumps(value, indent=1), encoding="utf-8")


def _content(examples: object) -> str:
    """Return a hash of all numbers and words in examples."""
    digest = hashlib.sha256()
    _add(digest, examples)
    return digest.hexdigest()[:16]


def _add(digest: Any, value: object) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.shape}{value.dtype}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple):
        digest.update(f"({len(value)}".encode())
        for one in value:
            _add(digest, one)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in vars(value).values():
            _add(digest, one)
    else:
        digest.update(repr(value).encode())
