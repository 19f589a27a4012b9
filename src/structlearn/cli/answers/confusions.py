"""Which class was taken for which: a table, or the most frequent mistakes if there are many classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from structlearn.core.wording import aligned_lines, plain

#: Most classes of a table; of more, the most frequent mistakes are listed.
MOST_CLASSES = 10
MOST_MISTAKES = 10
_LONGEST_NAME = 20


class Confusions(NamedTuple):
    """How often each class was answered for each.

    labels : the classes, in the order of the table
    counts : by gold and predicted label; pairs that never occur are missing
    """

    labels: Sequence[str]
    counts: Counter[tuple[str, str]]

    def figures(self) -> dict[str, object]:
        """Return the counts by gold label and, within, by predicted label."""
        found: dict[str, dict[str, int]] = {label: {} for label in self.labels}
        for (gold, predicted), n in sorted(self.counts.items()):
            found[gold][predicted] = n
        return {"confusions": found}

    def mistakes(self) -> list[tuple[str, str, int]]:
        """Return gold label, predicted label and number of all mistakes, the most frequent first."""
        wrong = [(gold, found, n) for (gold, found), n in self.counts.items() if gold != found]
        return sorted(wrong, key=lambda one: (-one[2], one[:2]))

    def lines(self) -> Iterator[str]:
        """Yield `name: value` lines: a row per gold class, or a line per frequent mistake."""
        if len(self.labels) <= MOST_CLASSES:
            yield from aligned_lines(list(self._rows()))
            return
        for gold, found, n in self.mistakes()[:MOST_MISTAKES]:
            yield f"{_shown(gold)} taken for {_shown(found)}: {n}"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield "gold, found as:", *map(_shown, self.labels)
        for gold in self.labels:
            yield f"gold {_shown(gold)}:", *(str(self.counts[gold, found]) for found in self.labels)


def confusions(
    gold: Sequence[Hashable], predicted: Iterable[Hashable], order: Iterable[object]
) -> Confusions:
    """Count pairs of gold and predicted labels; `order` has the labels that may occur."""
    counts = Counter((str(a), str(b)) for a, b in zip(gold, predicted, strict=True))
    return Confusions([*dict.fromkeys(map(str, order))], counts)


def _shown(label: str) -> str:
    return plain(label, _LONGEST_NAME) or "(none)"
