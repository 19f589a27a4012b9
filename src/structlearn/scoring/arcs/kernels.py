"""Compiled answers of arc features: computed on the fly from codes of words, hashed into the weights.

The features of an arc from h to m are, for each template t, two places of w:

    k = hash(H[h, t] + M[m, t])   and   k xor s,   s = 1 .. 14 the arc's direction and length

H and M are sums of codes times factors, so that a sentence needs them once a word. The two places are
neighbours in memory. A template with a word between adds a code for each distinct value between h and m.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    add_pullback,
    gram,
    score,
    score_subset,
    scoring_workspace,
    squared_norm,
)
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.scoring.arcs.templates import BETWEEN, HEAD, MODIFIER, Templates

#: Codes of what is not a word: the root, and the places before and after the sentence.
ROOT_CODE, EDGE_CODE = np.uint64(0x5851F42D4C957F2D), np.uint64(0x14057B7EF767814F)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
#: The number of distinct values between two words beyond which values share features.
_MOST_BETWEEN = 64


class Arcs(NamedTuple):
    """Compiled form: words first[i]:first[i + 1] are those of sentence i."""

    #: (all words, columns), hashes of strings
    codes: Array
    first: Array
    #: where each sentence's arcs begin
    start: Array
    templates: Templates
    #: 64 less the bits of a place in w
    shift: np.uint64
    n_weights: int
    longest: int
    n_shared: int


class ArcWork(NamedTuple):
    """What is known of the sentence that was asked about last."""

    #: which one it is
    owner: Array
    #: H and M, (words + 1, templates), the root first
    head: Array
    modifier: Array
    #: [h, m], h < m: a bit for each value between
    between: Array
    #: (values, templates with a word between): what a value adds to a hash
    inside: Array
    values: Array
    #: places in w of the features of one arc
    places: Array
    #: of the size of w, all zero between operations
    weights: Array


@implements(scoring_workspace, Arcs)
@jitable
def arcs_workspace(scoring: Arcs) -> ArcWork:
    n, t, n_plain = scoring.longest + 1, scoring.templates.seed.size, scoring.templates.n_plain
    return ArcWork(
        np.full(1, -1),
        np.empty((n, t), np.uint64),
        np.empty((n, t), np.uint64),
        np.empty((n, n), np.uint64),
        np.empty((_MOST_BETWEEN, t), np.uint64),
        np.empty(_MOST_BETWEEN, np.uint64),
        np.empty(2 * (n_plain + (t - n_plain) * _MOST_BETWEEN), np.int64),
        np.zeros(scoring.n_weights),
    )


# ---- what a sentence needs once ----------------------------------------------------------------------


@leaf
def _code(scoring: Arcs, i: int, position: int, column: int) -> np.uint64:
    """Return the code of position 0 (the root), of a word 1 .. n, or of a place outside."""
    first = scoring.first[i]
    if position == 0:
        return ROOT_CODE
    if position < 0 or position > scoring.first[i + 1] - first:
        return EDGE_CODE
    return scoring.codes[first + position - 1, column]


@leaf
def _fill_sentence_tables(scoring: Arcs, i: int, work: ArcWork) -> int:
    """Fill the tables of sentence i unless they are; its number of words."""
    n = scoring.first[i + 1] - scoring.first[i]
    if work.owner[0] == i:
        return n
    work.owner[0] = i
    rules = scoring.templates
    for p in range(n + 1):
        for t in range(rules.seed.size):
            of_head, of_modifier = rules.seed[t], np.uint64(0)
            for a in range(rules.place.shape[1]):
                place = rules.place[t, a]
                if place in (HEAD, MODIFIER):
                    code = _code(scoring, i, p + rules.offset[t, a], rules.column[t, a]) * rules.factor[t, a]
                    if place == HEAD:
                        of_head += code
                    else:
                        of_modifier += code
            work.head[p, t], work.modifier[p, t] = of_head, of_modifier
    if rules.n_plain < rules.seed.size:
        _prepare_between(scoring, i, n, work)
    return n


@leaf
def _prepare_between(scoring: Arcs, i: int, n: int, work: ArcWork) -> None:
    rules, between = scoring.templates, work.between
    n_values = 0
    for p in range(1, n + 1):
        code = _code(scoring, i, p, rules.between)
        number = 0
        while number < n_values and work.values[number] != code:
            number += 1
        if number == n_values:
            number = min(number, _MOST_BETWEEN - 1)
            n_values = max(n_values, number + 1)
            work.values[number] = code
            for t in range(rules.n_plain, rules.seed.size):
                added = np.uint64(0)
                for a in range(rules.place.shape[1]):
                    if rules.place[t, a] == BETWEEN:
                        added += code * rules.factor[t, a]
                work.inside[number, t] = added
        between[p, p] = np.uint64(1) << np.uint64(number)
    for h in range(n):
        seen = np.uint64(0)
        for m in range(h + 1, n + 1):
            between[h, m] = seen
            seen |= between[m, m]


# ---- one arc -----------------------------------------------------------------------------------------


@leaf
def _bucket(h: int, m: int) -> int:
    """Return a bucket 1 .. 14: the direction, and the length 1, 2, 3, 4, 5, 6 to 10, or more."""
    length = abs(h - m)
    size = length if length <= 5 else (6 if length <= 10 else 7)
    return size if h < m else size + 7


@leaf
def _place(x: np.uint64, shift: np.uint64) -> np.int64:
    x = (x ^ (x >> _HALF)) * _MIX
    return np.int64(x >> shift)


@leaf
def _arc_score(scoring: Arcs, work: ArcWork, h: int, m: int, w: Array) -> float:
    shift, s = scoring.shift, _bucket(h, m)
    n_plain, n_all = scoring.templates.n_plain, scoring.templates.seed.size
    head, modifier = work.head[h], work.modifier[m]
    total = 0.0
    for t in range(n_plain):
        k = _place(head[t] + modifier[t], shift)
        total += w[k] + w[k ^ s]
    if n_plain < n_all:
        bits = work.between[min(h, m), max(h, m)]
        number = 0
        while bits:
            if bits & np.uint64(1):
                for t in range(n_plain, n_all):
                    k = _place(head[t] + modifier[t] + work.inside[number, t], shift)
                    total += w[k] + w[k ^ s]
            bits >>= np.uint64(1)
            number += 1
    return total


@leaf
def _arc_places(scoring: Arcs, work: ArcWork, h: int, m: int, out: Array) -> int:
    """Write the places in w of an arc's features, some perhaps more than once; return how many."""
    shift, s = scoring.shift, _bucket(h, m)
    n_plain, n_all = scoring.templates.n_plain, scoring.templates.seed.size
    size = 0
    for t in range(n_plain):
        k = _place(work.head[h, t] + work.modifier[m, t], shift)
        out[size], out[size + 1] = k, k ^ s
        size += 2
    if n_plain < n_all:
        bits = work.between[min(h, m), max(h, m)]
        number = 0
        while bits:
            if bits & np.uint64(1):
                for t in range(n_plain, n_all):
                    k = _place(work.head[h, t] + work.modifier[m, t] + work.inside[number, t], shift)
                    out[size], out[size + 1] = k, k ^ s
                    size += 2
            bits >>= np.uint64(1)
            number += 1
    return size


