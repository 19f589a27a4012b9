"""How right trees are: attachment scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array

#: The head of each word, 0 for the root, and its label.
LabelledTree = tuple[Sequence[int] | Array, Sequence[str] | Array]


class ParsingScores(NamedTuple):
    """Shares of words, over all words or over those that are no punctuation.

    The head is right (uas); the head and the label up to its first colon, as the CoNLL 2018 scorer counts
    (las); the head and the whole label (las_full).
    """

    uas: float
    las: float
    las_full: float
    uas_no_punct: float
    las_no_punct: float
    #: trees whose heads are all right
    exact_match: float
    sentences: int
    words: int


def parsing_scores(
    gold: Iterable[LabelledTree], predicted: Iterable[LabelledTree], upos: Iterable[Sequence[str]]
) -> ParsingScores:
    """Compare trees; `upos` are the words' universal tags, which tell punctuation."""
    right, labelled, full, exact = [], [], [], []
    for i, ((heads, labels), (found, names)) in enumerate(zip(gold, predicted, strict=True)):
        if len(heads) != len(found):
            raise ValueError(f"Sentence {i} has {len(heads)} words but {len(found)} predicted heads.")
        same = np.asarray(heads) == np.asarray(found)
        right.append(same)
        labelled.append(same & (_universal(labels) == _universal(names)))
        full.append(same & (np.asarray(labels) == np.asarray(names)))
        exact.append(bool(same.all()))
    heads_right, labels_right = np.concatenate(right), np.concatenate(labelled)
    counts = np.concatenate([np.asarray(tags) for tags in upos]) != "PUNCT"
    return ParsingScores(
        float(heads_right.mean()),
        float(labels_right.mean()),
        float(np.concatenate(full).mean()),
        _mean(heads_right[counts]),
        _mean(labels_right[counts]),
        float(np.mean(exact)),
        len(exact),
        int(heads_right.size),
    )


def _universal(labels: Sequence[str] | Array) -> Array:
    return np.array([str(label).partition(":")[0] for label in labels])


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else 1.0
