"""Counting which words occur together, window by window, in a table that keeps to its size.

Each window of the text gives its own sorted table, which is merged into that of the windows before. Where
the two have more pairs than there is room for, those go that say least: with n sentence pairs that have both
words, where n0 are expected by chance,

    n log(1 + n / n0)

is small for a pair that was met once or twice and has a frequent word in it. A rare word keeps its rare
companions, and whatever occurs together often stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from structlearn.alignment.statistics.lexicon import MOST_ENTRIES, Lexicon
from structlearn.alignment.text.bitext import Bitext, Corpus, TrainingText
from structlearn.alignment.text.occurrences import Occurrences, count_sentences, even_parts, occurrences
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.threads import Map

#: Classes of how much a pair says, and how many of them there are to a doubling.
N_SCORES, A_DOUBLING = 1024, 32


class Together(NamedTuple):
    """The pairs of words of some windows, as in a `Lexicon`."""

    start: Array  # (n_source_words + 2,)
    target: Array  # (K,)
    together: Array  # (K,)


class Chance(NamedTuple):
    """What is needed to expect how often words occur together."""

    source_pairs: Array  # (n_source_words + 1,)
    target_pairs: Array  # (n_target_words + 1,)
    n_pairs: int


def build_lexicon(
    text: TrainingText,
    run: Map = map,
    *,
    advance: Callable[[], object] = lambda: None,
    earlier: Lexicon | None = None,
) -> Lexicon:
    """Make the lexicon of a text, of `text.most_entries` and of `MOST_ENTRIES` pairs of words at most.

    Counts of an `earlier` text, whose words are the first ones of this text, go on.
    `advance` is called 2 `N_PARTS` times at most for each window.
    """
    sizes = len(text.source_words), len(text.target_words)
    most = MOST_ENTRIES if text.most_entries is None else min(text.most_entries, MOST_ENTRIES)
    old = _nothing() if earlier is None else earlier
    found = Together(_longer(old.start, sizes[0] + 2, old.start[-1]), old.target, old.together)
    pairs = [_longer(one[:-1], n + 1, 0) for one, n in zip((old.source_pairs, old.target_pairs), sizes)]
    n_pairs = max(int(one.max()) for one in pairs)  # about: nearly every sentence ends alike
    for window in text.windows():
        for total, corpus, size in zip(pairs, (window.source, window.target), sizes):
            total += count_sentences(corpus, size)
        n_pairs += len(window)
        new = count_together(window, run, advance)
        found = _merge_tables(found, new, Chance(pairs[0], pairs[1], n_pairs), most)
    return Lexicon(*found, *pairs)


def _nothing() -> Lexicon:
    none, one = np.empty(0, np.int32), np.zeros(1, np.int32)
    return Lexicon(np.zeros(2, np.int64), none, none, one, one)


def _longer(values: Array, size: int, rest: int) -> Array:
    """Return a copy with more entries behind, all of them `rest`."""
    found = np.full(size, rest, dtype=values.dtype)
    found[: values.size] = values
    return found


# ---- one window -------------------------------------------------------------------------------------


def count_together(window: Bitext, run: Map = map, advance: Callable[[], object] = lambda: None) -> Together:
    """Return the pairs of words of one window, all of them.

    Source word by source word: visit the sentences it occurs in, mark the target words met. This takes time
    O(cells) and no sort of all cells.
    """
    n_source, n_target = len(window.source_words), len(window.target_words)
    where = occurrences(window.source, n_source)
    parts = even_parts(where.start)
    sizes = np.zeros(n_source + 2, dtype=np.int64)

    def count(part: tuple[int, int]) -> None:
        _count_rows(where, window.target, sizes, _workspace(n_target), part)

    for _ in run(count, parts):
        advance()
    start = np.cumsum(sizes)
    found = Together(start, np.empty(start[-1], np.int32), np.empty(start[-1], np.int32))

    def fill(part: tuple[int, int]) -> None:
        _fill_rows(where, window.target, found, _workspace(n_target), part)

    for _ in run(fill, parts):
        advance()
    return found


@kernel
def _meet(where: Occurrences, target: Corpus, e: int, last: Array, met: Array, count: Array) -> int:
    """List in `met` the target words that source word e occurs with, and count their sentences."""
    n_met = 0
    previous = -1
    for o in range(where.start[e], where.start[e + 1]):
        s = where.sentence[o]
        if s == previous:
            continue
        previous = s
        for f in target.tokens[target.start[s] : target.start[s + 1]]:
            if last[f] < 0:
                met[n_met] = f
                count[f] = 0
                n_met += 1
            if last[f] != s:
                count[f] += 1
                last[f] = s
    for f in met[:n_met]:
        last[f] = -1
    return n_met


def _workspace(n_target: int) -> tuple[Array, Array, Array]:
    """Return the last sentence with each target word (-1), and room for `_meet` to list and count words."""
    last = np.full(n_target, -1, dtype=np.int32)
    return last, np.empty(n_target, dtype=np.int32), np.empty(n_target, dtype=np.int32)


@kernel
def _count_rows(
    where: Occurrences,
    target: Corpus,
    sizes: Array,
    room: tuple[Array, Array, Array],
    part: tuple[int, int],
) -> None:
    """sizes[e + 1] = number of entries of source word e."""
    last, met, count = room
    for e in range(part[0], part[1]):
        sizes[e + 1] = _meet(where, target, e, last, met, count)


@kernel
def _fill_rows(
    where: Occurrences,
    target: Corpus,
    found: Together,
    room: tuple[Array, Array, Array],
    part: tuple[int, int],
) -> None:
    """Count the rows of a part of the source words."""
    last, met, count = room
    for e in range(part[0], part[1]):
        n_met = _meet(where, target, e, last, met, count)
        _sort(met, n_met)
        for k in range(n_met):
            found.target[found.start[e] + k] = met[k]
            found.together[found.start[e] + k] = count[met[k]]


@kernel
def _sort(values: Array, n: int) -> None:
    """Sort the first n in increasing order: Shell's sort by Ciura's gaps, which compiles in no time."""
    gap = 701
    while gap < n:
        gap = gap * 9 // 4
    while gap > 0:
        for k in range(gap, n):
            value, j = values[k], k
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap = _next_gap(gap)


@kernel
def _next_gap(gap: int) -> int:
    """701, 301, 132, 57, 23, 10, 4, 1, and before these 4/9 of the last."""
    if gap > 701:
        return max(gap * 4 // 9, 701)
    for smaller in (301, 132, 57, 23, 10, 4, 1):
        if smaller < gap:
            return smaller
    return 0


# ---- many windows -----------------------------------------------------------------------------------


def _merge_tables(old: Together, new: Together, chance: Chance, most: int) -> Together:
    """Merge two tables into one of at most `most` pairs."""
    if not old.target.size and new.target.size <= most:
        return new
    least, counts = 0, _count_scores(old, new, chance, old.target.size + new.target.size > most)
    if counts.sum() > most:
        least = int(np.argmax(np.append(np.cumsum(counts[::-1])[::-1], 0) <= most))
    kept = int(counts[least:].sum())
    merged = Together(np.zeros_like(old.start), np.empty(kept, np.int32), np.empty(kept, np.int32))
    _merge(old, new, chance, least, merged)
    return merged


@kernel
def _count_scores(old: Together, new: Together, chance: Chance, scored: bool) -> Array:
    """Count the pairs of both tables per class of score; all are in the last unless `scored`."""
    counts = np.zeros(N_SCORES, dtype=np.int64)
    for e in range(old.start.size - 1):
        a, b = old.start[e], new.start[e]
        while a < old.start[e + 1] or b < new.start[e + 1]:
            f, n, a, b = _next(old, new, e, a, b)
            counts[_score(chance, e, f, n) if scored else N_SCORES - 1] += 1
    return counts


@kernel
def _merge(old: Together, new: Together, chance: Chance, least: int, out: Together) -> None:
    """Write the pairs of both whose class of score is `least` or above."""
    k = 0
    for e in range(old.start.size - 1):
        a, b = old.start[e], new.start[e]
        while a < old.start[e + 1] or b < new.start[e + 1]:
            f, n, a, b = _next(old, new, e, a, b)
            if least == 0 or _score(chance, e, f, n) >= least:
                out.target[k] = f
                out.together[k] = n
                k += 1
        out.start[e + 1] = k


@kernel
def _next(old: Together, new: Together, e: int, a: int, b: int) -> tuple[int, int, int, int]:
    """Return the next pair of source word e in either table.

    Its target word, its count, and what comes then.
    """
    in_old, in_new = a < old.start[e + 1], b < new.start[e + 1]
    if in_old and in_new and old.target[a] == new.target[b]:
        return old.target[a], old.together[a] + new.together[b], a + 1, b + 1
    if in_old and (not in_new or old.target[a] < new.target[b]):
        return old.target[a], old.together[a], a + 1, b
    return new.target[b], new.together[b], a, b + 1


@kernel
def _score(chance: Chance, e: int, f: int, n: int) -> int:
    """Return the class of n log(1 + n / n0)."""
    by_chance = chance.source_pairs[e] * float(chance.target_pairs[f]) / chance.n_pairs
    return min(N_SCORES - 1, int(A_DOUBLING * np.log2(1.0 + n * np.log(1.0 + n / by_chance))))
