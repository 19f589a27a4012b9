"""What the command line must know about a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structlearn.cli.answers.confusions import Confusions
from structlearn.cli.answers.outcome import most_frequent
from structlearn.cli.support.outputs import check_output, write_pieces
from structlearn.cli.tasks.label_table import LabelTable
from structlearn.core.contract import Array
from structlearn.core.wording import count_of
from structlearn.data import Packed, open_packed
from structlearn.distributed import is_partitioned, open_partitions
from structlearn.estimators.files.persistence import Bundle
from structlearn.estimators.inputs.feature_names import Names, own_names
from structlearn.problem.registry import LOSSES

if TYPE_CHECKING:
    from structlearn.cli.commands.folds import FoldedExamples, TrainingFile
    from structlearn.cli.tasks.options import ProblemOptions
    from structlearn.reports import Page
    from structlearn.reports.runs import Trainable

#: the format, in a model's notes, of data that never was a file
PACKED = "packed"
#: the note that keeps a training's own parameters
PARAMETERS = "parameters"


class Training(NamedTuple):
    """What `fit` needs, and what must be kept to read later files in the same way."""

    X: Any
    y: Any
    notes: dict[str, object]
    texts: dict[str, list[str]]
    #: what was read, as the object of a sentence
    summary: str
    arrays: dict[str, Array] = {}  # noqa: RUF012  (never changed)
    #: parameters of the estimator that follow from the data, where no flag sets them
    parameters: dict[str, object] = {}  # noqa: RUF012
    #: the file itself, where `Task.check_training` looks at it
    source: Any = None
    #: models that go into the model file, by name
    bundled: dict[str, Bundle] = {}  # noqa: RUF012


class Inputs(NamedTuple):
    """What `predict` needs; y is None where the file has no labels, or they were not asked for."""

    X: Any
    y: Any
    #: the file itself, where answers are written into it
    source: Any = None


class Scores(NamedTuple):
    """Named figures, how many labels of the file the model does not know, and figures of single labels."""

    values: dict[str, float | int]
    n_unknown: int
    table: LabelTable | None = None
    confusions: Confusions | None = None


def _task_named(name: str, options: Mapping[str, object]) -> Task:
    """Return a task by its name, with these options."""
    from structlearn.cli.tasks.registry import TASKS

    entry = TASKS[name]
    return entry.with_options(entry.options_class(**options))


class Task(ABC):
    """How one kind of problem reads its files, writes its answers and is judged."""

    #: name of the estimator's class
    estimator: ClassVar[str]

    #: names of classes that model files of the task may hold, where there are several
    kinds: ClassVar[tuple[str, ...]] = ()

    #: which kind of packed data is this task's, if there is one
    packed: ClassVar[str | None] = None

    #: what `error` is, in words
    error_name: ClassVar[str] = "share of wrong labels"

    #: whether its answers are labellings that `Confident` estimators are sure of
    confident: ClassVar[bool] = False

    #: whether `calibrate` and whether `conformalize` take its models
    calibrated: ClassVar[bool] = False
    covered: ClassVar[bool] = False

    #: what an example is called, and what `predict --coverage` writes for one
    noun: ClassVar[str] = "row"
    cover_name: ClassVar[str] = "set"

    #: what else there is for models that `calibrate` or `conformalize` refuses, as a sentence
    instead: ClassVar[str] = ""

    #: what has a label
    labelled: ClassVar[str] = "rows"

    #: whether `show` draws its answers
    drawn: ClassVar[bool] = False

    #: whether its training data is a folder of files
    of_folders: ClassVar[bool] = False

    def __init__(self, options: Any, name: str) -> None:
        self.options, self.name = options, name

    def __reduce__(self) -> tuple[Callable[..., Task], tuple[object, ...]]:
        """Go to other processes by name: classes of options are made where they are asked for."""
        return _task_named, (
            self.name,
            {one.name: getattr(self.options, one.name) for one in fields(self.options)},
        )

    # ---- training -----------------------------------------------------------------------------------------

    def model(self, problem: ProblemOptions, **others: object) -> Trainable:
        """Return what is to be trained, its parameters as the options say, checked before data is read."""
        return self.new_model({**problem.parameters(), **self.options.parameters(), **others})

    def new_model(self, parameters: Mapping[str, Any]) -> Trainable:
        """Return an estimator with these parameters, checked."""
        from structlearn import estimators
        from structlearn.estimators.choices import cost_options

        kind = getattr(estimators, self.estimator)
        known = set(kind._get_param_names())
        given = {name: value for name, value in parameters.items() if name in known or name != "n_jobs"}
        for name in given.keys() - known:
            raise ValueError(f"--{name.replace('_', '-')} does not go with a {self.estimator}; leave it out.")
        model: Any = kind(**given)
        model.check_parameters()
        if "cost" in given:
            cost_options(model.cost)
        return model

    def adapt(self, model: Any, training: Training, problem: ProblemOptions) -> Any:
        """Return the model, checked with its data, with parameters that follow from these unless given."""
        from structlearn.estimators.loss_choice import take_usual_cost

        self.check_training(model, training)
        given = {*problem.parameters(), *self.given_parameters()}
        found = {name: value for name, value in training.parameters.items() if name not in given}
        found.pop("loss", None)  # of data that older versions packed
        cost = found.pop("cost", None)
        model.set_params(**found)
        if cost is not None:
            take_usual_cost(model, cost)
        return model

    def given_parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator that the task's own options stand for."""
        return self.options.parameters()

    def estimator_to_train(self, model: Any) -> Any:
        """Return the estimator that has the solver and the loss, before it is fitted: for most the model."""
        return model

    def laid_out(self, model: Any, training: Training) -> tuple[Any, Training]:
        """Return the estimator that is trained in the end, and its data: rows of features."""
        return model, training

    def bundle(self, model: Any, training: Training) -> Bundle:
        """Return a trained estimator with what is needed to read further files as its training data."""
        notes = {"task": self.name, **training.notes}
        return Bundle(model, notes, training.texts, training.arrays, training.bundled)

    def training(self, path: Path, target: str | None) -> Training:
        """Read training data from a file or from a folder that `data pack` wrote."""
        if not path.is_dir():
            return self.read(path, target)
        if target is not None:
            raise ValueError("--target goes with files; packed data has its target.")
        X: object
        if is_partitioned(path):  # `data split` wrote it, and workers read it
            X, y = open_partitions(path), None
            data = self._check_kind(X.paths[0], X.first())
            summary = count_of(len(X.paths), "partition")
        else:
            data = self._open_packed(path)
            X, y, summary = data.X, data.y, count_of(len(data), "packed example")
        notes = dict(data.notes) or {"format": PACKED}
        parameters = notes.pop(PARAMETERS, {})
        return Training(X, y, notes, data.texts, summary, data.arrays, parameters)

    def examples(self, source: TrainingFile, folder: Path) -> FoldedExamples:
        """Read training data in parts for `tune`, which may write to a folder; ValueError if it is packed."""
        from structlearn.cli.commands.folds import ReadExamples

        if source.path.is_dir() and not self.of_folders:
            raise ValueError(f"{source.path} is a folder; tune splits a file: give the one that was packed.")
        return ReadExamples(self.training(*source))

    def trim(self, estimator: Any, training: Training) -> Training:
        """Return what is stored beside a fitted estimator, without what it has no use for."""
        return training

    def extras_to_pack(self, training: Training) -> dict[str, Any]:
        """Return what is packed beside training data, for `training` to find."""
        own = {PARAMETERS: training.parameters} if training.parameters else {}
        return {"notes": {**training.notes, **own}, "texts": training.texts, "arrays": training.arrays}

    def check_packing(self, training: Training) -> str:
        """Return the kind of packed data; ValueError if this training data cannot be packed."""
        if self.packed is None:
            raise ValueError("Training data of this task is not packed; train reads its files.")
        if getattr(training.y, "ndim", 1) > 1:
            raise ValueError("Label sets are packed from libsvm files; this table has several targets.")
        return self.packed

    def rows_to_pack(self, training: Training) -> Any:
        """Return the inputs as they are packed."""
        return training.X

    def inputs(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Return data for a trained model, from a file or a folder."""
        if path.is_dir():
            data = self._open_packed(path)
            return Inputs(data.X, data.y)
        if bundle.notes.get("format") == PACKED:
            raise ValueError(f"The model was trained on data packed in Python; {path} must be packed, too.")
        return self.reread(path, bundle, labels=labels)

    def pieces(self, path: Path, bundle: Bundle, *, labels: bool) -> Iterator[Inputs]:
        """Yield data for a trained model, as few rows at a time as the task can; most read it at once."""
        yield self.inputs(path, bundle, labels=labels)

    def _open_packed(self, path: Path) -> Packed:
        return self._check_kind(path, open_packed(path))

    def _check_kind(self, path: Path, data: Packed) -> Packed:
        if data.kind != self.packed:
            raise ValueError(f"{path} holds packed data of the kind {data.kind!r}, not {self.packed!r}.")
        return data

    @abstractmethod
    def read(self, path: Path, target: str | None) -> Training:
        """Read training data from a file."""

    def check_training(self, estimator: Any, training: Training) -> None:  # noqa: B027  (most need not)
        """Raise DataError for training data that this estimator cannot take, if the file can be named."""

    @abstractmethod
    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read a file for a trained model, with its labels if asked for and there."""

    def lines(self, bundle: Bundle, predicted: Any) -> Iterator[str]:
        """Yield the answers as lines of text."""
        raise NotImplementedError

    def answer(self, bundle: Bundle, predicted: Any) -> dict[str, object]:
        """Return the answer for one example as a JSON object."""
        return {"label": predicted} if np.ndim(predicted) == 0 else {"labels": predicted}

    def check_marginals(self, bundle: Bundle) -> None:
        """ValueError if the model has no probabilities, before data is read."""
        loss = bundle.estimator.loss_
        if not LOSSES[loss].smooth:
            raise ValueError(f"--loss {loss} has no probabilities; train with --loss softmax or sparsemax.")

    def marginals(self, bundle: Bundle, X: object) -> Iterator[str]:
        """Yield the probabilities of all labels as lines of text, `label:probability` for each."""
        raise NotImplementedError

    def pages(self, bundle: Bundle, inputs: Inputs, *, marginals: bool) -> Iterator[str]:
        """Return what `predict` writes, as pieces of text: answers (or probabilities) line by line."""
        if marginals:
            lines = self.marginals(bundle, inputs.X)
        else:
            lines = self.lines(bundle, bundle.estimator.predict(inputs.X))
        return (f"{line}\n" for line in lines)

    def check_out(self, out: Path, others: Iterable[Path], *, marginals: bool) -> Path:
        """Return the file that `predict` writes to, checked before any work: it is not among `others`."""
        return check_output(out, others=others)

    def write(self, bundle: Bundle, inputs: Inputs, out: Path | None, *, marginals: bool) -> None:
        """Write answers (or probabilities) to `out`, or to stdout."""
        write_pieces(self.pages(bundle, inputs, marginals=marginals), out)

    def write_all(
        self, bundle: Bundle, pieces: Iterable[Inputs], out: Path | None, *, marginals: bool
    ) -> None:
        """Write the answers for all pieces of a file; most tasks read it at once."""
        for inputs in pieces:
            self.write(bundle, inputs, out, marginals=marginals)

    def check_bundle(self, bundle: Bundle) -> None:
        """ValueError if a model file is not one of this task, before data is read for it."""
        model, notes = bundle.estimator, bundle.notes
        if type(model).__name__ not in (self.kinds or (self.estimator,)):
            raise ValueError(f"the task {notes['task']} has a {self.estimator}, not a {type(model).__name__}")
        if notes.get("format") != PACKED:
            self.check_notes(bundle)

    def check_notes(self, bundle: Bundle) -> None:  # noqa: B027  (some tasks need none)
        """ValueError if the notes do not say how to read data files, or do not fit the model."""

    def page(self, bundle: Bundle, path: Path, limit: int) -> Page:
        """Return what `show` writes, where `drawn`: a page of at most `limit` examples of a file."""
        raise NotImplementedError

    def feature_names(self, bundle: Bundle) -> Names:
        """Return the function from columns of features to their names, for `weights`."""
        return own_names(bundle.estimator)

    def label_names(self, bundle: Bundle) -> list[str] | None:
        """Return what labels are called, where that is not what the estimator has."""
        return None

    def held_out(self, bundle: Bundle, inputs: Inputs, path: Path) -> Any:
        """Return the labels of data for `calibrate` and `conformalize`, spelled as the model's are."""
        return inputs.y

    def cover(self, bundle: Bundle, X: object, coverage: float) -> Iterable[Any]:
        """Return what holds the truth so often, for each row: a list of classes, or the ends of an interval.

        Sets of labellings are written by `cli.commands.confidence`.
        """
        raise NotImplementedError

    def cover_lines(self, found: Iterable[Any]) -> Iterator[str]:
        """Yield what `cover` returned as lines: classes between commas."""
        return (",".join(map(str, one)) for one in found)

    def check_labels(self, bundle: Bundle, inputs: Inputs) -> None:  # noqa: B027  (most tasks take any)
        """Raise DataError for labels that training never saw, if they are a mistake of the file."""

    @abstractmethod
    def evaluate(self, bundle: Bundle, y: Any, predicted: Any) -> Scores:
        """Compare answers with the file's labels."""

    def soft_answers(self, bundle: Bundle, X: object) -> Array | None:
        """Return probabilities or scores, a row per example, that `soft_figures` judges; None for none."""
        return None

    def soft_figures(self, bundle: Bundle, y: Any, soft: Array) -> dict[str, float]:
        """Return how well `soft_answers` fit the labels of the file."""
        return {}

    def judge(self, bundle: Bundle, pieces: Iterable[Inputs]) -> Scores:
        """Compare the model's answers with the labels of examples, which come in pieces."""
        rows = [(one.y, bundle.estimator.predict(one.X), self.soft_answers(bundle, one.X)) for one in pieces]
        y, predicted, soft = (_join(column) for column in zip(*rows, strict=True))
        found = self.evaluate(bundle, y, predicted)
        if soft is None:
            return found
        values = found.values | self.soft_figures(bundle, y, soft)
        values["examples"] = values.pop("examples")  # the last
        return found._replace(values=values)

    def outcome(self, values: Mapping[str, float | int], truths: Sequence[Any]) -> str:
        """Return how wrong the answers are, beside a constant answer: the figures of `evaluate` in words.

        truths : labels of the examples, in pieces
        """
        wrong, usual = 1.0 - values["accuracy"], 1.0 - most_frequent(_flat(truths))
        return (
            f"{wrong:.1%} of the {self.labelled} are labelled wrongly ({usual:.1%} if all had the most "
            "frequent label)"
        )

    def error(self, values: Mapping[str, float | int]) -> float:
        """Return the one figure to be small, of those that `evaluate` gives."""
        return 1.0 - values["accuracy"]


def probability_lines(labels: Iterable[object], rows: Iterable[Array]) -> Iterator[str]:
    """Yield a line for each row of probabilities: `label:probability` for all labels, in their order."""
    names = [str(label) for label in labels]
    for row in rows:
        # Adding 0.0 makes 0 of -0.
        yield " ".join(f"{name}:{value + 0.0:.6g}" for name, value in zip(names, row.tolist(), strict=True))


def _flat(truths: Iterable[Any]) -> Iterator[Array]:
    """Yield arrays of labels, from arrays and from lists of arrays."""
    for one in truths:
        yield from [one] if isinstance(one, np.ndarray) and one.dtype != object else one


def _join(pieces: Sequence[Any]) -> Any:
    """Return what was found in pieces of a file as if it had been read at once."""
    return pieces[0] if len(pieces) == 1 or pieces[0] is None else np.concatenate(pieces)
