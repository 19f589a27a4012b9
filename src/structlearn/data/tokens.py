"""Column files: one token per line, a blank line between sentences; CoNLL-style columns or CoNLL-U.

Each distinct string of a column is kept once. A file that is to be written back is kept as it is, too.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from numbers import Number
from typing import NamedTuple

import numpy as np

from structlearn.core.errors import doubt_one_sequence
from structlearn.core.memo import Memo
from structlearn.core.wording import count_of, list_names
from structlearn.data.conllu import CONLLU, looks_like_conllu, word_cells
from structlearn.data.text import Lines, content, is_blank, kept_line, open_text
from structlearn.data.token_lines import SIGNS, is_comment, is_document
from structlearn.storage.errors import DataError, StrPath

#: The cells of a line, by what separates them. Other white space (a no-break space) is part of a cell.
CELLS = {" ": re.compile(r"[^ ]+"), "\t": re.compile(r"(?:^|(?<=\t))[^\t]*")}

#: From the names of a file's columns to those that are needed.
Choice = Callable[[tuple[str, ...]], Iterable[str]]


class Column(NamedTuple):
    """The cells of one column: cell t is ``strings[codes[t]]``."""

    codes: np.ndarray
    strings: list[str]

    @property
    def cells(self) -> np.ndarray:
        """All cells as an array of strings."""
        return np.array(self.strings, dtype=np.str_)[self.codes]


class FileLayout(NamedTuple):
    """How the lines of a file are made: their separator, the names of their columns, the first token's line.

    Columns of CoNLL-U have names; others are called by their numbers, from 0.
    """

    separator: str
    names: tuple[str, ...]
    line: int

    @property
    def conllu(self) -> bool:
        """Whether comments, multiword tokens and empty nodes are to be passed over."""
        return self.names == CONLLU

    def place(self, name: str) -> int:
        """Return the place of the column with this name; ValueError if there is none."""
        if name not in self.names:
            raise ValueError(f"there is no column {name!r}; there are {list_names(self.names)}.")
        return self.names.index(name)

    def cells(self, path: str, number: int, line: str, n_before: int) -> list[str] | None:
        """Return the cells of a token's line; none of a line to pass over; None at a border of sentences.

        `n_before` is how many tokens its sentence has before it.
        """
        if is_blank(line):
            return None
        if self.conllu:
            return word_cells(path, number, line, n_before)
        if line[0] in SIGNS and not self.is_token(line):
            return None if is_document(line) else []
        cells = line.split("\t") if self.separator == "\t" else CELLS[" "].findall(line)
        if len(cells) != len(self.names) or (self.separator == " " and "\t" in line):
            raise DataError.at(path, number, self._problem(line, len(cells)))
        return cells

    def is_token(self, line: str) -> bool:
        """Whether a line is neither a border of sentences nor a comment."""
        return not (is_blank(line) or is_document(line) or is_comment(line, self.separator, len(self.names)))

    def _problem(self, line: str, n_cells: int) -> str:
        own = "\t" if "\t" in line else " "
        mixed = own == "\t" or len(CELLS[own].findall(line)) == len(self.names)
        if own != self.separator and mixed:
            kinds = {"\t": "tabs", " ": "spaces"}
            return (
                f"cells are separated by {kinds[own]}, but those of line {self.line} by "
                f"{kinds[self.separator]}; use one of them throughout."
            )
        return f"{n_cells} columns, but line {self.line} has {len(self.names)}."


@dataclass(frozen=True, eq=False)
class Tokens:
    """Sentences as columns of strings.

    Attributes
    ----------
    columns : dict of str to Column
        The columns that were asked for, by name.
    lengths : ndarray of shape (n_sentences,), int64
    aliases : dict of str to str
        Other names of columns.
    path : str
    layout : FileLayout
    lines : ndarray of shape (n_tokens,), int64
        The line of each token in the file.
    text : list of str
        The file's lines with their ends, if they were asked for.
    memo : Memo
        What was made of the columns, which texts with the same columns share.
    """

    columns: dict[str, Column]
    lengths: np.ndarray
    aliases: dict[str, str] = field(default_factory=dict)
    path: str = ""
    layout: FileLayout = field(default_factory=lambda: FileLayout(" ", (), 0))
    lines: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    text: list[str] = field(default_factory=list)
    memo: Memo = field(default_factory=Memo)

    @classmethod
    def from_sentences(cls, sentences: Sequence[Sequence], names: Sequence[str] = ("word",)) -> Tokens:
        """Make sentences from lists: of words or, with several columns, of (word, tag, ...) tuples."""
        tables = [_Interned() for _ in names]
        codes = [array("i") for _ in names]
        for i, sentence in enumerate(_checked_list(sentences, "X", "sentences")):
            words = _checked_list(sentence, f"Sentence {i}", "tokens")
            rows = [_row(token, names, i) for token in words]
            for column, cells in enumerate(zip(*rows)):
                codes[column].extend(map(tables[column].__getitem__, map(str, cells)))
        lengths = np.array([len(one) for one in sentences], dtype=np.int64)
        return cls({n: Column(np.array(c), list(t)) for n, c, t in zip(names, codes, tables)}, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.lengths.sum())

    def some(self, sentences: np.ndarray) -> Tokens:
        """Return some of the sentences, by their numbers in rising order, without what belongs to a file."""
        there = np.zeros(len(self), dtype=bool)
        there[sentences] = True
        tokens = np.repeat(there, self.lengths)
        columns = {name: Column(codes[tokens], strings) for name, (codes, strings) in self.columns.items()}
        return Tokens(columns, self.lengths[there], self.aliases, memo=self.memo)

    def column(self, name: str) -> Column:
        """Return the column of a name, an alias or a number; DataError if there is none."""
        name = self.aliases.get(name, name)
        if name not in self.columns:
            raise self.error(f"there is no column {name!r}; there are {list_names(self.columns)}.")
        return self.columns[name]

    def filled_cells(self, name: str) -> np.ndarray:
        """Return all cells of a column as strings; DataError if one is empty."""
        column = self.column(name)
        if "" in column.strings:
            token = int(np.argmax(column.codes == column.strings.index("")))
            raise self.error("the label is empty.", token)
        return column.cells

    def error(self, message: str, token: int = 0) -> DataError:
        """Return the error of a token's line."""
        return DataError.at(self.path, int(self.lines[token]), message) if self.path else DataError(message)


