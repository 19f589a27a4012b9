"""The features that patterns of CRF++ and Wapiti make: strings such as "U05:the/dog".

A feature is its string: patterns that make the same string make the same feature. Each distinct string of a
text is made once, and known by its 64-bit hash, as other features of words are (`features.features`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.packed_strings import hash_strings
from structlearn.core.sentences import ParameterError
from structlearn.data import Tokens
from structlearn.data.tokens import Column
from structlearn.estimators.inputs.token_features import FEW
from structlearn.storage.errors import DataError
from structlearn.tagging.features.features import TextFeatures
from structlearn.tagging.features.templates import Templates, parse_templates
from structlearn.tagging.patterns.reading import Pattern, PatternCell, outside


class Made(NamedTuple):
    """What a pattern makes of a text: distinct strings, and which of them each token has."""

    strings: list[str]
    codes: Array

    @property
    def hashes(self) -> Array:
        """The hash of each string."""
        return hash_strings(self.strings)


class PatternFeatures(TextFeatures):
    """Indicator features by patterns: a token has a feature as often as patterns make its string.

    Attributes
    ----------
    keys_ : ndarray of shape (n_features,), uint64
        The vocabulary, in the order in which a reader meets the features: token by token, pattern by pattern.
    names_ : list of str, or None
        The strings, if they are kept: by default where there are fewer than a million.
    pairs_ : list of int
        After `fit`: the columns of features that score pairs of neighbouring labels.
    """

    names_: list[str] | None = None

    def __init__(
        self,
        templates: Templates,
        min_count: int = 1,
        hash_bits: int | None = None,
        keep_names: bool | None = None,
    ) -> None:
        super().__init__(templates, min_count, hash_bits)
        self.keep_names = keep_names
        self.patterns: tuple[Pattern, ...] = self.templates

    def fit(self, tokens: Tokens) -> Self:
        """Learn the vocabulary of a training text."""
        self.names_, self.pairs_ = None, []
        if self.hash_bits is not None:
            return self.with_keys(np.empty(0, dtype=np.uint64))
        found = [one for _, one in self.made(tokens)]
        keys, rows, counts = _met(found)
        kept = counts >= self.min_count
        keys, rows = keys[kept], rows[kept]
        keeps = keys.size < FEW if self.keep_names is None else self.keep_names
        if keeps:
            strings = [name for one in found for name in one.strings]
            self.names_ = [strings[row] for row in rows.tolist()]
        self.with_keys(keys)
        self.pairs_ = self._pairs(found)
        return self

    def _pairs(self, found: Sequence[Made]) -> list[int]:
        """Return the columns of features that score pairs."""
        own = [one.hashes for pattern, one in zip(self.made_by, found) if pattern.scores_pairs]
        places = self._places(np.concatenate(own)) if own else np.empty(0, dtype=np.int64)
        return np.unique(places[places >= 0]).tolist()

    def pair_columns(self, templates: Templates | None) -> list[int] | None:
        """Return the columns of features that score pairs of labels, None for none."""
        if self.hash_bits is not None and any(pattern.scores_pairs for pattern in self.patterns):
            raise ParameterError("Hashed features cannot be told apart; leave out {hash_bits}.")
        return self.pairs_ or None

    def key_columns(self, template: str) -> Array:
        """Return the columns of features whose names begin with `template` and an equals sign."""
        begins = f"{template}="
        return np.array([j for j, name in enumerate(self.names_ or ()) if name.startswith(begins)], np.int64)

    def with_names(self, names: list[str]) -> Self:
        """Take a vocabulary of strings."""
        self.names_ = names
        return self.with_keys(hash_strings(names))

    def keep(self, used: Array) -> None:
        """Forget the features of a vocabulary that a mask leaves out."""
        if self.names_ is not None:
            self.names_ = [name for name, one in zip(self.names_, used.tolist()) if one]
        self.with_keys(self.keys_[used])

    def keys(self, tokens: Tokens) -> Iterator[Array]:
        """Yield the key of each token, pattern by pattern; zero where a pattern makes no feature."""
        found = self.made(tokens)
        for pattern in self.patterns:
            if pattern.is_transition:
                yield np.zeros(tokens.n_tokens, dtype=np.uint64)
            else:
                _, one = next(found)
                yield one.hashes[one.codes]

    @property
    def made_by(self) -> list[Pattern]:
        """The patterns that make features: all but those that stand for the transitions."""
        return [pattern for pattern in self.patterns if not pattern.is_transition]

    def made(self, tokens: Tokens) -> Iterator[tuple[Pattern, Made]]:
        """Yield what each pattern makes of a text."""
        cells = CellTexts(tokens)
        for pattern in self.made_by:
            yield pattern, cells.strings(pattern)

    def names_at(self, places: Array) -> list[str]:
        """Return the names of columns; where they were not kept, hashes."""
        if self.hash_bits is not None:
            return [f"hash {place}" for place in places.tolist()]
        if self.names_ is None:
            return [f"#{key:016x}" for key in self.keys_[places].tolist()]
        return [self.names_[place] for place in places.tolist()]

    def names_in(self, tokens: Tokens) -> dict[int, str]:
        """Return the names of all features of a text, by column."""
        found: dict[int, str] = {}
        for _, one in self.made(tokens):
            places = self._places(one.hashes).tolist()
            found.update((place, name) for place, name in zip(places, one.strings) if place >= 0)
        return found


class CellTexts:
    """What patterns take of the cells of a text; each distinct text of a column is looked at once."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens, self._seen = tokens, dict[tuple[PatternCell, str], Made]()
        ends = np.cumsum(tokens.lengths)
        self._first = np.repeat(ends - tokens.lengths, tokens.lengths)
        self._behind = np.repeat(ends, tokens.lengths)

    def strings(self, pattern: Pattern) -> Made:
        """Return the strings that a pattern makes, each distinct one once."""
        parts = [self._taken(cell, pattern.dialect) for cell in pattern.atoms]
        code = np.zeros(self._tokens.n_tokens, dtype=np.int64)
        for _, codes in parts:
            _, code = np.unique(code * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
        _, where, code = np.unique(code, return_index=True, return_inverse=True)
        columns = [[strings[k] for k in codes[where].tolist()] for strings, codes in parts]
        return Made(_joined(pattern, columns, where.size), code)

    def _taken(self, cell: PatternCell, dialect: str) -> Made:
        if (cell, dialect) not in self._seen:
            before, behind = outside(dialect)
            codes, strings = column_of(self._tokens, cell.column)
            at, n = self._places(cell), len(strings)
            left = np.minimum(self._first - at, len(before))
            right = np.minimum(at - self._behind + 1, len(behind))
            inside = codes[np.clip(at, 0, codes.size - 1)] if codes.size else codes
            outer = [n + left - 1, n + len(before) + right - 1]
            texts = list(map(cell.view, [*strings, *before, *behind]))
            code = np.select([left > 0, right > 0], outer, inside).astype(np.int64)
            self._seen[cell, dialect] = Made(texts, code)
        return self._seen[cell, dialect]

    def _places(self, cell: PatternCell) -> Array:
        """Return which token each token looks at."""
        if not cell.absolute:
            return np.arange(self._tokens.n_tokens) + cell.offset
        return self._first + cell.offset - 1 if cell.offset > 0 else self._behind + cell.offset


def column_of(tokens: Tokens, number: str) -> Column:
    """Return a column by its number: that of a file or, where columns have names, by their order."""
    if number in tokens.columns or number in tokens.aliases or int(number) >= len(tokens.columns):
        return tokens.column(number)
    return list(tokens.columns.values())[int(number)]


def check_pattern_columns(
    patterns: Iterable[Pattern], names: Sequence[str], label: str | None = None
) -> None:
    """Raise DataError that names the first line that looks at the label, or a column that is not there."""
    for pattern in patterns:
        for cell in pattern.atoms:
            number = int(cell.column)
            if number >= len(names) and cell.column not in names:
                raise DataError(
                    f"{pattern.place}: there is no column {number}; the columns have the numbers 0 to "
                    f"{len(names) - 1}."
                )
            if label is not None and names[number] == label:
                raise DataError(f"{pattern.place}: column {number} is the label; look at another one.")


def features_of(
    templates: Templates,
    min_count: int = 1,
    hash_bits: int | None = None,
    keep_names: bool | None = None,
) -> TextFeatures:
    """Return the features of templates of either kind."""
    found = parse_templates(templates)
    if has_patterns(found):
        return PatternFeatures(found, min_count, hash_bits, keep_names)
    return TextFeatures(found, min_count, hash_bits)


def has_patterns(templates: Sequence[object]) -> bool:
    """Whether templates are patterns of CRF++ or Wapiti."""
    return any(isinstance(one, Pattern) for one in templates)


def _joined(pattern: Pattern, columns: Sequence[Sequence[str]], n: int) -> list[str]:
    """Return the strings of n tokens, whose cells are given."""
    texts = iter(columns)
    parts = [[piece] * n if isinstance(piece, str) else next(texts) for piece in pattern.pieces]
    return list(map("".join, zip(*parts)))


def _met(found: Sequence[Made]) -> tuple[Array, Array, Array]:
    """Return the distinct keys in the order in which they are met, a row of each, and their counts."""
    n = len(found)
    first = [_first_of(one) * n + k for k, one in enumerate(found)]
    counts = [np.bincount(one.codes, minlength=len(one.strings)) for one in found]
    order = np.argsort(np.concatenate(first))
    keys, where, inverse = np.unique(
        np.concatenate([one.hashes for one in found])[order], return_index=True, return_inverse=True
    )
    total = np.bincount(inverse, weights=np.concatenate(counts)[order]).astype(np.int64)
    met = np.argsort(where)
    return keys[met], order[where[met]], total[met]


def _first_of(made: Made) -> Array:
    """Return the first token of each string."""
    _, where = np.unique(made.codes, return_index=True)
    return where
