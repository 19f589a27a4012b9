"""How the score of a pair of states follows from the parts of an edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote

#: Tables by name, in words.
TABLES = {
    "full": "a score for each pair of states",
    "symmetric": "a score for each pair of states, whichever end has which",
    "antisymmetric": "a score for each pair of unlike states, of the other sign where the ends are swapped",
    "potts": "one score, where both ends have the same state",
    "truncated-linear": "one score for like states, which falls to 0 with their distance",
    "truncated-quadratic": "one score for like states, which falls to 0 with their squared distance",
}
#: The power of the distance on which tables depend, by name.
POWERS = {"truncated-linear": 1.0, "truncated-quadratic": 2.0}


class PairTable(NamedTuple):
    """The table of an edge is sign[a, b] times its part number part[a, b]."""

    part: Array
    sign: Array
    n_parts: int


def pair_table(kind: str, n_states: int, truncation: float = 1.0) -> PairTable:
    """Return the table of this name; ValueError for another.

    truncation : the distance from which on the score is 0, of tables by distance
    """
    if kind not in TABLES:
        raise ValueError(f"pairs is one of {', '.join(map(repr, TABLES))}; got {kind!r}.")
    k = n_states
    a, b = np.divmod(np.arange(k * k).reshape(k, k), k)
    low, high = np.minimum(a, b), np.maximum(a, b)
    if kind == "full":
        return PairTable(a * k + b, np.ones((k, k)), k * k)
    if kind in POWERS:
        power = POWERS[kind]
        apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) ** power
        return PairTable(
            np.zeros((k, k), dtype=np.int64), 1.0 - np.minimum(apart / truncation**power, 1.0), 1
        )
    if kind == "potts":
        return PairTable(np.zeros((k, k), dtype=np.int64), (a == b).astype(np.float64), 1)
    if kind == "symmetric":
        return PairTable(low * k - low * (low - 1) // 2 + high - low, np.ones((k, k)), k * (k + 1) // 2)
    above = low * (k - 1) - low * (low - 1) // 2 + high - low - 1
    unlike = a != b
    return PairTable(np.where(unlike, above, 0), np.sign(b - a).astype(np.float64), max(k * (k - 1) // 2, 1))


def check_truncation(given: object) -> float:
    """Return a truncation as a number; ValueError unless it is finite and at least 1."""
    if isinstance(given, int | float | np.integer | np.floating) and 1.0 <= given < np.inf:
        return float(given)
    raise ValueError(f"truncation is a distance of states, a number of at least 1; got {quote(given)}.")
