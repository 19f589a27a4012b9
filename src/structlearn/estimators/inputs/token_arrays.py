"""Arrays beside tokens, such as word vectors: a sentence may be a pair (tokens, array), a row per token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Number
from typing import Any, TypeGuard, TypeVar

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.estimators.inputs.checking import Stacked

S = TypeVar("S", bound=Stacked)


def is_pair(sentence: object) -> TypeGuard[tuple[Sequence[Any], Array]]:
    """Whether a sentence is a tuple of its tokens and an array: no token is an array."""
    if not isinstance(sentence, tuple) or len(sentence) != 2 or not isinstance(sentence[1], np.ndarray):
        return False
    tokens = sentence[0]
    if isinstance(tokens, np.ndarray):
        return tokens.dtype.kind in "OU"
    return isinstance(tokens, list | tuple) and not (tokens and isinstance(tokens[0], Number))


def has_pairs(X: Any) -> TypeGuard[Sequence[tuple[Sequence[Any], Array]]]:
    """Whether sentences are such pairs, as the first one shows."""
    return isinstance(X, list | tuple) and len(X) > 0 and is_pair(X[0])


def tokens_of(sentence: Any) -> Any:
    """Return a sentence without the array beside it."""
    return sentence[0] if is_pair(sentence) else sentence


def without_arrays(X: Any) -> Any:
    """Return sentences without the arrays beside them."""
    return [tokens_of(one) for one in X] if has_pairs(X) else X


class TokenArrays:
    """The arrays of sentences, as these are read one after the other; none where no sentence has one.

    n_columns : of all arrays
    """

    def __init__(self) -> None:
        self.n_columns = 0
        self._found: list[Array] = []
        self._paired: bool | None = None

    @classmethod
    def of(cls, X: Any) -> TokenArrays:
        """Read the arrays of sentences that are in memory."""
        found = cls()
        for i, sentence in enumerate(X if isinstance(X, list | tuple) else ()):
            found.take(i, sentence)
        return found

    @classmethod
    def stacked(cls, array: Array) -> TokenArrays:
        """Return the arrays of sentences that are end to end already, as float32."""
        found = cls()
        found.n_columns, found._found = array.shape[1], [array]
        return found

    def take(self, i: int, sentence: Any) -> Any:
        """Take the array of sentence i and return its tokens; ValueError if the array does not fit them."""
        paired = is_pair(sentence)
        if self._paired not in (None, paired):
            has, others = ("an", "no") if paired else ("no", "an")
            raise ValueError(
                f"Sentence {i} has {has} array beside its tokens, but those before have {others} array; give "
                "all sentences as pairs (tokens, array), or none."
            )
        self._paired = paired
        if not is_pair(sentence):
            return sentence
        tokens, array = sentence
        self._found.append(self._check_array(i, len(tokens), array))
        return tokens

    def _check_array(self, i: int, length: int, array: Array) -> Array:
        if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "biuf":
            raise ValueError(
                f"Sentence {i} has an array of {array.dtype} and shape {array.shape} beside its tokens; it "
                "must be of numbers, a row per token."
            )
        if len(array) != length:
            raise ValueError(f"Sentence {i} has {length} tokens, but an array of {len(array)} rows beside.")
        self.n_columns = self.n_columns or array.shape[1]
        if array.shape[1] != self.n_columns:
            raise ValueError(
                f"Sentence {i} has an array of {array.shape[1]} columns beside its tokens, but those before "
                f"have {self.n_columns}."
            )
        with np.errstate(over="ignore"):
            found = array.astype(np.float32, copy=False)
        if not np.isfinite(found).all():
            raise ValueError(f"Sentence {i} has NaN, infinity or more than 3.4e38 in the array beside it.")
        return found

    def check(self, n_columns: int) -> None:
        """Raise ValueError unless there are as many columns as the model was trained with."""
        if self.n_columns == n_columns:
            return
        if not n_columns:
            raise ValueError("The model was trained without arrays beside the tokens; give the tokens alone.")
        if not self.n_columns:
            raise ValueError(
                f"The model was trained with arrays of {n_columns} columns beside the tokens; give sentences "
                "as pairs (tokens, array), from Python."
            )
        raise ValueError(
            f"The arrays beside the tokens have {self.n_columns} columns, but the model was trained with "
            f"{n_columns}."
        )

    def rows(self, columns: Array, n_features: int) -> sparse.csr_matrix:
        """Return all rows as a matrix of `n_features` columns, with the arrays' columns at these places."""
        values = np.concatenate(self._found)
        order = np.argsort(columns, kind="stable")
        indices = np.tile(columns[order].astype(np.int32), len(values))
        indptr = np.arange(len(values) + 1) * columns.size
        shape = (len(values), n_features)
        made = sparse.csr_matrix((values[:, order].ravel(), indices, indptr), shape=shape)
        made.sum_duplicates()
        return made

    def beside(self, given: S) -> S:
        """Return rows of token features with the arrays' columns appended, in float32."""
        if not self.n_columns:
            return given
        own = self.rows(np.arange(self.n_columns), self.n_columns)
        return replace(given, rows=sparse.hstack([given.rows.astype(np.float32), own], format="csr"))


def array_names(n_columns: int) -> list[str]:
    """Return the names of the features of arrays."""
    return [f"array:{j}" for j in range(n_columns)]
