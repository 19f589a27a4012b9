"""`structlearn train`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from structlearn.cli.errors import NO_MODEL, convergence_warnings, handling_errors, say
from structlearn.cli.groups import grouped
from structlearn.cli.options import (
    Boundaries,
    CheckpointDir,
    CheckpointSeconds,
    Cluster,
    Columns,
    Cost,
    Edges,
    HashBits,
    Jobs,
    Label,
    Loss,
    ManyRoots,
    Memory,
    MinCount,
    NoIntercept,
    NonProjective,
    Penalty,
    Resume,
    Seed,
    Target,
    TaskName,
    Templates,
    Transitions,
)
from structlearn.cli.outputs import check_output


@dataclass(frozen=True)
class ProblemOptions:
    """What is minimised, and by what."""

    loss: Loss = None
    penalty: Penalty = None
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="G,G,...",
            help="regress with --penalty group: the group of each feature, a number or a name, in the order "
            "of the file's features (the target is none).",
        ),
    ] = None
    solver: Annotated[str, typer.Option(metavar="S", help="{solvers}")] = "auto"
    regularization: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Lambda, the weight of the penalty (l2: of ||w||^2/2).  [default: 0.01; for words 1 over "
            "the number of sentences]",
        ),
    ] = None
    cost: Cost = None
    tol: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Stop when the duality gap is at most this (regress: this share of the objective at zero).  "
            "[default: 0.001; for words, 0.01; parse: 0.2]",
        ),
    ] = None
    max_passes: Annotated[
        float, typer.Option(metavar="N", help="Stop after so many passes over the data.")
    ] = 1000
    max_seconds: Annotated[
        float | None, typer.Option(metavar="N", help="Stop after so many seconds.  [default: no limit]")
    ] = None
    no_intercept: NoIntercept = False
    seed: Seed = 0
    jobs: Jobs = 1

    def chosen(self) -> dict[str, Any]:
        """What was given of the parameters that depend on the task's data unless given."""
        named = {name: getattr(self, name) for name in ("loss", "cost", "regularization", "tol")}
        return {name: value for name, value in named.items() if value is not None}

    def parameters(self) -> dict[str, Any]:
        """Parameters of every estimator."""
        numbers = {name: value for name, value in self.chosen().items() if name in ("regularization", "tol")}
        return {
            "solver": self.solver,
            "max_passes": self.max_passes,
            "max_seconds": self.max_seconds,
            "fit_intercept": not self.no_intercept,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            **numbers,
        }

    def flags(self) -> dict[str, Any]:
        """What only some tasks have."""
        groups = None if self.groups is None else [name.strip() for name in self.groups.split(",")]
        return {"loss": self.loss, "penalty": self.penalty, "groups": groups, "cost": self.cost}


@dataclass(frozen=True)
class RunOptions:
    """Where and how training runs, and what it leaves behind."""

    history: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write the trace of primal, dual and gap.")
    ] = None
    checkpoint: CheckpointDir = None
    checkpoint_seconds: CheckpointSeconds = 60.0
    resume: Resume = False
    memory: Memory = None
    cluster: Cluster = None

    def flags(self) -> dict[str, Any]:
        """What only some tasks have."""
        return {"checkpoint": self._checkpoint(), "memory": self.memory}

    def _checkpoint(self) -> Any:
        if self.checkpoint is None:
            if self.resume:
                raise ValueError("--resume goes on from a checkpoint: say where it is with --checkpoint DIR.")
            return None
        from structlearn.estimators.choices import check_number
        from structlearn.solvers import Checkpoint

        seconds = check_number("checkpoint-seconds", self.checkpoint_seconds)
        return Checkpoint(self.checkpoint, seconds, self.resume)


