"""Segmentations: codes, costs, k best and probabilities of segments against the enumeration of all."""

import numpy as np
import pytest

from brute import STRUCTURES, score_of, segments
from structlearn.structures import Chain, Segments

NAMES = [name for name in STRUCTURES if name.startswith("segments")]
each_family = pytest.mark.parametrize("family", [STRUCTURES[name] for name in NAMES], ids=NAMES)
SCALES = [0.0, 1.0, 1e3, 1e14]


def random_scores(family, shape, scale, seed=0):
    return scale * np.random.default_rng(seed).normal(size=family.part_shape(shape))


def distribution(theta, vertices):
    scores = score_of(theta, vertices)
    p = np.exp(scores - scores.max())
    return p / p.sum()


def states(y, shape, n_labels):
    found = np.full(shape[0], n_labels)
    for start, end, label in y:
        found[start:end] = label
    return found


def test_the_enumeration_has_the_known_size():
    """Of n tokens in segments of 1 or 2 tokens, or gaps: a(n) = (K + 1) a(n - 1) + K a(n - 2)."""
    sizes = [len(segments(2, 2, [n]).outputs((n, 7))) for n in range(1, 6)]
    assert sizes == [3, 11, 39, 139, 495]


# ---- marginals --------------------------------------------------------------------------------------------


@each_family
@pytest.mark.parametrize("scale", SCALES)
def test_marginals_are_those_of_all_segmentations(family, scale):
    for seed, shape in enumerate(family.shapes * 4):
        vertices = family.vertices(shape)
        theta = random_scores(family, shape, scale, seed)
        p, scores = distribution(theta, vertices), score_of(theta, vertices)
        mean, log_z = family.structure.marginals(theta)
        expected = scores.max() + np.log(np.exp(scores - scores.max()).sum())
        assert log_z == pytest.approx(expected, rel=1e-13, abs=1e-10)
        np.testing.assert_allclose(mean, p @ vertices, atol=1e-9)


@each_family
def test_marginals_with_forbidden_parts(family):
    """Whatever is forbidden, a token, a length, a boundary, has no probability, and nothing is poisoned."""
    rng = np.random.default_rng(0)
    for trial in range(200):
        shape = family.shapes[trial % len(family.shapes)]
        vertices = family.vertices(shape)
        theta = rng.normal(size=family.part_shape(shape))
        theta[rng.random(theta.size) < 0.3] = -np.inf
        if score_of(theta, vertices).max() == -np.inf:
            for answer in (family.structure.marginals, family.structure.probabilities):
                with pytest.raises(ValueError, match="no output is allowed"):
                    answer(theta)
            continue
        mean, log_z = family.structure.marginals(theta)
        scores = score_of(theta, vertices)
        assert log_z == pytest.approx(np.log(np.exp(scores).sum()))
        np.testing.assert_allclose(mean, distribution(theta, vertices) @ vertices, atol=1e-12)
        assert (mean[theta == -np.inf] == 0).all()


@each_family
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_probabilities_of_segments_are_the_shares_of_segmentations_that_have_them(family, scale):
    for seed, shape in enumerate(family.shapes):
        theta = random_scores(family, shape, scale, seed)
        found = family.structure.probabilities(theta)
        expected = np.zeros_like(found)
        for p, y in zip(distribution(theta, family.vertices(shape)), family.outputs(shape)):
            for start, end, label in y:
                expected[start, end - start - 1, label] += p
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_segments_of_one_token_are_a_chain():
    """With max_length 1 and no score for lengths, edges and gaps, forward-backward is that of a chain."""
    chain, structure = Chain(3, start=True, end=True), Segments(3, 1, gaps=False, start=True, end=True)
    rng = np.random.default_rng(0)
    unary, ends = rng.normal(size=(40, 3)), rng.normal(size=(2, 3))
    steps = rng.normal(size=(3, 3))
    theta = np.zeros(40 * structure.n_columns + structure.n_shared)
    tables = structure.tables(theta)
    tables["token"][:], tables["transitions"][:], tables["start"][:], tables["end"][:] = unary, steps, *ends
    mean, log_z = structure.marginals(theta)
    expected, same = chain.marginals(chain.parts(unary, steps, *ends))
    assert log_z == pytest.approx(same)
    np.testing.assert_allclose(structure.tables(mean)["token"], chain.tables(expected)["unary"])
    np.testing.assert_allclose(structure.tables(mean)["transitions"], chain.tables(expected)["transitions"])
    best = structure.decode(structure.maximize(theta))
    np.testing.assert_array_equal(best[:, 2], chain.decode(chain.maximize(chain.parts(unary, steps, *ends))))


# ---- the k best -------------------------------------------------------------------------------------------


@each_family
@pytest.mark.parametrize("ties", [False, True])
def test_the_k_best_are_those_of_the_enumeration(family, ties):
    rng = np.random.default_rng(0)
    for shape in family.shapes:
        theta = rng.normal(size=family.part_shape(shape))
        theta = np.rint(theta) if ties else theta
        vertices = family.vertices(shape)
        scores = np.sort(score_of(theta, vertices))[::-1]
        for k in (1, 4, len(vertices) + 3):
            found, own = family.structure.k_best(theta, k)
            np.testing.assert_allclose(own, scores[:k], atol=1e-12)
            np.testing.assert_allclose([family.write(y, shape) @ theta for y in found], own, atol=1e-12)
            np.testing.assert_allclose([family.structure.score(theta, y) for y in found], own, atol=1e-12)
            assert len({y.tobytes() for y in found}) == len(found)


