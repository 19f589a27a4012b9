"""`structlearn train`."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from structlearn.cli.support.allocator import keep_freed_memory
from structlearn.cli.support.errors import fitting, handling_errors, say
from structlearn.cli.support.flags import in_flags
from structlearn.cli.support.options import ModelOut, argument
from structlearn.cli.support.outputs import check_output, print_figures, printed_certificate
from structlearn.cli.support.stdin import input_file
from structlearn.cli.support.task_commands import TaskCommand, TaskGroup
from structlearn.cli.tasks.options import DataOptions, ProblemOptions, TalkOptions, TaskOptions
from structlearn.cli.tasks.registry import TaskEntry

if TYPE_CHECKING:
    from structlearn.cli.tasks.task import Training
    from structlearn.estimators.loss_choice import LossChoice
    from structlearn.solvers import Certificate


@handling_errors()
def train(
    *,
    entry: TaskEntry,
    data: Annotated[Path, argument("DATA", "Training data, plain, .gz or .zst, or packed; - for stdin.")],
    out: ModelOut,
    own: TaskOptions,
    problem: ProblemOptions,
    known: DataOptions,
    talk: TalkOptions,
) -> None:
    """Train a model, write it to MODEL, and print the certificate: how far from optimal it is at most.

    Ctrl-C ends training early; the best model so far is written. With --checkpoint nothing is lost if the
    machine stops: --resume gives the model that training without the interruption would have given.
    """
    from structlearn.cli.answers.outcome import training_error
    from structlearn.estimators.files.persistence import save_bundle
    from structlearn.solvers.clock import counting_seconds

    task = entry.with_options(own)
    model = task.model(problem, verbose=int(talk.verbose))
    out_file = check_output(out, others=[data])
    history_file = talk.history and check_output(talk.history, others=[data, out])
    checkpoint = own.checkpoint_()
    if checkpoint is not None:
        checkpoint.check()
    with _clients(getattr(own, "cluster", None)) as client, counting_seconds():
        data = input_file(data, known.format)
        training = task.training(data, known.target)
        model = task.adapt(model, training, problem)
        say(f"Read {training.summary} from {data}.")
        say_loss(task.estimator_to_train(model))
        _fit(model, training, client)
    say_lambda(model)
    bundle = task.bundle(model, task.trim(model, training))
    save_bundle(bundle, out_file)
    say(f"Wrote the model to {out}.")
    if history_file is not None:
        model.history_.to_csv(history_file)
    print_figures(printed_certificate(model.certificate_).items(), as_json=talk.as_json)
    if not talk.as_json:
        say_outcome(training_error(task, bundle, data), model.certificate_, out)


def loss_of(model: object) -> LossChoice:
    """Return the loss that it would train, by name; "squares" for regressions."""
    from structlearn.estimators.loss_choice import LossChoice

    return getattr(model, "chosen_loss", lambda: LossChoice("squares"))()


def say_loss(model: object) -> None:
    """Say why the loss is not the usual one of the task, where it is not."""
    why = loss_of(model).why
    if why:
        say(in_flags(why))


def say_outcome(error: str | None, certificate: Certificate, out: Path) -> None:
    """Say how wrong a new model is, how far from optimal, and which commands go on from it."""
    from structlearn.cli.answers.outcome import certificate_line, next_line

    sys.stdout.flush()  # the figures come first, on a terminal that shows both
    for line in (error, certificate_line(certificate), next_line(out)):
        if line is not None:
            say(line)


def say_lambda(model: Any) -> None:
    """Say which lambda was chosen by the data, where none was given."""
    if getattr(model, "regularization", None) == "auto":
        say(f"--regularization auto stands for {model.regularization_:g} on this data.")


def _clients(cluster: str | None) -> AbstractContextManager[object]:
    """Return a client of the cluster, if there is one, checked before data is read."""
    if cluster is None:
        return nullcontext()
    from structlearn.distributed import connected

    return connected(cluster)


def _fit(model: Any, training: Training, client: object) -> None:
    if hasattr(training.X, "paths") and client is None:
        raise ValueError(
            "The data is split into partitions: train on them with --cluster, or give the whole."
        )
    keep_freed_memory()
    with fitting():
        model.fit(training.X, training.y, **({} if client is None else {"client": client}))


class TrainCommand(TaskCommand):
    """Of `train`: the options of all tasks below those of the task."""

    sections: ClassVar = {
        "Problem and solver": tuple(one.name for one in fields(ProblemOptions)),
        "Files": ("out", *(one.name for one in fields(DataOptions))),
    }


class TrainGroup(TaskGroup):
    """`structlearn train TASK`."""

    run = staticmethod(train)
    command = TrainCommand
