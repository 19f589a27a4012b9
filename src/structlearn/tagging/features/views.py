"""Views of a string: what of a cell a feature looks at. Each distinct string is looked at once.

Views that depend on the sentence are in `runs`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import groupby, pairwise

import numpy as np

from structlearn.core.contract import Array
from structlearn.data import Column
from structlearn.tagging.features.runs import SENTENCE_VIEWS

#: None: the string has no such view (a suffix longer than the word), and so no feature.
View = Callable[[str], str | None]

_LONGEST_RUN = 4
_AFFIX = re.compile(r"(prefix|suffix)([1-9][0-9]?)")


def shape(text: str) -> str:
    """Return the kinds of characters, runs of one kind written once: "McDonald-4x" is "XxXx-dx"."""
    return "".join(kind for kind, _ in groupby(map(_kind, text)))


def pattern(text: str) -> str:
    """Return the kinds of characters, runs of one kind cut at four: "McDonald-4x" is "XxXxxxx-dx"."""
    runs = (list(run) for _, run in groupby(map(_kind, text)))
    return "".join("".join(run[:_LONGEST_RUN]) for run in runs)


def _kind(character: str) -> str:
    if character.isupper():
        return "X"
    if character.isalpha():
        return "x"
    return "d" if character.isdigit() else character


def normal_form(text: str) -> str:
    """Return the text in lower case, with every digit a 0."""
    return "".join("0" if character.isdigit() else character for character in text.lower())


_VIEWS: dict[str, View] = {
    "same": str,
    "lower": str.lower,
    "norm": normal_form,
    "shape": shape,
    "pattern": pattern,
}
NAMES = f"{', '.join([*_VIEWS, *SENTENCE_VIEWS][1:])}, prefixN and suffixN"


def check_view(name: str) -> None:
    """Raise ValueError that lists all views if none has this name."""
    if name not in SENTENCE_VIEWS:
        view_named(name)


def view_named(name: str) -> View:
    """Return the view of a string by its name; ValueError that lists all if there is none."""
    if name in _VIEWS:
        return _VIEWS[name]
    affix = _AFFIX.fullmatch(name)
    if affix is None:
        raise ValueError(f"There is no view {name!r} of a column; use {NAMES}.")
    size = int(affix[2])
    piece = slice(size) if affix[1] == "prefix" else slice(-size, None)
    return lambda text: text[piece] if len(text) >= size else None


def text_hash(text: str) -> int:
    """64 bits of a string, the same on every machine; never 0, which stands for nothing."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def hashes(view: View, strings: Iterable[str]) -> Array:
    """Return the hash of the view of each string; 0 if there is none."""
    seen = (view(text) for text in strings)
    return np.array([0 if text is None else text_hash(text) for text in seen], dtype=np.uint64)


def view_codes(name: str, column: Column, first: Array) -> tuple[Array, Array]:
    """Return a column as codes of the tokens and hashes of what the view of this name makes of each code.

    Sentence i is the tokens first[i]:first[i + 1].
    """
    if name not in SENTENCE_VIEWS:
        return column.codes, hashes(view_named(name), column.strings)
    cells = [column.strings[code] for code in column.codes.tolist()]
    view = SENTENCE_VIEWS[name]
    seen: list[str | None] = []
    for a, b in pairwise(first.tolist()):
        seen += view(cells[a:b])
    codes = {text: code for code, text in enumerate(dict.fromkeys(seen))}
    values = [0 if text is None else text_hash(text) for text in codes]
    return np.array([codes[text] for text in seen], dtype=np.int32), np.array(values, dtype=np.uint64)
