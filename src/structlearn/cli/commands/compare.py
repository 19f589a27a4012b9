"""`structlearn compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from structlearn.cli.commands.compare_decisions import DECISIONS, DecisionStudyOptions, study_decisions
from structlearn.cli.commands.compare_scaling import SCALING, ScalingOptions, study
from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.options import (
    Jobs,
    Json,
    Seed,
    argument,
    lambda_option,
    option,
    registry_names,
    switch,
)
from structlearn.cli.support.outputs import print_json
from structlearn.cli.support.stdin import input_file
from structlearn.cli.support.task_commands import TaskCommand, TaskGroup, command_of
from structlearn.cli.tasks.neural import refuse_networks
from structlearn.cli.tasks.options import TaskOptions, given_options
from structlearn.cli.tasks.registry import TASKS, TaskEntry
from structlearn.core.wording import plain

if TYPE_CHECKING:
    from structlearn.cli.tasks.task import Inputs, Task, Training
    from structlearn.reports.comparison import Comparison, Solvers
    from structlearn.reports.runs import Trainable


class RecipeName(NamedTuple):
    """An experiment by name; `apps.recipes`, which has it, takes seconds to import."""

    name: str
    what: str


RECIPES = {
    one.name: one
    for one in (
        RecipeName("scene", "a recipe: label sets with all pairs"),
        RecipeName("letters", "a recipe: handwritten words as chains"),
        RecipeName("triplets", "a recipe: which pair of three items is most alike?"),
        RecipeName("alignment", "a recipe: words matched one to one, also by a linear program"),
        RecipeName(SCALING, "a study of how solvers scale with the number of examples and with lambda"),
        RecipeName(DECISIONS, "a study of losses for decisions: SPO+ and its relatives beside regression"),
    )
}


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
    """What is compared."""

    out: Annotated[Path, option("DIR", "Folder for the report.")]
    solvers: Annotated[
        str | None,
        option(
            "A,B,...",
            "Solvers as for train.  [default: some that fit the loss]",
            values=registry_names("structlearn.solvers.registry:SOLVERS"),
        ),
    ] = None

    def names(self) -> list[str] | None:
        """Return the solvers that are named."""
        return None if self.solvers is None else [n.strip() for n in self.solvers.split(",") if n.strip()]


@dataclass(frozen=True)
class ComparedProblemOptions:
    """What is minimised by all of them."""

    regularization: Annotated[float | None, lambda_option("Lambda.  [default: as for train]")] = None
    tol: Annotated[float | None, option("X", "Stop at this gap.  [default: as for train]")] = None
    max_passes: Annotated[float | None, option("N", "Passes of each solver at most.  [default: 1000]")] = None
    max_seconds: Annotated[
        float | None, option("N", "Seconds of each solver at most.  [default: none; recipes: 60]")
    ] = None
    no_intercept: Annotated[bool, switch("--no-intercept", "Add no constant feature.")] = False
    seed: Seed = 0
    jobs: Jobs = 1

    def parameters(self) -> dict[str, object]:
        """Return the parameters of every estimator that were given."""
        names = ("regularization", "tol", "max_passes", "max_seconds")
        fixed = {"fit_intercept": False} if self.no_intercept else {}
        return {**given_options(self, *names), **fixed, "random_state": self.seed, "n_jobs": self.jobs}


Separate = Annotated[bool, switch("--separate", "Run each solver in a process of its own.")]
DataDir = Annotated[
    Path | None, option("DIR", "Folder of a recipe's data.  [default: see data path]", "--data")
]


@handling_errors()
def compare_solvers(
    entry: TaskEntry,
    data: Annotated[Path, argument("DATA", "Training data of the task; - for stdin.")],
    comparison: ComparisonOptions,
    own: TaskOptions,
    problem: ComparedProblemOptions,
    test: Annotated[Path | None, option("DATA", "Data on which the task's error is measured.")] = None,
    target: Annotated[str | None, option("NAME[,NAME]", "{target}")] = None,
    separate: Separate = False,
    as_json: Json = False,
) -> None:
    """Run several solvers on the problem that train would solve, and write a report to DIR.

    DIR gets index.html, which opens without a network, the figures as .png and .svg, and the numbers as .csv.
    Ctrl-C ends the solver that runs, and the next one begins; with --separate, it ends the comparison.
    """
    refuse_networks(own, "compare")
    _check_folder(comparison.out)
    task = entry.with_options(own)
    compared = _task(task, data, problem, comparison, target, test)
    found = _run(compared, comparison.out, f"Solvers on {entry.name}", separate=separate)
    _print(found, comparison.out / "index.html", as_json=as_json)


@handling_errors()
def compare_recipe(
    entry: RecipeName,
    comparison: ComparisonOptions,
    choices: RecipeOptions,
    problem: ComparedProblemOptions,
    data_dir: DataDir = None,
    full: Annotated[bool, switch("--full", "letters, triplets: train on more data.")] = False,
    pairs: Annotated[int | None, option("N", "alignment: pairs to train on.  [default: 100]", min=1)] = None,
    separate: Separate = False,
    as_json: Json = False,
) -> None:
    """Run several solvers on an experiment of the method's papers, and write a report to DIR.

    A recipe has its own data and parameters. It looks for its data in --data, then where `structlearn data`
    keeps it; triplets makes its own from handwritten digits if need be, alignment takes a small corpus that
    comes with structlearn.
    """
    _check_folder(comparison.out)
    size = RecipeSize(data_dir, full, pairs)
    compared = _recipe(
        entry.name,
        {**problem.parameters(), **_recipe_flags(entry.name, given_options(choices))},
        comparison,
        size,
    )
    found = _run(compared, comparison.out, f"Solvers on {entry.name}", separate=separate)
    _print(found, comparison.out / "index.html", as_json=as_json)


@handling_errors()
def compare_scaling(
    entry: RecipeName,
    comparison: ComparisonOptions,
    scaling: ScalingOptions,
    data_dir: DataDir = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Study how solvers scale: what each takes to gaps of 0.1, 0.01 and 0.001, for 100 examples up to all.

    Lambda goes from 1 to 1/n. Processor seconds, passes, oracle calls and memory are noted. Each run has a
    process of its own, --jobs of them at once, and is kept as it ends: the same command goes on where it was
    ended.
    """
    _check_folder(comparison.out)
    study(comparison.out, scaling, solvers=comparison.names(), data=data_dir, seed=seed, jobs=jobs)


