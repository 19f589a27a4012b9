"""Stretches of long sequences: their dual points are points of the whole problem, and D stays true."""

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.brute import sequences

import structlearn.problem.stretches as stretched
from structlearn import ChainClassifier
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.estimators.training.running import training_of
from structlearn.problem.stretches import Stretches
from structlearn.solvers import Checkpoint, StochasticExtragradient, Stopping, StretchedExtragradient, solve
from structlearn.solvers.bcfw.dense_point import DensePoint

N_LABELS, D = 3, 4
LENGTHS = 9, 30, 2, 1, 17


def data(seed=0, lengths=LENGTHS, scale=1.0):
    rng = np.random.default_rng(seed)
    X = [scale * rng.normal(size=(n, D)) for n in lengths]
    y = [np.argmax(x[:, :N_LABELS] + 0.5 * rng.normal(size=(len(x), N_LABELS)), axis=1) for x in X]
    return X, y


def objective(X, y, sample_weight=None, **parameters):
    model = ChainClassifier(**{"loss": "softmax", "regularization": 0.1, **parameters})
    with fresh_fit(model):
        return training_of(model).objective(model.lay_out(X, y, sample_weight))


def whole_dual(whole, point):
    """D of a dual point of whole sequences, from z and its bounds of the entropy."""
    w, cost = DensePoint.of(whole, point.z.copy(), point.h.copy()).weights(whole)
    return whole.dual(w, cost).value


@pytest.mark.parametrize("step", [2, 3, 7, 50])
def test_stretches_cover_all_steps_once(step):
    X, y = data()
    cut = Stretches.every(objective(X, y), step)
    steps = [(r, r + 1) for a, b in zip(cut.begin, cut.end) for r in range(a, b)]
    ends = np.cumsum(LENGTHS)
    expected = [(r, r + 1) for first, n in zip(ends - LENGTHS, LENGTHS) for r in range(first, first + n - 1)]
    assert steps == expected
    np.testing.assert_array_equal(cut.labels, np.concatenate(y))
    np.testing.assert_array_equal(np.repeat(cut.begin, cut.end - cut.begin + 1)[:1], [0])
    assert cut.rows.size == sum(LENGTHS) + cut.borders.size


def test_the_loss_of_stretches_is_that_of_labellings_with_gold_borders():
    X, y = data(lengths=(7,))
    whole = objective(X, y)
    cut = Stretches(whole, np.array([2, 4]))
    w = np.random.default_rng(1).normal(size=whole.n_weights)
    scores, transitions = whole.scoring.scores(w, 0, 1).reshape(7, N_LABELS), w[-9:].reshape(3, 3)

    def score(labels):
        return scores[np.arange(7), labels].sum() + transitions[labels[:-1], labels[1:]].sum()

    every = np.array(list(sequences(N_LABELS, 7, ())))
    agreeing = [one for one in every if (one[[2, 4]] == y[0][[2, 4]]).all()]
    loss = logsumexp([score(one) for one in agreeing]) - score(y[0])
    assert cut.objective.primal(w) - 0.05 * w @ w == pytest.approx(loss)
    shares = [logsumexp([score(one) for one in every if one[t] == y[0][t]]) for t in (2, 4)]
    total = logsumexp([score(one) for one in every])
    np.testing.assert_allclose(cut.losses(w), total - np.array(shares))


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.5, 3.0, 0.0])])
def test_merged_stretches_have_the_same_dual(weights):
    whole = objective(*data(), weights)
    cut = Stretches.every(whole, 4)
    found = solve(cut.objective, StochasticExtragradient(), Stopping(tol=1e-12, max_passes=5), seed=0)
    z, h = np.asarray(found.point), found.point.h
    w, cost = DensePoint.of(cut.objective, z.copy(), h.copy()).weights(cut.objective)
    expected = cut.objective.dual(w, cost).value
    for kept in (cut.borders[::2], cut.borders[:0]):
        fewer, merged, (bounds,) = cut.merge(kept, z, h)
        point = DensePoint.of(fewer.objective, merged, bounds)
        assert whole_dual(fewer.objective, point) == pytest.approx(expected, rel=1e-9)
    assert merged.size == whole.point_start[-1]


