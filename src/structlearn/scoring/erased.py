"""Any scoring behind C addresses: the one record that passes are compiled for (see `core.erased`)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from numba import types

from structlearn.core import contract as of
from structlearn.core.callbacks import UNCOMPILED
from structlearn.core.contract import Array
from structlearn.core.erased import FLOAT, INT, MASK, NUMBERS, c_function
from structlearn.core.kernels import implementation, implements, jitable, leaf
from structlearn.core.words import PackedWords, Words, call, load_words, vector
from structlearn.scoring.defaults import no_prefetch


class ErasedScoring(NamedTuple):
    """Addresses of a record with its scratch memory, and of its operations, or UNCOMPILED."""

    words: int
    n_shared: int
    score: int = UNCOMPILED
    score_subset: int = UNCOMPILED
    gram: int = UNCOMPILED
    squared_norm: int = UNCOMPILED
    add_pullback: int = UNCOMPILED
    prefetch: int = 0


class ScoringRecord(Protocol):
    """The NamedTuple of a scoring: compiled code knows it by its class."""

    @property
    def n_shared(self) -> int:
        """The number of shared parts."""


def erase_scoring(record: ScoringRecord, operations: frozenset[str]) -> tuple[ErasedScoring, Words]:
    """Put a scoring's record behind addresses; return that, and what must live as long."""
    words = Words(record, of.scoring_workspace(record))
    asked = {name: function for name, function in _FUNCTIONS.items() if name in operations}
    if implementation(of.prefetch, record) is no_prefetch:
        asked.pop("prefetch", None)
    addresses = {name: function.address(words.kind) for name, function in asked.items()}
    return ErasedScoring(words.address, int(record.n_shared), **addresses), words


# ---- operations as C functions --------------------------------------------------------------------------


@c_function(INT, *NUMBERS, *NUMBERS)
def score(me: PackedWords, i: int, w: types.CPointer, n_w: int, theta: types.CPointer, n_theta: int) -> float:
    scoring, work = load_words(me)
    of.score(scoring, i, vector(w, n_w), work, vector(theta, n_theta))
    return 0.0


@c_function(INT, *NUMBERS, *MASK, *NUMBERS)
def score_subset(
    me: PackedWords,
    i: int,
    w: types.CPointer,
    n_w: int,
    wanted: types.CPointer,
    n_wanted: int,
    theta: types.CPointer,
    n_theta: int,
) -> float:
    scoring, work = load_words(me)
    of.score_subset(scoring, i, vector(w, n_w), vector(wanted, n_wanted), work, vector(theta, n_theta))
    return 0.0


@c_function(INT, *NUMBERS, *MASK, *NUMBERS)
def gram(
    me: PackedWords,
    i: int,
    delta: types.CPointer,
    n_delta: int,
    wanted: types.CPointer,
    n_wanted: int,
    out: types.CPointer,
    n_out: int,
) -> float:
    scoring, work = load_words(me)
    of.gram(scoring, i, vector(delta, n_delta), vector(wanted, n_wanted), work, vector(out, n_out))
    return 0.0


@c_function(INT, *NUMBERS)
def squared_norm(me: PackedWords, i: int, delta: types.CPointer, n_delta: int) -> float:
    scoring, work = load_words(me)
    return of.squared_norm(scoring, i, vector(delta, n_delta), work)


@c_function(INT, *NUMBERS, FLOAT, *NUMBERS)
def add_pullback(
    me: PackedWords, i: int, delta: types.CPointer, n_delta: int, scale: float, w: types.CPointer, n_w: int
) -> float:
    scoring, work = load_words(me)
    of.add_pullback(scoring, i, vector(delta, n_delta), scale, vector(w, n_w), work)
    return 0.0


@c_function(INT)
def prefetch(me: PackedWords, i: int) -> float:
    scoring, _ = load_words(me)
    of.prefetch(scoring, i)
    return 0.0


_FUNCTIONS = {
    "score": score,
    "score_subset": score_subset,
    "gram": gram,
    "squared_norm": squared_norm,
    "add_pullback": add_pullback,
    "prefetch": prefetch,
}


# ---- and back -------------------------------------------------------------------------------------------


@implements(of.scoring_workspace, ErasedScoring)
@jitable
def nothing(scoring: ErasedScoring) -> int:
    """Return 0: scratch memory lies beside the record."""
    return 0


@implements(of.score, ErasedScoring)
@leaf
def erased_score(scoring: ErasedScoring, i: int, w: Array, work: object, theta: Array) -> None:
    call(scoring.score, (scoring.words, i, w, theta))


@implements(of.score_subset, ErasedScoring)
@leaf
def erased_score_subset(
    scoring: ErasedScoring, i: int, w: Array, wanted: Array, work: object, theta: Array
) -> None:
    call(scoring.score_subset, (scoring.words, i, w, wanted, theta))


@implements(of.gram, ErasedScoring)
@leaf
def erased_gram(
    scoring: ErasedScoring, i: int, delta: Array, wanted: Array, work: object, out: Array
) -> None:
    call(scoring.gram, (scoring.words, i, delta, wanted, out))


@implements(of.squared_norm, ErasedScoring)
@leaf
def erased_squared_norm(scoring: ErasedScoring, i: int, delta: Array, work: object) -> float:
    return call(scoring.squared_norm, (scoring.words, i, delta))


@implements(of.add_pullback, ErasedScoring)
@leaf
def erased_add_pullback(
    scoring: ErasedScoring, i: int, delta: Array, scale: float, w: Array, work: object
) -> None:
    call(scoring.add_pullback, (scoring.words, i, delta, scale, w))


@implements(of.prefetch, ErasedScoring)
@leaf
def erased_prefetch(scoring: ErasedScoring, i: int) -> None:
    if scoring.prefetch != 0:
        call(scoring.prefetch, (scoring.words, i))
