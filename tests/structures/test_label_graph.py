"""Label graphs against all 2^K labellings, which are written out here by `encode`."""

from itertools import combinations, product

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from local_polytope import LocalPolytope
from structlearn.core.contract import max_value, maximize, workspace
from structlearn.structures.labels.enumeration import EnumerationRecord, enumeration_record
from structlearn.structures.labels.label_graph import LabelGraph
from structlearn.structures.labels.label_tree import TreeRecord
from structlearn.structures.labels.roof import roof_record
from structlearn.structures.labels.set_search import SearchedSets

ELEMENTS = {
    "ties": st.integers(-2, 2).map(float),
    "large": st.floats(-1e3, 1e3, allow_subnormal=False),
    "masked": st.sampled_from([-np.inf, -1.0, 0.0, 0.25, 2.0]),
    "rarely masked": st.sampled_from([-np.inf, *np.linspace(-1e3, 1e3, 41)]),
}


@st.composite
def pairs_turned(draw, pairs):
    """The same pairs, in any order, each in any direction."""
    shuffled = draw(st.permutations(pairs))
    return [(b, a) if draw(st.booleans()) else (a, b) for a, b in shuffled]


@st.composite
def forests(draw):
    n_labels = draw(st.integers(1, 6))
    names = draw(st.permutations(range(n_labels)))
    parents = [draw(st.integers(-1, k - 1)) for k in range(n_labels)]
    pairs = [(names[k], names[parent]) for k, parent in enumerate(parents) if parent >= 0]
    return LabelGraph(n_labels, draw(pairs_turned(pairs)))


@st.composite
def graphs_with_cycles(draw):
    n_labels = draw(st.integers(3, 6))
    a, b, c = draw(st.permutations(range(n_labels)))[:3]
    cycle = {tuple(sorted(pair)) for pair in ((a, b), (b, c), (a, c))}
    others = sorted(set(combinations(range(n_labels), 2)) - cycle)
    chosen = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    return LabelGraph(n_labels, draw(pairs_turned(sorted(cycle) + chosen)))


@st.composite
def scored(draw, graphs):
    graph = draw(graphs)
    elements = ELEMENTS[draw(st.sampled_from(sorted(ELEMENTS)))]
    return graph, draw(arrays(np.float64, graph.n_labels + graph.n_shared, elements=elements))


def labellings(n_labels):
    return list(product((0, 1), repeat=n_labels))


def score_of(theta, vertex):
    used = vertex > 0  # -inf * 0 is NaN
    return float(theta[used] @ vertex[used])


def brute_maximum(graph, theta):
    return max(score_of(theta, graph.encode(y)) for y in labellings(graph.n_labels))


def relaxed(graph):
    """The maximum over the local polytope, by roof duality."""
    return roof_record(graph.n_labels, graph.edges)


def linear_program(graph, theta):
    """The same by HiGHS."""
    polytope, shape = LocalPolytope(graph.n_labels, graph.edges), graph.shape(theta)
    return polytope.maximize(shape, *graph.split(theta, shape), np.empty(theta.size))


def ask(graph, theta, record=None):
    """(vertex's value, vertex, peak's value), from used scratch memory."""
    record = graph.record if record is None else record
    shape = graph.shape(theta)
    local, shared = graph.split(theta, shape)
    work = workspace(record, shape)
    vertex = np.full(theta.size, np.nan)
    maximize(record, shape, np.ones_like(local), np.ones_like(shared), work, vertex)
    value = maximize(record, shape, local, shared, work, vertex)
    return value, vertex, max_value(record, shape, local, shared, work, vertex.copy())


def assert_maximal(graph, theta):
    value, vertex, top = ask(graph, theta)
    best = brute_maximum(graph, theta)
    assert value == pytest.approx(best, rel=1e-12, abs=1e-9)
    assert top == pytest.approx(best, rel=1e-12, abs=1e-9)
    np.testing.assert_array_equal(vertex, graph.encode(graph.decode(vertex)))
    assert score_of(theta, vertex) == pytest.approx(best, rel=1e-12, abs=1e-9)
    if best == -np.inf:
        with pytest.raises(ValueError, match="no output is allowed"):
            graph.maximize(theta)
    else:
        np.testing.assert_array_equal(graph.maximize(theta), vertex)


