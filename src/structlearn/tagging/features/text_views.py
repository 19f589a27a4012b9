"""What templates see of a text: each view of a column as codes of the tokens and a hash per code.

A string is looked at once, however many tokens have it, and a view of a text is made once, however many
features look at it: `Tokens.memo` keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.packed_strings import PackedStrings, hash_strings
from structlearn.data import Column, Tokens
from structlearn.tagging.features.run_codes import (
    nearest_lower,
    places_in_runs,
    quotations,
    run_ends,
    token_or_nothing,
)
from structlearn.tagging.features.runs import MARKS, SENTENCE_VIEWS, is_capitalised, possible_values
from structlearn.tagging.features.shapes import shape_hashes
from structlearn.tagging.features.views import LONGEST_RUN, affix_of, view_named


class ViewCodes(NamedTuple):
    """A view of a column: of token t the value hashes[codes[t]], 0 for none."""

    codes: Array
    hashes: Array


class TextViews:
    """The views of a text."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens, self._memo = tokens, tokens.memo
        self.first = np.concatenate([[0], np.cumsum(tokens.lengths)])

    def view(self, column: str, name: str) -> ViewCodes:
        """Return the view of a column by its name."""
        found = self._tokens.column(column)
        if name not in SENTENCE_VIEWS:
            return ViewCodes(found.codes, self._hashes(found, name))
        return self._memo.of(found.codes, name, lambda: _SENTENCE_VIEWS[name](self, found))

    def _hashes(self, column: Column, name: str) -> Array:
        strings, keep = column.strings, self._memo.of
        packed = keep(strings, PackedStrings, lambda: PackedStrings.of(strings))
        return keep(strings, name, lambda: string_hashes(name, strings, packed))

    def _marked(self, column: Column, name: str, mark: Callable[[str], bool]) -> Array:
        """Return for each token whether its string is marked."""
        strings = column.strings
        found = self._memo.of(strings, name, lambda: np.array([*map(mark, strings)], dtype=np.bool_))
        return found[column.codes] if strings else np.empty(0, dtype=np.bool_)

    def _capital(self, column: Column) -> Array:
        return self._marked(column, "capital", is_capitalised)

    def _run_ends(self, column: Column) -> tuple[Array, Array]:
        begin, last = np.empty((2, column.codes.size), dtype=np.int64)
        run_ends(self._capital(column), self.first, begin, last)
        return begin, last

    def _lower_word(self, column: Column, step: int) -> ViewCodes:
        nearest = np.empty(column.codes.size, dtype=np.int64)
        nearest_lower(self._capital(column), self.first, step, nearest)
        hashes = np.append(self._hashes(column, "lower"), hash_strings([""]))
        return ViewCodes(token_or_nothing(column.codes, nearest, hashes.size - 1), hashes)

    def _run_word(self, column: Column, end: int) -> ViewCodes:
        hashes = np.append(self._hashes(column, "same"), np.uint64(0))
        return ViewCodes(token_or_nothing(column.codes, self._run_ends(column)[end], hashes.size - 1), hashes)

    def _place(self, column: Column) -> ViewCodes:
        codes = np.empty(column.codes.size, dtype=np.int32)
        places_in_runs(*self._run_ends(column), codes)
        return ViewCodes(codes, hash_strings(possible_values("place", [])))

    def _quoted(self, column: Column) -> ViewCodes:
        codes = np.empty(column.codes.size, dtype=np.int32)
        mark = self._marked(column, "mark", MARKS.__contains__)
        quotations(self._capital(column), mark, self.first, codes)
        return ViewCodes(codes, hash_strings(possible_values("quoted", [])))


_SENTENCE_VIEWS: dict[str, Callable[[TextViews, Column], ViewCodes]] = {
    "before": lambda views, column: views._lower_word(column, 1),
    "after": lambda views, column: views._lower_word(column, -1),
    "first": lambda views, column: views._run_word(column, 0),
    "last": lambda views, column: views._run_word(column, 1),
    "place": TextViews._place,
    "quoted": TextViews._quoted,
}


def string_hashes(name: str, strings: list[str], packed: PackedStrings) -> Array:
    """Return the hash of the view of each string, which are packed, too; 0 if there is none."""
    if name == "same":
        return packed.hashes()
    if name in ("shape", "pattern"):
        return shape_hashes(packed, 1 if name == "shape" else LONGEST_RUN)
    affix = affix_of(name)
    if affix is not None:
        side, size = affix
        return packed.prefix_hashes(size) if side == "prefix" else packed.suffix_hashes(size)
    return hash_strings([*map(view_named(name), strings)])
