"""Features of the edges of a sentence pair: what speaks for linking source word i to target word j.

    agreement = sqrt(forward backward),    mean = (forward + backward) / 2   of the two directions' posteriors

A mean above 1/2 is the unsupervised rule: the log odds of the two directions sum to more than 0. Nearly all
else is made of the agreement: of the edge itself, of its rivals in row and column, of its neighbours.
Computed a batch of pairs at a time, in compiled code; nothing is kept for a whole corpus. Features are of the
order of 1, but the constant, the agreement and the mean are `STRONG`: the penalty on weights hardly holds
them, so that what is learned stays near the rule unless the gold links speak against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np

from structlearn.alignment.gold.context import CONTEXT, fill_context
from structlearn.alignment.gold.readings import AGAIN
from structlearn.alignment.gold.rivals import best_others, best_two, value_at
from structlearn.alignment.gold.vectors import Vectors, Words, in_context
from structlearn.alignment.gold.votes import fill_votes, vote_names, vote_tables
from structlearn.alignment.gold.words import GOLD, GoldWords, fill_gold_words
from structlearn.alignment.statistics.statistics import AlignmentStatistics, PairStatistics, Posteriors
from structlearn.alignment.statistics.strings import (
    MARK,
    Spellings,
    clear_letters,
    common_prefix,
    letter_marks,
    likeness,
    mark_letters,
    spell,
)
from structlearn.alignment.text.bitext import Bitext
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

#: Scale of the constant, of the agreement and of the mean.
STRONG = 5.0

FEATURES = (
    "constant", "agreement", "forward", "backward", "log_agreement", "larger", "smaller",
    "best_in_both", "margin", "free", "free_larger",
    "dice", "dice_best_in_both", "log_forward_probability", "log_backward_probability",
    "forward_null", "backward_null",
    "previous", "next", "around", "both_around", "beside", "above", "agreement_beside", "free_around",
    "distance", "same", "same_long", "likeness", "marks_differ", "mark_and_word",
    "mean",
)  # fmt: skip

#: Of the two words' vectors, and of the means of those around them.
COSINES = ("cosine", "cosine_best_in_both", "context_cosine", "context_cosine_best_in_both")


class SpelledWords(NamedTuple):
    """Words of one side of a batch: those of sentence p are words[start[p] : start[p + 1]]."""

    words: Array
    start: Array
    spellings: Spellings


class EdgeFeatures(NamedTuple):
    """Features of all edges of a batch of pairs, which are the cells of a bitext."""

    bitext: Bitext
    F: Array  # (n_cells, n_features)
    agreement: Array  # (n_cells,)
    mean: Array  # (n_cells,)


def link_feature_names(
    *, vectors: bool = False, taught: bool = False, voters: int = 0, again: bool = False
) -> list[str]:
    """Return the names of the features, in order.

    With those of word vectors; those learned from gold links, and of votes; and those of a second reading.
    """
    names = [*FEATURES, *(COSINES if vectors else ())]
    told = [*CONTEXT, *GOLD, *vote_names(voters)] if taught else []
    return [*names, *told, *(AGAIN if again else ())]


def edge_features(
    statistics: AlignmentStatistics,
    pairs: Sequence[Words],
    vectors: Vectors | None = None,
    gold: GoldWords | None = None,
    surplus: Array | None = None,
    voters: int = 0,
) -> EdgeFeatures:
    """Return the features of pairs of (source words, target words), written as the statistics have them.

    `gold` adds those of the context, of what gold links say, and of the votes of as many `voters`; `surplus`
    is what these pairs have told it.
    """
    bitext = statistics.encode(pairs)
    names = link_feature_names(vectors=vectors is not None, taught=gold is not None, voters=voters)
    F = np.empty((int(bitext.cell_start[-1]), len(names)))
    source = _number_words([pair[0] for pair in pairs], bitext.source.start)
    target = _number_words([pair[1] for pair in pairs], bitext.target.start)
    fill_features(source, target, *statistics.of_cells(bitext), letter_marks(), F)
    if vectors is not None:
        U, V = (side.of([word for pair in pairs for word in pair[k]]) for k, side in enumerate(vectors))
        starts = source.start, target.start
        fill_cosines(U, V, *starts, F[:, names.index(COSINES[0]) :])
        fill_cosines(
            in_context(U, starts[0]), in_context(V, starts[1]), *starts, F[:, names.index(COSINES[2]) :]
        )
    agreement, mean = (F[:, FEATURES.index(name)] / STRONG for name in ("agreement", "mean"))
    if gold is not None:
        context, told = F[:, names.index(CONTEXT[0]) :], F[:, names.index(GOLD[0]) :]
        fill_context(source, target, agreement, mean, context)
        fill_gold_words(gold, statistics.lexicon, bitext, surplus, told)
        told[:, 1] = told[:, 0] * F[:, FEATURES.index("free")]
        if voters:
            voted = F[:, names.index("vote_1") :]
            fill_votes(bitext.shapes, vote_tables(bitext, pairs, voters), F[:, FEATURES.index("free")], voted)
    return EdgeFeatures(bitext, F, agreement, mean)


def _number_words(sentences: Sequence[Sequence[str]], start: Array) -> SpelledWords:
    """Give words numbers as they come: the vocabulary has one number for all that it lacks."""
    number: dict[str, int] = {}
    words = [number.setdefault(word, len(number)) for sentence in sentences for word in sentence]
    return SpelledWords(np.array(words, dtype=np.int64), start, spell(list(number)))


@kernel
def fill_features(
    source: SpelledWords,
    target: SpelledWords,
    posteriors: Posteriors,
    found: PairStatistics,
    marks: Array,
    out: Array,
) -> None:
    """out[e] <- the features of edge e, for all edges of the batch; `marks` is scratch."""
    at = 0
    for pair in range(source.start.size - 1):
        f, g = source.start[pair], target.start[pair]
        m, n = source.start[pair + 1] - f, target.start[pair + 1] - g
        if m * n == 0:
            continue
        end = at + m * n
        forward = posteriors.forward[at:end].reshape(m, n)
        backward = posteriors.reverse[at:end].reshape(m, n)
        dice = found.dice[at:end].reshape(m, n)
        agreement = np.empty((m, n), dtype=forward.dtype)
        for i in range(m):
            for j in range(n):
                agreement[i, j] = np.sqrt(forward[i, j] * backward[i, j])
        agreed, diced = best_two(agreement), best_two(dice)
        for i in range(m):
            mark_letters(source.spellings, source.words[f + i], marks)
            for j in range(n):
                e = at + i * n + j
                a, p, q = agreement[i, j], forward[i, j], backward[i, j]
                out[e, 0], out[e, 1], out[e, 2], out[e, 3] = STRONG, STRONG * a, p, q
                out[e, 4], out[e, 5], out[e, 6] = log(a + 1e-4) / 5.0, max(p, q), min(p, q)
                row, column = best_others(agreed, i, j, a)
                free = (1.0 - row) * (1.0 - column)
                best = max(row, column)
                out[e, 7], out[e, 8], out[e, 9], out[e, 10] = a > best, a - best, free, free * max(p, q)
                d = dice[i, j]
                out[e, 11], out[e, 12] = d, d > max(best_others(diced, i, j, d))
                out[e, 13] = log(found.translation[e] + 1e-6) / 7.0
                out[e, 14] = log(found.reverse_translation[e] + 1e-6) / 7.0
                out[e, 15], out[e, 16] = posteriors.forward_null[g + j], posteriors.reverse_null[f + i]
                _of_neighbours(agreement, i, j, free, out, e)
                out[e, 25] = abs((i + 0.5) / m - (j + 0.5) / n)
                _of_strings(source, f + i, target, g + j, marks, out, e)
                out[e, 31] = STRONG * (p + q) / 2.0
            clear_letters(source.spellings, source.words[f + i], marks)
        at = end


@kernel
def fill_cosines(U: Array, V: Array, source_start: Array, target_start: Array, out: Array) -> None:
    """out[e] <- the cosine of edge e, and whether it is the best of its row and column.

    U, V : unit vectors of the source and target words of a batch, zeros (cosine 0) for those without
    """
    at = 0
    for pair in range(source_start.size - 1):
        f, g = source_start[pair], target_start[pair]
        m, n = source_start[pair + 1] - f, target_start[pair + 1] - g
        cosine = np.zeros((m, n))
        for i in range(m):
            for j in range(n):
                for k in range(U.shape[1]):
                    cosine[i, j] += U[f + i, k] * V[g + j, k]
        rivals = best_two(cosine)
        for i in range(m):
            for j in range(n):
                c = cosine[i, j]
                out[at, 0] = c
                out[at, 1] = c > max(best_others(rivals, i, j, c))
                at += 1


@kernel
def _of_neighbours(table: Array, i: int, j: int, free: float, out: Array, e: int) -> None:
    """out[e, 17:25] <- how well the words before, after and beside these are linked to each other."""
    before, after = value_at(table, i - 1, j - 1), value_at(table, i + 1, j + 1)
    beside = max(value_at(table, i, j - 1), value_at(table, i, j + 1))
    above = max(value_at(table, i - 1, j), value_at(table, i + 1, j))
    out[e, 17], out[e, 18] = before, after
    out[e, 19], out[e, 20] = max(before, after), min(before, after)
    out[e, 21], out[e, 22], out[e, 23] = beside, above, table[i, j] * max(beside, above)
    out[e, 24] = free * max(before, after)


@kernel
def _of_strings(
    source: SpelledWords, s: int, target: SpelledWords, t: int, marks: Array, out: Array, e: int
) -> None:
    """out[e, 26:31] <- whether the words are the same or alike, and whether one is a punctuation mark."""
    a, i, b, j = source.spellings, source.words[s], target.spellings, target.words[t]
    m, n = a.start[i + 1] - a.start[i], b.start[j + 1] - b.start[j]
    same = m == n and common_prefix(a, i, b, j) == m
    out[e, 26], out[e, 27] = same, same and m > 3
    out[e, 28] = 1.0 if same else likeness(marks, m, b, j) if min(m, n) > 3 else 0.0
    one, two = a.kind[i] == MARK, b.kind[j] == MARK
    out[e, 29], out[e, 30] = one and two and not same, one != two