# ---- exact maximisation ----------------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(scored(forests()))
def test_a_forest_is_maximized_exactly(problem):
    graph, theta = problem
    assert graph.exact
    assert isinstance(graph.record, TreeRecord)
    assert_maximal(graph, theta)


@settings(deadline=None, max_examples=150)
@given(scored(graphs_with_cycles()))
def test_few_labels_are_enumerated(problem):
    graph, theta = problem
    assert graph.exact
    assert isinstance(graph.record, EnumerationRecord)
    assert_maximal(graph, theta)


@pytest.mark.parametrize("graph", [LabelGraph(1), LabelGraph(5, []), LabelGraph(6, "tree"), LabelGraph(9)])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_named_graphs_are_maximized_exactly(graph, scale):
    rng = np.random.default_rng(0)
    for _ in range(5):
        assert_maximal(graph, scale * rng.normal(size=graph.n_labels + graph.n_shared))


def test_a_long_tree_agrees_with_enumeration():
    graph = LabelGraph(14, "tree")
    record = enumeration_record(graph.n_labels, graph.edges)
    rng = np.random.default_rng(1)
    for _ in range(5):
        theta = rng.normal(size=graph.n_labels + graph.n_shared)
        value, vertex, _ = ask(graph, theta)
        enumerated, same_vertex, _ = ask(graph, theta, record)
        assert value == pytest.approx(enumerated)
        np.testing.assert_array_equal(vertex, same_vertex)


def test_the_largest_enumeration_finds_a_planted_labelling():
    graph = LabelGraph(15)
    assert isinstance(graph.record, EnumerationRecord)
    y = np.arange(15) % 3 == 1
    noise = 0.4 * np.random.default_rng(2).uniform(size=graph.n_labels + graph.n_shared)
    # A labelling that differs in one label loses at least 14 * (1 - 0.4) - 0.4 on its tables and its label.
    np.testing.assert_array_equal(graph.decode(graph.maximize(graph.encode(y) + noise)), y)


@numba.njit
def compiled_vertices(structure, shape, thetas, shared, vertices, values):
    work = workspace(structure, shape)
    for i in range(thetas.shape[0]):
        values[i, 0] = maximize(structure, shape, thetas[i], shared, work, vertices[i])
        values[i, 1] = max_value(structure, shape, thetas[i], shared, work, vertices[-1])


@pytest.mark.parametrize("graph", [LabelGraph(5, [[3, 0], [0, 1], [4, 2]]), LabelGraph(4)])
def test_a_compiled_loop_gives_what_python_gives(graph):
    rng = np.random.default_rng(3)
    thetas, shared = rng.normal(size=(7, graph.n_labels)), rng.normal(size=graph.n_shared)
    vertices, values = np.full((8, graph.n_labels + graph.n_shared), np.nan), np.empty((7, 2))
    compiled_vertices(graph.record, (1, graph.n_labels), thetas, shared, vertices, values)
    for theta, vertex, both in zip(thetas, vertices, values):
        value, expected, _ = ask(graph, np.concatenate((theta, shared)))
        np.testing.assert_array_equal(vertex, expected)
        assert both == pytest.approx(value)


def test_stacks_and_lists_of_scores():
    graph = LabelGraph(3)
    thetas = np.random.default_rng(4).normal(size=(4, 15))
    one_by_one = [graph.maximize(theta) for theta in thetas]
    np.testing.assert_array_equal(graph.maximize(thetas), one_by_one)
    np.testing.assert_array_equal(graph.maximize(list(thetas)), one_by_one)


# ---- the relaxation --------------------------------------------------------------------------------


