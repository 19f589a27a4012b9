"""What the command line must know about a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

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


class Task(ABC):
    """How one kind of problem reads its files, writes its answers and is judged."""

    #: name of the estimator's class
    estimator: ClassVar[str]
    #: flags of this task that not every task has, and the parameters of the estimator that each sets
    flags: ClassVar[dict[str, tuple[str, ...]]] = {}

    @abstractmethod
    def read(self, path: Path, target: str | None) -> Training:
        """Read training data."""

    @abstractmethod
    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read data for a trained model, with its labels if asked for and there."""

    @abstractmethod
    def lines(self, bundle: Bundle, predicted: Any) -> Iterator[str]:
        """Answers as lines of text."""

    @abstractmethod
    def evaluate(self, bundle: Bundle, y: Any, predicted: Any) -> Scores:
        """Compare answers with the file's labels."""