# ---- the operations -----------------------------------------------------------------------------------


@implements(score, Arcs)
@leaf
def arcs_score(scoring: Arcs, i: int, w: Array, work: ArcWork, theta: Array) -> None:
    n = _fill_sentence_tables(scoring, i, work)
    for h in range(n + 1):
        for m in range(1, n + 1):
            theta[h * n + m - 1] = _arc_score(scoring, work, h, m, w) if h != m else 0.0


@implements(score_subset, Arcs)
@leaf
def arcs_score_subset(scoring: Arcs, i: int, w: Array, wanted: Array, work: ArcWork, theta: Array) -> None:
    n = _fill_sentence_tables(scoring, i, work)
    for h in range(n + 1):
        for m in range(1, n + 1):
            part = h * n + m - 1
            if wanted[part]:
                theta[part] = _arc_score(scoring, work, h, m, w) if h != m else 0.0


@implements(add_pullback, Arcs)
@leaf
def arcs_add_pullback(scoring: Arcs, i: int, delta: Array, scale: float, w: Array, work: ArcWork) -> None:
    n, places = _fill_sentence_tables(scoring, i, work), work.places
    for h in range(n + 1):
        for m in range(1, n + 1):
            change = scale * delta[h * n + m - 1]
            if change != 0.0 and h != m:
                for j in range(_arc_places(scoring, work, h, m, places)):
                    w[places[j]] += change


