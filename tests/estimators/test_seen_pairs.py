"""Chains with weights for the pairs of a feature and a label that occur in the training data."""

from itertools import pairwise, product

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

import structlearn
from structlearn import ChainClassifier
from structlearn.estimators.weights import seen_choice
from structlearn.solvers import Checkpoint

rng = np.random.default_rng(0)
N_LABELS, D = 3, 7
X = [
    sparse.csr_matrix((rng.random((length, D)) < 0.4) * rng.normal(size=(length, D)))
    for length in (3, 1, 4, 2, 3)
]
y = [rng.integers(0, N_LABELS, x.shape[0]) for x in X]
SEEN = np.zeros((D, N_LABELS), dtype=bool)
for x_, y_ in zip(X, y):
    rows, columns = x_.nonzero()
    SEEN[columns, y_[rows]] = True


def fitted(loss, **parameters):
    parameters = {"regularization": 0.1, "tol": 1e-7, "max_passes": 20000, "random_state": 0, **parameters}
    return ChainClassifier(loss=loss, features="seen", **parameters).fit(X, y)


def outputs(length):
    return np.array(list(product(range(N_LABELS), repeat=length)))


def score_of(scores, transitions, labels):
    """The score of one labelling, by hand; works on cvxpy expressions too."""
    unary = sum(scores[t, int(k)] for t, k in enumerate(labels))
    return unary + sum(transitions[int(a), int(b)] for a, b in pairwise(labels))


def test_softmax_has_the_optimum_of_the_table_that_is_zero_elsewhere():
    places = np.flatnonzero(SEEN.ravel())

    def objective(v):
        W = np.zeros(SEEN.size)
        W[places] = v[: places.size]
        constant, transitions = v[places.size : -9], v[-9:].reshape(3, 3)
        total = 0.05 * v @ v
        for x, labels in zip(X, y):
            scores = x @ W.reshape(D, N_LABELS) + constant
            every = [score_of(scores, transitions, one) for one in outputs(len(labels))]
            total += (logsumexp(every) - score_of(scores, transitions, labels)) / len(X)
        return total

    best = minimize(objective, np.zeros(places.size + N_LABELS + 9), method="BFGS", options={"gtol": 1e-7})
    model = fitted("softmax")
    assert model.weights_.size == best.x.size
    assert objective(model.weights_) == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert model.certificate_.primal == pytest.approx(best.fun, abs=2e-6)
    assert model.certificate_.dual <= best.fun + 1e-9


def test_hinge_has_the_optimum_of_the_table_that_is_zero_elsewhere():
    W, constant = cp.Variable((D, N_LABELS)), cp.Variable(N_LABELS)
    transitions = cp.Variable((N_LABELS, N_LABELS))
    losses = []
    for x, labels in zip(X, y):
        scores = x.toarray() @ W + np.ones((x.shape[0], 1)) @ cp.reshape(constant, (1, N_LABELS), order="C")
        gold = score_of(scores, transitions, labels)
        cost = [np.mean(one != labels) for one in outputs(len(labels))]
        augmented = [score_of(scores, transitions, one) + c for one, c in zip(outputs(len(labels)), cost)]
        losses.append(cp.maximum(*augmented) - gold)
    squares = cp.sum_squares(W) + cp.sum_squares(constant) + cp.sum_squares(transitions)
    unseen = W[~SEEN] == 0
    best = cp.Problem(cp.Minimize(0.05 * squares + sum(losses) / len(X)), [unseen]).solve(solver="CLARABEL")
    model = fitted("hinge", tol=1e-5)
    assert model.certificate_.primal == pytest.approx(best, abs=1e-4)
    assert model.certificate_.dual <= best + 1e-6


@pytest.mark.parametrize("solver", ["lbfgs", "sdca", "stretches"])
def test_other_solvers_find_the_same_optimum(solver):
    found = fitted("softmax", solver=solver, tol=1e-5).certificate_
    assert found.primal == pytest.approx(fitted("softmax").certificate_.primal, abs=2e-5)


def test_a_feature_without_pairs_scores_nothing():
    wider = [sparse.hstack([x, np.zeros((x.shape[0], 1))], format="csr") for x in X]
    model = ChainClassifier(features="seen", loss="softmax", random_state=0).fit(wider, y)
    loud = [sparse.hstack([x, np.full((x.shape[0], 1), 9.0)], format="csr") for x in X]
    np.testing.assert_array_equal(
        np.vstack(model.decision_function(wider)), np.vstack(model.decision_function(loud))
    )
    assert model.coef_.shape == (N_LABELS, D + 1)
    assert model.coef_[:, D].nnz == 0


def test_weights_by_name_and_explanations_are_those_of_the_dense_table():
    model = fitted("softmax")
    table = model.coef_.toarray()
    assert (table[~SEEN.T] == 0).all()
    scores = np.vstack([x @ table.T + model.intercept_ for x in X])
    np.testing.assert_allclose(np.vstack(model.decision_function(X)), scores, atol=1e-12)
    for label, weights in model.top_features(2).labels.items():
        found = max(one.weight for one in weights)
        assert found == pytest.approx(max(table[label].max(), model.intercept_[label]))
    for explanation in model.explain(X[2]):
        total = sum(one.amount for one in explanation.contributions)
        assert total == pytest.approx(explanation.difference)


