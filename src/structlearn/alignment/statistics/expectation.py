"""The E-step: what both directions expect for a range of sentence pairs.

Forward, source words generate target words: each target word j has one source word i or NULL. Reverse, target
words generate source words. A cell (i, j) is source word i and target word j in both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.alignment.statistics.hmm import (
    GeneratedWords,
    hmm_posteriors,
    jump_workspace,
    make_room,
    words_in,
)
from structlearn.alignment.statistics.jumps import JumpCounts, Jumps, count_jumps, fill_transitions, no_counts
from structlearn.alignment.text.bitext import Corpus, Text
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel


class DirectionRecord(NamedTuple):
    """One direction, compiled: without classes of jumps it is Model 1, with them the HMM."""

    translation: Array  # float32, (K + N_MISSING,)
    null: Array  # (n_words + 1,)
    p0: float
    jumps: Jumps


class Expected(NamedTuple):
    """Posteriors of one direction over some pairs, and what else the M-step needs."""

    link: Array  # float32, (n_cells,)
    null: Array  # float32, (n_words generated,)
    jumps: JumpCounts
    log_likelihood: float


def expect(
    text: Text,
    entry: Array,
    forward: DirectionRecord,
    reverse: DirectionRecord,
    first: int,
    last: int,
    *,
    counting: bool = True,
) -> tuple[Expected, Expected]:
    """Posteriors of the pairs first <= s < last, and if `counting` the jumps that they expect.

    `entry` belongs to the cells of these pairs alone.
    """
    cells = text.cell_start[first : last + 1] - text.cell_start[first]
    return (
        _expect_one(forward, text.target, text.source, cells, entry, True, first, last, counting),
        _expect_one(reverse, text.source, text.target, cells, entry, False, first, last, counting),
    )


@kernel
def _expect_one(
    direction: DirectionRecord,
    generated: Corpus,
    generating: Corpus,
    cells: Array,
    entry: Array,
    across: bool,
    first: int,
    last: int,
    counting: bool,
) -> Expected:
    """One direction; the generated words are the columns of a pair's cells if `across`, else the rows."""
    begin = generated.start[first]
    link = np.empty(entry.size, dtype=np.float32)
    null = np.empty(generated.start[last] - begin, dtype=np.float32)
    jumps, counts = direction.jumps, no_counts(direction.jumps, counting)
    room = make_room(_longest(generated, first, last), _longest(generating, first, last))
    log_likelihood = 0.0
    for s in range(first, last):
        a, b = generated.start[s], generated.start[s + 1]
        L, S = b - a, generating.start[s + 1] - generating.start[s]
        if L * S == 0:
            null[a - begin : b - begin] = 1.0
            continue
        words = words_in(room, L, S, direction.p0)
        cell, down, right = cells[s - first], 1 if across else S, L if across else 1
        for l in range(L):
            words.null[l] = direction.null[generated.tokens[a + l]]
            for i in range(S):
                words.emission[l, i] = direction.translation[entry[cell + l * down + i * right]]
        if jumps.visits.size == 0:
            log_likelihood += _model1_posteriors(words)
        else:
            given = generating.tokens[generating.start[s] : generating.start[s + 1]]
            transition = jump_workspace(room.transition, S)
            fill_transitions(jumps, given, direction.p0, transition, room.Z, room.visit)
            log_likelihood += hmm_posteriors(words, room, counting)
            if counting:
                taken = jump_workspace(room.taken, S)
                count_jumps(jumps, given, taken, room.Z, room.visit, room.seen, counts)
        for l in range(L):
            null[a - begin + l] = words.null_posterior[l]
            for i in range(S):
                link[cell + l * down + i * right] = words.posterior[l, i]
    return Expected(link, null, counts, log_likelihood)


@kernel
def _model1_posteriors(words: GeneratedWords) -> float:
    """IBM Model 1, all positions alike: p(word l) = p0 null[l] + (1 - p0) / S sum_i emission[l, i].

    Fills in the posteriors; returns log p(words).
    """
    emission, null, p0, out, out_null = words
    L, S = emission.shape
    share = (1.0 - p0) / S
    log_words = 0.0
    for l in range(L):
        total = p0 * null[l]
        for i in range(S):
            total += share * emission[l, i]
        for i in range(S):
            out[l, i] = share * emission[l, i] / total
        out_null[l] = p0 * null[l] / total
        log_words += np.log(total)
    return log_words


@kernel
def _longest(corpus: Corpus, first: int, last: int) -> int:
    longest = 0
    for s in range(first, last):
        longest = max(longest, corpus.start[s + 1] - corpus.start[s])
    return longest


@kernel
def add_at(index: Array, values: Array, out: Array) -> None:
    """out[index[k]] += values[k], one after the other."""
    for k in range(index.size):
        out[index[k]] += values[k]
