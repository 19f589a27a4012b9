"""Phrase pairs that links are consistent with (Och and Ney 2004), counted over a text in bounded memory.

A pair of phrases is consistent if there is a link between them and no link leads from one of them to a word
outside of the other. Its words at the edge may have no link.

    p(target | source) = c(source, target) / c(source)        p(source | target) likewise
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from structlearn.alignment.links import Link
from structlearn.alignment.uses.sorted_counts import Sorter, with_totals

#: Memory that a phrase pair takes while it is counted and sorted, about.
_BYTES = 1000
#: Phrase pairs that are held in any case.
_LEAST = 1000


@dataclass(frozen=True, slots=True)
class PhrasePair:
    """Two phrases, how often they were found together, and the probability of each given the other."""

    source: str
    target: str
    count: int
    forward: float  # p(target | source)
    backward: float  # p(source | target)


class PhraseSpans(NamedTuple):
    """Where two phrases are: source words i1 <= i < i2 and target words j1 <= j < j2."""

    i1: int
    i2: int
    j1: int
    j2: int


def phrase_spans(
    links: Iterable[Link], lengths: tuple[int, int], max_length: int = 7
) -> Iterator[PhraseSpans]:
    """Yield the consistent phrase pairs of a sentence pair, of at most `max_length` words each."""
    m, n = lengths
    rows: list[list[int]] = [[] for _ in range(m)]
    columns: list[list[int]] = [[] for _ in range(n)]
    for i, j in links:
        rows[i].append(j)
        columns[j].append(i)
    for i1 in range(m):
        low, high = n, -1
        for i2 in range(i1, min(i1 + max_length, m)):
            for j in rows[i2]:
                low, high = min(low, j), max(high, j)
            if high < 0:
                continue
            if high - low >= max_length:
                break
            back = [i for j in range(low, high + 1) for i in columns[j]]
            if min(back) < i1:
                break
            if max(back) <= i2:
                yield from _widen(PhraseSpans(i1, i2 + 1, low, high + 1), columns, max_length)


def _widen(spans: PhraseSpans, columns: Sequence[Sequence[int]], max_length: int) -> Iterator[PhraseSpans]:
    """Yield spans with none, some or all of the words without links that stand beside the target phrase."""
    first = spans.j1
    while first >= 0 and (first == spans.j1 or not columns[first]) and spans.j2 - first <= max_length:
        end = spans.j2
        while end <= len(columns) and end - first <= max_length:
            yield spans._replace(j1=first, j2=end)
            if end == len(columns) or columns[end]:
                break
            end += 1
        first -= 1


def counted_phrases(
    pairs: Iterable[tuple[Sequence[str], Sequence[str], Iterable[Link]]],
    *,
    max_length: int = 7,
    min_count: int = 1,
    memory: int = 500_000_000,
) -> Iterator[PhrasePair]:
    """Yield the phrase pairs of a text with their probabilities, by source phrase.

    Parameters
    ----------
    pairs : iterable of (source words, target words, links)
        Read once, as a stream.
    max_length : int
        Most words of a phrase.
    min_count : int
        Rarer pairs are left out, but count in the probabilities.
    memory : int
        Bytes to take, about; what does not fit is sorted in temporary files.

    """
    room = max(_LEAST, memory // _BYTES)
    with Sorter(room) as by_target, Sorter(room) as by_source:
        for target, source, count in _counts(pairs, max_length, room):
            by_target.add(target, source, (count,))
        for (target, source, (count,)), total in with_totals(by_target.merge()):
            by_source.add(source, target, (count, total))
        for (source, target, (count, of_target)), of_source in with_totals(by_source.merge()):
            if count >= min_count:
                yield PhrasePair(source, target, count, count / of_source, count / of_target)


def _counts(
    pairs: Iterable[tuple[Sequence[str], Sequence[str], Iterable[Link]]], max_length: int, room: int
) -> Iterator[tuple[str, str, int]]:
    """(target, source, count), the same phrases again where too many are different."""
    counts: Counter[tuple[str, str]] = Counter()
    for source, target, links in pairs:
        left, right = _without_blanks(source), _without_blanks(target)
        for i1, i2, j1, j2 in phrase_spans(links, (len(left), len(right)), max_length):
            counts[" ".join(right[j1:j2]), " ".join(left[i1:i2])] += 1
        if len(counts) >= room:
            yield from ((*phrases, count) for phrases, count in counts.items())
            counts.clear()
    yield from ((*phrases, count) for phrases, count in counts.items())


def _without_blanks(words: Sequence[str]) -> list[str]:
    """Return words without blanks inside, since blanks stand between words here."""
    return [word if word.isalnum() else "_".join(word.split()) or "_" for word in words]
