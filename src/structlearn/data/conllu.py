"""The lines of CoNLL-U files: which are words, and what is wrong with them."""

from __future__ import annotations

import re

from structlearn.core.wording import plain, quote
from structlearn.storage.errors import DataError

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_ANY_NUMBER = re.compile(r"[0-9]+([-.][0-9]+)?")
# At most nine digits: no sentence has more words.
_WORD = re.compile(r"[1-9][0-9]{0,8}")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]{0,8})\.[1-9][0-9]*")


def looks_like_conllu(line: str) -> bool:
    """Whether a line has ten cells between tabs, the first a number of a word, or such as 3-4 and 5.1."""
    cells = line.split("\t")
    return len(cells) == len(CONLLU) and _ANY_NUMBER.fullmatch(cells[0]) is not None


def word_cells(path: str, number: int, line: str, n_before: int) -> list[str]:
    """Return the ten cells of a word; none of a comment, a multiword token or an empty node.

    Parameters
    ----------
    path, number : where the line is
    line : str
        Without its end; not blank.
    n_before : int
        How many words its sentence has before it.

    Raises
    ------
    DataError
        Cells that are not ten or are empty, numbers of words that are not 1, 2, 3 ...
    """
    if line.startswith("#"):
        return []
    cells = _cells(path, number, line)
    return cells if _is_word(path, number, cells[0], n_before) else []


def _cells(path: str, number: int, line: str) -> list[str]:
    cells = line.split("\t")
    if len(cells) == len(CONLLU):
        if not all(cells):
            empty = cells.index("") + 1
            raise DataError.at(path, number, f"column {empty} is empty; CoNLL-U writes _ there.")
        return cells
    if len(cells) == 1 and len(line.split()) > 1:
        raise DataError.at(path, number, "no tabs; the ten columns of CoNLL-U are separated by tabs.")
    columns = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
    raise DataError.at(path, number, f"{columns}; CoNLL-U has ten.")


def _is_word(path: str, number: int, cell: str, n_before: int) -> bool:
    """Whether a number is the next word's; False for a multiword token or an empty node, which have none."""
    if _WORD.fullmatch(cell):
        if int(cell) != n_before + 1:
            raise DataError.at(path, number, f"word number {plain(cell, 60)}; expected {n_before + 1}.")
        return True
    several = _RANGE.fullmatch(cell)
    if several is not None and int(several[1]) == n_before + 1 <= int(several[2]):
        return False
    node = _EMPTY_NODE.fullmatch(cell)
    if node is not None and int(node[1]) == n_before:
        return False
    raise DataError.at(
        path,
        number,
        f"{quote(cell)} cannot be here: expected a word ({n_before + 1}), a multiword token that begins "
        f"with it ({n_before + 1}-{n_before + 2}) or an empty node ({n_before}.1).",
    )
