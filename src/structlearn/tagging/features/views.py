"""Views of a string: what of a cell a feature looks at.

Views that depend on the sentence are in `runs`; `text_views` makes all views of a whole text, compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from itertools import groupby

from structlearn.tagging.features.runs import SENTENCE_VIEWS

#: None: the string has no such view (a suffix longer than the word), and so no feature.
View = Callable[[str], str | None]

#: Runs of one kind of characters are cut at this by `pattern`.
LONGEST_RUN = 4
_AFFIX = re.compile(r"(prefix|suffix)([1-9][0-9]?)")


def shape(text: str) -> str:
    """Return the kinds of characters, runs of one kind written once: "McDonald-4x" is "XxXx-dx"."""
    return "".join(kind for kind, _ in groupby(map(character_kind, text)))


def pattern(text: str) -> str:
    """Return the kinds of characters, runs of one kind cut at four: "McDonald-4x" is "XxXxxxx-dx"."""
    runs = (list(run) for _, run in groupby(map(character_kind, text)))
    return "".join("".join(run[:LONGEST_RUN]) for run in runs)


def character_kind(character: str) -> str:
    """Return X for an upper-case letter, x for another letter, d for a digit, else the character itself."""
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
    affix = affix_of(name)
    if affix is None:
        raise ValueError(f"There is no view {name!r} of a column; use {NAMES}.")
    side, size = affix
    piece = slice(size) if side == "prefix" else slice(-size, None)
    return lambda text: text[piece] if len(text) >= size else None


def affix_of(name: str) -> tuple[str, int] | None:
    """Return "prefix" or "suffix" and the size, if a view is one of these."""
    affix = _AFFIX.fullmatch(name)
    return (affix[1], int(affix[2])) if affix else None


def text_hash(text: str) -> int:
    """64 bits of a string, the same on every machine; never 0, which stands for nothing."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1
