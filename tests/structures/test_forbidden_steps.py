"""Chains with forbidden steps, by enumeration: no sequence outside the constraints ever counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute import chain, conditioned_chain, score_of, sequences
from structlearn.structures import Chain, ConditionedChain
from structlearn.structures.chain.derivative import chain_derivative

FORBIDDEN = [(None, 1), (0, 1), (2, 2), (1, 0), (0, None)]
FAMILIES = {
    "chain": chain(3, [1, 2, 4], forbidden=FORBIDDEN),
    "with start and end": chain(3, [1, 2, 4], start=True, end=True, forbidden=FORBIDDEN),
    "conditioned": conditioned_chain(3, [1, 2, 4], forbidden=FORBIDDEN),
}
SEEDS = st.integers(0, 1 << 30)


def scores(family, shape, seed, scale, share):
    rng = np.random.default_rng(seed)
    theta = scale * rng.normal(size=family.part_shape(shape))
    theta[rng.random(theta.size) < share] = -np.inf
    return theta


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=SEEDS, scale=st.sampled_from([1.0, 30.0, 1e6]), share=st.sampled_from([0.0, 0.2]))
@settings(deadline=None, max_examples=40)
def test_oracles_against_enumeration(name, seed, scale, share):
    family = FAMILIES[name]
    structure = family.structure
    for shape in family.shapes:
        theta, V = scores(family, shape, seed, scale, share), family.vertices(shape)
        values = score_of(theta, V)
        if values.max() == -np.inf:
            with pytest.raises(ValueError, match="no output is allowed"):
                structure.maximize(theta)
            continue
        log_z = np.logaddexp.reduce(values)
        mean, found = structure.marginals(theta)
        np.testing.assert_allclose(found, log_z, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(mean, np.exp(values - log_z) @ V, atol=1e-7)
        assert score_of(theta, structure.maximize(theta)[None])[0] == pytest.approx(values.max())
        labels, ranked = structure.k_best(theta, 5)
        np.testing.assert_allclose(ranked, np.sort(values[values > -np.inf])[::-1][:5], rtol=1e-12, atol=1e-9)
        outputs = {tuple(y.tolist()) for y in family.outputs(shape)}
        assert {tuple(y) for y in labels.tolist()} <= outputs
        assert {tuple(y) for y in structure.sample(theta, 20, seed).tolist()} <= outputs


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=SEEDS)
@settings(deadline=None, max_examples=30)
def test_projection_is_certified(name, seed):
    family = FAMILIES[name]
    shape = family.shapes[-1]
    theta, V = scores(family, shape, seed, 1.0, 0.0), family.vertices(shape)
    mu = family.structure.project(theta)
    curved = family.structure.n_curved(shape)
    gradient = np.concatenate([(theta - mu)[:curved], theta[curved:]])
    assert ((V - mu) @ gradient).max() <= 1e-8
    assert not mu[~V.any(axis=0)].any()


@pytest.mark.parametrize("name", ["chain", "conditioned"])
def test_samples_have_the_distribution_of_the_sequences(name):
    family = FAMILIES[name]
    shape, n = family.shapes[-1], 20_000
    theta = scores(family, shape, 1, 0.5, 0.0)
    values = score_of(theta, family.vertices(shape))
    probability = np.exp(values - np.logaddexp.reduce(values))
    drawn = family.structure.sample(theta, n, 0).tolist()
    share = np.array([drawn.count(y.tolist()) / n for y in family.outputs(shape)])
    assert (np.abs(share - probability) < 5 * np.sqrt(probability / n)).all()


def test_the_derivative_of_marginals_is_that_of_the_allowed_sequences():
    family = FAMILIES["with start and end"]
    shape = family.shapes[-1]
    theta, v = (scores(family, shape, seed, 1.0, 0.0) for seed in (1, 2))
    V = family.vertices(shape)
    values = score_of(theta, V)
    p = np.exp(values - np.logaddexp.reduce(values))
    expected = (p * (V @ v)) @ V - (p @ V) * (p @ V @ v)
    found = chain_derivative(family.structure, theta[None], v[None])[0]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_free_chains_have_no_mask():
    for structure in (Chain(3), Chain(3, forbidden=[]), ConditionedChain(3)):
        assert structure.mask.size == 0
        assert "forbidden" not in structure.arguments()
    again = Chain(**Chain(3, forbidden=FORBIDDEN).arguments())
    np.testing.assert_array_equal(again.mask, FAMILIES["chain"].structure.mask)


def test_positions_that_break_them():
    structure = Chain(3, forbidden=FORBIDDEN)
    every = dict.fromkeys(np.ndindex(3, 3, 3), True)
    every |= {tuple(y.tolist()): False for y in sequences(3, 3, FORBIDDEN)}
    labels, lengths = np.array(list(every)), np.full(len(every), 3)
    found = structure.broken(labels.ravel(), lengths).reshape(-1, 3).any(axis=1)
    assert found.tolist() == list(every.values())
    with pytest.raises(ValueError, match="forbidden step"):
        structure.encode([0, 1, 2])


@pytest.mark.parametrize("pairs", [[(0, 3)], [(-2, 0)], [(None, None)], [0, 1], [("a", "b")], [(0, 1, 2)]])
def test_refusals(pairs):
    with pytest.raises(ValueError, match="Forbidden pairs"):
        Chain(3, forbidden=pairs)