def test_the_k_best_leave_out_what_is_forbidden():
    structure = Segments(1, 2)
    theta = np.zeros(2 * structure.n_columns + structure.n_shared)
    structure.tables(theta)["lengths"][1] = -np.inf
    found, _ = structure.k_best(theta, 100)
    assert sorted(y.tolist() for y in found) == [
        [],
        [[0, 1, 0]],
        [[0, 1, 0], [1, 2, 0]],
        [[1, 2, 0]],
    ]
    structure.tables(theta)["token"][0] = -np.inf
    with pytest.raises(ValueError, match="no output is allowed"):
        structure.k_best(theta, 1)
    with pytest.raises(ValueError, match="k must be at least 1"):
        structure.k_best(theta, 0)


# ---- costs ------------------------------------------------------------------------------------------------

BY_PAIR = np.array([[0, 1, 2], [4, 0, 5], [7, 8, 0.0]])


@each_family
@pytest.mark.parametrize("weights", [None, "by state", "by pair"])
@pytest.mark.parametrize("options", [{}, {"normalized": False}, {"nodes": True}], ids=str)
def test_the_cost_counts_tokens_in_wrong_states(family, weights, options):
    structure = family.structure
    n = structure.n_states
    table = {None: 1 - np.eye(n), "by state": (1 - np.eye(n)) * BY_PAIR[:n, :1]}.get(weights, BY_PAIR[:n, :n])
    given = {None: None, "by state": BY_PAIR[:n, 0]}.get(weights, BY_PAIR[:n, :n])
    mus, costs, shapes, nodes = [], [], [], []
    for shape in family.shapes:
        outputs = family.outputs(shape)
        own = np.arange(1.0, shape[0] + 1)
        gold = outputs[len(outputs) // 2]
        mu = family.write(gold, shape)
        more = {"nodes": own} if "nodes" in options else options
        cost = structure.cost(mu, weights=given, **more)
        for y in outputs:
            pairs = zip(states(gold, shape, n - 1), states(y, shape, n - 1))
            wrong = np.array([table[a, b] for a, b in pairs]) * (own if "nodes" in options else 1.0)
            expected = wrong.sum() / (shape[0] if options.get("normalized", True) else 1)
            assert cost @ (family.write(y, shape) - mu) == pytest.approx(expected)
        mus.append(gold)
        costs.append(cost[: structure.n_local(shape)])
        shapes.append(shape)
        nodes.append(own)
    more = {"nodes": nodes} if "nodes" in options else options
    gold = structure.encode_many(mus, np.array(shapes))
    together = structure.cost_many(gold, np.array(shapes), weights=given, **more)
    np.testing.assert_allclose(together, np.concatenate(costs))


# ---- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([(0, 1, 0), (3, 5, 0)], r"Output 0 has the span \(3, 5\), outside its 4 tokens"),
        ([(-1, 1, 0)], r"the span \(-1, 1\), outside its 4 tokens"),
        ([(2, 2, 0)], r"the span \(2, 2\), which has no token"),
        ([(0, 2, 0), (1, 3, 1)], r"the span \(1, 3\), which begins before 2, where the one before it ends"),
        ([(2, 3, 0), (0, 1, 1)], r"the span \(0, 1\), which begins before 3"),
        ([(0, 1, 2)], "whose label 2 is outside 0 .. 1"),
        ([(0, 3, 1)], r"the span \(0, 3\), of 3 tokens; the longest allowed has 2"),
        ([(0, 1)], r"a list of \(start, end, label\)"),
        ([(0.0, 1.0, 0.5)], "integers"),
    ],
)
def test_spans_that_cannot_be_are_refused(y, sentence):
    structure = Segments(2, 2)
    with pytest.raises(ValueError, match=sentence):
        structure.encode(y, (4, structure.n_columns))


def test_gaps_are_refused_where_there_are_none():
    structure = Segments(2, 2, gaps=False)
    with pytest.raises(ValueError, match="Output 1 has a gap at token 1; without gaps"):
        structure.encode_many([[(0, 2, 0)], [(0, 1, 0), (2, 3, 1)]], np.array([[2, 6], [3, 6]]))


def test_without_a_shape_the_sequence_ends_with_its_last_span():
    structure = Segments(2, 3)
    mu = structure.encode([(1, 3, 1)])
    assert structure.shape(mu) == (3, structure.n_columns)
    np.testing.assert_array_equal(structure.decode(mu), [[1, 3, 1]])


def test_segments_have_labels_and_tokens():
    with pytest.raises(ValueError, match="at least 1 label"):
        Segments(0, 2)
    with pytest.raises(ValueError, match="at least 1 token; got max_length=0"):
        Segments(2, 0)
    with pytest.raises(ValueError, match=r"L \* 7 \+ 13 parts"):
        Segments(2, 2).maximize(np.zeros(12))


def test_a_gap_that_is_not_allowed_has_no_score():
    structure = Segments(1, 2, gaps=False)
    theta = np.zeros(2 * structure.n_columns + structure.n_shared)
    assert structure.score(theta, [(0, 2, 0)]) == 0.0
    assert structure.score(theta, [(0, 1, 0)]) == -np.inf
    assert structure.log_partition(theta) == pytest.approx(np.log(2))
