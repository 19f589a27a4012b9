"""Features by name: a dict or a list of strings per token, by the conventions of python-crfsuite.

A string value makes the feature "name:value" of weight 1, numbers and booleans are weights, nested dicts and
lists join names by ":". Sentences are read one at a time into compact integers; no dict is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.forms import count
from structlearn.core.packed_strings import PackedStrings
from structlearn.core.sentences import ParameterError
from structlearn.estimators.inputs.checking import Stacked
from structlearn.estimators.inputs.token_arrays import array_names
from structlearn.estimators.inputs.token_places import PlaceMemo, placed_entries
from structlearn.estimators.inputs.token_reading import TokenReader
from structlearn.storage.schema import check_form

#: Vocabularies of fewer features keep their names unless told otherwise.
FEW = 1_000_000
_MOST_BITS = 30
#: what is made of the vocabulary when it is needed
_CACHED = ("_place_of", "_sorted_keys", "_memo")
_FORM = {"n_features": count, "min_count": count, "hash_bits": int | None, "n_arrays?": count}


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
    n_arrays_ : int
        Columns of the arrays beside tokens, where sentences are pairs (tokens, array): the features
        "array:0", "array:1" ...
    """

    names_: list[str] | None
    keys_: Array
    n_arrays_: int = 0

    def __init__(
        self, min_count: int = 1, hash_bits: int | None = None, keep_names: bool | None = None
    ) -> None:
        if min_count < 1:
            raise ParameterError("{min_count} must be at least 1; got {given}.", given=min_count)
        if hash_bits is not None and not 1 <= hash_bits <= _MOST_BITS:
            raise ParameterError(
                "{hash_bits} must be between 1 and {most}; got {given}.",
                most=_MOST_BITS,
                given=hash_bits,
            )
        if hash_bits is not None and keep_names:
            raise ParameterError(
                "Hashed features have no names to keep: give {hash_bits} or {keep_names}, not both."
            )
        self.min_count, self.hash_bits, self.keep_names = min_count, hash_bits, keep_names

    @property
    def n_features(self) -> int:
        """Columns of the feature matrix."""
        if self.hash_bits is not None:
            return 1 << self.hash_bits
        return self.keys_.size if self.names_ is None else len(self.names_)

    def fit_transform(self, X: Iterable[Any]) -> NamedRows:
        """Learn the vocabulary of a training text, and encode it."""
        read = TokenReader().read(X)
        names = list(read.names)
        self.n_arrays_ = read.arrays.n_columns
        if self.hash_bits is not None:
            return self._with(None, np.empty(0, dtype=np.uint64))._encode(read, self.places(names))
        kept = np.bincount(read.entries[0], minlength=len(names)) >= self.min_count
        if not names and not self.n_arrays_:
            raise ValueError("No token has a feature; give some.")
        if not kept.any() and not self.n_arrays_:
            raise ParameterError("No feature occurs {given} times; lower {min_count}.", given=self.min_count)
        found = [name for name, one in zip(names, kept.tolist()) if one]
        found = list(dict.fromkeys([*found, *array_names(self.n_arrays_)]))
        keeps = len(found) < FEW if self.keep_names is None else self.keep_names
        self._with(found, None) if keeps else self._with(None, _keys(found))
        return self._encode(read, np.where(kept, np.cumsum(kept) - 1, -1))

    def transform(self, X: Iterable[Any], noun: str = "Token") -> NamedRows:
        """Encode a text; features that training never saw are left out. `noun` is what a token is called."""
        if not self.n_arrays_:
            placed = placed_entries(X, self._memo)
            if placed is not None:
                return self._stack(*placed)
        read = TokenReader(noun).read(X)
        read.arrays.check(self.n_arrays_)
        return self._encode(read, self.places(list(read.names)))

    def hashes(self) -> Array:
        """Return 64-bit hashes of the features' names."""
        return self.keys_ if self.names_ is None else _keys(self.names_)

    def get_feature_names_out(self) -> Array:
        """Return the name of each column as an array of strings."""
        if self.names_ is None:
            raise ParameterError(
                "The names of the features were not kept: train with {keep_names}, not {hash_bits}."
            )
        return np.array(self.names_, dtype=object)

    def with_names(self, names: list[str]) -> Self:
        """Take a vocabulary of names."""
        return self._with(names, None)

    def _with(self, names: list[str] | None, keys: Array | None) -> Self:
        self.names_, self.keys_ = names, np.empty(0, dtype=np.uint64) if keys is None else keys
        for cached in _CACHED:
            self.__dict__.pop(cached, None)
        return self

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is only kept to be faster."""
        return {name: value for name, value in vars(self).items() if name not in _CACHED}

    def keep(self, used: Array) -> None:
        """Forget the features of a vocabulary that a mask leaves out."""
        if self.names_ is None:
            self._with(None, self.keys_[used])
        else:
            self._with([name for name, one in zip(self.names_, used.tolist()) if one], None)

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names_ or ())}

    @cached_property
    def _memo(self) -> PlaceMemo:
        return PlaceMemo(self.places)

    @cached_property
    def _sorted_keys(self) -> tuple[Array, Array]:
        order = np.argsort(self.keys_)
        return self.keys_[order], order

    def places(self, names: list[str]) -> Array:
        """Return the column of each name; -1 for names that training never saw."""
        if self.hash_bits is None and self.names_ is not None:
            return np.array([self._place_of.get(name, -1) for name in names], dtype=np.int64)
        keys = _keys(names)
        if self.hash_bits is not None:
            return (keys >> np.uint64(64 - self.hash_bits)).astype(np.int64)
        known, order = self._sorted_keys
        at = np.minimum(np.searchsorted(known, keys), known.size - 1)
        return np.where(known[at] == keys, order[at], -1)

    def _encode(self, read: TokenReader, places: Array) -> NamedRows:
        codes, data = read.entries
        columns = places[codes] if codes.size else codes
        sizes = np.diff(np.array([0, *read.ends]))
        found = self._stack(columns, data, sizes, np.array(read.lengths, dtype=np.int64))
        if not self.n_arrays_:
            return found
        beside = read.arrays.rows(self.places(array_names(self.n_arrays_)), self.n_features)
        return replace(found, rows=found.rows + beside)

    def _stack(self, columns: Array, data: Array, sizes: Array, lengths: Array) -> NamedRows:
        """Return rows of tokens, each of so many entries; those without a column are left out."""
        kept = (columns >= 0) & (data != 0)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        indptr = np.concatenate([[0], np.cumsum(kept)])[ends]
        shape = (sizes.size, self.n_features)
        X = sparse.csr_matrix((data[kept], columns[kept].astype(np.int32), indptr), shape=shape)
        X.sum_duplicates()
        return NamedRows(X, lengths, self)

    # ---- in model files --------------------------------------------------------------------------------

    def to_stored(self) -> tuple[dict[str, object], dict[str, Array]]:
        """Return the header entry, and arrays: names end to end in UTF-8, or keys."""
        about: dict[str, object] = {
            "n_features": self.n_features,
            "min_count": self.min_count,
            "hash_bits": self.hash_bits,
            **({"n_arrays": self.n_arrays_} if self.n_arrays_ else {}),
        }
        if self.names_ is None:
            return about, {"keys": self.keys_}
        return about, pack_names(self.names_)

    @classmethod
    def from_stored(cls, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> TokenFeatures:
        """Invert `to_stored`; ValueError if the file's features are not valid."""
        check_form(about, _FORM, "features")
        names, keys = None, arrays.get("keys")
        if keys is None:
            names = unpack_names(arrays)
        elif keys.ndim != 1 or keys.dtype != np.uint64:
            raise ValueError("its features are no vector of keys")
        keep = None if about["hash_bits"] is not None else names is not None
        self = cls(about["min_count"], about["hash_bits"], keep)._with(names, keys)
        if self.n_features != about["n_features"]:
            raise ValueError(f"it has names of {self.n_features} features, not {about['n_features']}")
        return self._with_arrays(about.get("n_arrays", 0))

    def _with_arrays(self, n_arrays: int) -> Self:
        if n_arrays > self.n_features or (self.places(array_names(n_arrays)) < 0).any():
            raise ValueError("it lacks features of the arrays beside its tokens")
        self.n_arrays_ = n_arrays
        return self


def pack_names(names: Sequence[str]) -> dict[str, Array]:
    """Return names as arrays: end to end in UTF-8, and where each ends."""
    texts = [_bytes(name) for name in names]
    packed = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return {"names": packed, "ends": np.cumsum([len(text) for text in texts], dtype=np.int64)}


def unpack_names(arrays: Mapping[str, Array]) -> list[str]:
    """Invert `pack_names`; ValueError if there are none, or a name is there twice."""
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
    """Return 64-bit hashes of names."""
    return PackedStrings.of(names).hashes()
