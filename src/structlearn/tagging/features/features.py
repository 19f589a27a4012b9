"""From columns of strings to a sparse matrix of features.

A feature is a 64-bit hash of its template and of the values its atoms see. Two features share a hash with a
probability of about n^2 / 2^65 (3e-8 for a million), so that the sorted-out hashes *are* the vocabulary:
eight bytes a feature, no strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.data import Tokens
from structlearn.tagging.features.keys import KeyTable, add_atom
from structlearn.tagging.features.templates import Templates, parse_templates
from structlearn.tagging.features.text_views import TextViews
from structlearn.tagging.features.views import text_hash

_MOST_BITS = 30


class TextFeatures:
    """Indicator features by templates: row t of the matrix has a 1 for each template's value at token t.

    Parameters
    ----------
    templates : str, Template, or a list of them
        See `structlearn.tagging.features.templates`.
    min_count : int
        Features that occur less often in the training text are left out.
    hash_bits : int, optional
        Number features by this many bits of their hash instead of a vocabulary: nothing is learnt from the
        training text, and features may collide.

    Attributes
    ----------
    keys_ : ndarray of shape (n_features,), uint64
        The vocabulary: features template by template, the most frequent first. Empty with `hash_bits`.
    starts_ : ndarray of shape (n_templates + 1,)
        After `fit`: where each template's features begin.
    strings_ : dict of str to list of str
        After `fit`: the distinct strings of each column, of which names of features can be made again
        (`tagging.features.names`); empty with `hash_bits`, and where they were not kept.
    """

    strings_: Mapping[str, Sequence[str]] = MappingProxyType({})

    def __init__(self, templates: Templates, min_count: int = 1, hash_bits: int | None = None) -> None:
        if min_count < 1:
            raise ParameterError("{min_count} must be at least 1; got {given}.", given=min_count)
        if hash_bits is not None and not 1 <= hash_bits <= _MOST_BITS:
            raise ParameterError(
                "{hash_bits} must be between 1 and {most}; got {given}.",
                most=_MOST_BITS,
                given=hash_bits,
            )
        self.templates: tuple[Any, ...] = parse_templates(templates)
        self.min_count, self.hash_bits = min_count, hash_bits

    @property
    def n_features(self) -> int:
        """Columns of the feature matrix."""
        return self.keys_.size if self.hash_bits is None else 1 << self.hash_bits

    @property
    def columns(self) -> list[str]:
        """Columns that the templates look at."""
        return list(dict.fromkeys(atom.column for template in self.templates for atom in template.atoms))

    def fit(self, tokens: Tokens) -> Self:
        """Learn the vocabulary of a training text."""
        if self.hash_bits is not None:
            return self.with_keys(np.empty(0, dtype=np.uint64))
        found = [_frequent(keys, self.min_count) for keys in self.keys(tokens)]
        self.starts_ = np.concatenate([[0], np.cumsum([keys.size for keys in found])])
        self.strings_ = {name: tokens.column(name).strings for name in self.columns}
        return self.with_keys(np.concatenate(found))

    def pair_columns(self, templates: Templates | None) -> list[int] | None:
        """Return the columns of these templates, whose features score pairs of labels; None for none."""
        return None if templates is None else self.columns_of(templates)

    def columns_of(self, templates: Templates) -> list[int]:
        """Return the columns of the feature matrix that belong to some of the templates."""
        if self.hash_bits is not None:
            raise ParameterError("Hashed features cannot be told apart; leave out {hash_bits}.")
        places = map(self.templates.index, parse_templates(templates))
        return [j for place in places for j in range(self.starts_[place], self.starts_[place + 1])]

    def key_columns(self, template: str) -> Array:
        """Return the columns of one template, whose values are the keys of a tag dictionary."""
        if any(one not in self.templates for one in parse_templates(template)):
            raise ParameterError(
                "{candidates=} is not among the templates; name one of them, such as word.",
                candidates=template,
            )
        return np.array(self.columns_of(template), dtype=np.int64)

    def with_keys(self, keys: Array) -> Self:
        """Take a vocabulary that was learnt before."""
        self.keys_ = keys
        self.__dict__.pop("_table", None)
        if self.hash_bits is None and not keys.size:
            raise ParameterError("No feature occurs {given} times; lower {min_count}.", given=self.min_count)
        return self

    def keep(self, used: Array) -> None:
        """Forget the features of a vocabulary that a mask leaves out."""
        self.starts_ = starts_of_used(self.starts_, used)
        self.with_keys(self.keys_[used])

    @cached_property
    def _table(self) -> KeyTable:
        return KeyTable(self.keys_)

    def transform(self, tokens: Tokens) -> sparse.csr_matrix:
        """Return the CSR matrix of shape (n_tokens, n_features) of a text; unknown features are left out."""
        places = np.empty((tokens.n_tokens, len(self.templates)), dtype=np.int32)
        for column, found in enumerate(self.places(tokens)):
            places[:, column] = found
        there = places >= 0
        indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        indices = places[there]
        ones = np.ones(indices.size, dtype=np.float32)
        X = sparse.csr_matrix((ones, indices, indptr), shape=(len(places), self.n_features))
        X.sum_duplicates()  # vocabularies go template by template: their rows are sorted already
        return X

    def places(self, tokens: Tokens) -> Iterator[Array]:
        """Return the column of each token's feature, template by template; -1 where there is none."""
        return map(self._places, self.keys(tokens))

    def _places(self, keys: Array) -> Array:
        if self.hash_bits is None:
            return self._table.places(keys)
        return np.where(keys != 0, keys >> np.uint64(64 - self.hash_bits), -1)

    def keys(self, tokens: Tokens) -> Iterator[Array]:
        """Yield the key of each token, template by template; zero where there is no feature."""
        views = TextViews(tokens)
        for template in self.templates:
            keys = np.full(tokens.n_tokens, text_hash(str(template)), dtype=np.uint64)
            for atom in template.atoms:
                codes, hashes = views.view(atom.column, atom.view)
                add_atom(hashes, codes, views.first, atom.offset, keys)
            yield keys


def _frequent(keys: Array, min_count: int) -> Array:
    """Return the nonzero keys that occur often enough, the most frequent first."""
    found, counts = np.unique(keys, return_counts=True)
    kept = (counts >= min_count) & (found != 0)
    order = np.argsort(-counts[kept], kind="stable")
    return found[kept][order]


def starts_of_used(starts: Array, used: Array) -> Array:
    """Return where each template's features begin after a mask has left some out."""
    found: Array = np.concatenate([[0], np.cumsum(used)])[starts]
    return found
