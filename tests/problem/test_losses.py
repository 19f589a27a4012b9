"""Fenchel-Young losses of every structure and regulariser, against enumeration and central differences."""

import numpy as np
import pytest
from scipy.special import logsumexp

from brute import STRUCTURES
from structlearn.problem.losses import FenchelYoungLoss, Shannon, SquaredNorm, Tsallis, Zero
from structlearn.structures import Chain, Matching, Simplex

INTRACTABLE = (
    "own",
    "matching",
    "full",
    "many",
    "cut",
    "path",
    "knapsack",
    "subset",
    "spanning",
    "assign",
    "tour",
    "prog",
)
ENTROPIC = [name for name in STRUCTURES if not name.startswith(INTRACTABLE)]
PAIRS = (
    [(name, Zero()) for name in STRUCTURES]
    + [(name, Shannon()) for name in ENTROPIC]
    + [(name, SquaredNorm()) for name in STRUCTURES]
    + [("simplex", Tsallis(alpha)) for alpha in (1.0, 1.25, 1.5, 2.0)]
)
each_pair = pytest.mark.parametrize(("name", "regularizer"), PAIRS, ids=[f"{n}-{r}" for n, r in PAIRS])


def case(name, regularizer, seed=0, scale=1.0):
    """A loss, random scores, an output and its part vector, and all vertices."""
    family = STRUCTURES[name]
    rng = np.random.default_rng(seed)
    shape = family.shapes[seed % len(family.shapes)]
    outputs = family.outputs(shape)
    y = outputs[rng.integers(len(outputs))]
    theta = scale * rng.normal(size=family.part_shape(shape))
    mu = family.write(y, shape).reshape(theta.shape)
    return FenchelYoungLoss(family.given, regularizer), theta, y, mu, family.vertices(shape)


@each_pair
@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_is_the_slope_of_the_value(name, regularizer, seed):
    loss, theta, y, mu, _ = case(name, regularizer, seed)
    gradient = loss.gradient(theta, y)
    direction = np.random.default_rng(seed + 100).normal(size=theta.shape)
    step = 1e-6
    slope = (loss.value(theta + step * direction, y) - loss.value(theta - step * direction, y)) / (2 * step)
    assert np.sum(gradient * direction) == pytest.approx(slope, abs=1e-5)
    np.testing.assert_allclose(gradient, loss.predict(theta) - mu, atol=1e-12)


@each_pair
@pytest.mark.parametrize("scale", [0.1, 3.0, 1e3])
def test_the_loss_is_convex_and_never_negative(name, regularizer, scale):
    loss, theta, y, _, _ = case(name, regularizer, 1, scale)
    other = scale * np.random.default_rng(7).normal(size=theta.shape)
    ends = loss.value(theta, y), loss.value(other, y)
    middle = loss.value((theta + other) / 2, y)
    assert min(*ends, middle) >= 0
    assert middle <= sum(ends) / 2 + 1e-9 * scale


@each_pair
def test_the_loss_is_zero_exactly_where_the_prediction_is_the_gold(name, regularizer):
    loss, theta, y, mu, _ = case(name, regularizer, 2)
    sure = 100 * (2 * mu - 1)
    limit = 1e-9 if not isinstance(regularizer, Shannon) else 1e-6
    assert loss.value(sure, y) <= limit
    np.testing.assert_allclose(loss.predict(sure), mu, atol=1e-6)
    if np.abs(loss.predict(theta) - mu).max() > 1e-3:
        assert loss.value(theta, y) > 1e-9


@pytest.mark.parametrize("name", ENTROPIC)
@pytest.mark.parametrize("seed", range(3))
def test_the_log_loss_is_that_of_the_enumerated_distribution(name, seed):
    loss, theta, y, mu, vertices = case(name, Shannon(), seed)
    scores = vertices @ theta.ravel()
    assert loss.value(theta, y) == pytest.approx(logsumexp(scores) - mu.ravel() @ theta.ravel(), abs=1e-9)
    mean = np.exp(scores - logsumexp(scores)) @ vertices
    np.testing.assert_allclose(loss.predict(theta).ravel(), mean, atol=1e-9)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("scale", [0.3, 1.0, 1e3])
def test_projections_satisfy_their_optimality_condition(name, scale):
    loss, theta, _, _, vertices = case(name, SquaredNorm(), 1, scale)
    z = loss.predict(theta).ravel()
    slope = theta.ravel().copy()
    curved = loss.structure.n_curved(loss.structure.shape(theta))
    slope[:curved] -= z[:curved]
    assert ((vertices - z) @ slope).max() <= 1e-7 * max(1.0, scale)


@pytest.mark.parametrize("name", STRUCTURES)
def test_with_a_cost_the_loss_is_the_structured_hinge(name):
    family = STRUCTURES[name]
    shape = family.shapes[0]
    y = family.outputs(shape)[-1]
    theta = np.random.default_rng(3).normal(size=family.part_shape(shape))
    mu = family.write(y, shape)
    cost = family.structure.cost(mu.reshape(theta.shape)).ravel()
    expected = ((family.vertices(shape) - mu.ravel()) @ (theta.ravel() + cost)).max()
    assert FenchelYoungLoss(family.given, Zero(), cost="hamming").value(theta, y) == pytest.approx(expected)


@each_pair
def test_many_are_as_one_by_one(name, regularizer):
    loss, theta, y, _, _ = case(name, regularizer, 0)
    thetas = [theta, theta / 2, -theta]
    values, gradients = loss.value_and_gradient(thetas, [y] * 3)
    stacked = loss.value_and_gradient(np.stack(thetas), [y] * 3)
    np.testing.assert_allclose(values, [loss.value(one, y) for one in thetas], atol=1e-12)
    np.testing.assert_allclose(stacked[0], values, atol=1e-12)
    for one, gradient, row in zip(thetas, gradients, stacked[1]):
        np.testing.assert_allclose(gradient, loss.gradient(one, y), atol=1e-12)
        np.testing.assert_allclose(row, gradient, atol=1e-12)


def test_soft_labels_of_the_simplex():
    loss = FenchelYoungLoss(Simplex(3), Shannon())
    target = np.array([0.2, 0.5, 0.3])
    assert loss.value(np.log(target), target) == pytest.approx(0.0, abs=1e-12)


def test_what_a_structure_cannot_answer_is_refused():
    with pytest.raises(TypeError, match="#P-hard"):
        FenchelYoungLoss(Matching(), Shannon())
    with pytest.raises(TypeError, match="one of K labels"):
        FenchelYoungLoss(Chain(2), Tsallis(1.5))
    with pytest.raises(ValueError, match=r"\[1, 2\]"):
        FenchelYoungLoss(Simplex(3), Tsallis(2.5))
    with pytest.raises(ValueError, match="2 score vectors but 1"):
        FenchelYoungLoss(Simplex(3), Zero()).value(np.zeros((2, 3)), [0])
