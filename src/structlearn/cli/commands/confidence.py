"""Answers of `predict` that say how sure a model is: the K best, spans, sets of labellings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from structlearn.cli.tasks.task import Inputs, Task
from structlearn.estimators.confidence.conformal import check_coverage
from structlearn.estimators.confidence.rows import check_tempered
from structlearn.estimators.files.persistence import Bundle

#: A sentence's words, or None of data without words.
Words = Sequence[str] | None
#: Most labellings of a sentence that --kbest writes.
MOST_BEST = 1000
_HEAD = ("sentence", "start", "end", "label", "probability")


class AnswerForm(ABC):
    """A form of answers that only labellings have."""

    flag: str

    def check(self, bundle: Bundle, task: Task) -> None:
        """Raise ValueError if the model cannot answer in this form, before data is read."""
        check_confident(bundle, task, self.flag)

    def pages(self, task: Task, bundle: Bundle, inputs: Inputs) -> Iterator[str]:
        """Return what is written, as pieces of text."""
        return self._pages(bundle.estimator, inputs.X, words_of(inputs))

    @abstractmethod
    def _pages(self, estimator: Any, X: object, words: Iterator[Words]) -> Iterator[str]: ...


@dataclass(frozen=True)
class KBest(AnswerForm):
    """Blocks of lines, a word and its label each, below a line that says rank and probability."""

    k: int
    flag = "--kbest"

    def _pages(self, estimator: Any, X: object, words: Iterator[Words]) -> Iterator[str]:
        for i, (best, own) in enumerate(zip(estimator.kbest_proba_stream(X, self.k), words)):
            for rank, (labels, share) in enumerate(best, 1):
                yield from _block(f"sentence {i} rank {rank} probability {share:.6g}", labels, own)


@dataclass(frozen=True)
class Spans(AnswerForm):
    """A table, a line per span, cells between tabs; the words, where there are some, come last."""

    flag = "--spans"

    def _pages(self, estimator: Any, X: object, words: Iterator[Words]) -> Iterator[str]:
        for i, (found, own) in enumerate(zip(estimator.predict_spans(X), words)):
            if i == 0:
                yield _row(_HEAD, None if own is None else ["words"])
            for start, end, label, share in found:
                yield _row((i, start, end, label, f"{share:.6g}"), None if own is None else own[start:end])


@dataclass(frozen=True)
class Sets(AnswerForm):
    """Blocks as those of the K best, below a line that says how many there are; of tables, a line per row."""

    coverage: float
    flag = "--coverage"

    def check(self, bundle: Bundle, task: Task) -> None:
        check_covered(bundle, task, self.flag)
        if not hasattr(bundle.estimator, "conformal_scores_"):
            raise ValueError(
                f"The model has no {task.cover_name}s yet; run structlearn conformalize on data that was "
                "used for nothing else."
            )

    def pages(self, task: Task, bundle: Bundle, inputs: Inputs) -> Iterator[str]:
        if task.confident:
            return super().pages(task, bundle, inputs)
        lines = task.cover_lines(task.cover(bundle, inputs.X, self.coverage))
        return (f"{line}\n" for line in lines)

    def _pages(self, estimator: Any, X: object, words: Iterator[Words]) -> Iterator[str]:
        for i, (found, own) in enumerate(zip(estimator.predict_sets(X, self.coverage), words)):
            if found is None:
                yield f"# sentence {i} has too many labellings to write: any may be the true one\n\n"
                continue
            for rank, labels in enumerate(found, 1):
                yield from _block(f"sentence {i} labelling {rank} of {len(found)}", labels, own)


def asked_form(
    *, marginals: bool, kbest: int | None, spans: bool, coverage: float | None
) -> AnswerForm | None:
    """Return the form that flags ask for; None for the usual one. ValueError where they ask for several."""
    forms: list[AnswerForm] = [Spans()] if spans else []
    if kbest is not None:
        if not 1 <= kbest <= MOST_BEST:
            raise ValueError(f"--kbest must be from 1 to {MOST_BEST}; got {kbest}.")
        forms.append(KBest(kbest))
    if coverage is not None:
        check_coverage(coverage)
        forms.append(Sets(coverage))
    given = [*(["--marginals"] if marginals else []), *(one.flag for one in forms)]
    if len(given) > 1:
        raise ValueError(f"Give one of {' and '.join(given)}, not both.")
    return forms[0] if forms else None


def check_confident(bundle: Bundle, task: Task, what: str) -> None:
    """Raise ValueError if the model has no distribution over labellings."""
    _check_task(bundle, task, what, lambda one: one.confident)
    _check_loss(bundle, " of labellings")


def check_calibrated(bundle: Bundle, task: Task) -> None:
    """Raise ValueError if the model has no probabilities that `calibrate` can change."""
    _check_task(bundle, task, "calibrate", lambda one: one.calibrated)
    if task.confident:
        _check_loss(bundle, " of labellings")
    try:
        check_tempered(bundle.estimator.loss_)
    except AttributeError as error:
        raise ValueError(*error.args) from None


def check_covered(bundle: Bundle, task: Task, what: str) -> None:
    """Raise ValueError if there are no sets with a guarantee for such models."""
    _check_task(bundle, task, what, lambda one: one.covered)


def _check_task(bundle: Bundle, task: Task, what: str, takes: Callable[[Task], bool]) -> None:
    if takes(task):
        return
    from structlearn.cli.tasks.registry import TASKS

    *names, last = (entry.name for entry in TASKS.values() if takes(entry.task))
    known = f"{what} goes with models of {', '.join(names)} and {last}"
    raise ValueError(f"{known}; this is one of the task {bundle.notes['task']}. {task.instead}".rstrip())


def _check_loss(bundle: Bundle, of: str) -> None:
    loss = bundle.estimator.loss_
    if loss != "softmax":
        raise ValueError(f"--loss {loss} has no probabilities{of}; train with --loss softmax.")


def words_of(inputs: Inputs) -> Iterator[Words]:
    """Return the words of each sentence; None of data without words."""
    return repeat(None) if inputs.source is None else iter(inputs.source.words)


def _block(head: str, labels: Any, words: Words) -> Iterator[str]:
    yield f"# {head}\n"
    own = [str(label) for label in labels.tolist()]
    yield from map(_row, zip(own) if words is None else zip(words, own))
    yield "\n"


def _row(cells: Iterable[object], words: Words = None) -> str:
    return "\t".join([*map(str, cells), *([] if words is None else [" ".join(words)])]) + "\n"
