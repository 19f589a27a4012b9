"""Trees against all trees of up to four words, written out in `brute`."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from brute import build, score_of, trees
from structlearn.core import contract
from structlearn.core.contract import marginals_workspace
from structlearn.solvers import ActiveBlocks, Stopping, solve
from structlearn.structures import LabelledTree, NonProjectiveTree, ProjectiveTree

KINDS = [
    pytest.param(make, single, id=f"{make.__name__}, {'single root' if single else 'several roots'}")
    for make in (ProjectiveTree, NonProjectiveTree)
    for single in (True, False)
]
each_kind = pytest.mark.parametrize(("make", "single"), KINDS)
ELEMENTS = [
    st.integers(-2, 2).map(float),
    st.floats(-3, 3, allow_subnormal=False),
    st.floats(-1e6, 1e6, allow_subnormal=False),
    st.sampled_from([-np.inf, -1.0, 0.0, 0.25, 2.0]),
    st.sampled_from([-np.inf, -1e6, -700.0, 0.0, 100.0, 1e3]),
]


@st.composite
def tables(draw, largest=4):
    n = draw(st.integers(1, largest))
    return draw(arrays(np.float64, (n + 1, n), elements=draw(st.sampled_from(ELEMENTS))))


def vertices(make, single, n):
    return trees(make(single), [n], projective=make is ProjectiveTree).vertices((n + 1, n))


COUNTS = {  # Kuhlmann and others: 1, 2, 7, 30 projective; Cayley: (n + 1)^(n - 1) and n^(n - 1)
    (ProjectiveTree, True): [1, 2, 7, 30],
    (ProjectiveTree, False): [1, 3, 12, 55],
    (NonProjectiveTree, True): [1, 2, 9, 64],
    (NonProjectiveTree, False): [1, 3, 16, 125],
}


@each_kind
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_log_z_of_zero_scores_counts_the_trees(make, single, n):
    expected = COUNTS[make, single][n - 1]
    assert len(vertices(make, single, n)) == expected
    assert np.exp(make(single).marginals(np.zeros((n + 1, n)))[1]) == pytest.approx(expected)


@each_kind
@settings(max_examples=150, deadline=None)
@given(tables())
def test_all_answers_agree_with_enumeration(make, single, theta):
    structure, all_trees = make(single), vertices(make, single, theta.shape[1])
    scores = score_of(theta, all_trees)
    if scores.max() == -np.inf:
        for ask in (structure.maximize, structure.marginals):
            with pytest.raises(ValueError, match="forbids every output"):
                ask(theta)
        return
    found = structure.maximize(theta).ravel()
    assert (found == all_trees).all(axis=1).any()
    assert score_of(theta, found[None])[0] == pytest.approx(scores.max(), rel=1e-12, abs=1e-12)
    marginals, log_z = structure.marginals(theta)
    shares = np.exp(scores - scores.max())
    assert log_z == pytest.approx(scores.max() + np.log(shares.sum()), rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(marginals.ravel(), shares @ all_trees / shares.sum(), atol=1e-9)
    assert marginals.min() >= 0
    assert marginals.max() <= 1


@each_kind
@settings(max_examples=40, deadline=None)
@given(theta=tables(largest=3))
def test_projections_are_nearest(make, single, theta):
    theta = np.clip(theta, -1e3, 1e3)
    all_trees = vertices(make, single, theta.shape[1])
    project = make(single).project(theta).ravel()
    gradient = theta.ravel() - project
    assert ((all_trees - project) @ gradient).max() <= 1e-8 * (1 + np.abs(theta).max())
    np.testing.assert_allclose(project.reshape(theta.shape).sum(axis=0), 1.0, atol=1e-9)


@pytest.mark.parametrize("single", [True, False])
def test_a_long_sentence_agrees_with_what_is_known(single):
    """Projective trees are trees; marginals of each word's heads add up to 1 at any scale."""
    rng = np.random.default_rng(0)
    for scale in (0.1, 10.0, 1e3, 1e6):
        theta = scale * rng.normal(size=(31, 30))
        rounding = 1e-9 + 1e-14 * scale  # of sums of 30 scores
        projective, free = ProjectiveTree(single), NonProjectiveTree(single)
        best = [float((theta * one.maximize(theta)).sum()) for one in (projective, free)]
        assert best[0] <= best[1] + 1e-9 * scale
        heads = projective.decode(projective.maximize(theta))
        projective.encode(heads)
        free.encode(free.decode(free.maximize(theta)))
        for structure in (projective, free):
            marginals, log_z = structure.marginals(theta)
            np.testing.assert_allclose(marginals.sum(axis=0), 1.0, atol=rounding)
            assert log_z >= float((theta * structure.maximize(theta)).sum()) - 1e-9 * scale
            if single:
                assert marginals[0].sum() == pytest.approx(1.0, abs=rounding)


