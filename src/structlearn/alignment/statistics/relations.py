"""What two words have in common before any link of theirs is counted: spelling, frequency, beginnings.

A translation that was never counted is believed as far as word pairs *of its kind* are: a kind is a class of
likeness and the frequency classes of both words. How often words of a kind are linked is learned from the
text with everything else; nothing is assumed of a language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.alignment.statistics.lexicon import Lexicon
from structlearn.alignment.statistics.strings import (
    MARK,
    WORD,
    Spellings,
    clear_letters,
    common_prefix,
    letter_marks,
    likeness,
    mark_letters,
    spell,
)
from structlearn.alignment.text.bitext import Bitext, Text, TrainingText, Vocabulary
from structlearn.alignment.text.numbering import beginning
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

if TYPE_CHECKING:
    from structlearn.alignment.statistics.continuing import EarlierText

#: Classes of likeness: 10 for words by the tenths that they share, 10 for those that are the same, short, or
#: no words.
N_LIKENESS = 20
#: Classes of frequency: powers of two, the last one open.
N_FREQUENCY = 13


class Occurring(NamedTuple):
    """Words of one side: how often each occurs, its beginning's number, and its shares in two things."""

    counts: Array  # (n_words,)
    beginning: Array  # int32, (n_words,)
    share: Array  # in the text
    within: Array  # in what has its beginning


class Relations(NamedTuple):
    """What the words of each entry of a lexicon have in common.

    kind : number of (likeness, frequency of the source word, frequency of the target word)
    cells : how often the two words occur in one pair, counted in cells
    chance : expected links of each kind if every word were linked to all words of its sentence alike, for
        links that target words choose and for those that source words choose
    known : links of each kind in earlier text
    source, target : the words
    """

    kind: Array  # int16, (K,)
    cells: Array  # float32, (K,)
    chance: Array  # (2, n_kinds)
    known: Array  # (n_kinds,)
    source: Occurring
    target: Occurring


def relate(
    text: TrainingText,
    lexicon: Lexicon,
    windows: Iterable[tuple[Bitext, Array]],
    earlier: EarlierText | None = None,
) -> Relations:
    """Return the relations of the entries of a lexicon, which is of this text.

    The entry of each cell by windows.
    """
    sides = text.source_words, text.target_words
    source, target = (occurring(side) for side in sides)
    classes = frequency_classes(source.counts), frequency_classes(target.counts)
    kind = entry_kinds(lexicon, spell(sides[0].words), spell(sides[1].words), *classes, letter_marks())
    cells = np.zeros(kind.size, dtype=np.float32) if earlier is None else earlier.cells.copy()
    chance = np.zeros((2, N_LIKENESS * N_FREQUENCY * N_FREQUENCY))
    for window, entry in windows:
        _count_cells(window.record, entry, kind, cells, chance)
    known = np.zeros(chance.shape[1])
    if earlier is not None:
        known = count_kinds(kind, earlier.links, known.size)
    return Relations(kind, cells, chance, known, source, target)


def occurring(words: Vocabulary) -> Occurring:
    """Describe how words occur in the sentences of one side."""
    counts = words.counts.astype(np.float64)
    classes = _beginnings(words.words)
    alike = np.bincount(classes, counts)[classes]
    return Occurring(counts, classes, counts / counts.sum(), counts / np.maximum(alike, 1.0))


def frequency_classes(counts: Array) -> Array:
    """floor(log2(count)), at most N_FREQUENCY - 1."""
    return np.minimum(np.log2(np.maximum(counts, 1)).astype(np.int16), N_FREQUENCY - 1)


def _beginnings(words: Sequence[str]) -> Array:
    number: dict[str, int] = {}
    found = [number.setdefault(beginning(word), len(number)) for word in words]
    return np.array(found, dtype=np.int32)


@kernel
def entry_kinds(
    lexicon: Lexicon, a: Spellings, b: Spellings, source_class: Array, target_class: Array, marks: Array
) -> Array:
    """Return the kind of each entry; `marks` is scratch, see `letter_marks`."""
    kind = np.empty(lexicon.target.size, dtype=np.int16)
    for e in range(a.kind.size):
        mark_letters(a, e, marks)
        for k in range(lexicon.start[e], lexicon.start[e + 1]):
            f = lexicon.target[k]
            alike = likeness_class(a, e, b, f, marks)
            kind[k] = (alike * N_FREQUENCY + source_class[e]) * N_FREQUENCY + target_class[f]
        clear_letters(a, e, marks)
    return kind


@kernel
def likeness_class(a: Spellings, i: int, b: Spellings, j: int, marks: Array) -> int:
    """Return the class of two words, of which word i is marked.

    By the tenths of letters that they share; the same ones, short ones, numbers and marks apart.
    """
    m, n = a.start[i + 1] - a.start[i], b.start[j + 1] - b.start[j]
    same = m == n and common_prefix(a, i, b, j) == m
    if a.kind[i] == WORD and b.kind[j] == WORD:
        if same:
            return 10 if m <= 3 else 11
        if min(m, n) <= 3:
            return 12
        return min(9, int(10 * likeness(marks, m, b, j)))
    if a.kind[i] == b.kind[j]:
        return (13 if same else 14) if a.kind[i] == MARK else (15 if same else 16)
    if a.kind[i] == WORD or b.kind[j] == WORD:
        return 17 if a.kind[i] == MARK or b.kind[j] == MARK else 18
    return 19


@kernel
def _count_cells(text: Text, entry: Array, kind: Array, cells: Array, chance: Array) -> None:
    """Add the number of cells of each entry, and the links of each kind by chance, both ways."""
    for s in range(text.cell_start.size - 1):
        m = text.source.start[s + 1] - text.source.start[s]
        n = text.target.start[s + 1] - text.target.start[s]
        for cell in range(text.cell_start[s], text.cell_start[s + 1]):
            k = entry[cell]
            if k < kind.size:
                cells[k] += 1.0
                chance[0, kind[k]] += 1.0 / m
                chance[1, kind[k]] += 1.0 / n


@kernel
def count_kinds(kind: Array, counts: Array, n_kinds: int) -> Array:
    """Links of each kind; as `np.bincount`, which copies both arrays."""
    found = np.zeros(n_kinds)
    for k in range(kind.size):
        found[kind[k]] += counts[k]
    return found


def lifts(counts: Array, chance: Array) -> Array:
    """How much likelier than by chance a pair of each kind is linked: by frequencies, times by likeness.

    `counts` and `chance` are expected links of each kind; one imaginary link keeps rare kinds near chance.
    """
    taken, free = (table.reshape(N_LIKENESS, -1) for table in (counts, chance))
    by_frequency = (taken.sum(axis=0) + 1.0) / (free.sum(axis=0) + 1.0)
    by_likeness = (taken.sum(axis=1) + 1.0) / (free @ by_frequency + 1.0)
    return np.outer(by_likeness, by_frequency).ravel()
