"""Metrics against sums done by hand and against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, hamming_loss, precision_recall_fscore_support

from structlearn import metrics

GOLD = [["a", "b"], ["c"], ["a", "a", "b"]]
FOUND = [["a", "b"], ["a"], ["a", "b", "b"]]
WEIGHT = [1.0, 2.0, 0.0]


def test_sequence_accuracy_counts_positions():
    assert metrics.sequence_accuracy(GOLD, FOUND) == pytest.approx(4 / 6)
    assert metrics.sequence_accuracy(GOLD, FOUND, WEIGHT) == pytest.approx(2 / 4)


def test_exact_match_counts_outputs():
    assert metrics.exact_match(GOLD, FOUND) == pytest.approx(1 / 3)
    assert metrics.exact_match(GOLD, FOUND, WEIGHT) == pytest.approx(1 / 3)
    assert metrics.exact_match(GOLD, FOUND, [1, 0, 0]) == 1.0


def test_hamming_loss_is_the_mean_share_of_wrong_entries():
    assert metrics.hamming_loss(GOLD, FOUND) == pytest.approx((0 + 1 + 1 / 3) / 3)
    assert metrics.hamming_loss(GOLD, FOUND, WEIGHT) == pytest.approx(2 / 3)


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return rng.integers(2, size=(20, 3)), rng.integers(2, size=(20, 3)), rng.random(20)


def test_matrices_of_labels_are_scored_like_scikit_learn_does(tables):
    gold, found, weight = tables
    assert metrics.subset_accuracy(gold, found, weight) == pytest.approx(
        accuracy_score(gold, found, sample_weight=weight)
    )
    assert metrics.hamming_loss(gold, found, weight) == pytest.approx(
        hamming_loss(gold, found, sample_weight=weight)
    )


def test_links_are_scored_like_scikit_learn_does(tables):
    gold, found, _ = tables
    pairs = [list(side.reshape(4, 5, 3)) for side in (gold, found)]
    expected = precision_recall_fscore_support(gold.ravel(), found.ravel(), average="binary")[:3]
    assert metrics.link_scores(*pairs) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gold", "found", "expected"),
    [
        (np.zeros((2, 2)), np.zeros((2, 2)), (1, 1, 1)),
        (np.eye(2), np.zeros((2, 2)), (1, 0, 0)),
        (np.zeros((2, 2)), np.eye(2), (0, 1, 0)),
    ],
    ids=["no links", "none found", "none there"],
)
def test_links_where_there_are_none(gold, found, expected):
    assert metrics.link_scores([gold], [found]) == expected


def test_outputs_must_come_in_pairs():
    with pytest.raises(ValueError, match="3 outputs were given but 2 predicted"):
        metrics.exact_match(GOLD, FOUND[:2])
    with pytest.raises(ValueError, match="Output 1 has shape"):
        metrics.hamming_loss(GOLD, [["a", "b"], ["a", "b"], ["a"]])
