"""Jumps of the HMM alignment model: from one generating word to the next.

    p(jump from place r to place i) = w[c(r), i - r] v[c(i)] / Z,     c the class of the word at a place

w are weights of distances: some words generate several words in a row, after others comes the next one (He
2007). v says how readily a word is jumped to: some words generate nothing. Each of the most frequent words is
a class of its own, all others share one, and the beginning of a sentence has one. What is learned of a class
is held to what all classes share by imaginary jumps, so that it counts where there is much text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

#: Distances beyond this share one weight per side.
WIDEST = 20
#: Imaginary jumps of each distance: no weight falls to zero.
PSEUDO_JUMPS = 0.5
#: This many frequent words have jumps of their own.
OWN_JUMPS = 2000


class Jumps(NamedTuple):
    """Weights by class: the last is the beginning of a sentence, the one before it that of all other words.

    Without any class the model is Model 1, which has no jumps.
    """

    weights: Array  # (C, 2 WIDEST + 1)
    visits: Array  # (C,)
    classes: Array  # int32, (n_words + 1,): of each generating word, the word never seen last


class JumpCounts(NamedTuple):
    """What one pass expects: `taken` jumps, and `chance`, the derivative of sum log Z by each weight."""

    taken: Array  # (C, 2 WIDEST + 1)
    chance: Array
    visits: Array  # (C,)
    visit_chance: Array


def uniform_jumps(pairs: Array, n_own: int = OWN_JUMPS) -> Jumps:
    """Return equal weights; `pairs`, of shape (n_words + 1,), counts the sentence pairs of each word."""
    own = np.argsort(-pairs[:-1], kind="stable")[:n_own]
    classes = np.full(pairs.size, own.size, dtype=np.int32)
    classes[own] = np.arange(own.size, dtype=np.int32)
    return Jumps(np.ones((own.size + 2, 2 * WIDEST + 1)), np.ones(own.size + 2), classes)


def shared_jumps(weights: Array, n_words: int) -> Jumps:
    """Return the weights of distances that all words share."""
    return Jumps(np.stack([weights, weights]), np.ones(2), np.zeros(n_words + 1, dtype=np.int32))


def carry_weights(old: Jumps, new: Jumps) -> Jumps:
    """Return the new classes with the weights of an older text, whose words have the first numbers.

    Words that it did not have are like its other words.
    """
    words = np.minimum(np.arange(new.classes.size), old.classes.size - 1)
    rows = np.empty(new.visits.size, dtype=np.int64)
    rows[new.classes] = old.classes[words]
    rows[-2:] = old.classes[-1], old.visits.size - 1
    return new._replace(weights=old.weights[rows], visits=old.visits[rows])


def without_jumps(jumps: Jumps) -> Jumps:
    """Return the jumps of Model 1."""
    return jumps._replace(weights=jumps.weights[:0], visits=jumps.visits[:0])


@kernel
def no_counts(jumps: Jumps, counting: bool = True) -> JumpCounts:
    """Return counts of zero, of no class unless `counting`."""
    n, width = jumps.weights.shape
    n = n if counting else 0
    return JumpCounts(np.zeros((n, width)), np.zeros((n, width)), np.zeros(n), np.zeros(n))


@kernel
def fill_transitions(jumps: Jumps, words: Array, p0: float, out: Array, Z: Array, visit: Array) -> None:
    """out[r, i] <- (1 - p0) p(jump from r - 1 to i), the end last, and Z of each place.

    words : the S generating words
    out : (S + 1, S + 1)
    visit : (S + 1,), the weights of the places that are jumped to
    """
    S = words.size
    for i in range(S):
        visit[i] = jumps.visits[jumps.classes[words[i]]]
    visit[S] = 1.0
    for r in range(S + 1):
        c = jumps.classes[words[r - 1]] if r > 0 else jumps.visits.size - 1
        first, last = _near(r, S)
        for i in range(first):
            out[r, i] = jumps.weights[c, 0] * visit[i]
        for i in range(first, last):
            out[r, i] = jumps.weights[c, i - r + 1 + WIDEST] * visit[i]
        for i in range(last, S + 1):
            out[r, i] = jumps.weights[c, 2 * WIDEST] * visit[i]
        total = 0.0
        for i in range(S + 1):
            total += out[r, i]
        Z[r] = total
        scale = (1.0 - p0) / total
        for i in range(S + 1):
            out[r, i] *= scale


@kernel
def count_jumps(
    jumps: Jumps, words: Array, taken: Array, Z: Array, visit: Array, seen: Array, counts: JumpCounts
) -> None:
    """Add the jumps that one pair expects, `taken` of shape (S + 1, S + 1), to the counts.

    visit : as `fill_transitions` has filled it
    seen : workspace of shape (2, S + 1): what is added to the visits of each place, and to their chance
    """
    S = words.size
    seen[:, : S + 1] = 0.0
    for r in range(S + 1):
        c = jumps.classes[words[r - 1]] if r > 0 else jumps.visits.size - 1
        share = 0.0
        for i in range(S + 1):
            share += taken[r, i]
            seen[0, i] += taken[r, i]
        share /= Z[r]
        first, last = _near(r, S)
        for i in range(first):
            counts.taken[c, 0] += taken[r, i]
            counts.chance[c, 0] += share * visit[i]
            seen[1, i] += share * jumps.weights[c, 0]
        for i in range(first, last):
            d = i - r + 1 + WIDEST
            counts.taken[c, d] += taken[r, i]
            counts.chance[c, d] += share * visit[i]
            seen[1, i] += share * jumps.weights[c, d]
        for i in range(last, S + 1):
            counts.taken[c, 2 * WIDEST] += taken[r, i]
            counts.chance[c, 2 * WIDEST] += share * visit[i]
            seen[1, i] += share * jumps.weights[c, 2 * WIDEST]
    for i in range(S):
        to = jumps.classes[words[i]]
        counts.visits[to] += seen[0, i]
        counts.visit_chance[to] += seen[1, i]


@kernel
def _near(r: int, S: int) -> tuple[int, int]:
    """Return the range of places whose distance from place r - 1 has a weight of its own."""
    return max(0, r - 1 - WIDEST), min(S + 1, r + WIDEST)


def reestimate_jumps(jumps: Jumps, counts: JumpCounts, strength: float, visit_strength: float) -> Jumps:
    """Jumps that increase sum taken log w - sum over departures of log Z, the jumps' part of EM.

    With log Z <= log Z0 + (Z - Z0) / Z0 the bound is maximal at w = taken / chance. The strengths are
    imaginary jumps and visits of each class, as all do; with a strength of 0 all classes are alike.
    """
    shared = _shared_weights(jumps, counts)
    weights = np.tile(shared, (len(jumps.weights), 1))
    if strength > 0.0:
        taken = counts.taken + strength * shared / shared.sum()
        weights = taken / (counts.chance + strength / shared.sum())
        weights /= weights.max(axis=1, keepdims=True)
    if visit_strength == 0.0:
        return jumps._replace(weights=weights)
    typical = counts.visits.sum() / max(counts.visit_chance.sum(), 1e-300)
    visits = (counts.visits / typical + visit_strength) / (
        counts.visit_chance + visit_strength / jumps.visits
    )
    return jumps._replace(weights=weights, visits=visits)


def _shared_weights(jumps: Jumps, counts: JumpCounts) -> Array:
    imaginary = PSEUDO_JUMPS * jumps.weights.size / jumps.weights.sum()
    new = (counts.taken.sum(axis=0) + PSEUDO_JUMPS) / (counts.chance.sum(axis=0) + imaginary)
    return new / new.max()


def jump_penalty(jumps: Jumps) -> float:
    """Return the log-probability of the imaginary jumps, each from a place with all distances possible."""
    weights = jumps.weights.mean(axis=0)
    return float(PSEUDO_JUMPS * np.log(weights / weights.sum()).sum())
