"""Clusters of words: of a file, or made of word vectors; a column of paths, of which templates take prefixes.

Vectors are halved again and again (2-means along the direction of largest variance), so that a word's path is
a string of bits, as Brown's clusters have it: few bits are a coarse cluster, all bits a fine one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data import Column, DataError, Tokens, open_text
from structlearn.data.word_vectors import read_vectors
from structlearn.storage.schema import check_form
from structlearn.tagging.features.derived import Stored, with_columns
from structlearn.tagging.features.one_column import OneColumn

#: Words that a model file keeps, in the file's order; those of the training text in any case.
MOST_WORDS = 200_000
#: Bits of a path made of vectors.
LEVELS = 12
#: Bits of which templates take the first.
PREFIXES = (4, 6, 8, 10)
#: A smaller share of the training text's words says that the file is of another language.
FEWEST = 0.01
_ROUNDS, _POWER_STEPS, _SMALLEST = 8, 10, 4
_KIND = "clusters"
_NOTES = {"kind": str, "name": str, "word": str}

StrPath = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Clusters(OneColumn):
    """A column of the cluster of each word, or of its lower case; "" if it has none.

    name : that of the column
    word : the column to look at
    paths : from words to clusters
    """

    paths: dict[str, str]

    @property
    def default_templates(self) -> str:
        """The cluster and its neighbours'; of paths of bits, coarser ones, too."""
        whole = f"{self.name}[-1..1]"
        if any(set(path) - {"0", "1"} for path in self.paths.values()):
            return f"{whole} {self.name}[-1]&{self.name} {self.name}&{self.name}[1]"
        coarse = (f"{self.name}.prefix{n}[-1..1]" for n in PREFIXES)
        pair = f"{self.name}.prefix8[-1]&{self.name}.prefix8 {self.name}.prefix8&{self.name}.prefix8[1]"
        return " ".join([whole, *coarse, pair])

    def of_word(self, word: str) -> str:
        """Return the cluster of a word or of its lower case; "" if there is none."""
        return self.paths.get(word) or self.paths.get(word.lower(), "")

    def add(self, tokens: Tokens) -> Tokens:
        """Return a text with the column."""
        codes, strings = tokens.column(self.word)
        return with_columns(tokens, {self.name: Column(codes, [self.of_word(word) for word in strings])})

    def check_cover(self, tokens: Tokens, place: StrPath) -> None:
        """ValueError if next to no word of a training text has a cluster."""
        strings = tokens.column(self.word).strings
        share = sum(bool(self.of_word(word)) for word in strings) / max(len(strings), 1)
        if share < FEWEST:
            raise ValueError(
                f"{os.fspath(place)} has {share:.1%} of the {len(strings)} words of the training text; take "
                "a file of its language, written as the text is."
            )

    def to_stored(self) -> Stored:
        """Return what a model file holds of it."""
        notes = {"kind": _KIND, "name": self.name, "word": self.word}
        return Stored(notes, {"words": list(self.paths), "paths": list(self.paths.values())}, {})

    @classmethod
    def from_stored(cls, stored: Stored) -> Clusters:
        """Invert `to_stored`; ValueError for what it cannot have given."""
        check_form(stored.notes, _NOTES, "derived")
        words, paths = stored.texts["words"], stored.texts["paths"]
        if len(words) != len(paths):
            raise ValueError(f"it has {len(words)} words but {len(paths)} clusters")
        return cls(stored.notes["name"], stored.notes["word"], dict(zip(words, paths)))


def read_clusters(path: StrPath, tokens: Tokens, word: str = "word") -> Clusters:
    """Read the clusters of a file: lines of ``bits word count`` (Brown's) or ``word cluster``.

    Of a file of many words the first are kept, and those of the text.
    """
    wanted = _with_lower_case(tokens.column(word).strings)
    found: dict[str, str] = {}
    with closing(open_text(path)) as lines:
        for number, line in lines:
            if not line.strip():
                continue
            cells = line.split("\t") if "\t" in line else line.split(" ")
            if len(cells) not in (2, 3) or not all(cells):
                raise DataError.at(
                    path, number, f"a line is 'bits word count' or 'word cluster'; got {quote(line, 40)}."
                )
            one, cluster = (cells[0], cells[1]) if len(cells) == 2 else (cells[1], cells[0])
            if len(found) < MOST_WORDS or one in wanted:
                found.setdefault(one, cluster)
    if not found:
        raise DataError(f"{os.fspath(path)} holds no clusters.")
    clusters = Clusters("cluster", word, found)
    clusters.check_cover(tokens, path)
    return clusters


def cluster_vectors(path: StrPath, tokens: Tokens, word: str = "word") -> Clusters:
    """Cluster the vectors of a file in fastText's text format (or .gz): its first words and the text's."""
    vectors = read_vectors(path, _with_lower_case(tokens.column(word).strings), most=MOST_WORDS)
    clusters = Clusters("vector", word, dict(zip(vectors.words, bit_paths(vectors.matrix))))
    clusters.check_cover(tokens, path)
    return clusters


def _with_lower_case(words: Iterable[str]) -> Collection[str]:
    """Return the words and their lower case."""
    return {written for word in words for written in (word, word.lower())}


def bit_paths(vectors: Array, levels: int = LEVELS) -> list[str]:
    """Return the path of each row: in which half it is, again and again; equal rows have the same path."""
    paths = np.zeros((len(vectors), levels), dtype="S1")
    groups = [np.arange(len(vectors))]
    for level in range(levels):
        halves: list[Array] = []
        for rows in groups:
            upper = _upper_half(vectors[rows])
            paths[rows, level] = np.where(upper, b"1", b"0")
            halves += [rows[upper], rows[~upper]]
        groups = [rows for rows in halves if len(rows) >= _SMALLEST]
    return [b"".join(path).decode() for path in paths]


def _upper_half(Z: Array) -> Array:
    """Run 2-means on some rows, begun at their mean along the direction of largest variance."""
    centred = Z - Z.mean(axis=0)
    upper: Array = centred @ _main_direction(centred) > 0
    for _ in range(_ROUNDS):
        if upper.all() or not upper.any():
            break
        high, low = Z[upper].mean(axis=0), Z[~upper].mean(axis=0)
        upper = 2 * Z @ (high - low) > high @ high - low @ low
    return upper


def _main_direction(centred: Array) -> Array:
    """Return the main direction, by a few power steps from the longest row, whose sign is kept."""
    direction = centred[np.argmax((centred**2).sum(axis=1))]
    for _ in range(_POWER_STEPS):
        direction = centred.T @ (centred @ direction)
        direction = direction / (np.sqrt(direction @ direction) or 1.0)
    return direction
