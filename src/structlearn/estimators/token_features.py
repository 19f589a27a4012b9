"""Features by name: a dict or a list of strings per token, by the conventions of python-crfsuite.

A string value makes the feature "name:value" of weight 1, numbers and booleans are weights, nested dicts and
lists join names by ":". Sentences are read one at a time into compact integers; no dict is kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Self, TypeAlias, TypeGuard

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.estimators.inputs import Stacked, Tables
from structlearn.storage.schema import check_form, count

#: A dict of strings, numbers, booleans, vectors, lists of strings or such dicts; or a list of names.
TokenForm: TypeAlias = Mapping[str, object] | Collection[str]
#: Vocabularies of fewer features keep their names unless told otherwise.
FEW = 1_000_000
_MOST_BITS = 30
_FORM = {"n_features": count, "min_count": count, "hash_bits": int | None}
_NUMBERS = (int, float, np.integer, np.floating, np.bool_)
_LISTS = (list, set, frozenset)


def is_named(X: Any) -> TypeGuard[Sequence[Sequence[TokenForm]]]:
    """Whether sentences hold features by name: as the first token that has any shows."""
    for sentence in X if _is_sequence(X) else ():
        for token in sentence if _is_sequence(sentence) else (None,):
            if not isinstance(token, _LISTS):
                return isinstance(token, Mapping)
            if token:
                return all(isinstance(name, str) for name in token)
    return False


def _is_sequence(X: object) -> bool:
    return isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object)


@dataclass(frozen=True, eq=False)
class NamedRows(Stacked):
    """Rows of features that have names: an estimator that is trained on them predicts from names, too."""

    features: TokenFeatures


class TokenFeatures:
    """Numbers the features of tokens: row t of the matrix has the weights of the features of token t.

    Parameters
    ----------
    min_count : int
        Features that occur less often in the training text are left out.
    hash_bits : int, optional
        Number features by this many bits of their hash instead of a vocabulary; features may collide.
    keep_names : bool, optional
        Whether the vocabulary keeps the names of features, or only their 64-bit hashes; unless given, names
        are kept where there are fewer than a million.

    Attributes
    ----------
    names_ : list of str, or None where they are not kept
        The names of the columns, in the order in which the training text has them first.
    keys_ : ndarray of shape (n_features,), uint64
        The vocabulary where names are not kept.
    """

    names_: list[str] | None
    keys_: Array

    def __init__(
        self, min_count: int = 1, hash_bits: int | None = None, keep_names: bool | None = None
    ) -> None:
        if min_count < 1:
            raise ValueError(f"min_count must be at least 1; got {min_count}.")
        if hash_bits is not None and not 1 <= hash_bits <= _MOST_BITS:
            raise ValueError(f"hash_bits must be between 1 and {_MOST_BITS}; got {hash_bits}.")
        if hash_bits is not None and keep_names:
            raise ValueError("Hashed features have no names to keep: give hash_bits or keep_names, not both.")
        self.min_count, self.hash_bits, self.keep_names = min_count, hash_bits, keep_names

    @property
    def n_features(self) -> int:
        """Columns of the feature matrix."""
        if self.hash_bits is not None:
            return 1 << self.hash_bits
        return self.keys_.size if self.names_ is None else len(self.names_)

    def fit_transform(self, X: Iterable[Sequence[TokenForm]]) -> NamedRows:
        """Learn the vocabulary of a training text, and encode it."""
        read = _Reader().read(X)
        names = list(read.names)
        if self.hash_bits is not None:
            return self._with(None, np.empty(0, dtype=np.uint64))._encoded(read, self.places(names))
        kept = np.bincount(read.entries[0], minlength=len(names)) >= self.min_count
        if not kept.any():
            raise ValueError(f"No feature occurs {self.min_count} times; lower min_count.")
        found = [name for name, one in zip(names, kept.tolist()) if one]
        keeps = len(found) < FEW if self.keep_names is None else self.keep_names
        self._with(found, None) if keeps else self._with(None, _keys(found))
        return self._encoded(read, np.where(kept, np.cumsum(kept) - 1, -1))

    def transform(self, X: Iterable[Sequence[TokenForm]]) -> NamedRows:
        """Encode a text; features that training never saw are left out."""
        read = _Reader().read(X)
        return self._encoded(read, self.places(list(read.names)))

    def hashes(self) -> Array:
        """64-bit hashes of the features' names."""
        return self.keys_ if self.names_ is None else _keys(self.names_)

    def get_feature_names_out(self) -> Array:
        """The name of each column, as an array of strings."""
        if self.names_ is None:
            raise ValueError("The names of the features were not kept: train with keep_names, not hash_bits.")
        return np.array(self.names_, dtype=object)

    def _with(self, names: list[str] | None, keys: Array | None) -> Self:
        self.names_, self.keys_ = names, np.empty(0, dtype=np.uint64) if keys is None else keys
        for cached in ("_place_of", "_sorted_keys"):
            self.__dict__.pop(cached, None)
        return self

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names_ or ())}

    @cached_property
    def _sorted_keys(self) -> tuple[Array, Array]:
        order = np.argsort(self.keys_)
        return self.keys_[order], order

    def places(self, names: list[str]) -> Array:
        """The column of each name; -1 of those that training never saw."""
        if self.hash_bits is None and self.names_ is not None:
            return np.array([self._place_of.get(name, -1) for name in names], dtype=np.int64)
        keys = _keys(names)
        if self.hash_bits is not None:
            return (keys >> np.uint64(64 - self.hash_bits)).astype(np.int64)
        known, order = self._sorted_keys
        at = np.minimum(np.searchsorted(known, keys), known.size - 1)
        return np.where(known[at] == keys, order[at], -1)

    def _encoded(self, read: _Reader, places: Array) -> NamedRows:
        codes, data = read.entries
        columns = places[codes] if codes.size else codes
        kept = (columns >= 0) & (data != 0)
        indptr = np.concatenate([[0], np.cumsum(kept)])[np.array([0, *read.ends])]
        shape = (len(read.ends), self.n_features)
        X = sparse.csr_matrix((data[kept], columns[kept].astype(np.int32), indptr), shape=shape)
        X.sum_duplicates()
        return NamedRows(X, np.array(read.lengths, dtype=np.int64), self)

    # ---- in model files --------------------------------------------------------------------------------

    def stored(self) -> tuple[dict[str, object], dict[str, Array]]:
        """What a file's header says, and arrays: names end to end in UTF-8, or keys."""
        about: dict[str, object] = {
            "n_features": self.n_features,
            "min_count": self.min_count,
            "hash_bits": self.hash_bits,
        }
        if self.names_ is None:
            return about, {"keys": self.keys_}
        texts = [_bytes(name) for name in self.names_]
        packed = np.frombuffer(b"".join(texts), dtype=np.uint8)
        return about, {"names": packed, "ends": np.cumsum([len(text) for text in texts], dtype=np.int64)}

    @classmethod
    def from_stored(cls, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> TokenFeatures:
        """The inverse of `stored`; ValueError if the file's features are none."""
        check_form(about, _FORM, "features")
        names, keys = None, arrays.get("keys")
        if keys is None:
            names = _unpacked(arrays)
        elif keys.ndim != 1 or keys.dtype != np.uint64:
            raise ValueError("its features are no vector of keys")
        keep = None if about["hash_bits"] is not None else names is not None
        self = cls(about["min_count"], about["hash_bits"], keep)._with(names, keys)
        if self.n_features != about["n_features"]:
            raise ValueError(f"it has names of {self.n_features} features, not {about['n_features']}")
        return self


def _unpacked(arrays: Mapping[str, Array]) -> list[str]:
    packed, ends = arrays.get("names"), arrays.get("ends")
    if packed is None or ends is None or packed.dtype != np.uint8 or ends.dtype != np.int64:
        raise ValueError("its features have no names")
    edges = [0, *ends.tolist()]
    if edges != sorted(edges) or edges[-1] != packed.size:
        raise ValueError("the names of its features do not end where they should")
    text = packed.tobytes()
    names = [text[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(edges)]
    if len(set(names)) < len(names):
        raise ValueError("a feature has two columns")
    return names


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _keys(names: list[str]) -> Array:
    """64-bit hashes of names."""
    return np.frombuffer(b"".join(blake2b(_bytes(one), digest_size=8).digest() for one in names), dtype="<u8")


class NamedInputs:
    """An estimator of sequences whose features may have names."""

    #: where they have
    features_: TokenFeatures

    def _learn_features(self, X: Tables) -> Tables:
        """Training data with its features numbered, where they have names, which are kept."""
        vars(self).pop("features_", None)
        rows: Tables = TokenFeatures().fit_transform(X) if is_named(X) else X
        if isinstance(rows, NamedRows):
            self.features_ = rows.features
        return rows

    def _numbered(self, X: Tables) -> Tables:
        """The same of data to predict, by the features of training."""
        if not is_named(X):
            return X
        if not hasattr(self, "features_"):
            raise ValueError("The model was trained on arrays, not on features by name; give arrays.")
        return self.features_.transform(X)


# ---- reading ---------------------------------------------------------------------------------------------


def names_read(X: Iterable[Sequence[TokenForm]]) -> list[str]:
    """The names of all features of a text."""
    return list(_Reader().read(X).names)


class _Unfit(Exception):
    """What is wrong with a token, without where it is."""


class _Names(dict[str, int]):
    """Numbers names in the order in which they are first looked up."""

    def __missing__(self, name: str) -> int:
        if not isinstance(name, str):
            raise _Unfit(f"has a feature whose name is a {type(name).__name__}; names are strings.")
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
            raise _Unfit(f"has a feature whose name is a {type(name).__name__}; names are strings.")
        self[name] = values = _Values(self.names, name)
        return values


class _Reader:
    """Tokens as numbers: the code of each feature, and weights where they are not 1.

    names : features by name, in the order of their codes
    ends : how many features there are up to the end of each token
    lengths : tokens of each sentence
    """

    def __init__(self) -> None:
        self.names = _Names()
        self._pairs = _Pairs(self.names)
        self._codes, self._weighted, self._weights = array("i"), array("q"), array("d")
        self.ends, self.lengths = array("q"), array("q")
        self._form: type | None = None

    def read(self, X: Iterable[Sequence[TokenForm]]) -> Self:
        """Read all sentences; ValueError for the first token that is none."""
        if isinstance(X, str | bytes | Mapping):
            raise ValueError(f"X must be a list of sentences, not a {type(X).__name__}.")
        for i, sentence in enumerate(X):
            if not _is_sequence(sentence):
                raise ValueError(f"Sentence {i} must be a list of tokens, not a {type(sentence).__name__}.")
            for t, token in enumerate(sentence):
                try:
                    self._add_token(token)
                except _Unfit as problem:
                    raise ValueError(f"Token {t} of sentence {i} {problem}") from None
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
        if form is None:
            raise _Unfit(
                f"is a {type(token).__name__}, where features are expected; give every token as a dict or as "
                "a list of strings."
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
                f"has a {type(value).__name__} as the value of the feature {name!r}; a value is a string, a "
                "number, a boolean, a vector, a list of strings or a dict of such values."
            )

    def _add_weight(self, name: str, value: Any) -> None:
        """A feature with a weight, which must be a number of float32."""
        if not -3.4e38 < value < 3.4e38:  # neither is NaN
            raise _Unfit(
                f"has the value {value} of the feature {name!r}; leave the feature out, or give a finite "
                "number."
            )
        if value != 1:
            self._weighted.append(len(self._codes))
            self._weights.append(value)
        self._codes.append(self.names[name])

    def _add_names(self, names: Collection[str], prefix: str) -> None:
        for name in names:
            if not isinstance(name, str):
                raise _Unfit(
                    f"has a {type(name).__name__} in a list of features; a list holds strings, the names of "
                    "features of weight 1."
                )
            self._codes.append(self.names[f"{prefix}{name}"])
