"""Word vectors of two languages, and the orthogonal map between them.

    W = argmin ||X W - Y||_F   over matrices with orthonormal rows or columns,   W = U V' from X' Y = U S V'

where the rows of X and Y are the unit vectors of the words of a dictionary (Schonemann 1966; for word vectors
Xing et al. 2015). Where the two languages' vectors differ in dimension W is semi-orthogonal: the smaller
space is embedded in the larger one, or the larger one projected, so that cosines are taken in the target's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.alignment.text.bitext import Vocabulary
from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data.text import open_text
from structlearn.data.word_vectors import WordVectors, read_vectors, unit_rows
from structlearn.storage.errors import DataError

if TYPE_CHECKING:
    from structlearn.alignment.statistics.statistics import AlignmentStatistics
    from structlearn.alignment.text.form import Forms

__all__ = [
    "MappedVectors",
    "Vectors",
    "WordVectors",
    "Words",
    "known_vectors",
    "learn_map",
    "map_vectors",
    "nearest_links",
    "orthogonal_map",
    "precision_at_1",
    "read_dictionary",
    "read_vectors",
    "unit_rows",
]

Words = tuple[Sequence[str], Sequence[str]]
#: Words scored at once by `precision_at_1`.
_CHUNK = 512
#: One in this many pairs of a dictionary is held out to see how good the map is.
_HELD_OUT = 10

#: Vectors of a smaller share of the words, or of the word pairs, are a mistake.
_LEAST_COVERED = 0.01

#: Words on either side that are a word's context.
_AROUND = 3

#: Word vectors of both sides, in one space unless said otherwise.
Vectors = tuple[WordVectors, WordVectors]


def in_context(vectors: Array, start: Array) -> Array:
    """Return the direction of the mean of the vectors around each word, up to `_AROUND` on either side.

    vectors : of all words of some sentences, zeros for those without
    start : sentence s is start[s] : start[s + 1]
    """
    place, sentence = np.arange(len(vectors)), np.repeat(np.arange(len(start) - 1), np.diff(start))
    first = np.maximum(start[sentence], place - _AROUND)
    last = np.minimum(start[sentence + 1], place + _AROUND + 1)
    sums = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0, dtype=np.float64)])
    around = (sums[last] - sums[first] - vectors).astype(np.float32)
    around[np.abs(around).max(axis=1, initial=0.0) < 1e-6] = 0.0  # rounding errors have no direction
    return unit_rows(around)


def orthogonal_map(X: Array, Y: Array) -> Array:
    """Return argmin ||X W - Y|| over (semi-)orthogonal W of shape (X's dimension, Y's dimension)."""
    U, _, Vt = np.linalg.svd(X.T.astype(np.float64) @ Y.astype(np.float64), full_matrices=False)
    return U @ Vt


def learn_map(
    source: WordVectors, target: WordVectors, dictionary: Iterable[tuple[str, str]]
) -> tuple[Array, int]:
    """Return the orthogonal map from the dictionary's pairs that both sides have, and their number."""
    rows = _known_rows(source, target, dictionary)
    if len(rows) == 0:
        raise DataError("No pair of the dictionary has a vector on both sides: no map can be learned.")
    return orthogonal_map(source.matrix[rows[:, 0]], target.matrix[rows[:, 1]]), len(rows)


class MappedVectors(NamedTuple):
    """Vectors of both sides in the target's space, and what is known of the map."""

    vectors: Vectors
    #: word pairs that it was learned from
    known: int
    #: share of held-out words whose nearest is a translation, by a map learned without them
    precision: float
    #: how many these are
    asked: int


def map_vectors(vectors: Vectors, dictionary: Iterable[tuple[str, str]]) -> MappedVectors:
    """Map the source's vectors to the target's space by the pairs of a dictionary."""
    source, target = vectors
    pairs = list(dictionary)
    W, known = learn_map(source, target, pairs)
    kept, asked = _held_out(pairs)
    if not asked or len(_known_rows(source, target, kept)) == 0:
        return MappedVectors((source.map_by(W), target), known, float("nan"), 0)
    without, _ = learn_map(source, target, kept)
    return MappedVectors(
        (source.map_by(W), target), known, *precision_at_1(source.map_by(without), target, asked)
    )