def assert_in_local_polytope(graph, z):
    labels, tables = z[: graph.n_labels], z[graph.n_labels :].reshape(-1, 2, 2)
    assert ((z >= 0) & (z <= 1)).all()
    np.testing.assert_array_equal(tables.sum(axis=(1, 2)), 1.0)
    np.testing.assert_array_equal(tables[:, 1].sum(axis=1), labels[graph.edges[:, 0]])
    np.testing.assert_array_equal(tables[:, :, 1].sum(axis=1), labels[graph.edges[:, 1]])


def made_attractive(graph, theta):
    """Raise t00 until t00 + t11 >= t01 + t10 in every table."""
    theta = theta.copy()
    tables = theta[graph.n_labels :].reshape(-1, 4)
    tables[:, 0] += np.maximum(0.0, tables[:, 1] + tables[:, 2] - tables[:, 0] - tables[:, 3])
    return theta


@settings(deadline=None, max_examples=60)
@given(scored(graphs_with_cycles()))
def test_the_relaxation_bounds_the_maximum(problem):
    graph, theta = problem
    value, z, top = ask(graph, theta, relaxed(graph))
    best = brute_maximum(graph, theta)
    assert value == top
    assert value >= best - 1e-9 * max(1.0, abs(best))
    if value > -np.inf:
        assert_in_local_polytope(graph, z)
        assert score_of(theta, z) == pytest.approx(value)


@settings(deadline=None, max_examples=60)
@given(scored(graphs_with_cycles()))
def test_roof_duality_solves_the_linear_program(problem):
    graph, theta = problem
    value, _, _ = ask(graph, theta, relaxed(graph))
    expected = linear_program(graph, theta)
    scale = np.abs(theta[theta > -np.inf]).max(initial=1.0)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale)


@pytest.mark.parametrize("n_labels", [16, 40])
def test_roof_duality_solves_large_linear_programs(n_labels):
    rng = np.random.default_rng(n_labels)
    graph = LabelGraph(n_labels)
    for strength in (0.1, 1.0):
        theta = rng.normal(size=n_labels + graph.n_shared)
        theta[n_labels:] *= strength
        value, z, _ = ask(graph, theta, relaxed(graph))
        assert_in_local_polytope(graph, z)
        assert value == pytest.approx(linear_program(graph, theta), rel=1e-9)


@settings(deadline=None, max_examples=60)
@given(scored(graphs_with_cycles()))
def test_the_search_answers_with_label_sets_and_true_bounds(problem):
    graph, theta = problem
    theta = np.where(theta == -np.inf, -3e3, theta)
    value, vertex, bound = ask(graph, theta, SearchedSets(relaxed(graph)))
    np.testing.assert_array_equal(vertex, graph.encode(graph.decode(vertex)))
    assert value == pytest.approx(score_of(theta, vertex), rel=1e-12, abs=1e-9)
    best = brute_maximum(graph, theta)
    rounding = 1e-9 * np.abs(theta).max(initial=1.0)
    assert value <= best + rounding
    assert bound >= best - rounding


def test_the_search_finds_most_of_the_best_label_sets():
    """Of 16 labels, all sets of which can still be scored."""
    graph = LabelGraph(16)
    exactly = enumeration_record(graph.n_labels, graph.edges)
    rng = np.random.default_rng(7)
    share = []
    for _ in range(20):
        theta = rng.normal(size=graph.n_labels + graph.n_shared)
        theta[graph.n_labels :] *= 0.5
        best = ask(graph, theta, exactly)[0]
        found = score_of(theta, graph.labellings.maximize(theta))
        assert found <= best + 1e-9
        share.append(found >= best - 1e-9)
    assert np.mean(share) > 0.5
    assert graph.labellings.bounded
    assert graph.labellings.exact
    assert LabelGraph(5).labellings.record.__class__ is EnumerationRecord


@settings(deadline=None, max_examples=40)
@given(scored(graphs_with_cycles()))
def test_the_relaxation_is_tight_for_attractive_pairs(problem):
    graph, theta = problem
    theta = made_attractive(graph, np.where(theta == -np.inf, -5.0, theta))
    value, _, _ = ask(graph, theta, relaxed(graph))
    assert value == pytest.approx(brute_maximum(graph, theta))


