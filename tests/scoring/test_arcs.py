"""Arc features against symbolic ones, written out; scores, pull-backs and products against the features."""

from itertools import product

import numpy as np
import pytest

from structlearn.core.contract import add_pullback, gram, score, score_subset, scoring_workspace, squared_norm
from structlearn.scoring import ArcScoring
from structlearn.scoring.arcs.templates import columns_of_templates, compile_templates

TEMPLATES = ["", "h.a", "m.b", "h.a m.b", "h-1.b m+2.a", "h.b b.b m.a", "b.b"]
COLUMNS = ["a", "b"]
LENGTHS = [4, 1, 3]


def words(seed=0):
    """Codes 1 .. 3 in two columns, so that many words look alike."""
    return np.random.default_rng(seed).integers(1, 4, size=(sum(LENGTHS), len(COLUMNS))).astype(np.uint64)


def scoring(bits=24, templates=TEMPLATES):
    return ArcScoring(words(), LENGTHS, compile_templates(templates, COLUMNS), bits)


def symbolic(sentence, h, m):
    """The features of an arc in words: template, what its atoms read, with and without the bucket."""

    def read(p, column):
        inside = 0 < p <= len(sentence)
        return int(sentence[p - 1][column]) if inside else "root" if p == 0 else "edge"

    low, high = sorted((h, m))
    between = {read(p, 1) for p in range(low + 1, high)}
    values = [
        [()],
        [(read(h, 0),)],
        [(read(m, 1),)],
        [(read(h, 0), read(m, 1))],
        [(read(h - 1, 1), read(m + 2, 0))],
        [(read(h, 1), tag, read(m, 0)) for tag in between],
        [(tag,) for tag in between],
    ]
    length = high - low
    bucket = (h < m, length if length <= 5 else 6 if length <= 10 else 7)
    plain = [(t, value) for t, found in enumerate(values) for value in found]
    return [*plain, *((*one, bucket) for one in plain)]


def all_arcs(n):
    return [(h, m) for h, m in product(range(n + 1), range(1, n + 1)) if h != m]


def places_of(scored):
    """{(sentence, h, m): places in w}, by asking for one arc after the other."""
    record = scored.record
    found = {}
    for i, n in enumerate(LENGTHS):
        for h, m in all_arcs(n):
            delta = np.zeros((n + 1, n))
            delta[h, m - 1] = 1.0
            out = np.zeros(scored.n_weights)
            add_pullback(record, i, delta.ravel(), 1.0, out, scoring_workspace(record))
            found[i, h, m] = out
    return found


def test_places_and_symbolic_features_are_the_same_up_to_names():
    found, seen = places_of(scoring(20)), {}
    first = np.concatenate([[0], np.cumsum(LENGTHS)])
    for (i, h, m), out in found.items():
        expected = symbolic(words()[first[i] : first[i + 1]], h, m)
        assert out.sum() == len(expected)
        seen[i, h, m] = set(expected), set(np.flatnonzero(out).tolist())
        assert len(seen[i, h, m][1]) == len(expected)
    for (names, places), (other_names, other_places) in product(seen.values(), seen.values()):
        assert len(names & other_names) == len(places & other_places)


def test_long_arcs_share_buckets():
    one = np.ones((14, 1), dtype=np.uint64)
    scored = ArcScoring(one, [14], compile_templates([""], ["a"]), 8)
    theta = scored.scores(np.random.default_rng(0).normal(size=256), 0, 1).reshape(15, 14)
    assert len(set(theta[0])) == 7  # to the right: 1, 2, 3, 4, 5, 6 to 10, more
    assert theta[0, 5] == theta[0, 9] == theta[2, 9]
    assert theta[0, 10] == theta[0, 13] != theta[0, 9]
    assert theta[14, 0] == theta[13, 1] != theta[0, 13]


@pytest.mark.parametrize("bits", [5, 18])
def test_all_questions_agree_with_dense_features(bits):
    """Also where features collide, some within one arc."""
    scored, rng = scoring(bits), np.random.default_rng(1)
    record, found = scored.record, places_of(scored)
    work, w = scoring_workspace(record), rng.normal(size=scored.n_weights)
    for i, n in enumerate(LENGTHS):
        Phi = np.zeros(((n + 1) * n, scored.n_weights))
        for h, m in all_arcs(n):
            Phi[h * n + m - 1] = found[i, h, m]
        theta = np.empty(len(Phi))
        score(record, i, w, work, theta)
        np.testing.assert_allclose(theta, Phi @ w, atol=1e-12)
        np.testing.assert_allclose(scored.scores(w, i, i + 1), Phi @ w, atol=1e-12)
        delta = rng.normal(size=len(Phi)) * (rng.random(len(Phi)) < 0.5)
        assert squared_norm(record, i, delta, work) == pytest.approx(np.sum((delta @ Phi) ** 2))
        out = np.zeros(scored.n_weights)
        scored.pullback(delta, i, i + 1, out)
        np.testing.assert_allclose(out, delta @ Phi, atol=1e-12)
        wanted = rng.random(len(Phi)) < 0.5
        some, products = np.full(len(Phi), 7.0), np.full(len(Phi), 7.0)
        score_subset(record, i, w, wanted, work, some)
        gram(record, i, delta, wanted, work, products)
        np.testing.assert_allclose(some[wanted], theta[wanted], atol=1e-12)
        np.testing.assert_allclose(products[wanted], (Phi @ (Phi.T @ delta))[wanted], atol=1e-12)
        np.testing.assert_allclose(scored.part_norms(i, i + 1), np.linalg.norm(Phi, axis=1))
        assert not work.weights.any()


def test_features_of_given_arcs_are_those_that_score_them():
    scored, rng = scoring(12), np.random.default_rng(2)
    heads = np.concatenate([[0, 1, 4, 2], [0], [2, 0, 1]])
    w = rng.normal(size=scored.n_weights)
    rows = scored.features_of(heads) @ w
    theta = [
        scored.scores(w, i, i + 1).reshape(n + 1, n)[heads[a : a + n], np.arange(n)]
        for i, (n, a) in enumerate(zip(LENGTHS, [0, 4, 5]))
    ]
    np.testing.assert_allclose(rows, np.concatenate(theta), rtol=1e-6)


def test_columns_are_found_and_what_is_no_template_is_refused():
    assert columns_of_templates(["h.form m.upos", "", "b.upos m+1.lower"]) == ["form", "upos", "lower"]
    for wrong in ("h", "x.form", "h.form+1", "b+1.upos", "h+0.form"):
        with pytest.raises(ValueError, match="is not an atom of a template"):
            compile_templates([wrong], ["form", "upos"])
    with pytest.raises(ValueError, match="read one column"):
        compile_templates(["b.a", "b.b"], COLUMNS)
    with pytest.raises(ValueError, match="at least one template"):
        compile_templates([], COLUMNS)