def _held_out(pairs: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the pairs without those of every tenth source word, and those."""
    words = list(dict.fromkeys(source for source, _ in pairs))
    asked = set(words[_HELD_OUT - 1 :: _HELD_OUT])
    return [pair for pair in pairs if pair[0] not in asked], [pair for pair in pairs if pair[0] in asked]


def nearest_links(pair: Words, vectors: Vectors) -> Array:
    """Return the 0/1 table of words that are nearest to each other, both ways, by a positive cosine."""
    cosine = vectors[0].of(pair[0]) @ vectors[1].of(pair[1]).T
    m, n = cosine.shape
    table = np.zeros((m, n), dtype=np.int8)
    if not m or not n:
        return table
    row, column = cosine.argmax(axis=1), cosine.argmax(axis=0)
    chosen = np.flatnonzero((column[row] == np.arange(m)) & (cosine.max(axis=1) > 0))
    table[chosen, row[chosen]] = 1
    return table


def precision_at_1(
    source: WordVectors, target: WordVectors, dictionary: Iterable[tuple[str, str]]
) -> tuple[float, int]:
    """Return the share of the dictionary's source words whose nearest target word is a translation.

    `source` is in the target's space already. Also the number of source words that were asked.
    """
    rows = _known_rows(source, target, dictionary)
    right: dict[int, set[int]] = {}
    for i, j in rows.tolist():
        right.setdefault(i, set()).add(j)
    asked = np.array(list(right), dtype=np.int64)
    hits = 0
    for first in range(0, len(asked), _CHUNK):
        some = asked[first : first + _CHUNK]
        nearest = (source.matrix[some] @ target.matrix.T).argmax(axis=1)
        hits += sum(int(j) in right[int(i)] for i, j in zip(some, nearest))
    return (hits / len(asked) if len(asked) else float("nan")), len(asked)


def _known_rows(source: WordVectors, target: WordVectors, dictionary: Iterable[tuple[str, str]]) -> Array:
    pairs = list(dictionary)
    rows = np.stack([source.rows(a for a, _ in pairs), target.rows(b for _, b in pairs)], axis=1)
    return rows[(rows >= 0).all(axis=1)]


def vectors_of(words: Vocabulary, vectors: WordVectors, side: str) -> WordVectors:
    """Return the vectors of the words of a text; DataError if next to none of them has one."""
    known = np.array([word in vectors.position for word in words.words], dtype=bool)
    share = words.counts[known].sum() / max(1, words.counts.sum())
    if share < _LEAST_COVERED:
        raise DataError(
            f"{vectors.origin or 'The vectors'}: vectors of {share:.2%} of the words of the {side} text; are "
            "they of its language, and written as it is?"
        )
    return vectors.among(words.words)


def map_by_file(vectors: Vectors, path: str | os.PathLike[str]) -> MappedVectors:
    """Return the vectors mapped by the word pairs of a file.

    DataError if next to none of them has vectors.
    """
    pairs = read_dictionary(path)
    known = len(_known_rows(*vectors, pairs))
    if not known or known < _LEAST_COVERED * len(pairs):
        raise DataError(
            f"{os.fspath(path)}: {known} of {len(pairs)} word pairs have vectors on both sides; is it of "
            "these languages, in this order, and written as the vectors are?"
        )
    return map_vectors(vectors, pairs)


def read_dictionary(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Read word pairs, one pair per line, separated by a tab or spaces."""
    pairs = []
    for number, line in open_text(path):
        fields = line.split("\t") if "\t" in line else line.split()
        if len(fields) != 2:
            raise DataError.at(path, number, f"a line holds a word and its translation; got {quote(line)}.")
        pairs.append((fields[0].strip(), fields[1].strip()))
    return pairs


def known_vectors(
    vectors: Vectors, forms: Forms, statistics: AlignmentStatistics, is_mapped: bool
) -> tuple[Vectors, MappedVectors | None]:
    """Return the vectors of words that the statistics know, in one space, and the map if one is learned."""
    sides = zip(vectors, forms, (statistics.source_words, statistics.target_words))
    source, target = (
        vectors_of(words, side.rewritten(form.write), name)
        for name, (side, form, words) in zip(("source", "target"), sides)
    )
    if is_mapped:
        mapped = _map_by_translations((source, target), statistics)
        return mapped.vectors, mapped
    if source.matrix.shape[1] != target.matrix.shape[1]:
        raise ValueError(
            "The vectors of the two sides differ in dimension, so they are not in one space: map them "
            "by a dictionary, or leave out --one-space (in Python: map_vectors=True)."
        )
    return (source, target), None


def _map_by_translations(vectors: Vectors, statistics: AlignmentStatistics) -> MappedVectors:
    try:
        return map_vectors(vectors, statistics.sure_translations())
    except DataError:
        raise DataError(
            "No translation that the text is sure of has vectors on both sides: no map can be learned; "
            "give a dictionary."
        ) from None