def test_a_file_keeps_the_pairs(tmp_path):
    model = fitted("softmax")
    model.save(tmp_path / "model")
    again = structlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(again.weights_, model.weights_)
    np.testing.assert_array_equal(again.coef_.toarray(), model.coef_.toarray())
    for one, other in zip(again.predict_marginals(X), model.predict_marginals(X)):
        np.testing.assert_array_equal(one, other)


def test_named_features_and_a_warm_start_by_names():
    tokens = [[{f"f{j}": float(v) for j, v in zip(row.indices, row.data)} for row in x] for x in X]
    options = {"loss": "softmax", "tol": 1e-6, "regularization": 0.1, "random_state": 0}
    model = ChainClassifier(features="seen", warm_start=True, **options).fit(tokens[:4], y[:4])
    model.fit(tokens, y)
    fresh = ChainClassifier(features="seen", **options).fit(tokens, y)
    assert model.certificate_.primal == pytest.approx(fresh.certificate_.primal, abs=2e-6)
    dense = ChainClassifier(warm_start=True, **options).fit(tokens, y)
    dense.set_params(features="seen").fit(tokens, y)
    assert dense.certificate_.primal == pytest.approx(fresh.certificate_.primal, abs=2e-6)
    dense.set_params(features="all").fit(tokens, y)
    wide = ChainClassifier(**options).fit(tokens, y)
    assert dense.certificate_.primal == pytest.approx(wide.certificate_.primal, abs=2e-6)


def test_auto_takes_seen_pairs_where_most_pairs_of_many_are_not_seen(monkeypatch):
    n_all = D * N_LABELS
    assert not hasattr(ChainClassifier(loss="softmax").fit(X, y), "pair_starts_")
    monkeypatch.setattr(seen_choice, "MANY_PAIRS", n_all - 1)
    monkeypatch.setattr(seen_choice, "TIMES_SEEN", n_all / SEEN.sum())
    model = ChainClassifier(loss="softmax", random_state=0).fit(X, y)
    assert f"the {SEEN.sum()} pairs of a feature and a label that occur in" in model.certificate_.status
    assert "features='seen'" in model.certificate_.status
    monkeypatch.setattr(seen_choice, "TIMES_SEEN", 1.01 * n_all / SEEN.sum())
    model.fit(X, y)
    assert not hasattr(model, "pair_starts_")
    assert "pairs" not in model.certificate_.status


@pytest.mark.filterwarnings("ignore:Stopped after max_passes")
def test_a_checkpoint_goes_on(tmp_path):
    whole = fitted("softmax", tol=1e-9, max_passes=8)
    fitted("softmax", tol=1e-9, max_passes=4, checkpoint=tmp_path)
    again = fitted("softmax", tol=1e-9, max_passes=8, checkpoint=Checkpoint(tmp_path, resume=True))
    np.testing.assert_array_equal(again.weights_, whole.weights_)


@pytest.mark.parametrize(
    ("parameters", "labels", "message"),
    [
        ({"features": "some"}, y, "Unknown features 'some'"),
        ({"features": "seen"}, [[None, *one[1:].tolist()] for one in y], "does not go with partly labelled"),
    ],
)
def test_refusals(parameters, labels, message):
    with pytest.raises(ValueError, match=message):
        ChainClassifier(loss="softmax", **parameters).fit(X, labels)


def test_transitions_may_have_features_of_their_own():
    options = {"loss": "softmax", "regularization": 0.1, "tol": 1e-6, "random_state": 0, "max_passes": 5000}
    options |= {"transition_features": [0, 2], "features": "seen"}
    found = ChainClassifier(solver="seg", **options).fit(X, y)
    other = ChainClassifier(solver="lbfgs", **options).fit(X, y)
    assert found.certificate_.primal == pytest.approx(other.certificate_.primal, abs=2e-6)
    assert found.weights_.size == SEEN.sum() + N_LABELS + 3 * N_LABELS**2
    scores = [x @ found.coef_.toarray().T + found.intercept_ for x in X]
    np.testing.assert_allclose(np.vstack(found.decision_function(X)), np.vstack(scores), atol=1e-12)
    for x, labels in zip(X, y):
        steps = found.transition_coef_ + np.einsum(
            "tf,fab->tab", x[:, [0, 2]].toarray(), found.conditioned_coef_
        )
        unary = x @ found.coef_.toarray().T + found.intercept_
        totals = [
            sum(unary[t, k] for t, k in enumerate(one))
            + sum(steps[t, one[t - 1], one[t]] for t in range(1, len(one)))
            for one in outputs(len(labels))
        ]
        best = outputs(len(labels))[int(np.argmax(totals))]
        np.testing.assert_array_equal(found.predict([x])[0], best)


def test_a_cluster_refuses_seen_pairs():
    with pytest.raises(ValueError, match="features='seen' does not go with a cluster"):
        ChainClassifier(features="seen").fit(X, y, client=object())
