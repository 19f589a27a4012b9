"""Trees against all trees of up to four words, written out in `brute`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from brute import score_of, trees
from structlearn.structures import NonProjectiveTree, ProjectiveTree

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
    nearest = make(single).project(theta).ravel()
    gradient = theta.ravel() - nearest
    assert ((all_trees - nearest) @ gradient).max() <= 1e-8 * (1 + np.abs(theta).max())
    np.testing.assert_allclose(nearest.reshape(theta.shape).sum(axis=0), 1.0, atol=1e-9)


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
        ([0.0, 1.0], "one integer a word"),
        ([], "one integer a word"),
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
