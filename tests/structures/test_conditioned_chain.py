"""Chains with transitions of their own at each position, by enumeration; the estimator over them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from brute import conditioned_chain, score_of
from structlearn import ChainClassifier, load
from structlearn.problem.losses import FenchelYoungLoss, SquaredNorm
from structlearn.structures import Chain, ConditionedChain

FAMILY = conditioned_chain(2, [4, 1, 2])
SCALES = st.sampled_from([1.0, 1e3])
SEEDS = st.integers(0, 1 << 30)


def scores(seed, scale, shape, forbidden=0.0):
    rng = np.random.default_rng(seed)
    theta = scale * rng.normal(size=FAMILY.structure.n_local(shape))
    theta[rng.random(theta.size) < forbidden] = -np.inf
    return theta


@pytest.mark.parametrize("shape", FAMILY.shapes)
@given(seed=SEEDS, scale=SCALES, forbidden=st.sampled_from([0.0, 0.3]))
def test_oracles_against_enumeration(shape, seed, scale, forbidden):
    structure, theta = FAMILY.structure, scores(seed, scale, shape, forbidden)
    V = FAMILY.vertices(shape)
    values = score_of(theta, V)
    if values.max() == -np.inf:
        with pytest.raises(ValueError, match="no output is allowed"):
            structure.marginals(theta)
        return
    best = structure.maximize(theta)
    assert (best == V).all(axis=1).any()
    assert score_of(theta, best[None])[0] == pytest.approx(values.max())
    log_z = np.logaddexp.reduce(values)
    mean, found = structure.marginals(theta)
    np.testing.assert_allclose(found, log_z, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mean, np.exp(values - log_z) @ V, atol=1e-8)
    labels, ranked = structure.k_best(theta, 5)
    order = np.sort(values[values > -np.inf])[::-1][:5]
    np.testing.assert_allclose(ranked, order, rtol=1e-9, atol=1e-9)
    assert len({tuple(one) for one in labels.tolist()}) == len(labels)


@given(seed=SEEDS)
def test_projection_is_certified(seed):
    shape = FAMILY.shapes[0]
    theta = scores(seed, 1.0, shape)
    mu = FAMILY.structure.project(theta)
    V = FAMILY.vertices(shape)
    gradient = np.concatenate([(theta - mu)[: 4 * 2], theta[4 * 2 :]])  # pairs are not in the norm
    assert ((V - mu) @ gradient).max() <= 1e-8


def test_samples_follow_the_distribution():
    theta = scores(0, 1.0, (4, 6))
    drawn = FAMILY.structure.sample(theta, 20_000, 0)
    mean = FAMILY.structure.marginals(theta)[0]
    seen = np.mean([FAMILY.structure.encode(one) for one in drawn[:4000]], axis=0)
    np.testing.assert_allclose(seen, mean, atol=0.04)


def test_code():
    structure = FAMILY.structure
    for shape in FAMILY.shapes:
        for y in FAMILY.outputs(shape):
            np.testing.assert_array_equal(structure.encode(y), FAMILY.write(y, shape))
            np.testing.assert_array_equal(structure.decode(structure.encode(y)), y)
    ys = [FAMILY.outputs(shape)[-1] for shape in FAMILY.shapes]
    many = structure.encode_many(ys, np.array(FAMILY.shapes))
    costs = np.split(structure.cost_many(many, np.array(FAMILY.shapes)), [24, 30])
    for i, (y, shape) in enumerate(zip(ys, FAMILY.shapes)):
        mu = FAMILY.write(y, shape)
        np.testing.assert_array_equal(many.dense(i, mu.size), mu)
        for other in FAMILY.outputs(shape):
            loss = costs[i] @ (FAMILY.write(other, shape) - mu)
            assert loss == pytest.approx(np.mean(y != other))
    with pytest.raises(ValueError, match=r"L \* 6 parts"):
        structure.maximize(np.zeros(7))


def test_equal_tables_are_a_chain():
    rng = np.random.default_rng(1)
    unary, step = rng.normal(size=(4, 2)), rng.normal(size=(2, 2))
    mean, log_z = Chain(2).marginals(Chain(2).parts(unary, step))
    other, same = ConditionedChain(2).marginals(np.concatenate([unary.ravel(), np.tile(step.ravel(), 4)]))
    assert same == pytest.approx(log_z)
    np.testing.assert_allclose(other[:8], mean[:8])
    np.testing.assert_allclose(other[8:].reshape(4, 4).sum(axis=0), mean[8:])


@given(seed=SEEDS, scale=st.sampled_from([0.3, 3.0, 1e3]))
def test_equal_tables_are_projected_as_a_chain(seed, scale):
    rng = np.random.default_rng(seed)
    unary, step = scale * rng.normal(size=(4, 2)), scale * rng.normal(size=(2, 2))
    one, other = Chain(2).parts(unary, step), np.concatenate([unary.ravel(), np.tile(step.ravel(), 4)])
    np.testing.assert_allclose(ConditionedChain(2).project(other)[:8], Chain(2).project(one)[:8], atol=1e-9)
    y = rng.integers(2, size=4)
    losses = [
        FenchelYoungLoss(structure, SquaredNorm()).value(theta, y)
        for structure, theta in ((Chain(2), one), (ConditionedChain(2), other))
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-9 * scale)


# ---- the estimator ---------------------------------------------------------------------------------


def switching(n=40, seed=0):
    """The label stays or changes as the last feature says; nothing else tells it but the first position."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        length = rng.integers(2, 7)
        change = rng.integers(2, size=length)
        first = rng.integers(2)
        labels = (first + np.cumsum(np.r_[0, change[1:]])) % 2
        known = np.zeros((length, 2))
        known[0, first] = 1.0
        X.append(np.column_stack([known, change]))
        y.append(labels)
    return X, y


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_transitions_that_depend_on_what_is_seen(loss, tmp_path):
    X, y = switching()
    X = [sparse.csr_matrix(x) for x in X]
    options = {"loss": loss, "regularization": 0.01, "tol": 0.01, "random_state": 0}
    plain = ChainClassifier(**options).fit(X, y)
    model = ChainClassifier(**options, transition_features=[2]).fit(X, y)
    assert model.score(X, y) == 1.0 > plain.score(X, y)
    assert model.certificate_.gap <= 0.01
    (table,) = model.conditioned_coef_
    assert table[0, 1] > table[0, 0]
    assert table[1, 0] > table[1, 1]
    assert model.coef_.shape == (2, 3)
    best = [pairs[0][0] for pairs in model.predict_kbest(X, 2)]
    assert all((a == b).all() for a, b in zip(best, y))
    model.save(tmp_path / "model.st")
    same = load(tmp_path / "model.st")
    assert all((a == b).all() for a, b in zip(same.predict(X), model.predict(X)))


