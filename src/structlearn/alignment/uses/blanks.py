"""Links between the words that stand between blanks, from links between finer tokens."""

from __future__ import annotations

from collections.abc import Sequence

from structlearn.alignment.files.pair_files import WrittenPair
from structlearn.alignment.text.tokenizers import AT_BLANKS, SplitText


def between_blanks(pair: WrittenPair) -> WrittenPair:
    """Return the pair with the words between blanks; a link is as sure as the surest between their tokens."""
    if not isinstance(pair.source, SplitText) and not isinstance(pair.target, SplitText):
        return pair
    (source, rows), (target, columns) = _words(pair.source), _words(pair.target)
    confidence = pair.confidence or [0.0] * len(pair.links)
    found: dict[tuple[int, int], float] = {}
    for (i, j), sure in zip(pair.links, confidence):
        link = rows[i], columns[j]
        found[link] = max(sure, found.get(link, sure))
    links = sorted(found)
    return WrittenPair(source, target, links, [found[link] for link in links] if pair.confidence else [])


def _words(side: Sequence[str]) -> tuple[Sequence[str], Sequence[int]]:
    """Return the words between blanks, and which of them each token is in."""
    if isinstance(side, SplitText):
        return AT_BLANKS(side.text), side.words()
    return side, range(len(side))
