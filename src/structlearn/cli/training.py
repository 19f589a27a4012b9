"""`structlearn train`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from structlearn.cli.errors import NO_MODEL, convergence_warnings, handling_errors, say
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


@handling_errors()
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
    loss: Loss = None,
    penalty: Penalty = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="G,G,...",
            help="regress with --penalty group: the group of each feature, a number or a name, in the order "
            "of the file's features (the target is none).",
        ),
    ] = None,
    solver: Annotated[str, typer.Option(metavar="S", help="{solvers}")] = "auto",
    regularization: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Lambda, the weight of the penalty (l2: of ||w||^2/2).  [default: 0.01; for words 1 over "
            "the number of sentences]",
        ),
    ] = None,
    cost: Cost = None,
    tol: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Stop when the duality gap is at most this (regress: this share of the objective at zero).  "
            "[default: 0.001; for words, 0.01; parse: 0.2]",
        ),
    ] = None,
    max_passes: Annotated[
        float, typer.Option(metavar="N", help="Stop after so many passes over the data.")
    ] = 1000,
    max_seconds: Annotated[
        float | None, typer.Option(metavar="N", help="Stop after so many seconds.  [default: no limit]")
    ] = None,
    no_intercept: NoIntercept = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    history: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write the trace of primal, dual and gap.")
    ] = None,
    checkpoint: CheckpointDir = None,
    checkpoint_seconds: CheckpointSeconds = 60.0,
    resume: Resume = False,
    memory: Memory = None,
    cluster: Cluster = None,
    target: Target = None,
    label: Label = None,
    columns: Columns = None,
    templates: Templates = None,
    transitions: Transitions = None,
    min_count: MinCount = None,
    hash_bits: HashBits = None,
    edges: Edges = None,
    boundaries: Boundaries = False,
    non_projective: NonProjective = False,
    many_roots: ManyRoots = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="A line on stderr at each evaluation.")] = False,
) -> None:
    """Train a model, write it to MODEL, and print the certificate: how far from optimal it is at most.

    {files}

    Ctrl-C ends training early; the best model so far is written. With --checkpoint nothing is lost if the
    machine stops: --resume gives the model that training without the interruption would have given.
    """
    from structlearn.cli.tasks import task_named, task_parameters

    chosen = task_named(task).with_options(
        label=label,
        columns=columns,
        templates=templates,
        transitions=transitions,
        min_count=min_count,
        hash_bits=hash_bits,
    )
    parameters = task_parameters(
        task,
        {
            "loss": loss,
            "penalty": penalty,
            "groups": None if groups is None else [name.strip() for name in groups.split(",")],
            "cost": cost,
            "edges": edges,
            "boundaries": boundaries,
            "label": label,
            "columns": columns,
            "templates": templates,
            "transitions": transitions,
            "min-count": min_count,
            "hash-bits": hash_bits,
            "non-projective": non_projective,
            "many-roots": many_roots,
            "checkpoint": _checkpoint(checkpoint, checkpoint_seconds, resume),
            "memory": memory,
        },
    )
    out_file = check_output(out, others=[data])
    history_file = check_output(history, others=[data, out])
    numbers = {"regularization": regularization, "tol": tol}
    if "checkpoint" in parameters:
        parameters["checkpoint"].check()
    estimator = checked_estimator(
        chosen.estimator,
        solver=solver,
        max_passes=max_passes,
        max_seconds=max_seconds,
        fit_intercept=not no_intercept,
        random_state=seed,
        n_jobs=jobs,
        verbose=int(verbose),
        **{name: value for name, value in numbers.items() if value is not None},
        **parameters,
    )
    with _clients(cluster, estimator, task) as client:
        training = chosen.training(data, target)
        chosen.check_training(estimator, training)
        say(f"Read {training.summary} from {data}.")
        given = {"loss": loss, "cost": cost, **numbers}
        found = training.parameters.items()
        estimator.set_params(**{name: value for name, value in found if given.get(name) is None})
        _fit(estimator, training, client)
    _save(estimator, {"task": task, **training.notes}, training, out_file)
    say(f"Wrote the model to {out}.")
    if history_file is not None:
        estimator.history_.to_csv(history_file)
    print(estimator.certificate_)


def _checkpoint(folder: Path | None, seconds: float, resume: bool) -> Any:
    """What the three options stand for."""
    if folder is None:
        if resume:
            raise ValueError("--resume goes on from a checkpoint: say where it is with --checkpoint DIR.")
        return None
    from structlearn.estimators.choices import check_number
    from structlearn.solvers import Checkpoint

    return Checkpoint(folder, check_number("checkpoint-seconds", seconds), resume)


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
