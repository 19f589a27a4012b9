"""CoNLL-U files: read, checked, and written back byte for byte but for the columns that are filled.

A document keeps its lines as they are, with comments, multiword tokens, empty nodes and line ends; sentences
know which lines are their words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data import CONLLU, DataError
from structlearn.data.conllu import word_cells
from structlearn.data.text import content, is_blank, kept_line, open_text

_HEAD, _DEPREL, _MISC = (CONLLU.index(name) for name in ("head", "deprel", "misc"))
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, eq=False)
class Sentence:
    """The words of one sentence.

    numbers : the line of each word in its file, from 1
    rows : the ten cells of each word
    """

    path: str
    numbers: list[int]
    rows: list[list[str]]

    def __len__(self) -> int:
        return len(self.rows)

    def tokens(self, columns: Sequence[str] = ("form", "upos", "xpos")) -> list[tuple[str, ...]]:
        """Return the named cells of each word, as `TreeParser` takes them."""
        places = [CONLLU.index(name) for name in columns]
        return [tuple(row[place] for place in places) for row in self.rows]

    @property
    def labels(self) -> Array:
        """Relations of the words to their heads."""
        return np.array([row[_DEPREL] for row in self.rows], dtype=np.str_)

    @property
    def has_heads(self) -> bool:
        return all(row[_HEAD] != "_" for row in self.rows)

    def heads(self, *, single_root: bool = False) -> Array:
        """Return the head of each word, 0 for the root; DataError, with its line, if it is not a tree."""
        found = np.array([self._head(k) for k in range(len(self.rows))], dtype=np.int64)
        roots = np.flatnonzero(found == 0)
        if single_root and roots.size > 1:
            first = self.numbers[roots[0]]
            raise self._error(int(roots[1]), f"a second root; line {first} has the first.")
        above = np.concatenate([[0], found])
        reached = np.arange(1, found.size + 1)
        for _ in range(found.size):
            reached = above[reached]
        if reached.any():
            word = int(reached[reached > 0][0])
            raise self._error(word - 1, f"word {word} is its own ancestor: the heads have a cycle.")
        return found

    def _head(self, k: int) -> int:
        cell = self.rows[k][_HEAD]
        if not _NUMBER.fullmatch(cell):
            raise self._error(k, f"the head (column 7) must be a word's number or 0; got {quote(cell)}.")
        head = int(cell)
        if head > len(self.rows):
            raise self._error(k, f"head {head} is outside of the sentence, which has {len(self.rows)} words.")
        return head

    def _error(self, k: int, message: str) -> DataError:
        return DataError.at(self.path, self.numbers[k], message)


@dataclass(frozen=True, eq=False)
class Document:
    """A CoNLL-U file: all its lines, with their ends, and its sentences."""

    path: str
    lines: list[str]
    sentences: list[Sentence]

    def __len__(self) -> int:
        return len(self.sentences)

    def tokens(self, columns: Sequence[str] = ("form", "upos", "xpos")) -> list[list[tuple[str, ...]]]:
        """`Sentence.tokens` of all sentences."""
        return [sentence.tokens(columns) for sentence in self.sentences]

    def trees(self, *, single_root: bool = False) -> list[tuple[Array, Array]]:
        """Return the heads and labels of all sentences; DataError for what is not a tree."""
        return [(one.heads(single_root=single_root), one.labels) for one in self.sentences]

    def filled(
        self,
        trees: Iterable[tuple[Array, Array | None]],
        notes: Iterable[Sequence[str]] | None = None,
    ) -> Iterator[str]:
        """Yield the lines, with their ends, in which the trees' heads and labels are filled in.

        `notes` are attributes such as ArcConf=0.93, one a word, that join the last column; an attribute of
        the same name gives way.
        """
        changes = dict(self._changes(trees, notes))
        for number, line in enumerate(self.lines, 1):
            yield _change_cells(line, changes[number]) if number in changes else line

    def _changes(
        self, trees: Iterable[tuple[Array, Array | None]], notes: Iterable[Sequence[str]] | None
    ) -> Iterator[tuple[int, dict[int, str]]]:
        every = notes if notes is not None else ([""] * len(one) for one in self.sentences)
        for sentence, (heads, labels), added in zip(self.sentences, trees, every, strict=True):
            for k, (number, row) in enumerate(zip(sentence.numbers, sentence.rows)):
                cells = {_HEAD: str(int(heads[k]))}
                if labels is not None:
                    cells[_DEPREL] = str(labels[k])
                if added[k]:
                    cells[_MISC] = _with_note(row[_MISC], added[k])
                yield number, cells


def read_conllu(path: str | os.PathLike[str]) -> Document:
    """Read a CoNLL-U file, plain, .gz or .zst.

    Windows line ends, a byte order mark and a missing blank line at the end are accepted and kept. Heads
    may be missing (_): they are checked where they are asked for.

    Raises
    ------
    DataError
        Cells that are not ten, numbers of words that are not 1, 2, 3 ..., text that is not UTF-8, no words.
    """
    name = os.fspath(path)
    lines: list[str] = []
    sentences: list[Sentence] = []
    numbers: list[int] = []
    rows: list[list[str]] = []
    with closing(open_text(name, whole=True)) as stream:
        for number, line in stream:
            lines.append(kept_line(line))
            text = content(line, number)
            if is_blank(text):
                if rows:
                    sentences.append(Sentence(name, numbers, rows))
                    numbers, rows = [], []
            elif cells := word_cells(name, number, text, len(rows)):
                numbers.append(number)
                rows.append(cells)
    if rows:
        sentences.append(Sentence(name, numbers, rows))
    if not sentences:
        raise DataError(f"{name} holds no sentences.")
    return Document(name, lines, sentences)


def _with_note(misc: str, note: str) -> str:
    key = note.partition("=")[0] + "="
    kept = [] if misc == "_" else [one for one in misc.split("|") if not one.startswith(key)]
    return "|".join([*kept, note])


def _change_cells(line: str, changes: Mapping[int, str]) -> str:
    text = line.removesuffix("\n").removesuffix("\r")
    cells = text.split("\t")
    for place, cell in changes.items():
        cells[place] = cell
    return "\t".join(cells) + line[len(text) :]
