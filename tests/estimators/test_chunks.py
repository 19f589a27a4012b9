"""What is cut into ranges of examples is cut everywhere alike: small ranges change nothing."""

import numpy as np
import pytest

from structlearn import (
    ChainClassifier,
    CutSegmenter,
    MatchingClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
)
from structlearn.core.memory import Memory
from structlearn.data import make_chains, make_matchings
from structlearn.distributed import split
from structlearn.estimators.inputs.layout import gold_and_cost
from structlearn.scoring import PartScoring, RowScoring, base
from structlearn.structures import Chain, ConditionedChain, Matching
from structlearn.structures.unshared import Whole

FEW_PARTS = 7


@pytest.fixture
def in_small_ranges(monkeypatch):
    """Calls a function with ranges of a few parts."""

    def call(function):
        with monkeypatch.context() as patch:
            patch.setattr(base, "PARTS_AT_ONCE", FEW_PARTS)
            return function()

    return call


def laid_out(structure, ys, scoring, **options):
    gold, cost = gold_and_cost(structure, ys, scoring, Memory(), **options)
    return [*gold, cost]


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def pairs(n=9, seed=0):
    """Matchings with masks of possible links and weights of rows, all of one shape or of several."""
    rng = np.random.default_rng(seed)
    shapes = np.array([(2, 3), (2, 3), (3, 2)] * (n // 3))
    ys = [np.eye(*shape) for shape in shapes]
    masks = [rng.random(shape) < 0.4 for shape in shapes]
    nodes = [rng.random(shape[0]) for shape in shapes]
    return shapes, ys, masks, nodes


def test_masks_of_possible_links_go_with_their_pairs(in_small_ranges):
    shapes, ys, masks, nodes = pairs()
    scoring = PartScoring(np.zeros((shapes.prod(axis=1).sum(), 1)), shapes)

    def run():
        weights = {"missed": 2.0, "possible": masks}
        return laid_out(Matching(), ys, scoring, weights=weights, nodes=nodes)

    assert len(in_small_ranges(scoring.chunks)) > 3 > len(scoring.chunks())
    expected = [
        Matching().cost(mu, weights={"missed": 2.0, "possible": mask}, nodes=node).ravel()
        for mu, mask, node in zip(ys, masks, nodes)
    ]
    np.testing.assert_array_equal(in_small_ranges(run)[-1], np.concatenate(expected))
    assert_same(in_small_ranges(run), run())


@pytest.mark.parametrize("kind", [Chain, ConditionedChain, "whole"])
def test_node_weights_go_with_their_sequences(in_small_ranges, kind):
    rng = np.random.default_rng(0)
    lengths = np.array([2, 2, 3, 1, 2])
    structure = Whole(Chain(3)) if kind == "whole" else kind(3)
    ys = [rng.integers(3, size=length) for length in lengths]
    nodes = [rng.random(length) for length in lengths]
    if kind is Chain:
        scoring = RowScoring(np.zeros((lengths.sum(), 1)), lengths, 3, n_shared=9)
    else:
        columns = 3 if kind == "whole" else 12
        shapes = np.stack([lengths, np.full(5, columns)], axis=1)
        sizes = structure.n_local(shapes.T)
        scoring = PartScoring(np.zeros((sizes.sum(), 1)), shapes, sizes=sizes)
    assert_same(
        in_small_ranges(lambda: laid_out(structure, ys, scoring, nodes=nodes)),
        laid_out(structure, ys, scoring, nodes=nodes),
    )


@pytest.mark.parametrize("structure", [Matching(), Chain(2)])
def test_another_number_of_node_weights_is_refused(structure):
    ys = [np.eye(2), np.eye(2)] if isinstance(structure, Matching) else [np.array([0, 1])] * 2
    shapes = np.full((2, 2), 2)
    gold = structure.encode_many(ys, shapes)
    with pytest.raises(ValueError, match=r"nodes must have one entry per example \(2\); got 3"):
        structure.cost_many(gold, shapes, nodes=[np.ones(2)] * 3)


def test_another_number_of_masks_is_refused():
    X, y = make_matchings(6, (2, 2), (2, 2), 3, random_state=0)
    model = MatchingClassifier(cost={"possible": [np.zeros((2, 2), bool)] * 7})
    with pytest.raises(ValueError, match=r"Masks of possible links must have one entry per example \(6\)"):
        model.fit(X, y)


def test_masks_of_possible_links_stay_off_a_cluster():
    X, y = make_matchings(6, (2, 2), (2, 2), 3, random_state=0)
    model = MatchingClassifier(cost={"possible": [np.zeros((2, 2), bool)] * 6})
    with pytest.raises(ValueError, match="not split over a cluster"):
        model.fit(X, y, client=object())


# ---- whole fits, in ranges ---------------------------------------------------------------------------

TRAINED = {"regularization": 0.3, "tol": 1e-3, "random_state": 0, "max_passes": 30}


def matching():
    X, y = make_matchings(9, (2, 3), (2, 3), 4, random_state=0, noise=0.8)
    masks = [np.random.default_rng(i).random(x.shape[:2]) < 0.3 for i, x in enumerate(X)]
    return MatchingClassifier(**TRAINED, cost={"possible": masks, "missed": 2.0}), X, y


def chain():
    X, y = make_chains(9, (1, 4), 3, 4, random_state=0)
    return ChainClassifier(**TRAINED, class_weight="balanced"), X, y


def conditioned():
    X, y = make_chains(9, (1, 4), 3, 4, random_state=0)
    return ChainClassifier(**TRAINED, loss="sparsemax", transition_features=[1]), X, y


def classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    return MulticlassClassifier(**TRAINED, class_weight={0: 2.0}), X, np.argmax(X, axis=1)


def labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    return MultiLabelClassifier(**TRAINED, edges="tree"), X, (X > 0).astype(int)


def cuts():
    rng = np.random.default_rng(0)
    y = [np.arange(6).reshape(shape) > 2 for shape in [(2, 3), (3, 2)] * 4]
    return CutSegmenter(**TRAINED), [np.dstack([one, rng.random(one.shape)]) for one in y], y


@pytest.mark.parametrize("make", [matching, chain, conditioned, classes, labels, cuts])
def test_a_fit_in_small_ranges_is_the_same(in_small_ranges, make):
    weight = None

    def run():
        model, X, y = make()
        model.fit(X, y, weight)
        return model, model.predict(X)

    weight = np.linspace(0.5, 2.0, len(make()[1]))
    (one, found), (other, expected) = in_small_ranges(run), run()
    np.testing.assert_allclose(one.weights_, other.weights_, atol=1e-6)
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-9)
    assert_same(found, expected)


def test_weights_go_with_their_partitions(tmp_path):
    X, y = make_chains(9, (1, 4), 3, 4, random_state=0)
    weight = np.arange(9.0)
    parts = split(tmp_path / "parts", "chain", X, y, parts=2)
    assert_same(parts.weights(weight), [weight[some] for some in parts.examples])
