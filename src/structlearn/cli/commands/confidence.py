"""Answers of `predict` that say how sure a model is: the K best, spans, sets of labellings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from structlearn.cli.tasks.task import Inputs, Task
from structlearn.estimators.confidence.conformal import check_coverage
from structlearn.estimators.files.persistence import Bundle

#: A sentence's words, or None of data without words.
Words = Sequence[str] | None
#: Most labellings of a sentence that --kbest writes.
MOST_BEST = 1000
_HEAD = ("sentence", "start", "end", "label", "probability")


class AnswerForm(ABC):
    """A form of answers that only labellings have."""

    flag: str
    #: whether it takes a distribution over labellings
    probable = True

    def check(self, bundle: Bundle, task: Task) -> None:
        """Raise ValueError if the model cannot answer in this form, before data is read."""
        check_confident(bundle, task, self.flag, probable=self.probable)

    def pages(self, bundle: Bundle, inputs: Inputs) -> Iterator[str]:
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
    """Blocks as those of the K best, below a line that says how many there are."""

    coverage: float
    flag = "--coverage"
    probable = False

    def check(self, bundle: Bundle, task: Task) -> None:
        super().check(bundle, task)
        if not hasattr(bundle.estimator, "conformal_scores_"):
            raise ValueError(
                "The model has no sets yet; run structlearn conformalize on data that was used for nothing "
                "else."
            )

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


def check_confident(bundle: Bundle, task: Task, what: str, *, probable: bool) -> None:
    """Raise ValueError if the model has no labellings or, if `probable`, no distribution over them."""
    if not task.confident:
        raise ValueError(
            f"{what} goes with models of tag, chunk and ner; this is one of the task {bundle.notes['task']}."
        )
    loss = bundle.estimator.loss_
    if probable and loss != "softmax":
        raise ValueError(f"--loss {loss} has no probabilities of labellings; train with --loss softmax.")


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
