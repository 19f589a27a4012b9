"""`structlearn train`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from structlearn.cli import options
from structlearn.cli.errors import fitting, handling_errors, say
from structlearn.cli.flags import in_flags
from structlearn.cli.groups import grouped
from structlearn.cli.options import argument
from structlearn.cli.outputs import certified, check_output, print_figures
from structlearn.cli.stdin import input_file
from structlearn.cli.task_help import TaskCommand
from structlearn.cli.train_options import (
    DataOptions,
    OutputOptions,
    ProblemOptions,
    ReadingOptions,
    RunOptions,
    TalkOptions,
)

if TYPE_CHECKING:
    from structlearn.cli.task import Task, Training
    from structlearn.estimators.loss_choice import LossChoice
    from structlearn.estimators.persistence import Bundle
    from structlearn.reports.runs import Trainable


class TrainCommand(TaskCommand):
    """Of `train`: the options in the groups that they are declared in."""

    groups: ClassVar[dict[str, tuple[str, ...]]] = {
        "Files": (
            "out",
            *(one.name for one in fields(DataOptions)),
            *(one.name for one in fields(ReadingOptions)),
        ),
        "Outputs": tuple(one.name for one in fields(OutputOptions)),
        "Problem and solver": tuple(one.name for one in fields(ProblemOptions)),
        "Long runs": tuple(one.name for one in fields(RunOptions)),
    }
    specific: ClassVar[dict[str, str]] = {
        **{name: name.strip("_").replace("_", "-") for name in (*groups["Files"][3:], *groups["Outputs"])},
        **{
            name.replace("-", "_"): name
            for name in ("loss", "penalty", "l1-ratio", "groups", "cost", "memory")
        },
        **dict.fromkeys(("checkpoint", "checkpoint_seconds", "resume"), "checkpoint"),
    }


@handling_errors()
@grouped
def train(
    *,
    task: options.TaskName,
    data: Annotated[Path, argument("DATA", "Training data, plain or .gz, or packed; - for stdin.")],
    out: options.ModelOut,
    problem: ProblemOptions,
    run: RunOptions,
    known: DataOptions,
    reading: ReadingOptions,
    outputs: OutputOptions,
    talk: TalkOptions,
) -> None:
    """Train a model, write it to MODEL, and print the certificate: how far from optimal it is at most.

    {files}

    Ctrl-C ends training early; the best model so far is written. With --checkpoint nothing is lost if the
    machine stops: --resume gives the model that training without the interruption would have given.
    """
    checkpoint = options.chosen_checkpoint(run.checkpoint, run.checkpoint_seconds, resume=run.resume)
    chosen, estimator = described(
        task,
        problem,
        reading,
        outputs,
        {"checkpoint": checkpoint, "memory": run.memory},
        verbose=talk.verbose,
    )
    out_file = check_output(out, others=[data])
    history_file = run.history and check_output(run.history, others=[data, out])
    if checkpoint is not None:
        checkpoint.check()
    with _clients(run.cluster, estimator, task) as client:
        data = input_file(data, known.format)
        training = chosen.training(data, known.target)
        adapt(estimator, chosen, training, problem)
        say(f"Read {training.summary} from {data}.")
        say_loss(estimator)
        _fit(estimator, training, client)
    say_lambda(estimator)
    save_trained(bundle_of(estimator, task, chosen.trimmed(estimator, training)), out_file)
    say(f"Wrote the model to {out}.")
    if history_file is not None:
        estimator.history_.to_csv(history_file)
    print_figures(certified(estimator.certificate_).items(), as_json=talk.as_json)


def described(
    task: str,
    problem: ProblemOptions,
    reading: ReadingOptions,
    outputs: OutputOptions,
    others: Mapping[str, object] | None = None,
    *,
    verbose: bool = False,
) -> tuple[Task, Trainable]:
    """How the task is read, and what it trains, both as the options say; checked before data is read."""
    from structlearn.cli.tasks import task_named, task_parameters

    known = task_named(task)
    words = {name: value for name, value in asdict(reading).items() if not _is_default(value)}
    given = {**problem.flags(), **asdict(outputs), **words, **(others or {})}
    parameters = task_parameters(
        task, {name.strip("_").replace("_", "-"): value for name, value in given.items()}
    )
    chosen = known.with_options(**words)
    return chosen, checked_estimator(
        chosen.estimator, verbose=int(verbose), **problem.parameters(), **parameters
    )


def _is_default(value: object) -> bool:
    """Whether an option was not given; 0 is a value."""
    return value is None or value is False or value == []


def adapt(estimator: Trainable, task: Task, training: Training, problem: ProblemOptions) -> Trainable:
    """Checked with its data, and with parameters that follow from these, where no option sets them."""
    from structlearn.estimators.loss_choice import take_usual_cost

    task.check_training(estimator, training)
    found = {name: value for name, value in training.parameters.items() if name not in problem.chosen()}
    found.pop("loss", None)  # of data that older versions packed
    cost = found.pop("cost", None)
    estimator.set_params(**found)
    if cost is not None:
        take_usual_cost(estimator, cost)
    return estimator


def loss_of(estimator: Trainable) -> LossChoice:
    """The loss that it would train, by name; "squares" for regressions."""
    from structlearn.estimators.loss_choice import LossChoice

    return getattr(estimator, "chosen_loss", lambda: LossChoice("squares"))()


def say_loss(estimator: Trainable) -> None:
    """Say why the loss is not the usual one of the task, where it is not."""
    why = loss_of(estimator).why
    if why:
        say(in_flags(why))


def say_lambda(estimator: Any) -> None:
    """Say which lambda was chosen by the data, where none was given."""
    if estimator.regularization == "auto":
        say(f"--regularization auto stands for {estimator.regularization_:g} on this data.")


def checked_estimator(name: str, **parameters: object) -> Trainable:
    """The estimator, its parameters checked before data is read."""
    from structlearn import estimators
    from structlearn.estimators.choices import cost_options

    kind = getattr(estimators, name)
    if not hasattr(kind, "n_jobs"):
        del parameters["n_jobs"]
    for parameter in parameters.keys() - set(kind._get_param_names()):
        raise ValueError(f"--{parameter.replace('_', '-')} does not go with a {name}; leave it out.")
    estimator = kind(**parameters)
    estimator.check_parameters()
    if "cost" in parameters:
        cost_options(estimator.cost)
    return estimator


def _clients(cluster: str | None, estimator: Trainable, task: str) -> AbstractContextManager[object]:
    """A client of the cluster, if there is one, checked before data is read."""
    if cluster is None:
        return nullcontext()
    if not getattr(estimator, "_packed", ""):
        raise ValueError(f"--cluster trains classify, tag and match; the task {task} trains here.")
    from structlearn.distributed import connected

    return connected(cluster)


def _fit(estimator: Trainable, training: Training, client: object) -> None:
    if hasattr(training.X, "paths") and client is None:
        raise ValueError(
            "The data is split into partitions: train on them with --cluster, or give the whole."
        )
    with fitting():
        estimator.fit(training.X, training.y, **({} if client is None else {"client": client}))


def bundle_of(estimator: Trainable, task: str, training: Training) -> Bundle:
    """A trained estimator with what is needed to read further files as the training data was read."""
    from structlearn.estimators.persistence import Bundle

    notes = {"task": task, **training.notes}
    return Bundle(estimator, notes, training.texts, training.arrays, training.bundled)


def save_trained(bundle: Bundle, out: Path) -> None:
    """Write a model file."""
    from structlearn.estimators.persistence import save_bundle

    save_bundle(bundle, out)
