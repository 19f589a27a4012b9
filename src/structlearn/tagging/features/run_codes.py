"""Views of a word that depend on its sentence (see `runs`), as codes: all tokens of a text at once.

Sequence i is the tokens first[i]:first[i + 1]; `capital` says of each token whether it is capitalised. Codes
of places and quotations are the places of their values in `possible_values`.
"""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import inline, kernel
from structlearn.tagging.features.runs import LONGEST


@kernel
def nearest_lower(capital: Array, first: Array, step: int, found: Array) -> None:
    """found <- the nearest token before (step 1) or after (step -1) that is not capitalised, or -1."""
    for i in range(first.size - 1):
        a, b = (first[i], first[i + 1]) if step > 0 else (first[i + 1] - 1, first[i] - 1)
        nearest = -1
        for t in range(a, b, step):
            found[t] = nearest
            if not capital[t]:
                nearest = t


@kernel
def run_ends(capital: Array, first: Array, begin: Array, last: Array) -> None:
    """begin, last <- the first and the last token of the run of capitalised ones that each is in, or -1."""
    for i in range(first.size - 1):
        a = first[i]
        while a < first[i + 1]:
            b = a + 1
            while capital[a] and b < first[i + 1] and capital[b]:
                b += 1
            for t in range(a, b):
                begin[t], last[t] = (a, b - 1) if capital[a] else (-1, -1)
            a = b


@kernel
def places_in_runs(begin: Array, last: Array, found: Array) -> None:
    """found <- the code of each token's place k in its run of n: n (n - 1) / 2 + k, 0 outside."""
    for t in range(begin.size):
        found[t] = 0
        if begin[t] >= 0:
            n, k = min(last[t] - begin[t] + 1, LONGEST), min(t - begin[t] + 1, LONGEST)
            found[t] = n * (n - 1) // 2 + k


@inline
def _quotation_kind(capital: Array, a: int, b: int) -> int:
    """Return four times the code of the number of the words a:b, and that of their letters."""
    n = b - a
    length = n if n < 2 else 2 if n < LONGEST else 3
    capitals = 0
    for t in range(a, b):
        capitals += capital[t]
    begins = n > 0 and capital[a]
    return 4 * length + (0 if begins else 2) + (0 if 2 * capitals > n else 1)


@kernel
def quotations(capital: Array, mark: Array, first: Array, found: Array) -> None:
    """found <- the code of each token's quotation: 0 outside, 1 + 5 kind + place."""
    for i in range(first.size - 1):
        opened = -1
        for t in range(first[i], first[i + 1]):
            found[t] = 0
            if not mark[t]:
                continue
            if opened < 0:
                opened = t
                continue
            kind = 1 + 5 * _quotation_kind(capital, opened + 1, t)
            for u in range(opened + 1, t):
                found[u] = kind + 2
            found[opened], found[t] = kind, kind + 4
            if t > opened + 1:
                found[opened + 1] = kind + 1
                found[t - 1] = kind + 3
            opened = -1


def token_or_nothing(codes: Array, tokens: Array, nothing: int) -> Array:
    """Return the code of each of these tokens; `nothing` where there is none (-1)."""
    found: Array = np.append(codes, nothing).astype(np.int32)[tokens]
    return found
