"""From gold links to weights: a structural SVM over matchings, its parameters chosen by cross-validation.

Sure links are gold, possible ones cost nothing either way, missed links cost `missed` times what spurious
ones do. Pairs weigh as many as their gold links, as they do in the alignment error rate.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from structlearn.alignment.gold.features import EdgeFeatures
from structlearn.alignment.gold.long_pairs import pieces_of
from structlearn.alignment.links import Link, Links, table_links
from structlearn.alignment.metrics import alignment_scores
from structlearn.alignment.text.bitext import Bitext
from structlearn.core.contract import Array
from structlearn.estimators import MatchingClassifier
from structlearn.structures import Matching

REGULARIZATIONS = (0.2, 1.0, 5.0, 20.0)
#: Costs of a missed link, in units of that of a spurious one.
MISSED = (1.5, 2.0, 4.0, 8.0, 16.0)
#: Slopes of the confidence that are tried.
_SLOPES = tuple(2.0**k for k in range(-2, 10))


class Setting(NamedTuple):
    """Lambda and the costs of wrong links; cross-validation chooses the first two."""

    regularization: float
    missed: float
    spurious: float = 1.0


class Validation(NamedTuple):
    """A setting and its alignment error rates on pairs that it was not trained on.

    aer : on gold pairs as new pairs are seen
    text_aer : on the same pairs as a part of the text, where that is something else
    """

    setting: Setting
    aer: float
    text_aer: float | None = None

    @property
    def error(self) -> float:
        """What settings are chosen by: the mean of both."""
        return self.aer if self.text_aer is None else (self.aer + self.text_aer) / 2


class EdgeTables(list[Array]):
    """The (m, n, d) features of pairs. They are laid out as training wants them: it makes no copy."""

    def __init__(self, rows: Array, shapes: Array) -> None:
        parts = np.split(rows, np.cumsum(shapes.prod(axis=1))[:-1])
        super().__init__(part.reshape(*shape, -1) for part, shape in zip(parts, shapes))
        self.rows = rows
        self.shapes = shapes


class GoldPairs(NamedTuple):
    """Training pairs: features, 0/1 tables of gold links, masks of links that are free."""

    X: EdgeTables
    tables: list[Array]
    free: list[Array]


class GoldViews(NamedTuple):
    """The gold pairs as a part of the text, and as new pairs are seen; None where that is the same."""

    text: GoldPairs
    new: GoldPairs | None = None

    @classmethod
    def of(cls, text: GoldPairs, rows: Array | None) -> GoldViews:
        """Make both views; `rows` are the features of new pairs."""
        return cls(text, None if rows is None else text._replace(X=EdgeTables(rows, text.X.shapes)))

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
        return GoldPairs(X, 2 * self.text.tables, 2 * self.text.free)


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
    gold = GoldPairs(EdgeTables(features.F, features.bitext.shapes), [], [])
    for one, agreement in zip(links, features.bitext.tables(features.agreement)):
        sure, possible = one.tables(agreement.shape)
        table = structure.decode(structure.maximize(np.where(sure, 1.0 + agreement, -1.0)))
        gold.tables.append(table)
        gold.free.append((possible > 0) & (table == 0))
    return gold


def fit_links(
    gold: GoldPairs, setting: Setting, held_out: Collection[int] = (), **parameters: Any
) -> MatchingClassifier:
    """Return the matching classifier of the gold pairs, of which it does not see those that are held out."""
    model = MatchingClassifier(
        regularization=setting.regularization,
        cost={"missed": setting.missed, "spurious": setting.spurious, "possible": gold.free},
        **parameters,
    )
    weights = np.array([max(1.0, table.sum()) for table in gold.tables])
    weights[list(held_out)] = 0.0
    return model.fit(gold.X, gold.tables, weights)


class SettingChoices(NamedTuple):
    """Settings to choose from: every lambda with the best cost of a missed link."""

    regularizations: Sequence[float]
    missed: Sequence[float]
    spurious: float

    @classmethod
    def of(cls, regularization: float | None, missed: float | None, spurious: float) -> SettingChoices:
        """Return the choices that are given, or the usual ones."""
        costs = [spurious * ratio for ratio in MISSED] if missed is None else [missed]
        return cls(REGULARIZATIONS if regularization is None else [regularization], costs, spurious)


def choose_setting(
    gold: GoldViews, links: Sequence[Links], choices: SettingChoices, folds: int, **parameters: Any
) -> tuple[Setting, list[Validation]]:
    """Choose the cost of missed links, then the regularization with it; one choice needs no trial.

    Returns the setting, and the trials, the one of the setting first.
    """
    strengths, costs, spurious = choices
    best = Setting(strengths[len(strengths) // 2], costs[0], spurious)
    if len(gold.text.X) < 2 or len(costs) * len(strengths) < 2:
        return best, []
    trials = cross_validate(gold, links, [best._replace(missed=cost) for cost in costs], folds, **parameters)
    best = min(trials, key=lambda trial: trial.error).setting
    rest = [best._replace(regularization=one) for one in strengths if one != best.regularization]
    trials += cross_validate(gold, links, rest, folds, **parameters)
    trials.sort(key=lambda trial: trial.error)
    return trials[0].setting, trials


def cross_validate(
    gold: GoldViews, links: Sequence[Links], settings: Sequence[Setting], folds: int, **parameters: Any
) -> list[Validation]:
    """Return the alignment error rates of each setting, every pair predicted by a model that has not seen it.

    Models are trained on the pieces of long pairs.
    """
    from sklearn.utils import check_random_state

    n = len(gold.text.X)
    order = check_random_state(parameters.get("random_state")).permutation(n)
    parts = np.array_split(order, min(folds, n))
    pieces, pair = in_pieces(gold.mix(), links)
    views = [one.X for one in (gold.new, gold.text) if one is not None]

    def errors(setting: Setting) -> list[float]:
        found: list[dict[int, frozenset[Link]]] = [{} for _ in views]
        for part in parts:
            model = fit_links(pieces, setting, np.flatnonzero(np.isin(pair, part)), **parameters)
            for one, X in zip(found, views):
                one.update(zip(part, map(table_links, model.predict([X[k] for k in part]))))
        return [alignment_scores(links, [one[k] for k in range(n)]).aer for one in found]

    return [Validation(setting, *errors(setting)) for setting in settings]


def in_pieces(gold: GoldPairs, links: Sequence[Links]) -> tuple[GoldPairs, Array]:
    """Return gold pairs, long ones in pieces, and the pair of each piece."""
    cuts = [pieces_of(one, table.shape) for one, table in zip(links, gold.tables)]
    pair = np.repeat(np.arange(len(cuts)), [len(places) for places in cuts])
    if len(pair) == len(cuts):
        return gold, pair
    X, tables, free = (
        [table[np.ix_(*place)] for table, places in zip(column, cuts) for place in places] for column in gold
    )
    rows = np.concatenate([x.reshape(-1, x.shape[2]) for x in X])
    return GoldPairs(EdgeTables(rows, np.array([table.shape for table in tables])), tables, free), pair


def confidence_slope(weights: Array, gold: GoldPairs) -> float:
    """Return the slope s whose confidences clip(s theta + 1/2, 0, 1) have the least squared error."""
    theta = gold.X.rows @ weights
    right = np.concatenate([table.ravel() for table in gold.tables])
    counts = ~np.concatenate([free.ravel() for free in gold.free])
    errors = [np.square(np.clip(s * theta + 0.5, 0, 1) - right)[counts].sum() for s in _SLOPES]
    return _SLOPES[int(np.argmin(errors))]
