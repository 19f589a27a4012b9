"""How right the labels of tokens are: figures of tokens, sentences and spans, as far as labels are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structlearn import metrics
from structlearn.cli.tasks.constraints import UNKNOWN
from structlearn.cli.tasks.label_table import span_figures, token_figures
from structlearn.cli.tasks.labels import positions, spelling
from structlearn.cli.tasks.task import Inputs, Scores
from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data import DataError


def known_labels(y: Sequence[Array], classes: Array) -> list[Array]:
    """Return which labels of each sentence are known: all but `_`, unless it is a label of the model."""
    if UNKNOWN in classes.tolist():
        return [np.ones(len(one), dtype=bool) for one in y]
    return [np.asarray([str(label) != UNKNOWN for label in one.tolist()], dtype=bool) for one in y]


def whole_labellings(path: Path, y: Sequence[Array], classes: Array) -> list[list[Any]]:
    """Return labellings spelled as the model's are; ValueError where a label is not known."""
    if not all(one.all() for one in known_labels(y, classes)):
        raise ValueError(
            f"{path} has labels that are not known ({UNKNOWN}), but it takes whole labellings; leave these "
            "sentences out."
        )
    spelled = spelling(classes)
    return [[spelled(label) for label in one.tolist()] for one in y]


def check_seen(classes: Array, inputs: Inputs, kind: Callable[[str], str]) -> None:
    """Raise DataError if the file has a label, of a kind, that training never saw; `_` does not count."""
    seen = {kind(str(label)) for label in classes.tolist()}
    for token, label in enumerate(label for one in inputs.y for label in one.tolist()):
        if str(label) != UNKNOWN and kind(str(label)) not in seen:
            problem = (
                f"training never saw the label {quote(label)}; to count such labels as mistakes, "
                "give --count-unknown."
            )
            if inputs.source:
                raise inputs.source.tokens.error(problem, token)
            raise DataError(f"{problem[0].upper()}{problem[1:]}")


def tag_scores(classes: Array, y: Sequence[Array], predicted: Sequence[Array], *, spans: bool) -> Scores:
    """Return the shares of right tokens and of right sentences; for spans, precision, recall and F1 by type.

    Tokens whose labels are not known are left out; sentences with such tokens count for tokens alone, since
    it is not known whether they, or their spans, are right.
    """
    known = known_labels(y, classes)
    gold = [positions(one[there].tolist(), classes) for one, there in zip(y, known)]
    guess = [positions(one[there].tolist(), classes) for one, there in zip(predicted, known)]
    n_tokens, whole = sum(map(len, gold)), [i for i, there in enumerate(known) if there.all()]
    if not n_tokens or (spans and not whole):
        raise ValueError(
            "There is nothing to compare with: no sentence of the file has all its labels."
            if n_tokens
            else "There is nothing to compare with: the file has no label that is known."
        )
    values: dict[str, float | int] = {"accuracy": metrics.sequence_accuracy(gold, guess)}
    if whole:
        values["exact_match"] = metrics.exact_match([gold[i] for i in whole], [guess[i] for i in whole])
    values |= {"sequences": len(gold), "tokens": n_tokens}
    if len(whole) < len(gold):
        values |= {"whole_sequences": len(whole), "unlabelled_tokens": sum(map(len, y)) - n_tokens}
    more, table = (
        span_figures([y[i] for i in whole], [predicted[i] for i in whole])
        if spans
        else token_figures(*([one[there] for one, there in zip(all_, known)] for all_ in (y, predicted)))
    )
    return Scores(values | more, sum(int((one < 0).sum()) for one in gold), table)
