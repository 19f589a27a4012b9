"""Labels that tokens may have: a lexicon or a partly annotated sentence, asked about or learnt from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.scoring import Scoring
from structlearn.structures import Chain, ConditionedChain

#: Per token: a label, a set of labels, or None for any.
Choices: TypeAlias = Sequence[object] | Array
#: Per sequence: its tokens' choices, or None for any.
Allowed: TypeAlias = Sequence[Choices | None]


def is_open(choice: object) -> bool:
    """Whether a choice is not a single label but a set of labels, or None."""
    return choice is None or isinstance(choice, set | frozenset | list | tuple)


def choices_of(choice: object) -> Iterable[object]:
    """Return the labels of a choice that is not None."""
    return choice if isinstance(choice, set | frozenset | list | tuple) else (choice,)


def allowed_table(given: Allowed, lengths: Array, classes: Array, name: str) -> Array:
    """Return the labels that each token may have, as a boolean array of shape (n_tokens, K)."""
    if isinstance(given, str | bytes | dict | set) or not hasattr(given, "__len__"):
        raise ValueError(f"{name} must be a list with an entry per sequence, a list or None.")
    if len(given) != len(lengths):
        raise ValueError(f"X has {len(lengths)} sequences but {name} {len(given)} entries.")
    place = {label: k for k, label in enumerate(classes.tolist())}
    table = np.ones((int(lengths.sum()), len(classes)), dtype=bool)
    ends = np.cumsum(lengths).tolist()
    for i, (choices, end) in enumerate(zip(given, ends)):
        if choices is None:
            continue
        if isinstance(choices, str | dict | set) or len(choices) != lengths[i]:
            raise ValueError(
                f"{name} of sequence {i} must be a list with a set of labels, or None, for each of its "
                f"{lengths[i]} tokens."
            )
        for row, choice in zip(table[end - lengths[i] :], choices):
            if choice is not None:
                row[:] = False
                row[[_place_of_label(label, place, name, i) for label in choices_of(choice)]] = True
    return table


def _place_of_label(label: object, place: dict[object, int], name: str, i: int) -> int:
    try:
        return place[label]
    except (KeyError, TypeError):
        raise ValueError(
            f"{name} of sequence {i} names the label {quote(label)}, which is not among the classes."
        ) from None


def shift_of(table: Array, scoring: Scoring, lengths: Array) -> Array:
    """Return what the table adds to the scores of local parts: 0, or -inf for a label not allowed."""
    shift = np.zeros(scoring.start[-1])
    shift[local_places(table.shape, scoring, lengths)[~table]] = -np.inf
    return shift


def local_places(shape: tuple[int, ...], scoring: Scoring, lengths: Array) -> Array:
    """Return the place of the local part of each token and label, all examples end to end: (n_tokens, K).

    Those are the first parts of an example, whose number of tokens (or nodes) is in `lengths`.
    """
    n, k = shape
    first = np.repeat(scoring.start[:-1] - k * (np.cumsum(lengths) - lengths), lengths)
    return (first + k * np.arange(n))[:, None] + np.arange(k)


class Limits:
    """What predictions of sequences are limited to: the structure's constraints, and what users allow.

    Parameters
    ----------
    structure : Chain or ConditionedChain
    scoring : Scoring
        That of the sequences that are not empty.
    filled : boolean array of shape (n_sequences,), which are not
    table : what `allowed_table` gives, or None
    """

    def __init__(
        self, structure: Chain | ConditionedChain, scoring: Scoring, filled: Array, table: Array | None
    ) -> None:
        self.structure = structure
        self.which = np.flatnonzero(filled)
        self.table = table
        self.shift = None if table is None else shift_of(table, scoring, scoring.shapes[:, 0])
        self._start = scoring.start
        self._ends = np.cumsum(scoring.shapes[:, 0])

    @property
    def are_none(self) -> bool:
        return self.table is None and self.structure.forbidden is None

    def of(self, i: int) -> Array | float:
        """Return the shift of example i."""
        return 0.0 if self.shift is None else self.shift[self._start[i] : self._start[i + 1]]

    def check(self, codes: Array, first: int, last: int) -> None:
        """Raise ValueError if the best labels of examples first .. last - 1 break a limit.

        Then no labelling is allowed.
        """
        if self.are_none:
            return
        ends = self._ends[first:last]
        lengths = np.diff(ends, prepend=self._ends[first - 1] if first else 0)
        wrong = self.structure.broken(codes, lengths)
        if self.table is not None:
            rows = np.arange(codes.size) + ends[0] - lengths[0]
            wrong |= ~self.table[rows, codes]
        if wrong.any():
            at = ends[0] - lengths[0] + int(np.argmax(wrong))
            raise self.nothing(first + int(np.searchsorted(ends, at, side="right")))

    def check_scores(self, parts: Array, i: int) -> None:
        """Raise ValueError if these scores of all parts of example i allow no labelling."""
        if not self.are_none and not self.structure.allows(parts):
            raise self.nothing(i)

    def nothing(self, i: int) -> ValueError:
        """Return the error for example i, for which no labelling is allowed."""
        what = (
            "constraints"
            if self.table is None
            else "allowed labels" + ("" if self.structure.forbidden is None else " and the constraints")
        )
        return ValueError(
            f"The {what} leave no labelling of sequence {self.which[i]}; allow more labels of its tokens."
        )
