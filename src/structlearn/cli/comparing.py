"""`structlearn compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from structlearn.cli.errors import handling_errors, say
from structlearn.cli.groups import grouped
from structlearn.cli.options import Boundaries, Cost, Edges, Jobs, Loss, NoIntercept, Penalty, Seed, Target
from structlearn.core.wording import plain


class Experiment(NamedTuple):
    """What is compared on: an estimator whose solver is open, and its data."""

    estimator: Any
    X: Any
    y: Any
    #: as `structlearn.reports.compare` takes them
    solvers: Any
    error: Callable[[Any], float] | None
    error_name: str
    about: dict[str, Any]


@dataclass(frozen=True)
class ComparisonOptions:
    """What is compared, and on what data."""

    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the report.", show_default=False)]
    solvers: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Solvers as for train.  [default: some that fit the loss]"),
    ] = None
    test: Annotated[
        Path | None, typer.Option(metavar="DATA", help="Data on which a task's error is measured.")
    ] = None
    data_dir: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Folder of a recipe's data.  [default: see data path]"),
    ] = None
    full: Annotated[bool, typer.Option("--full", help="letters, triplets: train on more data.")] = False
    pairs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="alignment: pairs to train on.  [default: 100]")
    ] = None
    separate: Annotated[bool, typer.Option("--separate", help="One process a solver.")] = False

    def names(self) -> list[str] | None:
        """The solvers that are named."""
        return None if self.solvers is None else [n.strip() for n in self.solvers.split(",") if n.strip()]


@dataclass(frozen=True)
class ComparedProblemOptions:
    """What is minimised by all of them."""

    loss: Loss = None
    penalty: Penalty = None
    regularization: Annotated[
        float | None, typer.Option(metavar="X", help="Lambda, as for train.  [default: 0.01]")
    ] = None
    cost: Cost = None
    tol: Annotated[
        float | None, typer.Option(metavar="X", help="Stop at this gap, as for train.  [default: 0.001]")
    ] = None
    max_passes: Annotated[
        float | None, typer.Option(metavar="N", help="Passes of each solver at most.  [default: 1000]")
    ] = None
    max_seconds: Annotated[
        float | None,
        typer.Option(metavar="N", help="Seconds of each solver at most.  [default: none; recipes: 60]"),
    ] = None
    no_intercept: NoIntercept = False
    seed: Seed = 0
    jobs: Jobs = 1

    def parameters(self) -> dict[str, Any]:
        """What was given of the parameters of every estimator."""
        given = {
            "regularization": self.regularization,
            "tol": self.tol,
            "max_passes": self.max_passes,
            "max_seconds": self.max_seconds,
            "fit_intercept": False if self.no_intercept else None,
            "random_state": self.seed,
            "n_jobs": self.jobs,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class ComparedTaskOptions:
    """What only some tasks have."""

    target: Target = None
    edges: Edges = None
    boundaries: Boundaries = False


@handling_errors()
@grouped
def compare(
    what: Annotated[
        str,
        typer.Argument(
            metavar="TASK|RECIPE",
            help="{tasks}, with DATA; or scene, letters, triplets or alignment.",
            show_default=False,
        ),
    ],
    comparison: ComparisonOptions,
    problem: ComparedProblemOptions,
    of_task: ComparedTaskOptions,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="Training data of a task, plain or .gz.", show_default=False),
    ] = None,
) -> None:
    """Run several solvers on the same objective, and write a report with curves and tables to DIR.

    A task reads DATA as train does. A recipe is an experiment of the method's papers with its own data and
    parameters: scene (label sets with all pairs), letters (handwritten words as chains), triplets (which pair
    of three items is most alike?), alignment (words matched one to one, also by a linear program). Recipes
    look for their data in --data, then where `structlearn data` keeps it; triplets makes its own from
    handwritten digits if need be, alignment takes a small corpus that comes with structlearn.

    DIR gets index.html, which opens without a network, the figures as .png and .svg, and the numbers as .csv.
    Ctrl-C ends the solver that runs, and the next one begins; with --separate, it ends the comparison.
    """
    names, given = comparison.names(), problem.parameters()
    flags = {
        "loss": problem.loss,
        "penalty": problem.penalty,
        "cost": problem.cost,
        "edges": of_task.edges,
        "boundaries": of_task.boundaries,
    }
    _check_folder(comparison.out)
    if _is_recipe(what):
        own = {"DATA": data, "--test": comparison.test, "--target": of_task.target}
        _refuse(what, own, "it has data of its own (--data DIR)")
        experiment = _recipe(what, names, {**given, **_recipe_flags(what, flags)}, comparison)
    else:
        theirs = {"--data": comparison.data_dir, "--full": comparison.full, "--pairs": comparison.pairs}
        _refuse(what, theirs, "only recipes have them")
        experiment = _task(what, names, given, flags, Files(data, comparison.test, of_task.target))
    _run(experiment, comparison.out, f"Solvers on {what}", separate=comparison.separate)


class Files(NamedTuple):
    """What a task reads."""

    data: Path | None
    test: Path | None
    target: str | None


def _is_recipe(what: str) -> bool:
    from structlearn.apps.recipes import RECIPES
    from structlearn.cli.registry import TASKS
    from structlearn.core.registry import one_of

    return one_of("task or recipe", what, [*TASKS, *RECIPES]) in RECIPES


def _refuse(what: str, values: Mapping[str, Any], reason: str) -> None:
    """ValueError for what was given but does not go with the task or recipe."""
    for name, value in values.items():
        if value not in (None, False):
            raise ValueError(f"{name} does not go with {what}: {reason}.")


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"Cannot write into {out}: it is a file, not a folder.")


# ---- the experiment --------------------------------------------------------------------------------


def _recipe_flags(what: str, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that the flags which were given stand for."""
    from structlearn.apps.recipes import RECIPES

    known = RECIPES[what].flags
    _refuse(what, {f"--{flag}": flags[flag] for flag in flags if flag not in known}, "it has no such choice")
    given = {flag: value for flag, value in flags.items() if value not in (None, False)}
    return {name: value for flag, value in given.items() for name in known[flag]}