@handling_errors()
def compare_decisions(entry: RecipeName, study: DecisionStudyOptions, jobs: Jobs = 1) -> None:
    """Study what training for the decision saves, on generated shortest paths and knapsacks.

    Costs are polynomials of degree 1, 2, 4 and 6 of the features, with and without noise; there are 100,
    1,000 and 5,000 examples, and ten seeds. Lambda is chosen by the regret on validation examples. Each data
    set is kept as it ends: the same command goes on where it was ended.
    """
    _check_folder(study.out)
    study_decisions(study, jobs)


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"Cannot write into {out}: it is a file, not a folder.")


def _refuse(what: str, values: Mapping[str, object], reason: str) -> None:
    """Raise ValueError for options that were given but do not go with the task or recipe."""
    for name, value in values.items():
        if value not in (None, False):
            raise ValueError(f"{name} does not go with {what}: {reason}.")


# ---- what is compared on --------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecipeOptions:
    """What may be chosen of some recipes."""

    loss: Annotated[str | None, option("L", "As for train.")] = None
    penalty: Annotated[str | None, option("P", "As for train.")] = None
    l1_ratio: Annotated[float | None, option("X", "As for train.")] = None
    cost: Annotated[str | None, option("C", "As for train.")] = None
    edges: Annotated[str | None, option("E", "scene: pairs with weights: all, tree or none.")] = None
    boundaries: Annotated[bool, switch("--boundaries", "letters: weights for first and last labels.")] = False


class RecipeSize(NamedTuple):
    """Where a recipe's data is, and how much of it is taken."""

    data: Path | None
    full: bool
    pairs: int | None


