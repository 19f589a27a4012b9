"""Reading features by name: a dict or a list of strings per token, by the conventions of python-crfsuite.

A string value makes the feature "name:value" of weight 1, numbers and booleans are weights, nested dicts and
lists join names by ":". Sentences are read one at a time into compact integers; no dict is kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from typing import Any, Self, TypeAlias, TypeGuard

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.progress import counted
from structlearn.core.wording import kind_of, quote
from structlearn.estimators.inputs.token_arrays import TokenArrays, tokens_of

#: A dict of strings, numbers, booleans, vectors, lists of strings or such dicts; or a list of names.
TokenForm: TypeAlias = Mapping[str, object] | Collection[str]
_NUMBERS = (int, float, np.integer, np.floating, np.bool_)
_LISTS = (list, set, frozenset)


def is_named(X: Any) -> TypeGuard[Sequence[Sequence[TokenForm]]]:
    """Whether sentences hold features by name: as the first token that has any shows."""
    for sentence in map(tokens_of, X) if _is_sequence(X) else ():
        for token in sentence if _is_sequence(sentence) else (None,):
            if not isinstance(token, _LISTS):
                return isinstance(token, Mapping)
            if token:
                return all(isinstance(name, str) for name in token)
    return False


def has_words(X: Any) -> bool:
    """Whether the first token of sentences is a string."""
    first = next((token for one in X for token in one), None) if isinstance(X, list | tuple) else None
    return isinstance(first, str)


def _is_sequence(X: object) -> bool:
    return isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object)


def names_read(X: Iterable[Sequence[TokenForm]]) -> list[str]:
    """Return the names of all features of a text."""
    return list(TokenReader().read(X).names)


class _Unfit(Exception):
    """What is wrong with a token, without where it is."""


def _spell_number(value: Any) -> str:
    """Return a number that float32 cannot hold in a few characters."""
    try:
        return f"{float(value):g}"
    except OverflowError:
        return "a number beyond 1e308"


class _Names(dict[str, int]):
    """Numbers names in the order in which they are first looked up."""

    def __missing__(self, name: str) -> int:
        if not isinstance(name, str):
            raise _Unfit(f"has a feature whose name is {kind_of(name)}; names are strings.")
        self[name] = code = len(self)
        return code


class _Values(dict[str, int]):
    """The codes of "name:value" by value: each distinct pair is joined once."""

    def __init__(self, names: _Names, name: str) -> None:
        self.names, self.name = names, name

    def __missing__(self, value: str) -> int:
        self[value] = code = self.names[f"{self.name}:{value}"]
        return code


class _Pairs(dict[str, _Values]):
    """The codes of names with string values, by name."""

    def __init__(self, names: _Names) -> None:
        self.names = names

    def __missing__(self, name: str) -> _Values:
        if not isinstance(name, str):
            raise _Unfit(f"has a feature whose name is {kind_of(name)}; names are strings.")
        self[name] = values = _Values(self.names, name)
        return values


class TokenReader:
    """Tokens as numbers: the code of each feature, and weights where they are not 1.

    names : features by name, in the order of their codes
    ends : how many features there are up to the end of each token
    lengths : tokens of each sentence
    arrays : those beside the tokens
    """

    def __init__(self, noun: str = "Token") -> None:
        self._noun, self.names = noun, _Names()
        self._pairs = _Pairs(self.names)
        self._codes, self._weighted, self._weights = array("i"), array("q"), array("d")
        self.ends, self.lengths = array("q"), array("q")
        self._form: type | None = None
        self.arrays = TokenArrays()

    def read(self, X: Iterable[Sequence[TokenForm]]) -> Self:
        """Read all sentences; ValueError for the first token that is not valid."""
        if isinstance(X, str | bytes | Mapping):
            raise ValueError(f"X must be a list of sentences, not {kind_of(X)}.")
        for i, given in enumerate(counted(X, "features", len(X)) if isinstance(X, Sized) else X):
            sentence = self.arrays.take(i, given)
            if not _is_sequence(sentence):
                raise ValueError(f"Sentence {i} must be a list of tokens, not {kind_of(sentence)}.")
            for t, token in enumerate(sentence):
                try:
                    self._add_token(token)
                except _Unfit as problem:
                    raise ValueError(f"{self._noun} {t} of sentence {i} {problem}") from None
                self.ends.append(len(self._codes))
            self.lengths.append(len(sentence))
        return self

    @property
    def entries(self) -> tuple[Array, Array]:
        """Codes and float32 weights of all features, token by token."""
        codes = np.array(self._codes, dtype=np.int32)
        data = np.ones(codes.size, dtype=np.float32)
        data[np.array(self._weighted, dtype=np.int64)] = np.array(self._weights)
        return codes, data

    def _add_token(self, token: TokenForm) -> None:
        form = Mapping if isinstance(token, Mapping) else list if isinstance(token, _LISTS) else None
        if form is None and isinstance(token, np.ndarray):
            raise _Unfit("is an array; one beside the tokens of a sentence goes in a tuple, (tokens, array).")
        if form is None:
            raise _Unfit(
                f"is {kind_of(token)}, where features are expected; give every token as a dict or as a list "
                "of strings."
            )
        if self._form not in (None, form):
            kinds = {Mapping: "dict", list: "list"}
            raise _Unfit(f"is a {kinds[form]}, but those before are not; give all tokens in one form.")
        self._form = form
        if isinstance(token, Mapping):
            self._add_features(token, "")
        else:
            self._add_names(token, "")

    def _add_features(self, features: Mapping[str, object], prefix: str) -> None:
        append, pairs = self._codes.append, self._pairs
        for name, value in features.items():
            if prefix and isinstance(name, str):
                name = f"{prefix}{name}"
            if type(value) is str:
                append(pairs[name][value])
            else:
                self._add_other(name, value)

    def _add_other(self, name: str, value: object) -> None:
        if isinstance(value, _NUMBERS):
            self._add_weight(name, value)
        elif isinstance(value, str):
            self._codes.append(self._pairs[name][str(value)])
        elif isinstance(value, Mapping):
            self._add_features(value, f"{name}:")
        elif isinstance(value, (*_LISTS, tuple)):
            self._add_names(value, f"{name}:")
        elif isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biuf":
            for j, weight in enumerate(value.tolist()):
                self._add_weight(f"{name}:{j}", weight)
        else:
            raise _Unfit(
                f"has {kind_of(value)} as the value of the feature {quote(name)}; a value is a string, a "
                "number, a boolean, a vector, a list of strings or a dict of such values."
            )

    def _add_weight(self, name: str, value: Any) -> None:
        """Add a feature with a weight, which must be a number that float32 can hold."""
        if not -3.4e38 < value < 3.4e38:  # neither is NaN
            raise _Unfit(
                f"has {_spell_number(value)} as the value of the feature {quote(name)}; leave the feature "
                "out, or give a finite number."
            )
        if value != 1:
            self._weighted.append(len(self._codes))
            self._weights.append(value)
        self._codes.append(self.names[name])

    def _add_names(self, names: Collection[str], prefix: str) -> None:
        for name in names:
            if not isinstance(name, str):
                raise _Unfit(
                    f"has {kind_of(name)} in a list of features; a list holds strings, the names of features "
                    "of weight 1."
                )
            self._codes.append(self.names[f"{prefix}{name}"])
