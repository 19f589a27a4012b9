"""The largest weights of a model, with names: what it has learned to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.estimators.binary import BinaryClassifier
from structlearn.estimators.chain import ChainClassifier
from structlearn.estimators.cut import CutSegmenter
from structlearn.estimators.decisions.predictor import DecisionPredictor
from structlearn.estimators.graph import GraphClassifier
from structlearn.estimators.inputs.feature_names import CONSTANT, Names, numbered_names, own_names
from structlearn.estimators.multilabel import MultiLabelClassifier
from structlearn.estimators.rows import FlatEstimator
from structlearn.estimators.segments import SegmentClassifier
from structlearn.estimators.tree_parser import TreeParser
from structlearn.estimators.weights.top_places import top_places
from structlearn.estimators.weights.transitions import Transition, top_conditioned, top_transitions

#: Kinds of groups of weights.
LABEL, TRANSITIONS, FEATURES = "label", "transitions", "features"


class NamedWeight(NamedTuple):
    """A weight and what it is the weight of."""

    name: str
    weight: float


class WeightGroup(NamedTuple):
    """The largest weights of one kind, from the most positive to the most negative.

    kind : "label", "part", "transitions", "pairs", "features", "edges", "arcs" or "lengths"
    of : the label, of the kind "label"; the number of the part, of the kind "part"
    weights : at most k positive and k negative ones
    n_nonzero, n_weights : how many there are in all
    """

    kind: str
    of: object
    weights: list[NamedWeight]
    n_nonzero: int
    n_weights: int


class TopFeatures(NamedTuple):
    """What a chain looks at: the largest weights, from the most positive to the most negative.

    labels : for each label, (name of a feature, weight)
    transitions : (label before, label after, weight); None is the start or the end
    conditioned : likewise of features that score transitions, with the name of the feature
    """

    labels: dict[object, list[NamedWeight]]
    transitions: list[Transition]
    conditioned: list[Transition]


class WeightNames(NamedTuple):
    """How a model's weights are named: its features, and its labels."""

    features: Names
    labels: Sequence[object]


def top_weights(
    estimator: Any, k: int = 10, names: Names | None = None, labels: Sequence[object] | None = None
) -> list[WeightGroup]:
    """Return the k largest positive and negative weights of each kind, of any fitted estimator.

    Parameters
    ----------
    estimator : a fitted estimator, or what has `weights_`
    k : int
    names : callable, optional
        From columns of features to names; the estimator's own, or x0, x1 ... unless given.
    labels : sequence, optional
        What labels are called; `classes_` unless given.
    """
    _check_count(k)
    known = getattr(estimator, "classes_", None)
    own = [] if known is None else known.tolist()
    return list(weight_groups(estimator, k, WeightNames(names or own_names(estimator), labels or own)))


def top_features(chain: ChainClassifier, k: int = 10, names: Names | None = None) -> TopFeatures:
    """Return the k largest positive and negative weights of labels, transitions and their features."""
    _check_count(k)
    words = WeightNames(names or own_names(chain), chain.classes_.tolist())
    labels = {group.of: group.weights for group in _of_rows(chain, k, words)}
    steps, _ = top_transitions(chain, words.labels, k)
    conditioned, _ = top_conditioned(chain, words.labels, k, words.features)
    return TopFeatures(labels, steps, conditioned)


def _check_count(k: int) -> None:
    if k < 1:
        raise ValueError(f"The number of weights to show must be at least 1; got {k}.")


# ---- by kind of estimator ----------------------------------------------------------------------------


@singledispatch
def weight_groups(estimator: Any, k: int, words: WeightNames) -> Iterator[WeightGroup]:
    """Yield the weight groups of an estimator; a new kind of estimator registers its own."""
    coef = np.atleast_2d(getattr(estimator, "coef_", estimator.weights_))
    constant = np.atleast_1d(getattr(estimator, "intercept_", 0.0))
    yield from _groups(FEATURES, [None], coef, k, words.features, constant)


@weight_groups.register(FlatEstimator)
def _of_rows(estimator: FlatEstimator | ChainClassifier, k: int, words: WeightNames) -> Iterator[WeightGroup]:
    return _groups(LABEL, words.labels, estimator.coef_, k, words.features, estimator.intercept_)


@weight_groups.register
def _of_two_classes(estimator: BinaryClassifier, k: int, words: WeightNames) -> Iterator[WeightGroup]:
    return _groups(LABEL, words.labels[1:], estimator.coef_, k, words.features, estimator.intercept_)


@weight_groups.register
def _of_label_sets(estimator: MultiLabelClassifier, k: int, words: WeightNames) -> Iterator[WeightGroup]:
    yield from _of_rows(estimator, k, words)
    tables, edges = estimator.pair_coef_, estimator.edges_.tolist()

    def pairs(places: Array) -> list[str]:
        cells = zip(*(axis.tolist() for axis in np.unravel_index(places, tables.shape)))
        return [_pair([words.labels[j] for j in edges[e]], on) for e, *on in cells]

    if tables.size:
        yield from _groups("pairs", [None], tables.reshape(1, -1), k, pairs)


def _pair(labels: Sequence[object], on: Sequence[int]) -> str:
    return " & ".join(f"{label}" if one else f"not {label}" for label, one in zip(labels, on))


