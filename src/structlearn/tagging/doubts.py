"""Labelled text that is hardly meant as it is read: words as labels, tags of words as spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from structlearn.core.errors import doubt
from structlearn.core.wording import list_names
from structlearn.data import Column, Tokens
from structlearn.estimators.inputs.spans import is_mark

#: Labels from which on a column may be one of words, and from which on it is hardly anything else.
_SOME, _MANY = 50, 1000
#: A column of words has more than this times as many values as one of labels.
_TIMES = 5
#: Where a label is not known.
_UNKNOWN = "_"


def words_as_labels(tokens: Tokens, label: str) -> str | None:
    """Return what is said of a label column that has as many values as one of words, or None.

    Either it has far more of them than all other columns, or more than half as many as there are tokens.
    """
    n_labels, n_tokens = len(tokens.column(label).strings), tokens.n_tokens
    others = {name: len(column.strings) for name, column in tokens.columns.items() if name != label}
    if n_labels <= _SOME or not others:
        return None
    far_more = n_labels > _TIMES * max(others.values()) and (n_labels > _MANY or 10 * n_labels > n_tokens)
    if not far_more and not (n_labels > _MANY and 2 * n_labels > n_tokens):
        return None
    other = min(others, key=others.__getitem__)
    return (
        f"the labels are those of column {label}, which has {n_labels} different ones in {n_tokens} tokens, "
        f"as words do; column {other} has {others[other]}. If the labels are there, give --label {other} and "
        f"the words first in --columns ({label}, say)"
    )


def doubt_words(tokens: Tokens, words: str, looked: Sequence[str]) -> None:
    """Warn if the column of words has far fewer values than another column that is looked at."""
    n_words = len(tokens.columns[words].strings)
    for name in looked:
        n_others = len(tokens.columns[name].strings)
        if name != words and n_others > _MANY and n_others > _TIMES * n_words:
            doubt(
                f"Column {words} is read as the words, but has {n_words} different cells where column {name} "
                f"has {n_others}; name the column of words first in --columns, and that of labels by --label."
            )


def doubt_spans(labels: Column) -> None:
    """Warn of labels without O or marks such as B-, whose runs are mostly single tokens: tags of words."""
    if not _may_be_tags(labels.strings):
        return
    n_runs = 1 + int((np.diff(labels.codes) != 0).sum())
    if 2 * n_runs > labels.codes.size:
        known = [one for one in labels.strings if one != _UNKNOWN]
        doubt(
            f"The labels ({list_names(known, 4)}) mark no spans: none is O, B-type or I-type. The task tag "
            "learns labels of single words."
        )


def _may_be_tags(labels: Iterable[str]) -> bool:
    """Whether there are labels, and none is O or marks a part of a span."""
    known = set(labels) - {_UNKNOWN}
    return bool(known) and not any(map(is_mark, known))


def doubt_labels(y: object, *, spans: bool) -> None:
    """Warn of labels that were given in Python: as many as words, or for spans those of words.

    What is no list of lists is left to be refused where it is read.
    """
    lists = [one for one in y if hasattr(one, "__len__")] if isinstance(y, list | tuple) else []
    flat = [label for one in lists for label in one if isinstance(label, str)]
    names = set(flat)
    if len(names) > _MANY and 2 * len(names) > len(flat):
        doubt(
            f"y has {len(names)} different labels for {len(flat)} words, as words are; are words and labels "
            "exchanged?"
        )
    if spans and _may_be_tags(names):
        strings, codes = np.unique(flat, return_inverse=True)
        doubt_spans(Column(codes, strings.tolist()))
