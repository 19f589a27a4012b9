"""From gold links to weights: a loss and its settings, chosen by cross-validation.

Sure links are gold, possible ones cost nothing either way. A missed link costs `missed` times what a spurious
one does: the structural hinge is trained with these costs, the log-loss of links makes probabilities, and a
link is drawn where p missed > (1 - p) spurious, within the matching. Both are trained on features of two
readings, see `readings`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from structlearn.alignment.gold.features import STRONG
from structlearn.alignment.gold.gold_pairs import EdgeTables, GoldPairs, GoldViews, in_pieces
from structlearn.alignment.gold.identical import with_identical
from structlearn.alignment.gold.readings import Readings, read_again
from structlearn.alignment.links import Link, Links, table_links
from structlearn.alignment.metrics import alignment_scores
from structlearn.core.contract import Array
from structlearn.estimators import BinaryClassifier, MatchingClassifier
from structlearn.solvers.solution import Certificate, History
from structlearn.structures import Matching

#: How often the gold pairs are dealt into folds.
SHUFFLES = 2
#: The first reading: the strength of its prior, and into how many parts pairs are dealt to be read.
FIRST_STRENGTH, FIRST_PARTS = 2.0, 3
#: Log odds of links where all edges seen are linked.
LINKED_ALL = 3.0
#: Slopes of the confidence that are tried.
_SLOPES = tuple(2.0**k for k in range(-4, 10))


class Setting(NamedTuple):
    """Lambda, the costs of wrong links, and the loss; cross-validation chooses what is not given."""

    regularization: float
    missed: float
    spurious: float = 1.0
    loss: str = "softmax"

    def with_gap(self, gap: float) -> Setting:
        """Return the setting for text where the log odds of links are smaller, if scores are such."""
        if not LEARNERS[self.loss].is_probable:
            return self
        return self._replace(spurious=self.spurious * float(np.exp(gap)))


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


class LinkModel(NamedTuple):
    """Weights of the features of edges, and how they were found.

    first : weights of the first reading, if there is one
    """

    weights: Array
    certificate: Certificate | None
    history: History
    structure: Matching
    first: Array | None = None

    @property
    def readings(self) -> Readings:
        return Readings(self.weights, self.first)

    def predict(self, X: Sequence[Array]) -> list[Array]:
        """Return the best matching of each pair, as a table."""
        rows, shapes = zip(*((x.reshape(-1, x.shape[2]), x.shape[:2]) for x in X))
        theta = self.readings.scores(np.concatenate(rows), np.array(shapes))
        tables = np.split(theta, np.cumsum([len(one) for one in rows])[:-1])
        maximize = self.structure.maximize
        return [self.structure.decode(maximize(one.reshape(shape))) for one, shape in zip(tables, shapes)]


def fit_hinge(
    gold: GoldPairs, setting: Setting, held_out: Collection[int], structure: Matching, **parameters: Any
) -> LinkModel:
    """Train a structural SVM over matchings, where pairs weigh as in the error rate: by their links."""
    model = MatchingClassifier(
        regularization=setting.regularization,
        cost={"missed": setting.missed, "spurious": setting.spurious, "possible": gold.free},
        capacities=structure.capacities,
        **parameters,
    )
    weights = np.array([max(1.0, table.sum()) for table in gold.tables])
    weights[list(held_out)] = 0.0
    model.fit(gold.X, gold.tables, weights)
    return LinkModel(model.weights_, model.certificate_, model.history_, structure)


def fit_log_loss(
    gold: GoldPairs,
    setting: Setting,
    held_out: Collection[int],
    structure: Matching,
    *,
    tol: float,
    **more: Any,
) -> LinkModel:
    """Train a logistic regression on the edges, except those that are free.

    min  lambda/2 ||w||^2 + 1/n sum over n pairs and their edges of log(1 + exp(-y <w, x>)),   y = +-1

    Its certificate is of the mean over edges, so that lambda and the tolerance are per edge.
    """
    pair = np.repeat(np.arange(len(gold.X)), gold.X.shapes.prod(axis=1))
    used = ~_end_to_end(gold.free).astype(bool) & ~np.isin(pair, list(held_out))
    y = _end_to_end(gold.tables)[used] > 0
    if y.all() or not y.any():
        return _of_one_kind(gold.X.rows.shape[1], structure, linked=bool(y.any()))
    per_edge = (len(gold.X) - len(held_out)) / y.size
    model = BinaryClassifier(
        loss="softmax",
        regularization=setting.regularization * per_edge,
        fit_intercept=False,
        tol=tol * per_edge,
        **more,
    )
    model.fit(gold.X.rows[used], y)
    return LinkModel(model.weights_, model.certificate_, model.history_, structure)


def _of_one_kind(n_features: int, structure: Matching, *, linked: bool) -> LinkModel:
    """Return the model where all edges are linked, or none is: it says the same of all others."""
    weights = np.zeros(n_features)
    weights[0] = (LINKED_ALL if linked else -LINKED_ALL) / STRONG
    return LinkModel(weights, None, History([]), structure)


class Learner(NamedTuple):
    """A loss: its training, and the settings that are tried.

    fit : returns a model of all gold pairs but those that are held out
    regularizations : of each number of gold pairs
    missed : costs of a missed link, in units of that of a spurious one
    is_probable : whether the scores are log odds, which the costs have yet to shift
    """

    fit: Callable[..., LinkModel]
    regularizations: Callable[[int], Sequence[float]]
    missed: Sequence[float]
    is_probable: bool


def _prior_strengths(n_pairs: int) -> Sequence[float]:
    """Return lambdas of priors that are as strong for any number of pairs."""
    return [strength / n_pairs for strength in (0.3, 1.0, 3.0, 10.0)]


#: Losses by name.
LEARNERS: Mapping[str, Learner] = {
    "softmax": Learner(fit_log_loss, _prior_strengths, (1.5,), True),
    "hinge": Learner(fit_hinge, lambda n_pairs: (0.2, 1.0, 5.0, 20.0), (1.5, 2.0, 4.0, 8.0, 16.0), False),
}


class Reread(NamedTuple):
    """Gold pairs with the features of a second reading, and the weights of the first, if there is one."""

    gold: GoldPairs
    first: Array | None

    def fit(self, setting: Setting, held_out: Collection[int] = (), **parameters: Any) -> LinkModel:
        """Return the model of both readings; it does not see the pairs that are held out."""
        return fit_links(self.gold, setting, held_out, **parameters)._replace(first=self.first)


def reread(gold: GoldPairs, held_out: Collection[int] = (), **parameters: Any) -> Reread:
    """Learn a first reading, and make the features of the second one for pairs that are not held out.

    Each pair is read by weights learned from other pairs: it is then as unsure as new pairs will be.
    """
    out = np.isin(np.arange(len(gold.X)), list(held_out))
    pairs = np.unique(gold.pair[~out])
    if len(pairs) < 2:
        return Reread(gold, None)
    setting = Setting(FIRST_STRENGTH / len(pairs), 1.0)
    theta, n_edges = np.zeros(len(gold.X.rows)), gold.X.shapes.prod(axis=1)
    for part in (pairs[k::FIRST_PARTS] for k in range(min(FIRST_PARTS, len(pairs)))):
        own = np.isin(gold.pair, part)
        weights = fit_log_loss(gold, setting, np.flatnonzero(own | out), **parameters).weights
        edges = np.repeat(own & ~out, n_edges)
        theta[edges] = gold.X.rows[edges] @ weights
    rows = np.concatenate([gold.X.rows, read_again(theta, gold.X.shapes)], axis=1)
    first = fit_log_loss(gold, setting, np.flatnonzero(out), **parameters).weights
    return Reread(gold._replace(X=EdgeTables(rows, gold.X.shapes)), first)


def fit_links(
    gold: GoldPairs, setting: Setting, held_out: Collection[int] = (), **parameters: Any
) -> LinkModel:
    """Return the model of one reading of the gold pairs; it does not see those that are held out."""
    learner = LEARNERS[setting.loss]
    model = learner.fit(gold, setting, held_out, **parameters)
    return at_costs(model, setting) if learner.is_probable else model


def at_costs(model: LinkModel, setting: Setting) -> LinkModel:
    """Return the model that links where p missed > (1 - p) spurious; its scores were log p - log(1 - p)."""
    weights = model.weights.copy()
    costs = np.maximum((setting.missed, setting.spurious), 1e-6)
    weights[0] += np.log(costs[0] / costs[1]) / STRONG
    return model._replace(weights=weights)


def settings_of(
    loss: str, regularization: float | None, missed: float | None, spurious: float, n_pairs: int
) -> list[Setting]:
    """Return the settings to choose from: what is given, and all that is usual of the rest."""
    found = []
    for name in LEARNERS if loss == "auto" else [loss]:
        learner = LEARNERS[name]
        strengths = learner.regularizations(n_pairs) if regularization is None else [regularization]
        costs = [spurious * ratio for ratio in learner.missed] if missed is None else [missed]
        found += [Setting(strength, cost, spurious, name) for cost in costs for strength in strengths]
    return found


def choose_setting(
    gold: GoldViews, links: Sequence[Links], settings: Sequence[Setting], folds: int, **parameters: Any
) -> tuple[Setting, list[Validation]]:
    """Choose a setting by its error rate; one needs no trial, and of one pair nothing can be held out.

    Returns the setting, and the trials, the one of the setting first.
    """
    if len(gold.text.X) < 2 or len(settings) < 2:
        return settings[len(settings) // 2], []
    trials = cross_validate(gold, links, settings, folds, **parameters)
    trials.sort(key=lambda trial: trial.error)
    return trials[0].setting, trials


def cross_validate(
    gold: GoldViews,
    links: Sequence[Links],
    settings: Sequence[Setting],
    folds: int,
    *,
    random_state: int | np.random.RandomState | None = None,
    **parameters: Any,
) -> list[Validation]:
    """Return the alignment error rates of each setting, every pair predicted by a model that has not seen it.

    They are means over `SHUFFLES` ways to deal the pairs. Models are trained on the pieces of long pairs.
    """
    from sklearn.utils import check_random_state

    n = len(gold.text.X)
    rng = check_random_state(random_state)
    deals = [np.array_split(rng.permutation(n), min(folds, n)) for _ in range(SHUFFLES)]
    pieces = in_pieces(gold.mix(), links)
    views = [one.X for one in (gold.new, gold.text) if one is not None]
    identical = gold.identical or [()] * n
    shared = {"random_state": random_state, **parameters}

    def errors(parts: Sequence[Array]) -> list[list[float]]:
        """Return the error rates of each setting, in each view."""
        found: list[list[dict[int, frozenset[Link]]]] = [[{} for _ in views] for _ in settings]
        for part in parts:
            held_out = np.flatnonzero(np.isin(pieces.pair, part))
            again = reread(pieces, held_out, **shared)
            for setting, seen in zip(settings, found):
                model = again.fit(setting, held_out, **shared)
                for one, X in zip(seen, views):
                    drawn = map(table_links, model.predict([X[k] for k in part]))
                    one.update((k, with_identical(some, identical[k])) for k, some in zip(part, drawn))
        return [[alignment_scores(links, [one[k] for k in range(n)]).aer for one in seen] for seen in found]

    means = np.mean([errors(parts) for parts in deals], axis=0).tolist()
    return [Validation(setting, *own) for setting, own in zip(settings, means)]


def confidence_slope(theta: Array, gold: GoldPairs) -> float:
    """Return the slope s whose confidences clip(s theta + 1/2, 0, 1) have the least squared error."""
    right = np.concatenate([table.ravel() for table in gold.tables])
    counts = ~np.concatenate([free.ravel() for free in gold.free])
    errors = [np.square(np.clip(s * theta + 0.5, 0, 1) - right)[counts].sum() for s in _SLOPES]
    return _SLOPES[int(np.argmin(errors))]


def _end_to_end(tables: Sequence[Array]) -> Array:
    return np.concatenate([table.ravel() for table in tables])