def _checked_list(values: Sequence, name: str, noun: str) -> Sequence:
    """Return `values` if they are a list; a string would be read letter by letter, a mapping by its keys."""
    if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__len__"):
        raise ValueError(
            f"{name} must be a list of {noun}, not a {type(values).__name__}; write sentences as lists of "
            'words: [["The", "quick", "fox"]], or ["The quick fox".split()].'
        )
    return values


def _row(token: object, names: Sequence[str], i: int) -> tuple[object, ...]:
    """Return the cells of a token of sentence i."""
    row = (token,) if isinstance(token, str) else tuple(token) if isinstance(token, list | tuple) else ()
    if len(row) != len(names) or not all(isinstance(cell, str | Number) for cell in row):
        kind = "a string" if len(names) == 1 else f"a tuple of {len(names)} strings ({', '.join(names)})"
        got = f"{len(row)} columns" if row and len(row) != len(names) else type(token).__name__
        more = " Arrays alone go to ChainClassifier." if isinstance(token, np.ndarray) else ""
        raise ValueError(f"Sentence {i} has a token of {got}; a token is {kind}.{more}")
    return row


class _Interned(dict[str, int]):
    """Numbers its keys in the order in which they are first looked up."""

    def __missing__(self, key: str) -> int:
        self[key] = code = len(self)
        return code


