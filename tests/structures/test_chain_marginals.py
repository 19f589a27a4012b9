"""Marginals, k best sequences and samples of chains against all sequences, written out by `encode`."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2, norm

from structlearn.core.contract import log_partition, marginals, marginals_workspace
from structlearn.structures.chain.chain import Chain
from structlearn.structures.chain.marginals import exponential

FALSE_ALARM = 1e-9  # how often a right sampler may fail
ELEMENTS = {
    "ties": st.integers(-2, 2).map(float),
    "plain": st.floats(-3, 3, allow_subnormal=False),
    "thousands": st.floats(-1e3, 1e3, allow_subnormal=False),
    "millions": st.floats(-1e6, 1e6, allow_subnormal=False),
    "masked": st.sampled_from([-np.inf, -1.0, 0.0, 0.25, 2.0]),
    "masked and wide": st.sampled_from([-np.inf, -1e6, -700.0, -140.0, 0.0, 100.0, 1e3]),
    "rarely masked": st.sampled_from([-np.inf, *np.linspace(-140, 140, 41)]),
}


@st.composite
def scored_chains(draw):
    chain = Chain(draw(st.integers(1, 5)), start=draw(st.booleans()), end=draw(st.booleans()))
    length = draw(st.integers(1, 4))
    n_local = length * chain.n_labels
    local, shared = (ELEMENTS[draw(st.sampled_from(sorted(ELEMENTS)))] for _ in range(2))
    theta = np.concatenate(
        [
            draw(arrays(np.float64, n_local, elements=local)),
            draw(arrays(np.float64, chain.n_shared, elements=shared)),
        ]
    )
    return chain, theta


def random_scores(chain, length, scale=1.0, seed=0):
    return scale * np.random.default_rng(seed).normal(size=length * chain.n_labels + chain.n_shared)


def sequences(chain, theta):
    """All label sequences, their part vectors and their scores."""
    length, n_labels = chain.shape(theta)
    labels = np.array(list(product(range(n_labels), repeat=length)))
    vertices = np.array([chain.encode(y) for y in labels])
    finite = np.where(np.isneginf(theta), 0.0, theta)  # -inf * 0 is NaN
    forbidden = vertices @ np.isneginf(theta) > 0
    return labels, vertices, np.where(forbidden, -np.inf, vertices @ finite)


def enumerated(scores, vertices):
    """(marginals, log Z) of the Gibbs distribution over all outputs; None, -inf where there are none."""
    top = scores.max()
    if top == -np.inf:
        return None, top
    weights = np.exp(scores - top)
    return weights @ vertices / weights.sum(), top + np.log(weights.sum())


def rounding(theta):
    """What rounding of sums of such scores does to a probability, or to a sum."""
    return 1e-12 + 1e-14 * np.abs(theta[np.isfinite(theta)]).max(initial=0.0)


def used_scratch(chain, length):
    """Scratch memory in which both recursions have run, on longer chains."""
    work = marginals_workspace(chain.record, (length + 9, chain.n_labels))
    for scale, masked in ((1.0, False), (1e6, True)):
        theta = random_scores(chain, length + 9, scale)
        if masked and chain.n_labels > 1:
            theta[: (length + 9) * chain.n_labels : chain.n_labels] = -np.inf
        ask(chain, theta, work)
    return work


def ask(chain, theta, work, operation=marginals):
    shape = chain.shape(theta)
    mean = np.full(theta.size, np.nan)
    local, shared = chain.split(theta, shape)
    return operation(chain.record, shape, local, shared, work, mean), mean


@given(scored_chains())
@settings(deadline=None, max_examples=400)
def test_gibbs_is_the_enumerated_distribution(problem):
    chain, theta = problem
    _, vertices, scores = sequences(chain, theta)
    expected, log_z = enumerated(scores, vertices)
    work = used_scratch(chain, chain.shape(theta)[0])
    value, mean = ask(chain, theta, work)
    if expected is None:
        assert value == -np.inf
        assert ask(chain, theta, work, log_partition)[0] == -np.inf
        return
    assert value == pytest.approx(log_z, rel=1e-13, abs=1e-12)
    assert ask(chain, theta, work, log_partition)[0] == pytest.approx(value, rel=1e-15, abs=1e-15)
    np.testing.assert_allclose(mean, expected, rtol=0, atol=rounding(theta))
    assert (mean[np.isneginf(theta)] == 0).all()
    assert_consistent(chain, mean)


def assert_consistent(chain, mean):
    tables = chain.tables(mean)
    unary, transitions = tables["unary"], tables["transitions"]
    length = len(unary)
    assert (mean >= 0).all()
    assert (unary <= 1).all()
    assert (transitions <= max(length - 1, 0)).all()
    np.testing.assert_allclose(unary.sum(axis=1), 1, rtol=1e-13)
    np.testing.assert_allclose(transitions.sum(axis=1), unary[:-1].sum(axis=0), atol=1e-12 * length)
    np.testing.assert_allclose(transitions.sum(axis=0), unary[1:].sum(axis=0), atol=1e-12 * length)
    np.testing.assert_array_equal(tables.get("start", unary[0]), unary[0])
    np.testing.assert_array_equal(tables.get("end", unary[-1]), unary[-1])


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("n_labels", [2, 7, 26])
def test_long_chains_are_consistent(n_labels, scale):
    chain = Chain(n_labels, start=True, end=True)
    theta = random_scores(chain, 300, scale)
    assert_consistent(chain, chain.marginals(theta).mean)


def test_scaled_and_logarithmic_recursions_agree():
    chain = Chain(26)
    theta = random_scores(chain, 20)
    fast = chain.marginals(theta)
    theta[-1] = -np.inf
    theta[-2] = -1e4  # too wide a span: logarithms
    masked = chain.marginals(theta)
    theta[-2] = -140.0  # the other recursion; next to nothing either way
    again = chain.marginals(theta)
    np.testing.assert_allclose(masked.mean, again.mean, atol=1e-14)
    assert masked.log_partition == pytest.approx(again.log_partition, rel=1e-15)
    assert np.abs(masked.mean - fast.mean).max() > 1e-6


def test_a_prefix_that_seems_lost_may_be_the_only_way():
    """Two labels that never meet: the worse one falls to exp(-1000), then the better one is forbidden."""
    chain = Chain(2)
    length = 1001
    unary = np.tile([0.0, -1.0], (length, 1))
    unary[-1] = [-np.inf, 0.0]
    transitions = [[0.0, -np.inf], [-np.inf, 0.0]]
    mean, log_z = chain.marginals(chain.parts(unary, transitions))
    assert log_z == pytest.approx(-1000)
    np.testing.assert_array_equal(chain.tables(mean)["unary"], np.tile([0.0, 1.0], (length, 1)))
    unary[-1] = [-100.0, 0.0]
    unary[-11:-1, 0] = -90.0  # by and by, and each step within what the scaled recursion takes
    mean, log_z = chain.marginals(chain.parts(unary, transitions))
    assert log_z == pytest.approx(np.logaddexp(-1000, -1000))
    np.testing.assert_allclose(chain.tables(mean)["unary"], 0.5, atol=1e-10)


def test_what_cannot_be_reached_may_have_a_splendid_future():
    chain = Chain(2, start=True)
    unary = np.tile([0.0, 140.0], (30, 1))
    theta = chain.parts(unary, [[0.0, -np.inf], [0.0, 0.0]], [0.0, -np.inf])
    mean, log_z = chain.marginals(theta)
    np.testing.assert_array_equal(chain.tables(mean)["unary"], np.tile([1.0, 0.0], (30, 1)))
    assert log_z == 0.0


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.sampled_from([1.0, 200.0]))
@settings(deadline=None, max_examples=30)
def test_marginals_are_the_derivative_of_log_z(seed, start, end, scale):
    chain = Chain(3, start=start, end=end)
    theta = random_scores(chain, 4, scale, seed)
    step = 1e-5
    shifts = step * np.eye(theta.size)
    above, below = (chain.marginals(theta + sign * shifts).log_partition for sign in (1, -1))
    slope = (above - below) / (2 * step)
    np.testing.assert_allclose(chain.marginals(theta).mean, slope, atol=1e-9 * max(scale, 1.0) + 1e-9)


def test_many_at_once():
    chain = Chain(4, end=True)
    stack = np.stack([random_scores(chain, 5, seed=seed) for seed in range(6)])
    means, log_z = chain.marginals(stack)
    uneven = [random_scores(chain, length, seed=length) for length in (1, 7, 3)]
    listed = chain.marginals(uneven)
    for theta, mean, value in [*zip(stack, means, log_z), *zip(uneven, *listed)]:
        one = chain.marginals(theta)
        np.testing.assert_allclose(mean, one.mean, atol=1e-15)
        assert value == pytest.approx(one.log_partition, rel=1e-15)


def test_no_allowed_sequence_is_an_error():
    chain = Chain(2)
    theta = np.r_[np.zeros(4), np.full(4, -np.inf)]
    for ask_for in (
        chain.marginals,
        lambda theta: chain.k_best(theta, 2),
        lambda theta: chain.sample(theta, 2),
    ):
        with pytest.raises(ValueError, match="forbids every output"):
            ask_for(theta)


def test_exponential():
    x = np.r_[np.linspace(-707.9, 0, 10_001), np.linspace(-1, 1, 1001), 300.0]
    np.testing.assert_allclose([exponential(one) for one in x], np.exp(x), rtol=4.5e-16)
    assert [exponential(one) for one in (-np.inf, -1e6, -709.0)] == [0, 0, 0]


# ---- k best ----------------------------------------------------------------------------------------


@given(scored_chains(), st.integers(1, 700))
@settings(deadline=None, max_examples=300)
def test_k_best_are_the_first_of_all_sorted(problem, k):
    chain, theta = problem
    labels, _, scores = sequences(chain, theta)
    allowed = np.sort(scores[scores > -np.inf])[::-1]
    if allowed.size == 0:
        return
    found, values = chain.k_best(theta, k)
    assert found.shape == (min(k, allowed.size), labels.shape[1])
    assert len(np.unique(found, axis=0)) == len(found)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(values, allowed[: len(found)], rtol=1e-14, atol=1e-12 + rounding(theta))
    score_of = dict(zip(map(tuple, labels.tolist()), scores))
    own = [score_of[tuple(y)] for y in found.tolist()]
    np.testing.assert_allclose(values, own, rtol=1e-14, atol=1e-12 + rounding(theta))


def test_the_first_of_the_k_best_is_the_corner_and_fewer_are_a_prefix():
    chain = Chain(26, start=True)
    theta = random_scores(chain, 12)
    labels, scores = chain.k_best(theta, 200)
    np.testing.assert_array_equal(labels[0], chain.decode(chain.maximize(theta)))
    np.testing.assert_array_equal(chain.k_best(theta, 50)[0], labels[:50])
    assert scores[0] == pytest.approx(theta @ chain.maximize(theta))


def test_k_best_of_ties_is_the_same_each_time():
    chain = Chain(3)
    theta = np.zeros(4 * 3 + 9)
    labels, scores = chain.k_best(theta, 100)
    assert len(labels) == 81
    assert (scores == 0).all()
    np.testing.assert_array_equal(labels, chain.k_best(theta, 81)[0])


@pytest.mark.parametrize("k", [0, -1])
def test_k_is_at_least_one(k):
    with pytest.raises(ValueError, match="at least 1"):
        Chain(2).k_best(np.zeros(6), k)


# ---- samples ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_sample_frequencies_are_the_marginals(scale):
    chain = Chain(5, start=True, end=True)
    theta = random_scores(chain, 6, scale)
    n = 40_000
    drawn = chain.sample(theta, n, 0)
    assert drawn.shape == (n, 6)
    tables = chain.tables(chain.marginals(theta).mean)
    frequency = (drawn[:, :, None] == np.arange(5)).mean(axis=0)
    assert_frequencies(frequency, tables["unary"], n)
    pairs = np.zeros((5, 5))
    np.add.at(pairs, (drawn[:, :-1].ravel(), drawn[:, 1:].ravel()), 1 / n)
    # A count in 0..5 has at most 5 times the variance bound of its mean.
    worst = norm.isf(FALSE_ALARM / 50) * np.sqrt(5 * tables["transitions"] / n) + 20 / n
    assert (np.abs(pairs - tables["transitions"]) <= worst).all()


def assert_frequencies(frequency, probability, n):
    spread = np.sqrt(probability * (1 - probability) / n)
    worst = norm.isf(FALSE_ALARM / (2 * probability.size)) * spread + 20 / n  # the last: for rare events
    assert (np.abs(frequency - probability) <= worst).all()


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_samples_have_the_distribution_of_the_sequences(shift):
    chain = Chain(3, end=True)
    theta = random_scores(chain, 3)
    theta[: 3 * 3] += shift
    labels, _, scores = sequences(chain, theta)
    probability = np.exp(scores - scores.max())
    probability /= probability.sum()
    n = 50_000
    codes = chain.sample(theta, n, np.random.default_rng(1)) @ [9, 3, 1]
    observed = np.bincount(codes, minlength=27)
    statistic = ((observed - n * probability) ** 2 / (n * probability)).sum()
    assert n * probability.min() > 5
    assert statistic < chi2.isf(FALSE_ALARM, df=26)
    assert (labels @ [9, 3, 1] == np.arange(27)).all()


@given(scored_chains(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=100)
def test_samples_are_allowed(problem, seed):
    chain, theta = problem
    _, _, scores = sequences(chain, theta)
    if scores.max() == -np.inf:
        return
    for y in chain.sample(theta, 20, seed):
        assert theta[chain.encode(y) > 0].min() > -np.inf


def test_samples_follow_the_seed():
    chain = Chain(4)
    theta = random_scores(chain, 8)
    np.testing.assert_array_equal(chain.sample(theta, 5, 7), chain.sample(theta, 5, 7))
    assert (chain.sample(theta, 50, 7) != chain.sample(theta, 50, 8)).any()
    assert chain.sample(theta, 0).shape == (0, 8)
