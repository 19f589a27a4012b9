"""Training data in folds: held-out examples are as new to a model as a new file would be."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from structlearn.cli.tasks.task import Inputs, Task, Training
from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data import open_text
from structlearn.data.compression import inner_name
from structlearn.data.text import is_blank
from structlearn.data.token_lines import DOCUMENT, is_document
from structlearn.estimators.files.persistence import Bundle

#: How the first line of a document begins, in columns and in CoNLL-U.
_DOCUMENT = (DOCUMENT, "# newdoc")


class Fold(NamedTuple):
    """The examples to train on, and those to judge by, by their numbers."""

    training: Array
    held_out: Array


class FoldedExamples(Protocol):
    """Training data of which some examples can be taken."""

    #: all of it
    whole: Training
    #: what must not be torn apart: a number for each example; None where nothing is so
    groups: Array | None

    def training(self, rows: Array) -> Training:
        """Return some examples, to be trained on."""

    def held_out(self, rows: Array, bundle: Bundle) -> Inputs:
        """Return other examples with their labels, for a model that was trained on some."""

    def in_folder(self, folder: Path) -> FoldedExamples:
        """Return the same in another process, which may write to this folder."""


class ReadExamples:
    """Examples that are read one by one, so that nothing is learned of a file while it is read."""

    def __init__(self, whole: Training) -> None:
        self.whole = whole
        self.groups: Array | None = None

    def training(self, rows: Array) -> Training:
        return self.whole._replace(X=_some(self.whole.X, rows), y=_some(self.whole.y, rows))

    def held_out(self, rows: Array, bundle: Bundle) -> Inputs:
        return Inputs(_some(self.whole.X, rows), _some(self.whole.y, rows))

    def in_folder(self, folder: Path) -> ReadExamples:
        return self


def _some(examples: Any, rows: Array) -> Any:
    return examples[rows] if hasattr(examples, "shape") else [examples[i] for i in rows.tolist()]


class SentenceFile:
    """Sentences of a text file. Each part is written to a file of its own and read as any other file is.

    So words, labels and lexicons of held-out sentences are unknown to the model, as they will be in use.
    """

    def __init__(self, task: Task, whole: Training, source: TrainingFile, context: int, folder: Path) -> None:
        self.task, self.whole, self.source, self.folder = task, whole, source, folder
        self.sentences = list(_sentences(source.path, comments=True))
        if len(self.sentences) != len(whole.y):  # no CoNLL-U: a sentence may be a sign alone
            self.sentences = list(_sentences(source.path, comments=False))
        self.groups = _documents(self.sentences, context)

    def training(self, rows: Array) -> Training:
        return self.task.training(self._write_rows(rows), self.source.target)

    def held_out(self, rows: Array, bundle: Bundle) -> Inputs:
        return self.task.inputs(self._write_rows(rows), bundle, labels=True)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"whole": None}  # those who try a fold need its sentences alone

    def in_folder(self, folder: Path) -> SentenceFile:
        found = copy(self)
        found.folder = folder
        return found

    def _write_rows(self, rows: Array) -> Path:
        path = self.folder / inner_name(self.source.path.name)
        path.write_text("\n".join(self.sentences[i] for i in rows.tolist()), encoding="utf-8", newline="\n")
        return path


class TrainingFile(NamedTuple):
    """A file, and the column of it to learn."""

    path: Path
    target: str | None


def _sentences(path: Path, *, comments: bool) -> Iterator[str]:
    """Yield the lines between borders; comments alone and marks of documents belong to what follows."""
    lines: list[str] = []
    has_tokens = False
    for line in chain((line for _, line in open_text(path)), [""]):
        border = is_blank(line) or is_document(line)
        if border and has_tokens:
            yield "".join(lines)
            lines, has_tokens = [], False
        if not is_blank(line):
            lines.append(f"{line}\n")
        has_tokens |= not border and not (comments and line.startswith("#"))


def _documents(sentences: Sequence[str], context: int) -> Array | None:
    """Return the documents that the file marks, else runs of sentences if models look at nearby ones."""
    begins = np.array([one.startswith(_DOCUMENT) or "\n# newdoc" in one for one in sentences])
    if begins.sum() > 1:
        return np.cumsum(begins)
    return np.arange(len(sentences)) // (2 * context) if context else None


def folds(examples: FoldedExamples, n_folds: int, seed: int, *, of_classes: bool) -> list[Fold]:
    """Draw folds of equal size at random: equal in classes, or whole in groups."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    y, groups = examples.whole.y, examples.groups
    n = len(y)
    if n < n_folds:
        raise ValueError(f"--folds {n_folds} needs as many examples; DATA has {n}.")
    if groups is not None and len(np.unique(groups)) >= n_folds:
        split = GroupKFold(n_folds, shuffle=True, random_state=seed).split(groups, groups=groups)
    elif of_classes and np.unique(y, return_counts=True)[1].max() >= n_folds:
        split = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(y, y)
    else:
        split = KFold(n_folds, shuffle=True, random_state=seed).split(np.arange(n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with fewer members than folds
        found = [Fold(*one) for one in split]
    if of_classes:
        _check_classes(y, found)
    return found


def _check_classes(y: Array, found: Sequence[Fold]) -> None:
    """Raise ValueError, before any training, if one fold holds all examples of all classes but one."""
    for k, fold in enumerate(found, 1):
        left = np.unique(y[fold.training])
        if len(left) == 1:
            raise ValueError(
                f"Without fold {k} only the class {quote(left[0])} is left to train on: each of two classes "
                "must have at least two examples."
            )
