"""Gold pairs as training takes them: features of edges, tables of links, and what is free of cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structlearn.alignment.gold.features import EdgeFeatures
from structlearn.alignment.gold.long_pairs import pieces_of
from structlearn.alignment.links import Link, Links
from structlearn.alignment.text.bitext import Bitext
from structlearn.core.contract import Array
from structlearn.structures import Matching


class EdgeTables(list[Array]):
    """The (m, n, d) features of pairs. They are laid out as training wants them: it makes no copy."""

    def __init__(self, rows: Array, shapes: Array) -> None:
        parts = np.split(rows, np.cumsum(shapes.prod(axis=1))[:-1])
        super().__init__(part.reshape(*shape, -1) for part, shape in zip(parts, shapes))
        self.rows = rows
        self.shapes = shapes


class GoldPairs(NamedTuple):
    """Training pairs: features, 0/1 tables of gold links, masks of links that are free.

    pair : the gold pair that each is a piece or a view of
    """

    X: EdgeTables
    tables: list[Array]
    free: list[Array]
    pair: Array


class GoldViews(NamedTuple):
    """The gold pairs as a part of the text, and as new pairs are seen; None where that is the same.

    identical : links of each pair that are drawn whatever the scores are, if any
    """

    text: GoldPairs
    new: GoldPairs | None = None
    identical: Sequence[Sequence[Link]] | None = None

    @classmethod
    def of(
        cls, text: GoldPairs, rows: Array | None, identical: Sequence[Sequence[Link]] | None = None
    ) -> GoldViews:
        """Make both views; `rows` are the features of new pairs."""
        new = None if rows is None else text._replace(X=EdgeTables(rows, text.X.shapes))
        return cls(text, new, identical)

    def mix(self) -> GoldPairs:
        """Each pair once: every other one as new."""
        if self.new is None:
            return self.text
        views = (self.text.X, self.new.X)
        rows = [views[k % 2][k].reshape(-1, views[0].rows.shape[1]) for k in range(len(views[0]))]
        return self.text._replace(X=EdgeTables(np.concatenate(rows), self.text.X.shapes))

    def both(self) -> GoldPairs:
        """Each pair twice."""
        if self.new is None:
            return self.text
        rows, shapes = zip(*((one.X.rows, one.X.shapes) for one in (self.text, self.new)))
        X = EdgeTables(np.concatenate(rows), np.concatenate(shapes))
        return GoldPairs(X, 2 * self.text.tables, 2 * self.text.free, np.tile(self.text.pair, 2))


def check_links(bitext: Bitext, links: Sequence[Links]) -> None:
    """ValueError for a pair without words on a side, and for a link to a word that is not there."""
    for k, (one, m, n) in enumerate(zip(links, bitext.source.lengths, bitext.target.lengths)):
        if not m or not n:
            raise ValueError(f"Pair {k} has no words on one side; leave it out of the gold pairs.")
        for i, j in one.possible:
            if not (0 <= i < m and 0 <= j < n):
                raise ValueError(f"Pair {k} has a link ({i}, {j}) but only {m} and {n} words.")


def gold_of(features: EdgeFeatures, links: Sequence[Links], structure: Matching) -> GoldPairs:
    """Return the sure links as a matching: beyond the fertility the likeliest ones, the rest are free.

    argmax over matchings of sum of (1 + agreement) at sure links, -1 at others.
    """
    shapes = features.bitext.shapes
    gold = GoldPairs(EdgeTables(features.F, shapes), [], [], np.arange(len(shapes)))
    for one, agreement in zip(links, features.bitext.tables(features.agreement)):
        sure, possible = one.tables(agreement.shape)
        table = structure.decode(structure.maximize(np.where(sure, 1.0 + agreement, -1.0)))
        gold.tables.append(table)
        gold.free.append((possible > 0) & (table == 0))
    return gold


def in_pieces(gold: GoldPairs, links: Sequence[Links]) -> GoldPairs:
    """Return gold pairs, long ones in pieces."""
    cuts = [pieces_of(one, table.shape) for one, table in zip(links, gold.tables)]
    pair = np.repeat(np.arange(len(cuts)), [len(places) for places in cuts])
    if len(pair) == len(cuts):
        return gold
    X, tables, free = (
        [table[np.ix_(*place)] for table, places in zip(column, cuts) for place in places]
        for column in gold[:3]
    )
    rows = np.concatenate([x.reshape(-1, x.shape[2]) for x in X])
    return GoldPairs(EdgeTables(rows, np.array([table.shape for table in tables])), tables, free, pair)
