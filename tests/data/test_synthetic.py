import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import LogisticRegression

from structlearn.data import make_chains, make_matchings, make_multilabel, make_segmentations


def token_accuracy(X, y):
    X, y = np.concatenate(X), np.concatenate(y)
    return LogisticRegression(C=10, max_iter=1000).fit(X, y).score(X, y)


def test_chains_have_the_asked_shapes():
    X, y = make_chains(50, (3, 7), 4, 6, 0)
    assert {len(labels) for labels in y} == {3, 4, 5, 6, 7}
    assert all(x.shape == (len(labels), 6) for x, labels in zip(X, y))
    assert set(np.concatenate(y)) == {0, 1, 2, 3}
    X, y = make_chains(5, 4, 3, 2, 0, dtype=np.float32)
    assert {x.shape for x in X} == {(4, 2)}
    assert X[0].dtype == np.float32


def test_noise_makes_chains_hard():
    easy, hard = (token_accuracy(*make_chains(200, 8, 4, 10, 1, noise=noise)) for noise in (0.05, 1.0))
    assert easy > 0.99
    assert hard < 0.9


def test_transitions_inform():
    # The label before tells more than the frequency of labels alone.
    _, y = make_chains(400, 10, 4, 2, 0)
    counts = np.zeros((4, 4))
    for labels in y:
        np.add.at(counts, (labels[:-1], labels[1:]), 1)
    assert counts.max(axis=1).sum() > 1.3 * counts.sum(axis=0).max()


def test_labels_are_correlated_with_features_and_with_each_other():
    X, y = make_multilabel(3000, 5, 8, 0)
    assert (X.shape, y.shape) == ((3000, 8), (3000, 5))
    assert set(np.unique(y)) == {0, 1}
    correlation = np.corrcoef(y.T)
    assert (abs(np.diag(correlation, 1)) > 0.4).all()
    # Markov: correlations multiply along the chain.
    np.testing.assert_allclose(correlation[0, 2], correlation[0, 1] * correlation[1, 2], atol=0.06)
    for label in range(5):
        majority = max(y[:, label].mean(), 1 - y[:, label].mean())
        assert LogisticRegression().fit(X, y[:, label]).score(X, y[:, label]) > majority + 0.03


def test_matchings_are_matchings_with_unmatched_nodes():
    X, y = make_matchings(100, (2, 5), 4, 6, 0)
    assert {x.shape[0] for x in X} == {2, 3, 4, 5}
    assert all(x.shape == (*matching.shape, 6) for x, matching in zip(X, y))
    assert all(matching.sum(axis=0).max() <= 1 and matching.sum(axis=1).max() <= 1 for matching in y)
    matched = sum(matching.sum() for matching in y) / sum(min(matching.shape) for matching in y)
    assert 0.3 < matched < 0.9


def test_matchings_can_be_learned_from_their_edges():
    X, y = make_matchings(300, 5, 5, 6, 0, noise=0.0)
    edges, on = np.concatenate([x.reshape(-1, 6) for x in X]), np.concatenate([m.ravel() for m in y])
    assert (edges[:, -1] == 1).all()
    model = LogisticRegression(fit_intercept=False, C=100).fit(edges, on)
    w = model.coef_[0]
    # Without noise, the direction of the planted weights gives back every matching but the borderline ones.
    wrong = 0
    for x, matching in zip(X, y):
        scores = np.maximum(x[..., :-1] @ w[:-1], 0)
        found = np.zeros_like(matching)
        found[linear_sum_assignment(scores, maximize=True)] = 1
        wrong += (matching > found).sum()
    assert wrong < 0.15 * on.sum()


def test_segmentations_are_noisy_shapes():
    X, y = make_segmentations(20, 12, 10, random_state=0)
    assert all(x.shape == (12, 10, 3) and set(np.unique(one)) == {0, 1} for x, one in zip(X, y))
    right = np.mean([(x.mean(axis=2) > 0.5) == one for x, one in zip(X, y)])
    assert 0.75 < right < 0.85
    smooth = np.mean([one[1:] == one[:-1] for one in y])
    assert smooth > 0.85


@pytest.mark.parametrize("make", [make_chains, make_matchings])
def test_same_seed_same_problem(make):
    first, again, other = (make(5, 3, 4, 6, seed) for seed in (1, 1, 2))
    for one, two in zip(first, again):
        assert all(np.array_equal(a, b) for a, b in zip(one, two))
    assert not np.array_equal(first[0][0], other[0][0])


def test_same_seed_same_label_sets():
    first, again, other = (make_multilabel(9, 3, 4, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert not np.array_equal(first[0], other[0])


def test_refusals():
    with pytest.raises(ValueError, match="n_features must be at least 2"):
        make_matchings(1, 2, 2, 1)
    with pytest.raises(ValueError, match=r"a range is \(smallest, largest\); got \(5, 3\)"):
        make_chains(1, (5, 3), 2, 2)
