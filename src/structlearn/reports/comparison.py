"""Several solvers on one problem: the same objective, seed and stopping rule; one table, one report."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from sklearn.base import clone

from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.loss_choice import AUTO
from structlearn.reports.runs import Job, Run, Trainable, execute, execute_apart, rehearse_job
from structlearn.solvers.registry import compared_solvers
from structlearn.storage.atomic import atomic_write

#: The table says what it took to come so close.
GAPS = (1e-1, 1e-2, 1e-3)
#: What it took, by the names of the history's columns.
EFFORTS = ("passes", "oracle_calls", "seconds")
#: Parameters that differ between runs, or that change nothing in them.
_UNSHARED = ("solver", "solver_options", "callback", "verbose", "warm_start")
#: Names of solvers or solver objects; or a mapping from names of one's own (see `compare`).
Solvers = Sequence[object] | Mapping[str, object]
ENDS = ("gap", "primal", "dual", "passes", "oracle_calls", "seconds")


class Comparison(Mapping[str, Run]):
    """The runs of a comparison, by name.

    Parameters
    ----------
    runs : iterable of Run
    tol : float
        The gap at which training was to end.
    parameters : mapping
        What all runs had in common.

    Attributes
    ----------
    best_dual : float
        The greatest lower bound that any solver found. A primal value is no further above the optimum than
        above this.
    """

    def __init__(self, runs: Iterable[Run], *, tol: float, parameters: Mapping[str, object]) -> None:
        self._runs = {run.name: run for run in runs}
        self.tol = tol
        self.parameters = dict(parameters)
        self.best_dual = max(run.certificate.dual for run in self._runs.values())

    def __getitem__(self, name: str) -> Run:
        return self._runs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def tested(self) -> bool:
        """Whether there are test errors."""
        return any(run.errors for run in self.values())

    def reached(self, name: str, gap: float) -> dict[str, float] | None:
        """Return passes, oracle calls and seconds at the first evaluation with at most this gap.

        None if none.
        """
        rows = [row for row in self[name].history if row.gap <= gap]
        return {effort: getattr(rows[0], effort) for effort in EFFORTS} if rows else None

    def table(self) -> list[dict[str, object]]:
        """Return one row per solver.

        Where it ended, and what it took to each of `GAPS` (None if it never got there).
        """
        return [self._summary(run) for run in self.values()]

    def _summary(self, run: Run) -> dict[str, object]:
        values: dict[str, object] = {"solver": run.name}
        values.update({name: getattr(run.certificate, name) for name in ENDS})
        values["test_error"] = run.errors[-1] if run.errors else None
        values["memory_bytes"] = run.memory
        values["converged"] = run.certificate.converged
        for gap in GAPS:
            took = self.reached(run.name, gap) or dict.fromkeys(EFFORTS)
            values.update({f"{effort}_to_{gap:g}": value for effort, value in took.items()})
        return values

    def to_csv(self, path: str | Path) -> None:
        """Write the curves: one line per evaluation, with the solver's name, its history and test error."""
        columns = next(iter(self.values())).history.columns
        header = ["solver", *columns, "above_best_dual", *(["test_error"] if self.tested else [])]
        lines = (
            [run.name, *row, row.primal - self.best_dual, *run.errors[i : i + 1]]
            for run in self.values()
            for i, row in enumerate(run.history)
        )
        write_csv(path, header, lines)

    def table_to_csv(self, path: str | Path) -> None:
        """Write `table`; what does not exist is an empty cell."""
        rows = self.table()
        write_csv(path, list(rows[0]), ([*row.values()] for row in rows))

    def write(
        self,
        out: str | Path,
        *,
        title: str = "Solvers compared",
        about: Mapping[str, object] | None = None,
        error_name: str = "test error",
    ) -> Path:
        """Write a page, the figures as PNG and SVG, and the numbers as CSV into the folder `out`.

        Returns
        -------
        page : Path
            index.html, which needs no other file and no network.

        """
        from structlearn.reports.comparison_page import write_report

        return write_report(self, out, title=title, about=about or {}, error_name=error_name)