def _recipe_flags(what: str, given: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that the given flags stand for."""
    from structlearn.apps.recipes import RECIPES

    known = RECIPES[what].flags
    flags = {name.replace("_", "-"): value for name, value in given.items()}
    _refuse(what, {f"--{flag}": flags[flag] for flag in flags if flag not in known}, "it has no such choice")
    return {name: value for flag, value in flags.items() for name in known[flag]}


def _recipe(
    what: str, parameters: dict[str, object], wanted: ComparisonOptions, size: RecipeSize
) -> ComparedProblem:
    from structlearn.apps.recipes import RECIPES
    from structlearn.reports.comparison import chosen_estimators

    recipe = RECIPES[what]
    if not recipe.sized:
        _refuse(what, {"--pairs": size.pairs}, "its size is given")
    estimator = recipe.estimator(**{**recipe.parameters, **parameters})
    estimator.check_parameters()
    solvers = recipe.solvers(wanted.names(), size.pairs)
    chosen_estimators(estimator, solvers)
    problem = recipe.problem(size.data, full=size.full, n=size.pairs)
    say(f"Read {problem.summary}.")
    about: dict[str, object] = {"experiment": recipe.what, "data": problem.summary}
    return ComparedProblem(estimator, problem.X, problem.y, solvers, problem.error, recipe.error_name, about)


def _task(
    task: Task,
    data: Path,
    problem: Any,
    wanted: ComparisonOptions,
    target: str | None,
    test: Path | None,
) -> ComparedProblem:
    from structlearn.reports.comparison import chosen_estimators

    model, names = task.model(problem), wanted.names()
    chosen_estimators(task.estimator_to_train(model), names)
    training = task.training(input_file(data), target)
    say(f"Read {training.summary} from {data}.")
    estimator, training = task.laid_out(task.adapt(model, training, problem), training)
    about: dict[str, object] = {"task": task.name, "training data": plain(f"{data}: {training.summary}")}
    error = None
    if test is not None:
        error = _test(task.name, training, test)
        about["test data"] = plain(test)
    error_name = f"test error ({task.error_name})"
    return ComparedProblem(estimator, training.X, training.y, names, error, error_name, about)


def _test(what: str, training: Training, path: Path) -> TaskError:
    from structlearn.cli.tasks.registry import TASKS
    from structlearn.estimators.files.persistence import Bundle

    bundle = Bundle(None, training.notes, training.texts, training.arrays, training.bundled)
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
        from structlearn.cli.tasks.registry import TASKS
        from structlearn.estimators.files.persistence import Bundle

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
    """Print where each run ended."""
    from structlearn.core.wording import align_columns
    from structlearn.reports.tables import final_row

    if as_json:
        ends = [
            {"solver": run.name, **run.certificate.as_dict(), "memory": run.memory}
            | {"error": run.errors[-1] if run.errors else None}
            for run in found.values()
        ]
        print_json({"runs": ends, "page": page})
        return
    columns = ("solver", "gap", "primal", "dual", "passes", "seconds", "error", "memory")
    rows = [final_row(run) for run in found.values()]
    print(align_columns([columns, *([row[name] for name in columns] for row in rows)]))
    print(f"\npage: {page}")


class CompareCommand(TaskCommand):
    """Of `compare`: what is compared below the options of the task."""

    written = "DIR"
    sections: ClassVar = {
        "Comparison": ("out", "solvers", "test", "target", "separate"),
        "Problem": tuple(one.name for one in fields(ComparedProblemOptions)),
    }


class CompareGroup(TaskGroup):
    """`structlearn compare TASK | RECIPE | scaling`."""

    run = staticmethod(compare_solvers)
    command = CompareCommand
    without = ("checkpoint", "checkpoint_seconds", "resume", "memory", "cluster", "continue_")

    def list_commands(self, ctx: Any) -> list[str]:
        return [*TASKS, *RECIPES]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in RECIPES:
            return super().get_command(ctx, cmd_name)
        studies: dict[str, Callable[..., None]] = {SCALING: compare_scaling, DECISIONS: compare_decisions}
        run = studies.get(cmd_name, compare_recipe)
        return command_of(run, RECIPES[cmd_name], CompareCommand)

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of tasks, then those of recipes."""
        return [*super().rows(), *((one.name, one.what) for one in RECIPES.values())]

    def refuse(self, ctx: Any, wanted: str) -> None:
        from structlearn.core.registry import one_of

        if not wanted:
            super().refuse(ctx, wanted)
        one_of("task or recipe", wanted, self.list_commands(ctx))
