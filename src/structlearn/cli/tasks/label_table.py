"""The figures of single labels: a table as conlleval has it, or named figures for programs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import aligned_lines, plain
from structlearn.metrics import LabelScores, Outputs, label_scores
from structlearn.tagging.scores import scores_by_type

_SHARES = ("precision", "recall", "f1")
_COUNTS = ("gold", "found", "right")
#: The longest name that a line shows whole.
_LONGEST_NAME = 40


class LabelTable(NamedTuple):
    """Scores by label.

    noun : what labels are: "class", "label" or "type"
    counted : what is counted: "examples", "tokens" or "spans"
    scores : by label
    """

    noun: str
    counted: str
    scores: Mapping[str, LabelScores]

    def figures(self) -> dict[str, float | int]:
        """All figures by name, such as "f1 NP" and "spans NP", the number of gold ones."""
        found: dict[str, float | int] = {}
        for label, one in self.scores.items():
            found |= {f"{share} {label}": getattr(one, share) for share in _SHARES}
            found[f"{self.counted} {label}"] = one.gold
        return found

    def means(self) -> dict[str, float | int]:
        """Return macro averages: means over the labels."""
        rows, n = self.scores.values(), max(len(self.scores), 1)
        return {f"macro_{share}": sum(getattr(one, share) for one in rows) / n for share in _SHARES}

    def lines(self) -> Iterator[str]:
        """Yield a line for each label below a heading; all are `name: value` lines, too."""
        rows: list[tuple[str, ...]] = [(f"{self.noun}:", *_SHARES, *_COUNTS)]
        for label, one in self.scores.items():
            shares = [f"{getattr(one, share):.4f}" for share in _SHARES]
            counts = [str(getattr(one, count)) for count in _COUNTS]
            rows.append((f"{self.noun} {plain(label, _LONGEST_NAME) or '(none)'}:", *shares, *counts))
        yield from aligned_lines(rows)


Figures = tuple[dict[str, float | int], LabelTable]


def table_of_labels(
    noun: str, counted: str, gold: Sequence[Hashable], predicted: Sequence[Hashable]
) -> LabelTable:
    """Return the table of single labels."""
    scores = label_scores(gold, predicted)
    return LabelTable(noun, counted, {str(label): one for label, one in scores.items()})


def table_of_sets(names: Sequence[str], gold: Outputs, predicted: Outputs) -> LabelTable:
    """Return the table of the labels of sets, given as rows of 0 and 1."""
    one, other = (np.asarray(rows).reshape(-1, len(names)) > 0 for rows in (gold, predicted))
    counts = zip((one & other).sum(axis=0), other.sum(axis=0), one.sum(axis=0))
    scores = {name: LabelScores(*map(int, own)) for name, own in zip(names, counts)}
    return LabelTable("label", "examples", scores)


def span_figures(y: Sequence[Array], predicted: Sequence[Array]) -> Figures:
    """Return precision, recall and F1 of all spans, their number, and the table of their types."""
    totals, types = scores_by_type(_strings(y), _strings(predicted))
    values: dict[str, float | int] = {share: getattr(totals, share) for share in _SHARES}
    return values | {"spans": totals.gold}, LabelTable("type", "spans", types)


def token_figures(y: Sequence[Array], predicted: Sequence[Array]) -> Figures:
    """Return the table of the labels of tokens; no figures of their own."""
    gold, found = (list(chain.from_iterable(_strings(one))) for one in (y, predicted))
    return {}, table_of_labels("label", "tokens", gold, found)


def _strings(sequences: Sequence[Array]) -> list[list[str]]:
    return [list(map(str, one.tolist())) for one in sequences]
