"""What gold links say of words: how much more often they are linked than the statistics expect.

    surplus = sum over cells of (gold - agreement),   feature = surplus / (cells + PRIOR)

for a pair of words, for a source word and for a target word; cells that are only possible say nothing. A gold
pair is never told of its own links: in training its share is taken out before its features are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.alignment.links import Links
from structlearn.alignment.statistics.lexicon import N_MISSING, Lexicon, find_entries
from structlearn.alignment.text.bitext import Bitext, Text
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

if TYPE_CHECKING:
    from structlearn.alignment.gold.features import EdgeFeatures

GOLD = ("gold_words", "gold_words_free", "gold_source", "gold_target")

#: Imaginary cells without surplus.
PRIOR = 2.0


class GoldWords(NamedTuple):
    """Surplus and number of cells (for a word: of occurrences)."""

    pair: Array  # (K + N_MISSING, 2), of each entry; the last ones stay 0
    source: Array  # (n_source_words + 1, 2); the word never seen stays 0
    target: Array  # (n_target_words + 1, 2)


def no_gold_words(lexicon: Lexicon) -> GoldWords:
    """Return tables in which nothing is known."""
    sizes = lexicon.target.size + N_MISSING, lexicon.source_pairs.size, lexicon.target_pairs.size
    return GoldWords(*(np.zeros((size, 2)) for size in sizes))


def gold_word_arrays(gold: GoldWords) -> dict[str, Array]:
    """Return the nonzero rows, and where they are."""
    arrays: dict[str, Array] = {}
    for name, table in gold._asdict().items():
        rows = np.flatnonzero(table.any(axis=1))
        arrays |= {f"{name}.rows": rows, f"{name}.values": table[rows]}
    return arrays


def read_gold_words(lexicon: Lexicon, arrays: Mapping[str, Array]) -> GoldWords:
    """Invert `to_arrays`; ValueError if the arrays do not fit the lexicon."""
    gold = no_gold_words(lexicon)
    for name, table in gold._asdict().items():
        rows, values = arrays.get(f"{name}.rows"), arrays.get(f"{name}.values")
        if rows is None or values is None or rows.dtype.kind != "i" or values.shape != (rows.size, 2):
            raise ValueError(f"it lacks what gold links say of the {name}")
        if rows.size and not 0 <= rows.min() <= rows.max() < len(table):
            raise ValueError(f"what gold links say of the {name} is out of range")
        table[rows] = values
    return gold


def gold_surplus(features: EdgeFeatures, links: Sequence[Links]) -> Array:
    """Return gold - agreement of each cell of pairs with gold links; 0 for a link that is only possible."""
    parts = [np.zeros(0)]
    for one, agreement in zip(links, features.bitext.tables(features.agreement)):
        sure, possible = one.tables(agreement.shape)
        parts.append(np.where(possible > sure, 0.0, sure - agreement).ravel())
    return np.concatenate(parts)


def count_gold_words(lexicon: Lexicon, bitext: Bitext, surplus: Array) -> GoldWords:
    """Count gold words, from pairs of which the surplus of each cell is known."""
    gold = no_gold_words(lexicon)
    entry = find_entries(lexicon, bitext.record, 0, len(bitext))
    _add_all(gold, bitext.record, entry, surplus)
    return gold


def fill_gold_words(
    gold: GoldWords, lexicon: Lexicon, bitext: Bitext, surplus: Array | None, out: Array
) -> None:
    """out[e] <- the features of edge e except `gold_words_free`; without its pair if `surplus` is given."""
    entry = find_entries(lexicon, bitext.record, 0, len(bitext))
    own = np.zeros(0) if surplus is None else surplus
    _fill(gold, bitext.record, entry, own, out)


@kernel
def _fill(gold: GoldWords, text: Text, entry: Array, surplus: Array, out: Array) -> None:
    for s in range(text.cell_start.size - 1):
        if surplus.size:
            _add(gold, text, entry, surplus, s, -1.0)
        cell = text.cell_start[s]
        for e in text.source.tokens[text.source.start[s] : text.source.start[s + 1]]:
            for f in text.target.tokens[text.target.start[s] : text.target.start[s + 1]]:
                pair = gold.pair[entry[cell]]
                out[cell, 0] = pair[0] / (pair[1] + PRIOR)
                out[cell, 2] = gold.source[e, 0] / (gold.source[e, 1] + PRIOR)
                out[cell, 3] = gold.target[f, 0] / (gold.target[f, 1] + PRIOR)
                cell += 1
        if surplus.size:
            _add(gold, text, entry, surplus, s, 1.0)


@kernel
def _add_all(gold: GoldWords, text: Text, entry: Array, surplus: Array) -> None:
    for s in range(text.cell_start.size - 1):
        _add(gold, text, entry, surplus, s, 1.0)


@kernel
def _add(gold: GoldWords, text: Text, entry: Array, surplus: Array, s: int, sign: float) -> None:
    """Add what pair s says, or take it out."""
    source = text.source.tokens[text.source.start[s] : text.source.start[s + 1]]
    target = text.target.tokens[text.target.start[s] : text.target.start[s + 1]]
    cell = text.cell_start[s]
    for f in target:
        if f < gold.target.shape[0] - 1:
            gold.target[f, 1] += sign
    for e in source:
        known = e < gold.source.shape[0] - 1
        if known:
            gold.source[e, 1] += sign
        for f in target:
            if known:
                gold.source[e, 0] += sign * surplus[cell]
            if f < gold.target.shape[0] - 1:
                gold.target[f, 0] += sign * surplus[cell]
            if entry[cell] < gold.pair.shape[0] - N_MISSING:
                gold.pair[entry[cell], 0] += sign * surplus[cell]
                gold.pair[entry[cell], 1] += sign
            cell += 1