@leaf
def _squared_and_clear(scoring: Arcs, n: int, delta: Array, work: ArcWork) -> float:
    """Return the squared norm of the pulled-back delta in `work.weights`, and set these to zero again."""
    places = work.places
    total = 0.0
    for h in range(n + 1):
        for m in range(1, n + 1):
            if delta[h * n + m - 1] != 0.0 and h != m:
                for j in range(_arc_places(scoring, work, h, m, places)):
                    value = work.weights[places[j]]
                    total += value * value
                    work.weights[places[j]] = 0.0
    return total


@implements(squared_norm, Arcs)
@leaf
def arcs_squared_norm(scoring: Arcs, i: int, delta: Array, work: ArcWork) -> float:
    arcs_add_pullback(scoring, i, delta, 1.0, work.weights, work)
    return _squared_and_clear(scoring, scoring.first[i + 1] - scoring.first[i], delta, work)


@implements(gram, Arcs)
@leaf
def arcs_gram(scoring: Arcs, i: int, delta: Array, wanted: Array, work: ArcWork, out: Array) -> None:
    arcs_add_pullback(scoring, i, delta, 1.0, work.weights, work)
    arcs_score_subset(scoring, i, work.weights, wanted, work, out)
    _squared_and_clear(scoring, scoring.first[i + 1] - scoring.first[i], delta, work)


# ---- many sentences ----------------------------------------------------------------------------------


@kernel
def arc_norms(scoring: Arcs, first: int, last: int, norms: Array) -> None:
    """Compute ||Phi_i^T e_j|| of every arc j."""
    work = arcs_workspace(scoring)
    places = work.places
    at = 0
    for i in range(first, last):
        n = _fill_sentence_tables(scoring, i, work)
        for h in range(n + 1):
            for m in range(1, n + 1):
                size = _arc_places(scoring, work, h, m, places) if h != m else 0
                total = 0.0
                for j in range(size):
                    work.weights[places[j]] += 1.0
                for j in range(size):
                    total += work.weights[places[j]] ** 2
                    work.weights[places[j]] = 0.0
                norms[at] = np.sqrt(total)
                at += 1


@kernel
def count_features(scoring: Arcs, heads: Array, sizes: Array) -> None:
    """Count the features of the arc from heads[m] to each word m of all sentences."""
    work = arcs_workspace(scoring)
    places = work.places
    for i in range(scoring.first.size - 1):
        n = _fill_sentence_tables(scoring, i, work)
        for m in range(1, n + 1):
            word = scoring.first[i] + m - 1
            sizes[word] = _arc_places(scoring, work, heads[word], m, places)


@kernel
def list_features(scoring: Arcs, heads: Array, starts: Array, features: Array) -> None:
    """features[starts[m]:starts[m + 1]] <- those of the arc from heads[m] to word m."""
    work = arcs_workspace(scoring)
    for i in range(scoring.first.size - 1):
        n = _fill_sentence_tables(scoring, i, work)
        for m in range(1, n + 1):
            word = scoring.first[i] + m - 1
            _arc_places(scoring, work, heads[word], m, features[starts[word] : starts[word + 1]])
