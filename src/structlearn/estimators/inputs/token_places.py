"""Features of tokens by name, looked up in a vocabulary without a Python object per feature.

All tokens of a call are dicts, or all are lists: what is inside them goes through one `map` of a memo, which
reads each distinct name, or pair of a name and a value, once. Sentences of another form are not read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.inputs.token_reading import TokenReader

#: Features that a memo keeps before it is emptied.
MOST_KEPT = 1 << 18


class PlacedEntries(NamedTuple):
    """Entries of the rows of tokens.

    columns : int64 places in the vocabulary, -1 where there is none
    data : float32 weights
    sizes : entries of each token
    lengths : tokens of each sentence
    """

    columns: Array
    data: Array
    sizes: Array
    lengths: Array


class PlaceMemo:
    """The column and the weight of each distinct feature that was looked up.

    places : from names to columns of a vocabulary, -1 for unknown ones
    """

    def __init__(self, places: Callable[[list[str]], Array]) -> None:
        self._places, self._lock = places, Lock()
        self._empty()

    def _empty(self) -> None:
        self._codes = _Codes()
        self._columns, self._weights = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)

    def entries(self, features: Iterable[Any], n: int) -> tuple[Array, Array]:
        """Return columns and weights of n features; TypeError or ValueError if one has no single name."""
        with self._lock:
            if len(self._codes) > MOST_KEPT:
                self._empty()
            try:
                codes = np.fromiter(map(self._codes.__getitem__, features), dtype=np.int64, count=n)
            finally:
                self._look_up_new()
            return self._columns[codes], self._weights[codes]

    def _look_up_new(self) -> None:
        names, weights = self._codes.names, self._codes.weights
        if names:
            self._columns = np.append(self._columns, self._places(names))
            self._weights = np.append(self._weights, np.array(weights, dtype=np.float32))
        self._codes.names, self._codes.weights = [], []


class _Codes(dict[Any, int]):
    """Numbers features, and lists the names and weights of new ones."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.weights: list[float] = []

    def __missing__(self, feature: Any) -> int:
        name, weight = _plain_name(feature), 1.0
        if name is None:
            read = TokenReader().read([[dict([feature])]])
            (name,), (weight,) = read.names, read.entries[1].tolist()
        self.names.append(name)
        self.weights.append(weight)
        self[feature] = code = len(self)
        return code


def _plain_name(feature: Any) -> str | None:
    """Return the name of a feature that is a string, or a pair of strings; None for other pairs."""
    if isinstance(feature, str):
        return feature
    if not isinstance(feature, tuple):
        raise TypeError("a list of features has something else than strings")
    name, value = feature
    return f"{name}:{value}" if isinstance(name, str) and isinstance(value, str) else None


def placed_entries(X: Any, memo: PlaceMemo) -> PlacedEntries | None:
    """Return the entries of sentences whose tokens are all dicts or all lists; None for another form.

    What is not valid is of another form, too: `TokenReader` says what is wrong with it.
    """
    if type(X) is not list or set(map(type, X)) != {list}:
        return None
    tokens = list(chain.from_iterable(X))
    features = _FLAT.get(next(iter(kinds))) if len(kinds := set(map(type, tokens))) == 1 else None
    if features is None:
        return None
    sizes = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    try:
        columns, data = memo.entries(features(tokens), int(sizes.sum()))
    except (TypeError, ValueError):
        return None
    return PlacedEntries(columns, data, sizes, np.fromiter(map(len, X), dtype=np.int64, count=len(X)))


def _pairs(tokens: list[dict[str, object]]) -> Iterable[tuple[str, object]]:
    return chain.from_iterable(map(dict.items, tokens))


_FLAT: dict[type, Callable[[Any], Iterable[Any]]] = {dict: _pairs, list: chain.from_iterable}