def test_a_transition_feature_that_tells_nothing_leaves_the_sparsemax_loss():
    """Where the feature is 0 throughout, transitions have the constant's weights: those of a chain."""
    X, y = switching(8)
    X = [np.column_stack([x, np.zeros(len(x))]) for x in X]
    options = {"loss": "sparsemax", "regularization": 0.05, "tol": 3e-4, "random_state": 0}
    plain = ChainClassifier(**options).fit(X, y)
    model = ChainClassifier(**options, transition_features=[3]).fit(X, y)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, abs=3e-4)
    assert model.certificate_.dual == pytest.approx(plain.certificate_.dual, abs=3e-4)
    np.testing.assert_allclose(model.transition_coef_, plain.transition_coef_, atol=0.2)


def test_both_smooth_solvers_find_one_optimum():
    X, y = switching(12)
    X = [sparse.csr_matrix(x) for x in X]
    options = {"loss": "softmax", "tol": 1e-6, "random_state": 0, "transition_features": [0, 2]}
    one = ChainClassifier(solver="sdca", **options).fit(X, y)
    other = ChainClassifier(solver="lbfgs", **options).fit(X, y)
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, abs=2e-6)
    np.testing.assert_allclose(one.weights_, other.weights_, atol=0.05)


def test_refusals():
    X, y = switching(3)
    for options, message in [
        ({"transition_features": [3]}, "between 0 and 2"),
        ({"transition_features": []}, "at least one"),
        ({"transition_features": [0], "start": True}, "do not go with transition_features"),
    ]:
        with pytest.raises(ValueError, match=message):
            ChainClassifier(**options).fit(X, y)
    model = ChainClassifier(tol=1e9).fit(X, y)
    with pytest.raises(AttributeError, match="only with transition_features"):
        _ = model.conditioned_coef_