def read_tokens(path: StrPath, choice: Choice | None = None, *, text: bool = False) -> Tokens:
    """Read a column file.

    Parameters
    ----------
    path : str or path
        Plain or .gz. A file whose first token has ten cells between tabs, the first of them a CoNLL-U
        number, is CoNLL-U: comments, multiword tokens and empty nodes are passed over. In any other file
        cells are separated by tabs if the first line has one, else by spaces; a line that begins with "# "
        and has no columns as the others is a comment. Lines that begin with the cell -DOCSTART- mark
        documents: they end sentences and are no tokens.
    choice : callable, optional
        From the names of all columns to those that are needed (all).
    text : bool
        Whether to keep the lines, so that `filled` can write the file back.

    Raises
    ------
    DataError
        A number of columns that changes, tabs mixed with spaces, a file without tokens or not in UTF-8; in
        CoNLL-U, numbers of words that are not 1, 2, 3 ...
    """
    name = os.fspath(path)
    kept: list[str] = []
    with closing(open_text(name, whole=True)) as stream:
        lines = _record_lines(stream, kept) if text else stream
        head = list(_head(lines))
        layout = _layout(name, head)
        parts = [
            (one, place, _Interned(), array("i")) for one, place in _choose_columns(name, layout, choice)
        ]
        numbers, ends = array("q"), array("q", [0])  # lines of tokens; how many there are up to each border
        for number, line in chain(head, lines):
            cells = layout.cells(name, number, content(line, number), len(numbers) - ends[-1])
            if cells:
                numbers.append(number)
                for _, place, table, codes in parts:
                    codes.append(table[cells[place]])
            elif cells is None and len(numbers) > ends[-1]:
                ends.append(len(numbers))
    if not numbers:
        raise DataError(f"{name} holds no tokens.")
    if len(numbers) > ends[-1]:
        ends.append(len(numbers))
    lengths = np.diff(ends)
    doubt_one_sequence(name, lengths)
    columns = {one: Column(np.array(codes), list(table)) for one, _, table, codes in parts}
    if list(columns) == list(layout.names) and len(columns) == 1:
        _check_no_table(name, layout, columns[layout.names[0]].strings)
    return Tokens(columns, lengths, {}, name, layout, np.array(numbers), kept)


def _record_lines(lines: Lines, kept: list[str]) -> Lines:
    """Yield the lines, as they are added to a list."""
    for number, line in lines:
        kept.append(kept_line(line))
        yield number, line


def _check_no_table(name: str, layout: FileLayout, tokens: list[str]) -> None:
    """Raise DataError if a single column is a whole table: words in a header, as many commas in each line."""
    for sign, called in {",": "comma", ";": "semicolon"}.items():
        n, *others = {token.count(sign) for token in tokens}
        header = tokens[0].split(sign)
        if n and not others and len(tokens) > 1 and all(any(map(str.isalpha, cell)) for cell in header):
            message = f"every line has {count_of(n, called)}, as those of a table; write one token per line, "
            raise DataError.at(name, layout.line, f"{message}with blanks or tabs between columns.")


def token_sentences(name: str, lines: Lines) -> tuple[FileLayout, Iterator[list[tuple[int, list[str]]]]]:
    """Return the layout of a column file and its sentences as they come: line and cells of each token.

    `lines` are whole, see `open_text`; `name` is for errors.
    """
    head = list(_head(lines))
    layout = _layout(name, head)
    return layout, _sentences(name, layout, chain(head, lines))


def _sentences(
    name: str, layout: FileLayout, lines: Iterable[tuple[int, str]]
) -> Iterator[list[tuple[int, list[str]]]]:
    sentence: list[tuple[int, list[str]]] = []
    for number, line in lines:
        cells = layout.cells(name, number, content(line, number), len(sentence))
        if cells:
            sentence.append((number, cells))
        elif cells is None and sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _choose_columns(name: str, layout: FileLayout, choice: Choice | None) -> list[tuple[str, int]]:
    """Return the columns that are needed, and their places."""
    try:
        return [(one, layout.place(one)) for one in (choice(layout.names) if choice else layout.names)]
    except DataError:  # of another file, such as that of templates
        raise
    except ValueError as error:
        raise DataError.at(name, layout.line, str(error)) from None


def _head(lines: Lines) -> Iterator[tuple[int, str]]:
    """Yield the first lines, up to one that must be a token; blank ones once in a row, none at the start."""
    after_blank = True
    for number, line in lines:
        text = content(line, number)
        blank = is_blank(text)
        if not (blank and after_blank):
            yield number, line
        if not blank and not text.startswith("#") and not is_document(text):
            return
        after_blank = blank


def _layout(name: str, head: list[tuple[int, str]]) -> FileLayout:
    """Return the layout of the last line, or of the first if all may be comments.

    Its line is the first token's.
    """
    rows = [(number, content(line, number)) for number, line in head]
    rows = [(number, line) for number, line in rows if not is_blank(line) and not is_document(line)]
    if not rows:
        raise DataError(f"{name} holds no tokens.")
    number, line = rows[-1]
    if looks_like_conllu(line):
        return FileLayout("\t", CONLLU, number)
    if line.startswith("#"):
        number, line = rows[0]
    separator = "\t" if "\t" in line else " "
    layout = FileLayout(separator, tuple(map(str, range(len(CELLS[separator].findall(line))))), number)
    first = next((number for number, line in rows if layout.is_token(line)), None)
    if first is None:
        raise DataError(f"{name} holds no tokens.")
    return layout._replace(line=first)