@pytest.mark.parametrize("single", [True, False])
def test_plain_numbers_and_logarithms_have_the_same_answers(single):
    """Arcs of e^-600 weigh nothing beside the others, but plain numbers could underflow: without them not."""
    rng, n = np.random.default_rng(6), 9
    structure, theta = ProjectiveTree(single), rng.normal(size=(n + 1, n)) + 50.0 * rng.normal(size=n)
    rare = rng.random((n + 1, n)) < 0.3
    rare[0] = False
    plain, wide = np.where(rare, -np.inf, theta), np.where(rare, theta - 600.0, theta)
    found = {}
    for name, one in (("plain", plain), ("wide", wide)):
        work = marginals_workspace(structure.record, (n + 1, n))
        mean, flat = np.empty(one.size), one.ravel()
        log_z = contract.marginals(structure.record, (n + 1, n), flat, flat[:0], work, mean)
        h = contract.entropy(structure.record, (n + 1, n), flat, flat[:0], work, mean, log_z)
        found[name] = log_z, h, mean, structure.sample(one, 200, 0)
        assert (work.found[1] == 1.0) == (name == "plain")
    for one, other in zip(found["plain"], found["wide"]):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-11)
    assert 0 < found["plain"][1] <= found["wide"][1] + 1e-13


def test_heavy_cycles_do_not_hurt_the_matrix_tree_theorem():
    """Two words that prefer each other by e^60: the determinant would be a difference of equal numbers."""
    theta = np.array([[0.0, 1.0], [0.0, 60.0], [60.0, 0.0]])
    marginals, log_z = NonProjectiveTree().marginals(theta)
    assert log_z == pytest.approx(60 + np.log(1 + np.e), rel=1e-14)
    assert marginals[0, 1] == pytest.approx(np.e / (1 + np.e), rel=1e-12)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 1], "cycle through word"),
        ([0, 0], "both under the root"),
        ([3, 0], "Word 1 has head 3, which is not in 0 .. 2"),
        ([-1, 0], "Word 1 has head -1"),
        ([0.0, 1.0], "one integer per word"),
        ([], "one integer per word"),
    ],
)
@pytest.mark.parametrize("make", [ProjectiveTree, NonProjectiveTree])
def test_what_is_no_tree_is_refused(make, heads, message):
    with pytest.raises(ValueError, match=message):
        make().encode(np.array(heads))


def test_crossing_arcs_are_refused_by_projective_trees_only():
    crossing = np.array([3, 0, 2, 1])
    NonProjectiveTree().encode(crossing)
    with pytest.raises(ValueError, match=r"cross; use NonProjectiveTree"):
        ProjectiveTree().encode(crossing)


def test_costs_count_wrong_heads():
    structure = NonProjectiveTree()
    mu = structure.encode(np.array([0, 1, 2]))
    other = structure.encode(np.array([0, 1, 1]))
    assert np.sum(structure.cost(mu) * (other - mu)) == pytest.approx(1 / 3)
    assert np.sum(structure.cost(mu, normalized=False) * (other - mu)) == 1
    weighted = structure.cost(mu, nodes=[1.0, 1.0, 5.0], normalized=False)
    assert np.sum(weighted * (other - mu)) == 5
    with pytest.raises(ValueError, match="no labels to weigh"):
        structure.cost(mu, weights=[1.0])


def test_tables_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"an \(n \+ 1, n\) table"):
        ProjectiveTree().maximize(np.zeros((3, 3)))


def all_scores(theta, all_trees):
    return np.sort(score_of(theta, all_trees))[::-1]