def test_merging_refuses_a_border_that_is_not_gold():
    cut = Stretches.every(objective(*data()), 4)
    z = cut.objective.gold_point()
    place = N_LABELS * 4 + int(cut.labels[4])  # the last position of the first stretch is a border
    z[place] = 0.5
    with pytest.raises(ValueError, match="not the gold label at a border"):
        cut.merge(cut.borders[:0], z)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("features", ["all", "seen"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_whole_sequences_have_the_same_optimum(seed, features, n_jobs):
    X, y = data(seed)
    options = {
        "loss": "softmax",
        "regularization": 0.02,
        "tol": 1e-6,
        "max_passes": 5000,
        "features": features,
    }
    found = ChainClassifier(solver="stretches", random_state=seed, n_jobs=n_jobs, **options).fit(X, y)
    whole = ChainClassifier(solver="lbfgs", **options).fit(X, y)
    assert found.certificate_.converged
    assert found.certificate_.dual <= whole.certificate_.primal + 1e-9
    assert whole.certificate_.dual <= found.certificate_.primal + 1e-9
    assert found.certificate_.primal == pytest.approx(whole.certificate_.primal, abs=2e-6)
    assert (np.diff(found.history_.dual) >= -1e-12).all()


def test_constraints_and_an_elastic_net_go_with_it():
    X, y = data()
    y = [np.where(one == 2, "O", np.where(one == 1, "B-x", "I-x")) for one in y]
    for one in y:  # every I-x follows a B-x or an I-x
        one[:] = ["B-x" if a == "I-x" and b == "O" else a for a, b in zip(one, ["O", *one[:-1]])]
    options = {
        "loss": "softmax",
        "regularization": 0.05,
        "tol": 1e-5,
        "constraints": "bio",
        "random_state": 0,
    }
    found = ChainClassifier(solver="stretches", penalty="elasticnet", **options).fit(X, y)
    whole = ChainClassifier(penalty="elasticnet", solver="stochastic-extragradient", **options).fit(X, y)
    assert found.certificate_.primal == pytest.approx(whole.certificate_.primal, abs=2e-5)


def test_scores_beyond_a_border_lead_back_to_whole_sequences(monkeypatch):
    """With a border that does not hold, z leaks: the run begins anew with whole sequences, and is right."""
    monkeypatch.setattr(stretched, "CLAMP", -2.0)
    X, y = data()
    options = {"loss": "softmax", "regularization": 0.05, "tol": 1e-4, "random_state": 0}
    found = ChainClassifier(solver="stretches", **options).fit(X, y).certificate_
    whole = ChainClassifier(solver="lbfgs", **options).fit(X, y).certificate_
    assert found.converged
    assert found.dual <= whole.primal
    assert found.primal == pytest.approx(whole.primal, abs=2e-4)


@pytest.mark.filterwarnings("ignore:Stopped after max_passes")
@pytest.mark.parametrize("scale", [1e-6, 1e3])
def test_badly_scaled_features_keep_the_certificate_true(scale):
    X, y = data(scale=scale)
    lam = 0.05 * scale**2
    options = {"loss": "softmax", "regularization": lam, "tol": 1e-3, "random_state": 0}
    found = ChainClassifier(solver="stretches", **options).fit(X, y).certificate_
    whole = ChainClassifier(solver="lbfgs", **options).fit(X, y).certificate_
    assert found.dual <= whole.primal * (1 + 1e-9)
    assert whole.dual <= found.primal * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore:Stopped after max_passes")
def test_a_checkpoint_goes_on_bit_for_bit(tmp_path):
    X, y = data()
    options = {
        "loss": "softmax",
        "regularization": 0.02,
        "tol": 1e-12,
        "solver": "stretches",
        "random_state": 0,
    }
    whole = ChainClassifier(max_passes=60, **options).fit(X, y)
    ChainClassifier(max_passes=30, checkpoint=tmp_path, **options).fit(X, y)
    again = ChainClassifier(max_passes=60, checkpoint=Checkpoint(tmp_path, resume=True), **options).fit(X, y)
    np.testing.assert_array_equal(again.weights_, whole.weights_)


def test_a_warm_start_takes_the_dual_point_of_whole_sequences():
    X, y = data()
    options = {
        "loss": "softmax",
        "regularization": 0.02,
        "tol": 1e-3,
        "solver": "stretches",
        "random_state": 0,
    }
    model = ChainClassifier(warm_start=True, **options).fit(X, y)
    before = model.certificate_
    model.fit(X, y)
    assert model.certificate_.passes <= 1
    assert model.certificate_.dual == pytest.approx(before.dual, abs=1e-3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "sparsemax"}, "Solver 'stretches' is for loss='softmax' on label sequences"),
        ({"loss": "softmax", "start": True}, "first and last labels have no weights of their own"),
        ({"loss": "softmax", "solver_options": {"every": 1}}, "every must be at least 2"),
        ({"loss": "hinge"}, "stretches"),
    ],
)
def test_refusals(parameters, message):
    with pytest.raises(ValueError, match=message):
        ChainClassifier(solver="stretches", **parameters).fit(*data())


def test_auto_takes_stretches_where_sequences_are_long():
    X, y = data(lengths=(150, 90))
    model = ChainClassifier(loss="softmax", random_state=0).fit(X, y)
    same = ChainClassifier(loss="softmax", solver=StretchedExtragradient(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.weights_, same.weights_)
    other = ChainClassifier(loss="softmax", solver="seg", random_state=0).fit(X, y)
    assert not np.array_equal(model.weights_, other.weights_)
