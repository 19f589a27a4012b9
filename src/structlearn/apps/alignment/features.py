"""Features of the edges of a sentence pair: what speaks for linking source word i to target word j.

Computed a batch of pairs at a time, in compiled code; nothing is kept for the whole corpus. Every feature is
of the order of 1. `feature_names` lists them.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from structlearn.apps.alignment.strings import LONGEST, MARK, NUMBER, Spellings, common_prefix, likeness
from structlearn.contract import Array
from structlearn.kernels import kernel

#: The most frequent words of each side have weights of their own.
TOP = 30
_STEPS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9)

_TABLES = ("forward", "backward", "agreement")
_COMPETITION = ("best_in_row", "best_in_column", "best_in_both", "of_row_best", "of_column_best", "margin")
_NEIGHBOURS = ("previous", "next", "around", "both_around", "beside", "above", "crossing", "dice_around")
_POSITION = ("distance", "distance_squared", "near", "both_first", "both_last", "longer")
_STRINGS = (
    "same",
    "same_long",
    "same_number",
    "same_mark",
    "prefix",
    "long_prefix",
    "likeness",
    "alike",
    "marks_differ",
    "mark_and_word",
    "number_and_word",
)
_FREQUENCY = ("frequencies_differ", "both_frequent", "both_rare", "source_unknown", "target_unknown")
_LEXICON = ("log_forward_probability", "log_backward_probability", "dice", "root_dice")
_COSINE = ("cosine", "cosine_squared")


class WordTypes(NamedTuple):
    """What features need to know of the words of one side, by word number."""

    spellings: Spellings
    #: log(1 + count) in the bitext; 0 for words that it lacks
    log_count: Array
    #: rank among the TOP most frequent words, else -1
    top: Array


class Edges(NamedTuple):
    """Tables of the edges of a batch of pairs, m * n entries a pair end to end, rows are source words.

    The posteriors and probabilities of the two directions, Dice coefficients and cosines; a table of size
    zero is one that is not used.
    """

    forward: Array
    backward: Array
    forward_probability: Array
    backward_probability: Array
    dice: Array
    cosine: Array


class Tokens(NamedTuple):
    """Word numbers of a batch: those of sentence p are words[start[p] : start[p + 1]]."""

    words: Array
    start: Array


def feature_names(*, cosine: bool = False) -> list[str]:
    """Names of the features, in their order."""
    names = ["constant"]
    for table in _TABLES:
        names += [table, f"log_{table}", *(f"{table}_above_{step:g}" for step in _STEPS)]
    compared = ("agreement", "dice", *(("cosine",) if cosine else ()))
    names += [f"{table}_{what}" for table in compared for what in _COMPETITION]
    names += [*_LEXICON, *_NEIGHBOURS, *_POSITION, *_STRINGS, *_FREQUENCY]
    for side in ("source", "target"):
        names += [f"{side}_top_{k}" for k in range(TOP)]
        names += [f"{side}_top_{k}_agreement" for k in range(TOP)]
    return names + (list(_COSINE) if cosine else [])


@kernel
def fill_features(
    source: Any, target: Any, source_types: Any, target_types: Any, edges: Any, out: Any
) -> None:
    """out[e] <- the features of edge e, for all edges of the batch."""
    at = 0
    letters = np.empty(LONGEST + 1, dtype=np.int64)
    for pair in range(source.start.size - 1):
        f, g = source.start[pair], target.start[pair]
        m, n = source.start[pair + 1] - f, target.start[pair + 1] - g
        end = at + m * n
        forward, backward = edges.forward[at:end].reshape(m, n), edges.backward[at:end].reshape(m, n)
        agreement = np.sqrt(forward * backward)
        dice = edges.dice[at:end].reshape(m, n)
        agreed, diced = _rivals(agreement), _rivals(dice)
        has_cosine = edges.cosine.size > 0
        cosine = edges.cosine[at:end].reshape(m, n) if has_cosine else agreement
        close = _rivals(cosine) if has_cosine else agreed
        for i in range(m):
            for j in range(n):
                x = out[at + i * n + j]
                x[:] = 0.0
                x[0] = 1.0
                k = 1
                k = _of_probability(forward[i, j], x, k)
                k = _of_probability(backward[i, j], x, k)
                k = _of_probability(agreement[i, j], x, k)
                k = _of_competition(agreement, agreed, i, j, x, k)
                k = _of_competition(dice, diced, i, j, x, k)
                if has_cosine:
                    k = _of_competition(cosine, close, i, j, x, k)
                e = at + i * n + j
                x[k] = log(edges.forward_probability[e] + 1e-6) / 7.0
                x[k + 1] = log(edges.backward_probability[e] + 1e-6) / 7.0
                x[k + 2] = dice[i, j]
                x[k + 3] = sqrt(dice[i, j])
                k = _of_neighbours(agreement, dice, i, j, x, k + 4)
                k = _of_position(i, j, m, n, x, k)
                a, b = source.words[f + i], target.words[g + j]
                k = _of_strings(source_types.spellings, a, target_types.spellings, b, letters, x, k)
                k = _of_frequency(source_types.log_count[a], target_types.log_count[b], x, k)
                k = _of_top(source_types.top[a], agreement[i, j], x, k)
                k = _of_top(target_types.top[b], agreement[i, j], x, k)
                if has_cosine:
                    x[k] = cosine[i, j]
                    x[k + 1] = cosine[i, j] * abs(cosine[i, j])
        at = end


@kernel
def _rivals(table: Any) -> Any:
    """Best and second best of each row and of each column."""
    m, n = table.shape
    rows, columns = np.zeros((m, 2)), np.zeros((n, 2))
    for i in range(m):
        for j in range(n):
            _enter(rows[i], table[i, j])
            _enter(columns[j], table[i, j])
    return rows, columns


@kernel
def _enter(best: Any, value: Any) -> None:
    if value > best[0]:
        best[1], best[0] = best[0], value
    elif value > best[1]:
        best[1] = value


@kernel
def _of_probability(p: Any, x: Any, k: Any) -> Any:
    x[k] = p
    x[k + 1] = log(p + 1e-4) / 5.0
    for q in range(len(_STEPS)):
        x[k + 2 + q] = 1.0 if p > _STEPS[q] else 0.0
    return k + 2 + len(_STEPS)


@kernel
def _of_competition(table: Any, rivals: Any, i: Any, j: Any, x: Any, k: Any) -> Any:
    """Is it the best of its row, of its column; how near; by how much."""
    value = table[i, j]
    row, column = rivals[0][i], rivals[1][j]
    first, second = value >= row[0] and value > 0.0, value >= column[0] and value > 0.0
    x[k] = first
    x[k + 1] = second
    x[k + 2] = first and second
    x[k + 3] = value / row[0] if row[0] > 0.0 else 0.0
    x[k + 4] = value / column[0] if column[0] > 0.0 else 0.0
    other = max(row[1] if first else row[0], column[1] if second else column[0])
    x[k + 5] = value - other
    return k + 6


@kernel
def _at(table: Any, i: Any, j: Any) -> Any:
    inside = 0 <= i < table.shape[0] and 0 <= j < table.shape[1]
    return table[i, j] if inside else 0.0


@kernel
def _of_neighbours(table: Any, dice: Any, i: Any, j: Any, x: Any, k: Any) -> Any:
    """Are the words before, after and beside these linked to each other?"""
    before, after = _at(table, i - 1, j - 1), _at(table, i + 1, j + 1)
    x[k] = before
    x[k + 1] = after
    x[k + 2] = max(before, after)
    x[k + 3] = min(before, after)
    x[k + 4] = max(_at(table, i, j - 1), _at(table, i, j + 1))
    x[k + 5] = max(_at(table, i - 1, j), _at(table, i + 1, j))
    x[k + 6] = max(_at(table, i - 1, j + 1), _at(table, i + 1, j - 1))
    x[k + 7] = max(_at(dice, i - 1, j - 1), _at(dice, i + 1, j + 1))
    return k + 8


@kernel
def _of_position(i: Any, j: Any, m: Any, n: Any, x: Any, k: Any) -> Any:
    distance = abs((i + 0.5) / m - (j + 0.5) / n)
    x[k] = distance
    x[k + 1] = distance * distance
    x[k + 2] = 1.0 / (1.0 + 10.0 * distance)
    x[k + 3] = i == 0 and j == 0
    x[k + 4] = i == m - 1 and j == n - 1
    x[k + 5] = log(n / m)
    return k + 6


@kernel
def _of_strings(a: Any, i: Any, b: Any, j: Any, letters: Any, x: Any, k: Any) -> Any:
    m, n = a.start[i + 1] - a.start[i], b.start[j + 1] - b.start[j]
    prefix = common_prefix(a, i, b, j)
    same = m == n and prefix == m
    one, two = a.kind[i], b.kind[j]
    x[k] = same
    x[k + 1] = same and m > 3
    x[k + 2] = same and one == NUMBER
    x[k + 3] = same and one == MARK
    x[k + 4] = prefix / max(m, n, 1)
    x[k + 5] = prefix >= 4
    alike = 1.0 if same else likeness(a, i, b, j, letters)
    x[k + 6] = alike if min(m, n) > 3 or same else 0.0
    x[k + 7] = alike > 0.7 and min(m, n) > 3
    x[k + 8] = one == MARK and two == MARK and not same
    x[k + 9] = (one == MARK) != (two == MARK)
    x[k + 10] = (one == NUMBER) != (two == NUMBER)
    return k + 11


@kernel
def _of_frequency(a: Any, b: Any, x: Any, k: Any) -> Any:
    x[k] = abs(a - b) / 10.0
    x[k + 1] = min(a, b) > 9.0
    x[k + 2] = max(a, b) < 3.0
    x[k + 3] = a == 0.0
    x[k + 4] = b == 0.0
    return k + 5


@kernel
def _of_top(rank: Any, agreement: Any, x: Any, k: Any) -> Any:
    if rank >= 0:
        x[k + rank] = 1.0
        x[k + TOP + rank] = agreement
    return k + 2 * TOP