@each_kind
@settings(max_examples=60, deadline=None)
@given(theta=tables(), k=st.integers(1, 12))
def test_the_k_best_are_the_k_best(make, single, theta, k):
    structure, n = make(single), theta.shape[1]
    expected = all_scores(theta, vertices(make, single, n))
    expected = expected[expected > -np.inf][:k]
    if not expected.size:
        with pytest.raises(ValueError, match="forbids every output"):
            structure.k_best(theta, k)
        return
    heads, scores = structure.k_best(theta, k)
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-9)
    assert len({tuple(one) for one in heads.tolist()}) == len(expected)
    for one, score in zip(heads, scores):
        structure.encode(one)
        assert theta[one, np.arange(n)].sum() == pytest.approx(score, rel=1e-12, abs=1e-9)


@each_kind
def test_samples_have_the_probabilities_of_their_trees(make, single):
    """Every tree of three words, one arc forbidden: frequencies within five standard errors."""
    rng, n_samples = np.random.default_rng(3), 4000
    theta = rng.normal(size=(4, 3))
    theta[1, 2] = -np.inf
    all_trees = vertices(make, single, 3)
    shares = np.exp(score_of(theta, all_trees))
    shares /= shares.sum()
    drawn = make(single).sample(theta, n_samples, 0)
    written = np.zeros((n_samples, 4, 3))
    written[np.arange(n_samples)[:, None], drawn, np.arange(3)] = 1.0
    counts = (written.reshape(n_samples, 1, -1) == all_trees[None]).all(axis=2).mean(axis=0)
    assert counts.sum() == pytest.approx(1.0)
    assert (np.abs(counts - shares) <= 5 * np.sqrt(shares * (1 - shares) / n_samples) + 1e-12).all()


@each_kind
def test_samples_of_forbidden_trees_are_refused(make, single):
    with pytest.raises(ValueError, match="forbids every output"):
        make(single).sample(np.full((3, 2), -np.inf), 1)
    with pytest.raises(ValueError, match="at least 0"):
        make(single).sample(np.zeros((3, 2)), -1)
    with pytest.raises(ValueError, match="at least 1"):
        make(single).k_best(np.zeros((3, 2)), 0)


def labelled_vertices(make, single, n, n_labels):
    """All trees with all labels of their arcs, as (n + 1, n, labels) tables."""
    found = []
    for tree in vertices(make, single, n):
        heads = np.argmax(tree.reshape(n + 1, n), axis=0)
        for labels in product(range(n_labels), repeat=n):
            table = np.zeros((n + 1, n, n_labels))
            table[heads, np.arange(n), labels] = 1.0
            found.append(table.ravel())
    return np.array(found)


@st.composite
def labelled_tables(draw):
    n = draw(st.integers(1, 3))
    return draw(arrays(np.float64, (n + 1, n, 2), elements=draw(st.sampled_from(ELEMENTS))))


@pytest.mark.parametrize(("make", "single"), [(ProjectiveTree, True), (NonProjectiveTree, False)])
@settings(max_examples=60, deadline=None)
@given(theta=labelled_tables())
def test_labelled_trees_agree_with_enumeration(make, single, theta):
    structure, all_trees = LabelledTree(make(single), 2), labelled_vertices(make, single, theta.shape[1], 2)
    scores = score_of(theta, all_trees)
    if scores.max() == -np.inf:
        with pytest.raises(ValueError, match="forbids every output"):
            structure.maximize(theta)
        return
    best = structure.maximize(theta)
    assert score_of(theta, best.reshape(1, -1))[0] == pytest.approx(scores.max(), rel=1e-12, abs=1e-12)
    np.testing.assert_array_equal(structure.encode(structure.decode(best)), best)
    marginals, log_z = structure.marginals(theta)
    shares = np.exp(scores - scores.max())
    assert log_z == pytest.approx(scores.max() + np.log(shares.sum()), rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(marginals.ravel(), shares @ all_trees / shares.sum(), atol=1e-9)
    found, values = structure.k_best(theta, 5)
    expected = all_scores(theta, all_trees)
    np.testing.assert_allclose(values, expected[expected > -np.inf][:5], rtol=1e-12, atol=1e-9)
    assert len({one.tobytes() for one in found}) == len(values)


def test_samples_of_labelled_trees():
    rng, structure = np.random.default_rng(5), LabelledTree(ProjectiveTree(), 2)
    theta = rng.normal(size=(4, 3, 2))
    drawn = structure.sample(theta, 3000, 1)
    mean = np.mean([structure.encode(one) for one in drawn], axis=0)
    np.testing.assert_allclose(mean, structure.marginals(theta).mean, atol=0.05)


def test_labelled_costs_count_wrong_arcs_and_labels():
    structure = LabelledTree(NonProjectiveTree(), 3)
    mu = structure.encode(np.array([[0, 1], [1, 2], [1, 0]]))
    other = structure.encode(np.array([[0, 1], [1, 0], [2, 0]]))
    assert np.sum(structure.cost(mu) * (other - mu)) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match=r"in 0 \.\. 2"):
        structure.encode(np.array([[0, 3]]))
    with pytest.raises(ValueError, match=r"an \(n, 2\) array"):
        structure.encode(np.array([0, 1]))
    with pytest.raises(ValueError, match=r"\(n \+ 1, n, 3\) table"):
        structure.maximize(np.zeros((3, 2, 2)))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), single=st.booleans())