def compare(
    estimator: Trainable,
    X: object,
    y: object,
    solvers: Solvers | None = None,
    *,
    test: tuple[object, object] | Callable[[Trainable], float] | None = None,
    out: str | Path | None = None,
    separate: bool = False,
    tell: Callable[[str], object] | None = None,
) -> Comparison:
    """Train clones of `estimator` that differ in their solvers only.

    Parameters
    ----------
    estimator : estimator
        Its parameters are those of all runs: objective, stopping rule, threads and seed (0 if it has none).
    X, y : training data
    solvers : None, sequence or mapping
        Names of solvers or solver objects; or a mapping from names of your own to them, to pairs (name,
        options), so that variants of one solver can be compared, or to mappings of the estimator's
        parameters. Without it, those of `structlearn.solvers.registry.compared_solvers` that fit.
    test : pair (X, y) or callable, optional
        Test data, on which the error is 1 - estimator.score(X, y); or a function from an estimator to its
        error. Neither the clock nor the memory count the time and space of testing.
    out : path, optional
        Where to write the report (see `Comparison.write`).
    separate : bool
        Whether each run has a process of its own. A script then needs the usual
        ``if __name__ == "__main__"``, as with any use of `multiprocessing`.
    tell : callable, optional
        Gets a sentence at the end of each run.

    Returns
    -------
    Comparison

    """
    prepared = clone(estimator)
    if prepared.random_state is None:
        prepared.set_params(random_state=0)
    error = test if test is None or callable(test) else partial(_score_error, *test)
    chosen = chosen_estimators(prepared, solvers)
    jobs = [Job(name, one, X, y, error) for name, one in chosen.items()]
    runs = []
    for job in _rehearse_jobs(jobs, drop=solvers is None):
        runs.append((execute_apart if separate else execute)(job))
        if tell is not None:
            tell(f"{job.name}: {runs[-1].certificate.status}")
    shared = {name: value for name, value in prepared.get_params(deep=False).items() if name not in _UNSHARED}
    if "loss" in shared:
        shared["loss"] = next(iter(chosen.values())).get_params(deep=False)["loss"]
    tol = max(run.certificate.tolerance for run in runs)
    comparison = Comparison(runs, tol=tol, parameters={**shared, "separate": separate})
    if out is not None:
        comparison.write(out)
    return comparison


def chosen_estimators(estimator: Trainable, solvers: Solvers | None) -> dict[str, Trainable]:
    """Return clones of `estimator` by name, one per solver; ValueError if parameters do not fit."""
    if solvers is None:
        estimator = _of_one_loss({"": estimator})[""]
        fitting = {name: _with_solver(estimator, name) for name in compared_solvers()}
        return {name: one for name, one in fitting.items() if _is_taken(one)}
    named = solvers if isinstance(solvers, Mapping) else named_solvers(solvers)
    if not named:
        raise ValueError("There is no solver to compare; name at least one.")
    found = _of_one_loss({str(name): _with_solver(estimator, solver) for name, solver in named.items()})
    for one in found.values():
        one.check_parameters()
    return found


def named_solvers(solvers: Sequence[object]) -> dict[str, object]:
    """Return solvers by their names; ValueError if one is there twice."""
    if isinstance(solvers, str):
        solvers = [solvers]
    named: dict[str, object] = {}
    for solver in solvers:
        name = solver if isinstance(solver, str) else type(solver).__name__
        if name in named:
            raise ValueError(
                f"{name!r} is given twice; name variants in a mapping: {{'plain': {name!r}, 'other': ...}}."
            )
        named[name] = solver
    return named


def _with_solver(estimator: Trainable, solver: object) -> Trainable:
    if isinstance(solver, Mapping):
        return clone(estimator).set_params(**solver)
    name, options = solver if isinstance(solver, tuple) else (solver, None)
    return clone(estimator).set_params(solver=name, **({"solver_options": dict(options)} if options else {}))


def _of_one_loss(estimators: dict[str, Trainable]) -> dict[str, Trainable]:
    """Return the same estimator with one loss for "auto": the hinge where a solver trains nothing else."""
    open_ = [one for one in estimators.values() if getattr(one, "loss", "") == AUTO]
    losses = [one.chosen_loss().name for one in open_ if isinstance(one, StructuredEstimator)]
    for one in open_:
        one.set_params(loss="hinge" if "hinge" in losses else losses[0])
    return estimators


def _is_taken(estimator: Trainable) -> bool:
    try:
        estimator.check_parameters()
    except (ValueError, TypeError):
        return False
    return True


def _rehearse_jobs(jobs: Sequence[Job], *, drop: bool) -> list[Job]:
    """Return the jobs, each tried for a pass; one that refuses the problem is left out, or ends it all."""
    taken: list[Job] = []
    for job in jobs:
        try:
            rehearse_job(job)
        except (ValueError, NotImplementedError):
            if not drop or (job is jobs[-1] and not taken):
                raise
        else:
            taken.append(job)
    return taken


def _score_error(X: object, y: object, estimator: Trainable) -> float:
    return 1.0 - float(estimator.score(X, y))


def write_csv(path: str | Path, header: Sequence[str], lines: Iterable[Sequence[object]]) -> None:
    """Write a table; None is an empty cell."""
    with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)