@dataclass(frozen=True)
class ReadingOptions:
    """How files are read."""

    target: Target = None
    label: Label = None
    columns: Columns = None
    templates: Templates = None
    transitions: Transitions = None
    min_count: MinCount = None
    hash_bits: HashBits = None

    def of_words(self) -> dict[str, Any]:
        """All but the target, which is of tables."""
        return {name: value for name, value in asdict(self).items() if name != "target"}


@dataclass(frozen=True)
class OutputOptions:
    """What outputs are like."""

    edges: Edges = None
    boundaries: Boundaries = False
    non_projective: NonProjective = False
    many_roots: ManyRoots = False


@handling_errors()
@grouped
def train(
    task: TaskName,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Training data, plain or .gz; or a folder that data pack wrote.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="MODEL", help="Model file to write.", show_default=False)],
    problem: ProblemOptions,
    run: RunOptions,
    reading: ReadingOptions,
    outputs: OutputOptions,
    verbose: Annotated[bool, typer.Option("--verbose", help="A line on stderr at each evaluation.")] = False,
) -> None:
    """Train a model, write it to MODEL, and print the certificate: how far from optimal it is at most.

    {files}

    Ctrl-C ends training early; the best model so far is written. With --checkpoint nothing is lost if the
    machine stops: --resume gives the model that training without the interruption would have given.
    """
    from structlearn.cli.tasks import task_named, task_parameters

    chosen = task_named(task).with_options(**reading.of_words())
    given = {**problem.flags(), **asdict(outputs), **reading.of_words(), **run.flags()}
    parameters = task_parameters(task, {name.replace("_", "-"): value for name, value in given.items()})
    out_file = check_output(out, others=[data])
    history_file = check_output(run.history, others=[data, out])
    if "checkpoint" in parameters:
        parameters["checkpoint"].check()
    estimator = checked_estimator(
        chosen.estimator, verbose=int(verbose), **problem.parameters(), **parameters
    )
    with _clients(run.cluster, estimator, task) as client:
        training = chosen.training(data, reading.target)
        chosen.check_training(estimator, training)
        say(f"Read {training.summary} from {data}.")
        found = training.parameters.items()
        estimator.set_params(**{name: value for name, value in found if name not in problem.chosen()})
        _fit(estimator, training, client)
    _save(estimator, {"task": task, **training.notes}, training, out_file)
    say(f"Wrote the model to {out}.")
    if history_file is not None:
        estimator.history_.to_csv(history_file)
    print(estimator.certificate_)


def checked_estimator(name: str, **parameters: Any) -> Any:
    """The estimator, its parameters checked before data is read."""
    from structlearn import estimators
    from structlearn.estimators.choices import cost_options

    kind = getattr(estimators, name)
    if not hasattr(kind, "n_jobs"):
        del parameters["n_jobs"]
    estimator = kind(**parameters)
    estimator.check_parameters()
    if "cost" in parameters:
        cost_options(estimator.cost)
    return estimator


def _clients(cluster: str | None, estimator: Any, task: str) -> AbstractContextManager[Any]:
    """A client of the cluster, if there is one, checked before data is read."""
    if cluster is None:
        return nullcontext()
    if not getattr(estimator, "_packed", ""):
        raise ValueError(f"--cluster trains classify, tag and match; the task {task} trains here.")
    from structlearn.distributed import connected

    return connected(cluster)


def _fit(estimator: Any, training: Any, client: Any) -> None:
    if hasattr(training.X, "paths") and client is None:
        raise ValueError(
            "The data is split into partitions: train on them with --cluster, or give the whole."
        )
    try:
        with convergence_warnings():
            estimator.fit(training.X, training.y, **({} if client is None else {"client": client}))
    except KeyboardInterrupt:  # while compiling; later, `fit` returns the best model so far
        raise KeyboardInterrupt(NO_MODEL) from None


def _save(estimator: Any, notes: dict[str, Any], training: Any, out: Any) -> None:
    from structlearn.estimators.persistence import Bundle, save_bundle

    save_bundle(Bundle(estimator, notes, training.texts, training.arrays), out)