def test_the_relaxation_can_be_fractional():
    graph = LabelGraph(3)
    apart = np.concatenate((np.zeros(3), np.tile([0.0, 1.0, 1.0, 0.0], 3)))  # no labelling parts all three
    value, z, _ = ask(graph, apart, relaxed(graph))
    assert brute_maximum(graph, apart) == 2.0
    assert value == pytest.approx(3.0)
    np.testing.assert_array_equal(z[:3], 0.5)


def test_many_labels_with_cycles_are_relaxed_and_say_so():
    graph = LabelGraph(16)
    assert graph.exact is False
    assert LabelGraph(15).exact is True
    assert LabelGraph(16, "tree").exact is True
    theta = np.random.default_rng(5).normal(size=graph.n_labels + graph.n_shared)
    exactly = enumeration_record(graph.n_labels, graph.edges)
    for scores in (theta, made_attractive(graph, theta)):
        z = graph.maximize(scores)
        assert_in_local_polytope(graph, z)
        assert score_of(scores, z) >= ask(graph, scores, exactly)[0] - 1e-9
    assert score_of(scores, z) == pytest.approx(ask(graph, scores, exactly)[0])


def test_the_relaxation_does_not_depend_on_the_scale():
    graph = LabelGraph(16)
    theta = np.random.default_rng(6).normal(size=graph.n_labels + graph.n_shared)
    best = score_of(theta, graph.maximize(theta))
    for scale in (1e-9, 1e9):
        assert score_of(theta, graph.maximize(scale * theta)) == pytest.approx(best)


def test_the_relaxation_refuses_where_nothing_is_allowed():
    theta = np.zeros(16 + 4 * 120)
    theta[16:20] = -np.inf
    with pytest.raises(ValueError, match="no output is allowed"):
        LabelGraph(16).maximize(theta)


# ---- parts and costs -------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(st.one_of(forests(), graphs_with_cycles()))
def test_encode_writes_the_labels_and_their_pairs(graph):
    assert graph.n_shared == 4 * len(graph.edges)
    for y in labellings(graph.n_labels):
        mu = graph.encode(np.array(y, dtype=bool))
        expected = list(map(float, y))
        for a, b in graph.edges:
            expected += [float((y[a], y[b]) == state) for state in ((0, 0), (0, 1), (1, 0), (1, 1))]
        assert mu.tolist() == expected
        assert graph.shape(mu) == (1, graph.n_labels)
        assert tuple(graph.decode(mu)) == y
        assert graph.decode(mu).dtype == np.int64


@settings(deadline=None, max_examples=50)
@given(graphs_with_cycles(), st.data())
def test_the_cost_is_hamming(graph, data):
    weights = data.draw(arrays(np.float64, graph.n_labels, elements=st.floats(0, 9)))
    nodes = data.draw(arrays(np.float64, graph.n_labels, elements=st.floats(0, 9)))
    gold = np.array(data.draw(st.sampled_from(labellings(graph.n_labels))))
    mu = graph.encode(gold)
    for y in labellings(graph.n_labels):
        difference, wrong = graph.encode(y) - mu, gold != y
        assert graph.cost(mu) @ difference == pytest.approx(wrong.mean())
        assert graph.cost(mu, normalized=False) @ difference == pytest.approx(wrong.sum())
        assert graph.cost(mu, nodes=nodes) @ difference == pytest.approx((nodes * wrong).mean())
        both = graph.cost(mu, weights=weights, nodes=nodes, normalized=False)
        assert both @ difference == pytest.approx((weights * nodes * wrong).sum())
        assert not both[graph.n_labels :].any()


def test_edges_by_name():
    assert LabelGraph(4).edges.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert LabelGraph(4, "tree").edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert LabelGraph(4, [[3, 1], [0, 1]]).edges.tolist() == [[3, 1], [0, 1]]
    assert LabelGraph(4, []).edges.shape == (0, 2)


# ---- the tree of Chow and Liu ----------------------------------------------------------------------


