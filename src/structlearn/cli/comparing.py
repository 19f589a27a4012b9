"""`structlearn compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from structlearn.cli import options
from structlearn.cli.errors import handling_errors, say
from structlearn.cli.groups import grouped
from structlearn.cli.options import argument, lambda_option, option, switch
from structlearn.cli.outputs import print_json
from structlearn.cli.scaling import SCALING, ScalingOptions, study
from structlearn.cli.stdin import input_file
from structlearn.cli.table_options import TableOptions
from structlearn.core.wording import plain

if TYPE_CHECKING:
    from structlearn.cli.task import Inputs, Training
    from structlearn.reports.comparison import Comparison, Solvers
    from structlearn.reports.runs import Trainable


class ComparedProblem(NamedTuple):
    """What is compared on: an estimator whose solver is open, and its data."""

    estimator: Trainable
    X: object
    y: object
    #: as `structlearn.reports.compare` takes them
    solvers: Solvers | None
    error: Callable[[Trainable], float] | None
    error_name: str
    about: dict[str, object]


@dataclass(frozen=True)
class ComparisonOptions:
    """What is compared, and on what data."""

    out: Annotated[Path, option("DIR", "Folder for the report.")]
    solvers: Annotated[
        str | None, option("A,B,...", "Solvers as for train.  [default: some that fit the loss]")
    ] = None
    test: Annotated[Path | None, option("DATA", "Data on which a task's error is measured.")] = None
    data_dir: Annotated[
        Path | None, option("DIR", "Folder of a recipe's data.  [default: see data path]", "--data")
    ] = None
    full: Annotated[bool, switch("--full", "letters, triplets: train on more data.")] = False
    pairs: Annotated[int | None, option("N", "alignment: pairs to train on.  [default: 100]", min=1)] = None
    separate: Annotated[bool, switch("--separate", "One process per solver.")] = False

    def of_one(self) -> dict[str, object]:
        """What belongs to the comparison of one problem, by flags."""
        flags = ("test", "full", "pairs", "separate")
        return {f"--{name}": getattr(self, name) for name in flags}

    def names(self) -> list[str] | None:
        """The solvers that are named."""
        return None if self.solvers is None else [n.strip() for n in self.solvers.split(",") if n.strip()]


@dataclass(frozen=True)
class ComparedProblemOptions:
    """What is minimised by all of them."""

    loss: options.Loss = None
    penalty: options.Penalty = None
    l1_ratio: options.L1Ratio = None
    regularization: Annotated[
        float | None, lambda_option("Lambda, as for train.  [default: 0.01; graph, grid: auto]")
    ] = None
    cost: options.Cost = None
    tol: Annotated[float | None, option("X", "Stop at this gap, as for train.  [default: 0.001]")] = None
    max_passes: Annotated[float | None, option("N", "Passes of each solver at most.  [default: 1000]")] = None
    max_seconds: Annotated[
        float | None, option("N", "Seconds of each solver at most.  [default: none; recipes: 60]")
    ] = None
    no_intercept: options.NoIntercept = False
    seed: options.Seed = 0
    jobs: options.Jobs = 1

    def of_one(self) -> dict[str, object]:
        """What belongs to one problem and one run, by flags."""
        names = ("regularization", "tol", "max_passes", "max_seconds", "no_intercept")
        return {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}

    def parameters(self) -> dict[str, object]:
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
class ComparedTaskOptions(TableOptions):
    """What only some tasks have."""

    target: options.Target = None
    edges: options.Edges = None
    boundaries: options.Boundaries = False

    def reading(self) -> dict[str, object]:
        """How a table is read, by flags; None where nothing is said."""
        return {"text": self.text or None, "ignore": self.ignore or None, "no-scale": self.no_scale or None}


@handling_errors()
@grouped
def compare(
    what: Annotated[
        str,
        argument("TASK|RECIPE", "{tasks}, with DATA; or scene, letters, triplets or alignment; or scaling."),
    ],
    comparison: ComparisonOptions,
    scaling: ScalingOptions,
    problem: ComparedProblemOptions,
    of_task: ComparedTaskOptions,
    data: Annotated[Path | None, argument("[DATA]", "Training data of a task; - for stdin.")] = None,
    as_json: options.Json = False,
) -> None:
    """Run several solvers on the same objective, and write a report with curves and tables to DIR.

    A task reads DATA as train does. A recipe is an experiment of the method's papers with its own data and
    parameters: scene (label sets with all pairs), letters (handwritten words as chains), triplets (which pair
    of three items is most alike?), alignment (words matched one to one, also by a linear program). Recipes
    look for their data in --data, then where `structlearn data` keeps it; triplets makes its own from
    handwritten digits if need be, alignment takes a small corpus that comes with structlearn.

    scaling is a study of how solvers scale: processor seconds, passes, oracle calls and memory to gaps of
    0.1, 0.01 and 0.001, for 100 examples up to all, lambda from 1 to 1/n. Each run has a process of its own,
    --jobs of them at once, and is kept as it ends: the same command goes on where it was ended.

    DIR gets index.html, which opens without a network, the figures as .png and .svg, and the numbers as .csv.
    Ctrl-C ends the solver that runs, and the next one begins; with --separate, it ends the comparison.
    """
    given = problem.parameters()
    flags = {
        "loss": problem.loss,
        "penalty": problem.penalty,
        "l1-ratio": problem.l1_ratio,
        "cost": problem.cost,
        "edges": of_task.edges,
        "boundaries": of_task.boundaries,
        **of_task.reading(),
    }
    if comparison.out.exists() and not comparison.out.is_dir():
        raise NotADirectoryError(f"Cannot write into {comparison.out}: it is a file, not a folder.")
    if what == SCALING:
        theirs: dict[str, object] = {
            "DATA": data,
            "--target": of_task.target,
            "--json": as_json,
            **{f"--{name}": flags[name] for name in flags},
        }
        _study(comparison, scaling, problem, theirs)
        return
    is_recipe = _is_recipe(what)
    _refuse(what, scaling.given(), f"only {SCALING} has it")
    if is_recipe:
        own = {"DATA": data, "--test": comparison.test, "--target": of_task.target}
        _refuse(what, own, "it has data of its own (--data DIR)")
        compared = _recipe(what, {**given, **_recipe_flags(what, flags)}, comparison)
    else:
        theirs = {"--data": comparison.data_dir, "--full": comparison.full, "--pairs": comparison.pairs}
        _refuse(what, theirs, "only recipes have them")
        if data is None:
            raise ValueError(f"The task {what} needs DATA to train on.")
        compared = _task(what, data, given, flags, comparison, of_task.target)
    found = _run(compared, comparison.out, f"Solvers on {what}", separate=comparison.separate)
    _print(found, comparison.out / "index.html", as_json=as_json)


def _study(
    comparison: ComparisonOptions,
    scaling: ScalingOptions,
    problem: ComparedProblemOptions,
    theirs: Mapping[str, object],
) -> None:
    """A study of its own grid; `theirs` is what tasks take."""
    _refuse(SCALING, {**theirs, **comparison.of_one(), **problem.of_one()}, "it is over a grid of its own")
    study(
        comparison.out,
        scaling,
        solvers=comparison.names(),
        data=comparison.data_dir,
        seed=problem.seed,
        jobs=problem.jobs,
    )


def _is_recipe(what: str) -> bool:
    from structlearn.apps.recipes import RECIPES
    from structlearn.cli.registry import TASKS
    from structlearn.core.registry import one_of

    return one_of("task or recipe", what, [*TASKS, *RECIPES, SCALING]) in RECIPES


def _refuse(what: str, values: Mapping[str, object], reason: str) -> None:
    """ValueError for what was given but does not go with the task or recipe."""
    for name, value in values.items():
        if value not in (None, False):
            raise ValueError(f"{name} does not go with {what}: {reason}.")


# ---- what is compared on --------------------------------------------------------------------------------


def _recipe_flags(what: str, flags: Mapping[str, object]) -> dict[str, object]:
    """Parameters that the flags which were given stand for."""
    from structlearn.apps.recipes import RECIPES

    known = RECIPES[what].flags
    _refuse(what, {f"--{flag}": flags[flag] for flag in flags if flag not in known}, "it has no such choice")
    given = {flag: value for flag, value in flags.items() if value not in (None, False)}
    return {name: value for flag, value in given.items() for name in known[flag]}


def _recipe(what: str, parameters: dict[str, object], wanted: ComparisonOptions) -> ComparedProblem:
    from structlearn.apps.recipes import RECIPES
    from structlearn.reports.comparison import chosen_estimators

    recipe = RECIPES[what]
    if not recipe.sized:
        _refuse(what, {"--pairs": wanted.pairs}, "its size is given")
    estimator = recipe.estimator(**{**recipe.parameters, **parameters})
    estimator.check_parameters()
    solvers = recipe.solvers(wanted.names(), wanted.pairs)
    chosen_estimators(estimator, solvers)
    problem = recipe.problem(wanted.data_dir, full=wanted.full, n=wanted.pairs)
    say(f"Read {problem.summary}.")
    about: dict[str, object] = {"experiment": recipe.what, "data": problem.summary}
    return ComparedProblem(estimator, problem.X, problem.y, solvers, problem.error, recipe.error_name, about)


def _task(
    what: str,
    data: Path,
    given: Mapping[str, object],
    flags: Mapping[str, object],
    wanted: ComparisonOptions,
    target: str | None,
) -> ComparedProblem:
    from structlearn.cli.tasks import task_named, task_parameters
    from structlearn.cli.training import checked_estimator
    from structlearn.reports.comparison import chosen_estimators

    parameters = task_parameters(what, flags)
    reading: dict[str, Any] = {
        "text": flags["text"],
        "ignore": flags["ignore"],
        "no_scale": flags["no-scale"],
    }
    task, names = task_named(what).with_options(**reading), wanted.names()
    estimator = checked_estimator(task.estimator, **given, **parameters)
    chosen_estimators(estimator, names)
    training = task.training(input_file(data), target)
    task.check_training(estimator, training)
    say(f"Read {training.summary} from {data}.")
    if "row_transformer" in training.parameters:
        estimator.set_params(row_transformer=training.parameters["row_transformer"])
    about: dict[str, object] = {"task": what, "training data": plain(f"{data}: {training.summary}")}
    error = None
    if wanted.test is not None:
        error = _test(what, training, wanted.test)
        about["test data"] = plain(wanted.test)
    error_name = f"test error ({task.error_name})"
    return ComparedProblem(estimator, training.X, training.y, names, error, error_name, about)


def _test(what: str, training: Training, path: Path) -> TaskError:
    from structlearn.cli.registry import TASKS
    from structlearn.estimators.persistence import Bundle

    bundle = Bundle(None, training.notes, training.texts, training.arrays)
    inputs = TASKS[what].task.inputs(input_file(path), bundle, labels=True)
    if inputs.y is None:
        raise ValueError(f"{path} has no labels to compare with.")
    return TaskError(what, training.notes, inputs)


@dataclass(frozen=True)
class TaskError:
    """From an estimator to its error on test data, as `evaluate` judges."""

    task: str
    notes: dict[str, object]
    inputs: Inputs

    def __call__(self, estimator: Trainable) -> float:
        from structlearn.cli.registry import TASKS
        from structlearn.estimators.persistence import Bundle

        task, predicted = TASKS[self.task].task, estimator.predict(self.inputs.X)
        return task.error(task.evaluate(Bundle(estimator, self.notes), self.inputs.y, predicted).values)


# ---- the run ---------------------------------------------------------------------------------------


def _run(compared: ComparedProblem, out: Path, title: str, *, separate: bool) -> Comparison:
    from structlearn import reports
    from structlearn.storage.atomic import check_writable, make_folder

    check_writable(make_folder(out) / "index.html")
    try:
        found = reports.compare(
            compared.estimator,
            compared.X,
            compared.y,
            compared.solvers,
            test=compared.error,
            separate=separate,
            tell=say,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Interrupted: nothing was written.") from None
    found.write(out, title=title, about=compared.about, error_name=compared.error_name)
    return found


def _print(found: Comparison, page: Path, *, as_json: bool) -> None:
    """Where each run ended."""
    from structlearn.core.text_width import aligned
    from structlearn.reports.tables import ended

    if as_json:
        ends = [
            {"solver": run.name, **run.certificate.as_dict(), "memory": run.memory}
            | {"error": run.errors[-1] if run.errors else None}
            for run in found.values()
        ]
        print_json({"runs": ends, "page": page})
        return
    columns = ("solver", "gap", "primal", "dual", "passes", "seconds", "error", "memory")
    rows = [ended(run) for run in found.values()]
    print(aligned([columns, *([row[name] for name in columns] for row in rows)]))
    print(f"\npage: {page}")
