"""Model 1, the HMM and the M-step against enumeration and formulas in plain Python."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from structlearn.alignment.statistics.cooccurrence import build_lexicon
from structlearn.alignment.statistics.expectation import DirectionRecord, expect
from structlearn.alignment.statistics.jumps import (
    WIDEST,
    JumpCounts,
    Jumps,
    carry_weights,
    no_counts,
    reestimate_jumps,
    shared_jumps,
    uniform_jumps,
    without_jumps,
)
from structlearn.alignment.statistics.lexicon import N_MISSING, locate
from structlearn.alignment.statistics.relations import N_FREQUENCY, N_LIKENESS, lifts, relate
from structlearn.alignment.statistics.translation import Priors, reestimate, reestimate_null
from structlearn.alignment.text.bitext import Bitext

P0 = 0.3
NULL = -1


def random_pair(m, n, seed):
    """A pair of m and n different words with random tables; the entry of cell (i, j) is i * n + j.

    Each direction has four classes of jumps: two of words, one of other words, one of the beginning.
    """
    rng = np.random.default_rng(seed)
    bitext = Bitext.from_pairs([([f"e{i}" for i in range(m)], [f"f{j}" for j in range(n)])])
    records = [
        DirectionRecord(
            rng.random(m * n + N_MISSING).astype(np.float32), rng.random(k + 1), P0, random_jumps(given, rng)
        )
        for k, given in ((n, m), (m, n))
    ]
    return bitext, np.arange(m * n, dtype=np.int32), records


def random_jumps(n_words, rng):
    weights, visits = rng.random((4, 2 * WIDEST + 1)) + 0.05, rng.random(4) + 0.05
    return Jumps(weights, visits, rng.integers(0, 3, size=n_words + 1).astype(np.int32))


def model1_probability(emission, null, alignment):
    S = emission.shape[1]
    factors = [P0 * null[l] if i == NULL else (1 - P0) / S * emission[l, i] for l, i in enumerate(alignment)]
    return np.prod(factors)


def hmm_probability(jumps, given, emission, null, alignment):
    """Of an alignment by the words that are given; the end is position S."""
    S = emission.shape[1]

    def weight(previous, i):
        of = jumps.classes[given[previous]] if previous >= 0 else 3
        to = jumps.visits[jumps.classes[given[i]]] if i < S else 1.0
        return jumps.weights[of, WIDEST + i - previous] * to

    value, previous = 1.0, -1
    for l, i in enumerate([*alignment, S]):
        if i == NULL:
            value *= P0 * null[l]
        else:
            Z = sum(weight(previous, k) for k in range(S + 1))
            value *= (1 - P0) * weight(previous, i) / Z * (emission[l, i] if i < S else 1.0)
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
    bitext, entry, records = random_pair(m, n, seed=m)
    if not hmm:
        records = [record._replace(jumps=without_jumps(record.jumps)) for record in records]
    forward, reverse = expect(bitext.record, entry, records[0], records[1], 0, 1)
    tables = [record.translation[:-N_MISSING].astype(np.float64).reshape(m, n) for record in records]
    for found, emission, record, words, given in (
        (forward, tables[0].T, records[0], bitext.target.tokens, bitext.source.tokens),
        (reverse, tables[1], records[1], bitext.source.tokens, bitext.target.tokens),
    ):
        probability = partial(hmm_probability, record.jumps, given) if hmm else model1_probability
        links, nulls, log_likelihood = enumerate_posteriors(probability, emission, record.null[words])
        shaped = found.link.reshape(m, n)
        np.testing.assert_allclose(shaped.T if found is forward else shaped, links, atol=1e-6)
        np.testing.assert_allclose(found.null, nulls, atol=1e-6)
        assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-10)


def test_expected_jumps_are_derivatives_of_the_log_likelihood():
    """d log p / d log w = taken - w chance, for the weights of distances and for visits."""
    bitext, entry, records = random_pair(3, 4, seed=5)

    def run(**changed):
        record = records[0]._replace(jumps=records[0].jumps._replace(**changed))
        return expect(bitext.record, entry, record, records[1], 0, 1)[0]

    found, jumps = run().jumps, records[0].jumps
    for name, value, taken, chance in (
        ("weights", jumps.weights, found.taken, found.chance),
        ("visits", jumps.visits, found.visits, found.visit_chance),
    ):
        gradient, step = taken - value * chance, 1e-5
        assert np.abs(gradient).max() > 0.05
        for place in np.ndindex(value.shape):
            up, down = value.copy(), value.copy()
            up[place] *= np.exp(step)
            down[place] *= np.exp(-step)
            slope = (run(**{name: up}).log_likelihood - run(**{name: down}).log_likelihood) / (2 * step)
            assert gradient[place] == pytest.approx(slope, abs=1e-6)


def test_jumps_that_are_always_possible_get_their_frequencies():
    """Of each class if there is much of it, and those of all where there is little."""
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.ones(2 * WIDEST + 1), size=3)
    taken = np.array([1e7, 1e7, 0.1])[:, None] * true
    jumps = uniform_jumps(np.array([9, 0]), 1)
    for _ in range(300):
        share = taken.sum(axis=1) / jumps.weights.sum(axis=1)
        chance = np.repeat(share[:, None], 2 * WIDEST + 1, axis=1)
        jumps = reestimate_jumps(jumps, JumpCounts(taken, chance, np.zeros(3), np.zeros(3)), 10.0, 0.0)
    found = jumps.weights / jumps.weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found[:2], true[:2], atol=1e-3)
    np.testing.assert_allclose(found[2], true[:2].mean(axis=0), atol=2e-2)
    alike = reestimate_jumps(jumps, JumpCounts(taken, chance, np.zeros(3), np.zeros(3)), 0.0, 0.0)
    assert np.ptp(alike.weights, axis=0).max() == 0.0


def test_words_that_generate_nothing_are_seldom_visited():
    jumps = shared_jumps(np.ones(2 * WIDEST + 1), 1)._replace(visits=np.ones(2))
    counts = no_counts(jumps)
    counts.visits[:], counts.visit_chance[:] = [1000.0, 3000.0], [2000.0, 2000.0]
    strong, weak = (reestimate_jumps(jumps, counts, 0.0, strength).visits for strength in (1e9, 1e-9))
    np.testing.assert_allclose(strong, 1.0, atol=1e-4)
    np.testing.assert_allclose(weak, [0.5, 1.5], rtol=1e-6)


def test_frequent_words_have_jumps_of_their_own():
    jumps = uniform_jumps(np.array([3, 9, 1, 7, 0]), 2)
    assert jumps.classes.tolist() == [2, 0, 2, 1, 2]
    assert jumps.weights.shape == (4, 2 * WIDEST + 1)


def test_jumps_are_carried_to_more_words():
    """By the word, whatever its class: one that was not there before is like the other words."""
    old = random_jumps(3, np.random.default_rng(0))._replace(classes=np.array([0, 2, 1, 2], dtype=np.int32))
    new = carry_weights(old, uniform_jumps(np.array([5, 8, 1, 9, 2, 0]), 4))
    assert new.classes.tolist() == [2, 1, 4, 0, 3, 4]
    np.testing.assert_array_equal(new.visits, old.visits[[2, 2, 0, 2, 2, 3]])
    np.testing.assert_array_equal(new.weights[2], old.weights[0])


PAIRS = [
    (["walks", "walked", "."], ["marche", "marchait", "."]),
    (["walked", "dog"], ["chien", "marchait"]),
    (["dog", ".", "."], ["chien", "."]),
]


@pytest.fixture(scope="module")
def related():
    bitext = Bitext.from_pairs(PAIRS)
    lexicon = build_lexicon(bitext)
    return bitext, lexicon, relate(bitext, lexicon, [(bitext, locate(lexicon, bitext))])


def words_of(bitext, lexicon):
    return [
        (bitext.source_words.words[e], bitext.target_words.words[f])
        for e, f in zip(lexicon.source(), lexicon.target)
    ]


def expected_links(lexicon, seed=0):
    return np.random.default_rng(seed).gamma(1.0, size=lexicon.target.size + N_MISSING).astype(np.float32)


def text_counts(k):
    tokens = [word for pair in PAIRS for word in pair[k]]
    return {word: tokens.count(word) for word in tokens}


@pytest.mark.parametrize("from_source", [True, False])
def test_translation_table_is_the_formula(related, from_source):
    """Counts without the place itself, backed off to beginnings and to the lift of the kind."""
    bitext, lexicon, relations = related
    counts, priors = expected_links(lexicon), Priors(5.0, 3.0, 0.4, 1.0, 0.0)
    table = np.zeros_like(counts)
    reestimate(lexicon, relations, counts, from_source, priors, table)
    by_kind = np.bincount(relations.kind, counts[:-N_MISSING], relations.chance.shape[1])
    lift = lifts(by_kind, relations.chance[0 if from_source else 1])
    c = dict(zip(words_of(bitext, lexicon), map(float, counts)))
    generated, given = (1, 0) if from_source else (0, 1)
    n, n_given = text_counts(generated), text_counts(given)
    for k, pair in enumerate(words_of(bitext, lexicon)):
        f, e = pair[generated], pair[given]
        cells = sum(x.count(pair[0]) * y.count(pair[1]) for x, y in PAIRS)
        alike = [other for other in c if other != pair and other[given][:4] == e[:4]]
        T, C = (
            sum(c[other] for other in some)
            for some in (alike, [other for other in alike if other[generated][:4] == f[:4]])
        )
        begins_so = sum(n[word] for word in n if word[:4] == f[:4])
        q0 = begins_so / sum(n.values()) * lift[relations.kind[k]]
        q = n[f] / begins_so * (C + 3.0 * q0) / (T + 3.0)
        total = sum(c[other] for other in c if other[given] == e) * (1 - 1 / n_given[e])
        x = c[pair] * (1 - 1 / cells)
        assert table[k] == pytest.approx((x * x / (x + 0.4) + 5.0 * q) / (total + 5.0), rel=1e-4)


@pytest.mark.parametrize("from_source", [True, False])
def test_without_a_prior_it_is_maximum_likelihood(related, from_source):
    _, lexicon, relations = related
    counts = expected_links(lexicon)
    table = np.zeros_like(counts)
    reestimate(lexicon, relations, counts, from_source, Priors(0.0, 0.0, 0.0, 0.0, 0.0), table)
    given = lexicon.source() if from_source else lexicon.target
    c = counts[:-N_MISSING]
    np.testing.assert_allclose(table[:-N_MISSING], c / np.bincount(given, c)[given], rtol=1e-5)


def test_lifts_are_links_over_those_by_chance():
    """Where likeness and frequency are independent the product of both is exact."""
    rng = np.random.default_rng(0)
    by_likeness, by_frequency = rng.random(N_LIKENESS), rng.random(N_FREQUENCY**2)
    chance = 1e6 * np.outer(rng.random(N_LIKENESS), rng.random(N_FREQUENCY**2))
    true = np.outer(by_likeness, by_frequency)
    found = lifts((true * chance).ravel(), chance.ravel()).reshape(true.shape)
    ratio = found / true
    assert np.ptp(ratio, axis=0).max() < 1.0  # one factor for all: who is alike does not depend on frequency
    flat = lifts(chance.ravel(), chance.ravel())
    np.testing.assert_allclose(flat, 1.0, rtol=1e-12)


def test_kinds_and_chance(related):
    bitext, lexicon, relations = related
    kind = dict(zip(words_of(bitext, lexicon), relations.kind // N_FREQUENCY**2))
    assert kind[".", "."] == 13  # marks that are the same
    assert kind[".", "chien"] == 17
    assert kind["dog", "marchait"] == 12  # a short word
    assert kind["walks", "marche"] == 1  # "a" of six letters
    assert relations.chance[0].sum() == pytest.approx(sum(len(y) for _, y in PAIRS))
    assert relations.chance[1].sum() == pytest.approx(sum(len(x) for x, _ in PAIRS))
    assert relations.cells.sum() == sum(len(x) * len(y) for x, y in PAIRS)


def test_null_table(related):
    words = related[2].target
    counts = np.arange(len(words.counts), dtype=float)
    np.testing.assert_allclose(reestimate_null(counts, words, 0.0)[:-1], counts / counts.sum())
    strong = reestimate_null(counts, words, 1e9)[:-1]
    frequency = np.log2(words.counts).astype(int)
    for one in np.unique(frequency):  # words of one frequency alike
        assert np.ptp((strong / words.share)[frequency == one]) < 1e-6