def test_the_nearest_projective_tree_keeps_most_arcs(seed, single):
    rng = np.random.default_rng(seed)
    heads = NonProjectiveTree(single).decode(NonProjectiveTree(single).maximize(rng.normal(size=(5, 4))))
    structure = ProjectiveTree(single)
    near = structure.nearest_tree(heads)
    structure.encode(near)
    others = (np.argmax(one.reshape(5, 4), axis=0) for one in vertices(ProjectiveTree, single, 4))
    kept = [int((one == heads).sum()) for one in others]
    assert (near == heads).sum() == max(kept)


@pytest.mark.parametrize("make", [ProjectiveTree, NonProjectiveTree])
def test_training_on_trees_reaches_the_optimum(make):
    known = build(trees(make(), [3, 1, 2], projective=make is ProjectiveTree), n=4)
    solution = solve(known.objective, ActiveBlocks(), Stopping(tol=1e-7, max_passes=500), seed=0)
    assert solution.certificate.primal == pytest.approx(known.optimum(), abs=1e-6)
    assert known.objective.structure.most_entries((4, 3)) == 3


@pytest.mark.parametrize("scale", [1e10, 1e18, 1e20, 1e26, 1e200])
@pytest.mark.parametrize("single_root", [True, False])
def test_marginals_of_huge_scores_are_the_best_tree(scale, single_root):
    """From 2^53 on the powers of two that weights are written with are rounded themselves."""
    rng = np.random.default_rng(0)
    for n in [2, 3, 5] * 30:
        tree, theta = NonProjectiveTree(single_root=single_root), scale * rng.normal(size=(n + 1, n))
        means, log_z = tree.marginals(theta)
        assert log_z == pytest.approx(np.vdot(theta, tree.maximize(theta)), rel=1e-12)
        np.testing.assert_allclose(means.sum(axis=0), 1.0)
        assert np.vdot(theta, means) == pytest.approx(log_z, rel=1e-9)


@pytest.mark.parametrize("forbidden", [0.0, 0.2])
@pytest.mark.parametrize("single", [False, True])
def test_long_sentences_agree_with_the_determinant(single, forbidden):
    """log det of the Laplacian, with its first row replaced by the root's weights for a single root."""
    rng = np.random.default_rng(0)
    n = 25
    theta = rng.normal(size=(n + 1, n))
    theta[1:][(rng.random((n, n)) < forbidden) & ~np.eye(n, k=1, dtype=bool)] = -np.inf

    def log_z(theta):
        weights = np.exp(theta)
        weights[np.arange(1, n + 1), np.arange(n)] = 0.0
        laplacian = np.diag(weights[1:].sum(axis=0)) - weights[1:]
        if single:
            laplacian[0] = weights[0]
        else:
            laplacian += np.diag(weights[0])
        return np.linalg.slogdet(laplacian)[1]

    mean, found = NonProjectiveTree(single).marginals(theta)
    assert found == pytest.approx(log_z(theta), rel=1e-12)
    way, h = rng.normal(size=theta.shape), 1e-5
    slope = (log_z(theta + h * way) - log_z(theta - h * way)) / (2 * h)
    assert np.sum(mean * way) == pytest.approx(slope, abs=1e-7)
    np.testing.assert_allclose(mean.sum(axis=0), 1.0, rtol=1e-12)