@weight_groups.register
def _of_chains(estimator: ChainClassifier, k: int, words: WeightNames) -> Iterator[WeightGroup]:
    yield from _of_rows(estimator, k, words)
    steps = top_transitions(estimator, words.labels, k)
    conditioned = top_conditioned(estimator, words.labels, k, words.features)
    for found, weights in (steps, conditioned):
        if weights.size:
            named = [NamedWeight(one.name, one.weight) for one in found]
            yield WeightGroup(TRANSITIONS, None, named, int(np.count_nonzero(weights)), weights.size)


@weight_groups.register
def _of_segments(estimator: SegmentClassifier, k: int, words: WeightNames) -> Iterator[WeightGroup]:
    labels = estimator.model_.labels.tolist()
    states = [*labels, "outside"][: estimator.structure_.n_states]
    rows = [*states, *(f"first of {label}" for label in labels), *(f"last of {label}" for label in labels)]
    yield from _groups(LABEL, rows, estimator.coef_, k, words.features, estimator.intercept_)
    steps = [f"{before} -> {after}" for before in states for after in states]
    lengths = [
        f"{label} of length {m + 1}" for m in range(estimator.structure_.max_length) for label in labels
    ]
    yield from _group_of_table(TRANSITIONS, estimator.transition_coef_, k, steps)
    yield from _group_of_table("lengths", estimator.length_coef_, k, lengths)


def _group_of_table(kind: str, table: Array, k: int, names: list[str]) -> Iterator[WeightGroup]:
    """Yield one group of all entries of a table, whose names are in a list."""
    return _groups(kind, [None], table.reshape(1, -1), k, lambda places: [names[j] for j in places.tolist()])


@weight_groups.register
def _of_graphs(estimator: GraphClassifier, k: int, words: WeightNames) -> Iterator[WeightGroup]:
    states = estimator.state_names(words.labels)
    yield from _groups(LABEL, states, estimator.coef_, k, words.features, estimator.intercept_)
    tables = estimator.edge_coef_
    own = [f"{name}: " for name in estimator.edge_names()] if len(tables) > 1 else [""]

    def pairs(places: Array) -> list[str]:
        cells = zip(*(axis.tolist() for axis in np.unravel_index(places, tables.shape)))
        return [f"{own[f]}{states[a]} - {states[b]}" for f, a, b in cells]

    yield from _groups("edges", [None], tables.reshape(1, -1), k, pairs)


@weight_groups.register
def _of_cuts(estimator: CutSegmenter, k: int, words: WeightNames) -> Iterator[WeightGroup]:
    nodes, constant = estimator.coef_[None], np.array([estimator.intercept_])
    yield from _groups(LABEL, words.labels[1:], nodes, k, words.features, constant)
    yield from _groups("edges", [None], estimator.edge_coef_[None], k, numbered_names("edge feature "))


@weight_groups.register
def _of_decisions(estimator: DecisionPredictor, k: int, words: WeightNames) -> Iterator[WeightGroup]:
    coef, constant = np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)
    kind, of = (FEATURES, [None]) if estimator.coef_.ndim == 1 else ("part", list(range(len(coef))))
    yield from _groups(kind, of, coef, k, words.features, constant)


@weight_groups.register
def _of_trees(estimator: TreeParser, k: int, words: WeightNames) -> Iterator[WeightGroup]:
    hashed = numbered_names("hash ")
    yield from _groups("arcs", [None], estimator.weights_[None], k, hashed)
    if estimator.labels_ is not None:
        yield from _groups(LABEL, estimator.labels_.tolist(), estimator.label_weights_.T, k, hashed)


def _groups(
    kind: str, of: Sequence[object], table: Array, k: int, names: Names, constant: Array | None = None
) -> Iterator[WeightGroup]:
    """Yield one group per row of a table of weights; `constant` has one more weight per row, if not zero."""
    others = np.zeros(table.shape[0]) if constant is None else constant
    rows = [_nonzeros(table, i) for i in range(table.shape[0])]
    tops = _top_of_rows(rows, table.shape[1], k, names, others)
    for label, (_, row), other, weights in zip(of, rows, others, tops, strict=True):
        n_nonzero = int(np.count_nonzero(row)) + bool(other)
        yield WeightGroup(kind, label, weights, n_nonzero, table.shape[1] + bool(other))


def _nonzeros(table: Array | sparse.csr_matrix, i: int) -> tuple[Array, Array]:
    """Return the columns and values of a row that may be other than zero."""
    if isinstance(table, np.ndarray):
        return np.arange(table.shape[1]), table[i]
    own = slice(table.indptr[i], table.indptr[i + 1])
    return table.indices[own], table.data[own]


def _top_of_rows(
    rows: Sequence[tuple[Array, Array]], n: int, k: int, names: Names, constant: Array
) -> Iterator[list[NamedWeight]]:
    """Yield the top weights of each row of columns and values, looking all names up at once."""
    tops = []
    for (columns, values), other in zip(rows, constant):
        columns, values = np.append(columns, n), np.append(values, other)
        own = top_places(values, k)
        tops.append((columns[own], values[own]))
    wanted = np.unique(np.concatenate([columns for columns, _ in tops]))
    inside = wanted[wanted < n]
    called = {n: CONSTANT, **dict(zip(inside.tolist(), names(inside)))}
    for columns, values in tops:
        yield [NamedWeight(called[j], value) for j, value in zip(columns.tolist(), values.tolist())]