def information_of_pair(Y, a, b):
    total = 0.0
    for s, t in product((0, 1), repeat=2):
        joint = np.mean((Y[:, a] == s) & (Y[:, b] == t))
        if joint > 0:
            total += joint * np.log(joint / (np.mean(Y[:, a] == s) * np.mean(Y[:, b] == t)))
    return total


def spans(n_labels, pairs):
    reached = {0}
    for _ in pairs:
        reached |= {k for pair in pairs if reached & set(pair) for k in pair}
    return len(reached) == n_labels


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 5).flatmap(lambda k: arrays(np.int64, (7, k), elements=st.integers(0, 1))))
def test_chow_liu_is_the_best_of_all_trees(Y):
    n_labels = Y.shape[1]
    pairs = list(combinations(range(n_labels), 2))
    information = {pair: information_of_pair(Y, *pair) for pair in pairs}
    trees = [tree for tree in combinations(pairs, n_labels - 1) if spans(n_labels, tree)]
    assert len(trees) == n_labels ** (n_labels - 2)  # Cayley
    learnt = LabelGraph.tree(Y)
    found = [tuple(pair) for pair in learnt.edges.tolist()]
    assert tuple(found) in trees
    best = max(sum(information[pair] for pair in tree) for tree in trees)
    assert sum(information[pair] for pair in found) == pytest.approx(best, abs=1e-9)
    assert learnt.exact


def test_chow_liu_breaks_ties_by_order():
    assert LabelGraph.tree(np.zeros((3, 4))).edges.tolist() == [[0, 1], [0, 2], [0, 3]]
    assert LabelGraph.tree([[1], [0]]).edges.shape == (0, 2)


# ---- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "reason"),
    [
        ("ring", '"all", "tree" or'),
        ([[0, 1, 2]], "shape"),
        ([0, 1], "shape"),
        ([[0.0, 1.0]], "integers"),
        ([[0, 3]], "labels 0 to 2"),
        ([[-1, 0]], "labels 0 to 2"),
        ([[1, 1]], "itself"),
        ([[0, 1], [1, 2], [0, 1]], "twice"),
        ([[0, 1], [1, 0]], "twice"),
    ],
)
def test_bad_edges_are_refused(edges, reason):
    with pytest.raises(ValueError, match=reason):
        LabelGraph(3, edges)


def test_bad_numbers_and_sizes_are_refused():
    graph = LabelGraph(3)
    with pytest.raises(ValueError, match=r"fewer than 2\^31 labels; got n_labels=2147483648"):
        LabelGraph(2**31, [(0, 1)])
    with pytest.raises(ValueError, match="at least 1 label"):
        LabelGraph(0)
    with pytest.raises(TypeError, match="integer"):
        LabelGraph(2.5)
    for wrong in (graph.shape, graph.maximize, graph.decode, graph.cost):
        with pytest.raises(ValueError, match=r"has 15 parts .* got 14"):
            wrong(np.zeros(14))
    with pytest.raises(ValueError, match="NaN"):
        graph.maximize(np.full(15, np.nan))


@pytest.mark.parametrize("y", [[0, 1], [[0, 1, 1]], [0, 1, 2], [0.5, 0, 1]])
def test_bad_label_sets_are_refused(y):
    with pytest.raises(ValueError, match="0/1 vector"):
        LabelGraph(3).encode(y)


@pytest.mark.parametrize("name", ["weights", "nodes"])
@pytest.mark.parametrize(
    ("bad", "reason"), [([1.0], "shape"), ([1, 1, -1], "at least 0"), ([1, 1, np.inf], "finite")]
)
def test_bad_weights_are_refused(name, bad, reason):
    with pytest.raises(ValueError, match=reason):
        LabelGraph(3).cost(np.zeros(15), **{name: bad})


@pytest.mark.parametrize(
    ("Y", "reason"), [([0, 1], "matrix"), (np.zeros((0, 3)), "matrix"), ([[0, 2]], "0 or 1")]
)
def test_bad_data_for_a_tree_are_refused(Y, reason):
    with pytest.raises(ValueError, match=reason):
        LabelGraph.tree(Y)