def _recipe(
    what: str, names: list[str] | None, parameters: dict[str, Any], wanted: ComparisonOptions
) -> Experiment:
    from structlearn.apps.recipes import RECIPES
    from structlearn.reports.comparison import chosen_estimators

    recipe = RECIPES[what]
    if not recipe.sized:
        _refuse(what, {"--pairs": wanted.pairs}, "its size is given")
    estimator = recipe.estimator(**{**recipe.parameters, **parameters})
    estimator.check_parameters()
    solvers = recipe.solvers(names, wanted.pairs)
    chosen_estimators(estimator, solvers)
    problem = recipe.problem(wanted.data_dir, full=wanted.full, n=wanted.pairs)
    say(f"Read {problem.summary}.")
    about = {"experiment": recipe.what, "data": problem.summary}
    return Experiment(estimator, problem.X, problem.y, solvers, problem.error, recipe.error_name, about)


def _task(
    what: str,
    names: list[str] | None,
    given: dict[str, Any],
    flags: Mapping[str, Any],
    files: Files,
) -> Experiment:
    from structlearn.cli.tasks import task_named, task_parameters
    from structlearn.cli.training import checked_estimator
    from structlearn.reports.comparison import chosen_estimators

    if files.data is None:
        raise ValueError(f"The task {what} needs DATA to train on.")
    task = task_named(what)
    estimator = checked_estimator(task.estimator, **given, **task_parameters(what, flags))
    chosen_estimators(estimator, names)
    training = task.training(files.data, files.target)
    task.check_training(estimator, training)
    say(f"Read {training.summary} from {files.data}.")
    error = None if files.test is None else _test(what, training, files.test)
    about: dict[str, Any] = {"task": what, "training data": plain(f"{files.data}: {training.summary}")}
    if files.test is not None:
        about["test data"] = plain(files.test)
    return Experiment(
        estimator, training.X, training.y, names, error, f"test error ({task.error_name})", about
    )


def _test(what: str, training: Any, path: Path) -> TaskError:
    from structlearn.cli.registry import TASKS
    from structlearn.estimators.persistence import Bundle

    bundle = Bundle(None, training.notes, training.texts, training.arrays)
    inputs = TASKS[what].task.inputs(path, bundle, labels=True)
    if inputs.y is None:
        raise ValueError(f"{path} has no labels to compare with.")
    return TaskError(what, training.notes, inputs)


@dataclass(frozen=True)
class TaskError:
    """From an estimator to its error on test data, as `evaluate` judges."""

    task: str
    notes: dict[str, Any]
    inputs: Any

    def __call__(self, estimator: Any) -> float:
        from structlearn.cli.registry import TASKS
        from structlearn.estimators.persistence import Bundle

        task, predicted = TASKS[self.task].task, estimator.predict(self.inputs.X)
        return task.error(task.evaluate(Bundle(estimator, self.notes), self.inputs.y, predicted).values)


# ---- the run ---------------------------------------------------------------------------------------


def _run(experiment: Experiment, out: Path, title: str, *, separate: bool) -> None:
    from structlearn import reports
    from structlearn.storage.atomic import check_writable, make_folder

    check_writable(make_folder(out) / "index.html")
    try:
        found = reports.compare(
            experiment.estimator,
            experiment.X,
            experiment.y,
            experiment.solvers,
            test=experiment.error,
            separate=separate,
            tell=say,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Interrupted: nothing was written.") from None
    page = found.write(out, title=title, about=experiment.about, error_name=experiment.error_name)
    print(_table(found))
    print(f"\npage: {page}")


def _table(comparison: Any) -> str:
    from structlearn.reports.tables import aligned, brief, size

    header = ("solver", "gap", "primal", "dual", "passes", "seconds", "error", "memory")
    rows = [
        (
            row["solver"],
            brief(row["gap"], 3),
            *(brief(row[name], 6) for name in ("primal", "dual")),
            *(brief(row[name], 3) for name in ("passes", "seconds")),
            brief(row["test_error"]),
            size(row["memory_bytes"]),
        )
        for row in comparison.table()
    ]
    return aligned([header, *rows])
