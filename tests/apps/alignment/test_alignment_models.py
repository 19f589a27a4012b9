"""Model 1, the HMM and the M-step against enumeration and against SciPy."""

from itertools import product

import numpy as np
import pytest
from scipy import special

from structlearn.apps.alignment.bitext import Bitext
from structlearn.apps.alignment.expectation import DirectionRecord, expect
from structlearn.apps.alignment.jumps import JumpCounts, by_distance, reestimate_jumps, uniform_jumps
from structlearn.apps.alignment.lexicon import N_MISSING, build_lexicon
from structlearn.apps.alignment.translation import digamma, reestimate, reestimate_null

P0 = 0.3
NULL = -1


def random_pair(m, n, seed):
    """A pair of m and n different words with random tables; the entry of cell (i, j) is i * n + j."""
    rng = np.random.default_rng(seed)
    bitext = Bitext.from_pairs([([f"e{i}" for i in range(m)], [f"f{j}" for j in range(n)])])
    records = [
        DirectionRecord(rng.random(m * n + N_MISSING).astype(np.float32), rng.random(k + 1), P0, np.empty(0))
        for k in (n, m)
    ]
    return bitext, np.arange(m * n, dtype=np.int32), records, rng.random(41) + 0.05


def model1_probability(emission, null, alignment):
    S = emission.shape[1]
    factors = [P0 * null[l] if i == NULL else (1 - P0) / S * emission[l, i] for l, i in enumerate(alignment)]
    return np.prod(factors)


def hmm_probability(weight, emission, null, alignment):
    """weight(d) of each distance; the end is position S."""
    S = emission.shape[1]
    value, previous = 1.0, -1
    for l, i in enumerate([*alignment, S]):
        if i == NULL:
            value *= P0 * null[l]
        else:
            Z = sum(weight(k - previous) for k in range(S + 1))
            value *= (1 - P0) * weight(i - previous) / Z * (emission[l, i] if i < S else 1.0)
            previous = i
    return value


def enumerate_posteriors(probability, emission, null):
    """Link posteriors, NULL posteriors and log-likelihood, over all alignments."""
    L, S = emission.shape
    links, nulls, total = np.zeros((L, S)), np.zeros(L), 0.0
    for alignment in product(range(-1, S), repeat=L):
        p = probability(emission, null, alignment)
        total += p
        for l, i in enumerate(alignment):
            if i == NULL:
                nulls[l] += p
            else:
                links[l, i] += p
    return links / total, nulls / total, np.log(total)


@pytest.mark.parametrize(("m", "n"), [(3, 4), (4, 3), (1, 2), (2, 1)])
@pytest.mark.parametrize("hmm", [False, True])
def test_posteriors_equal_enumeration(m, n, hmm):
    bitext, entry, records, weights = random_pair(m, n, seed=m)
    probability = model1_probability
    if hmm:
        jump = by_distance(weights, bitext.longest + 1)
        records = [record._replace(jump=jump) for record in records]

        def probability(*args):
            return hmm_probability(lambda d: weights[20 + d], *args)

    forward, reverse = expect(bitext.record, entry, records[0], records[1], 0, 1)
    tables = [record.translation[:-N_MISSING].astype(np.float64).reshape(m, n) for record in records]
    for found, emission, record, words in (
        (forward, tables[0].T, records[0], bitext.target.tokens),
        (reverse, tables[1], records[1], bitext.source.tokens),
    ):
        links, nulls, log_likelihood = enumerate_posteriors(probability, emission, record.null[words])
        shaped = found.link.reshape(m, n)
        np.testing.assert_allclose(shaped.T if found is forward else shaped, links, atol=1e-6)
        np.testing.assert_allclose(found.null, nulls, atol=1e-6)
        assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-10)


def test_expected_jumps_are_derivatives_of_the_log_likelihood():
    """d log p / d log w[d] = taken[d] - w[d] chance[d]."""
    bitext, entry, records, weights = random_pair(3, 4, seed=5)
    jump = by_distance(weights, bitext.longest + 1)

    def run(jump):
        record = records[0]._replace(jump=jump)
        return expect(bitext.record, entry, record, record._replace(null=records[1].null), 0, 1)[0]

    found = run(jump)
    gradient = found.jumps.taken - jump * np.cumsum(found.jumps.chance)[:-1]
    step = 1e-5
    for d in range(jump.size):
        sides = [jump.copy(), jump.copy()]
        sides[0][d] *= np.exp(step)
        sides[1][d] *= np.exp(-step)
        slope = (run(sides[0]).log_likelihood - run(sides[1]).log_likelihood) / (2 * step)
        assert gradient[d] == pytest.approx(slope, abs=1e-6)


def test_jumps_that_are_always_possible_get_their_frequencies():
    reach = 5
    taken = np.array([0, 0, 0, 0, 1, 2, 6, 1, 0, 0, 0.0])
    chance = np.zeros(2 * reach + 2)
    chance[0] = taken.sum()
    weights = uniform_jumps()
    for _ in range(200):
        chance[0] = taken.sum() / by_distance(weights, reach).sum()
        weights = reestimate_jumps(weights, JumpCounts(1e6 * taken, 1e6 * chance))
    np.testing.assert_allclose(by_distance(weights, reach), taken / 6, atol=1e-3)


def test_digamma():
    for x in (1e-3, 0.1, 1.0, 3.7, 6.0, 50.0, 1e6):
        assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("from_source", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_translation_table_and_divergence(from_source, alpha):
    lexicon, _ = build_lexicon(Bitext.from_pairs([(["a", "b"], ["x", "y", "z"]), (["b"], ["w", "x"])]))
    given = lexicon.source() if from_source else lexicon.target
    counts = np.random.default_rng(0).gamma(1.0, size=lexicon.target.size + N_MISSING).astype(np.float32)
    table = np.zeros_like(counts)
    log_prior = reestimate(lexicon, counts, from_source, alpha, 0.0, table)
    divergence = 0.0
    for word in np.unique(given):
        c = counts[:-N_MISSING][given == word].astype(np.float64)
        if alpha == 0:
            expected = c / c.sum()
        else:
            a = alpha + c
            expected = np.exp(special.digamma(a) - special.digamma(a.sum()))
            divergence += special.gammaln(a.sum()) - special.gammaln(alpha * c.size)
            divergence += (special.gammaln(alpha) - special.gammaln(a) + c * np.log(expected)).sum()
        np.testing.assert_allclose(table[:-N_MISSING][given == word], expected, rtol=1e-5)
    assert log_prior == pytest.approx(-divergence, rel=1e-6)


def test_null_table():
    table, log_prior = reestimate_null(np.array([3.0, 1.0, 0.0]), 0.5)
    np.testing.assert_allclose(table, np.array([3.5, 1.5, 0.5]) / 5.5)
    assert log_prior == pytest.approx(0.5 * np.log(table).sum())
