"""What the command line must know about a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from structlearn.estimators.choices import LOSSES, one_of
from structlearn.estimators.persistence import Bundle


class Training(NamedTuple):
    """What `fit` needs, and what must be kept to read later files in the same way."""

    X: Any
    y: Any
    notes: dict[str, Any]
    texts: dict[str, list[str]]
    #: what was read, as the object of a sentence
    summary: str


class Inputs(NamedTuple):
    """What `predict` needs; y is None where the file has no labels, or they were not asked for."""

    X: Any
    y: Any


class Scores(NamedTuple):
    """Named figures, and how many of the file's labels the model does not know."""

    values: dict[str, float | int]
    n_unknown: int


#: flags of all tasks whose estimators have a loss over structures
STRUCTURED: dict[str, tuple[str, ...]] = {name: (name,) for name in ("loss", "cost", "checkpoint", "memory")}


class Task(ABC):
    """How one kind of problem reads its files, writes its answers and is judged."""

    #: name of the estimator's class
    estimator: ClassVar[str]
    #: flags of this task that not every task has, and the parameters of the estimator that each sets
    flags: ClassVar[dict[str, tuple[str, ...]]] = STRUCTURED

    #: what `error` is, in words
    error_name: ClassVar[str] = "share of wrong labels"

    #: what --penalty may be, where the task has that flag
    penalties: ClassVar[tuple[str, ...]] = ()

    def check_parameters(self, parameters: dict[str, Any]) -> None:
        """ValueError for what the task's flags cannot stand for, where the estimator would say it late."""
        if "penalty" in parameters:
            one_of("penalty", parameters["penalty"], self.penalties)

    @abstractmethod
    def read(self, path: Path, target: str | None) -> Training:
        """Read training data."""

    @abstractmethod
    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read data for a trained model, with its labels if asked for and there."""

    @abstractmethod
    def lines(self, bundle: Bundle, predicted: Any) -> Iterator[str]:
        """Answers as lines of text."""

    def check_marginals(self, bundle: Bundle) -> None:
        """ValueError if the model has no probabilities, before data is read."""
        loss = bundle.estimator.loss
        if not LOSSES[loss][0].smooth:
            raise ValueError(f"loss={loss!r} has no probabilities; train with --loss softmax or sparsemax.")

    @abstractmethod
    def marginals(self, bundle: Bundle, X: Any) -> Iterator[str]:
        """Probabilities of all labels as lines of text, `label:probability` for each."""

    @abstractmethod
    def evaluate(self, bundle: Bundle, y: Any, predicted: Any) -> Scores:
        """Compare answers with the file's labels."""

    def error(self, values: Mapping[str, float | int]) -> float:
        """The one figure to be small, of those that `evaluate` gives."""
        return 1.0 - values["accuracy"]


def pairs(labels: Iterable[Any], rows: Iterable[Any]) -> Iterator[str]:
    """A line for each row of probabilities: `label:probability` for all labels, in their order."""
    names = [str(label) for label in labels]
    for row in rows:
        # Adding 0.0 makes 0 of -0.
        yield " ".join(f"{name}:{value + 0.0:.6g}" for name, value in zip(names, row.tolist(), strict=True))
