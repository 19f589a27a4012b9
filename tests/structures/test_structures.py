"""Every structure against the enumeration of its outputs; its codes and costs against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from brute import STRUCTURES, chain, matching, score_of
from own_structures import ChooseTwo, CompiledChooseTwo, choose_two
from structlearn.core.contract import max_value, maximize, workspace
from structlearn.structures import Chain, Cube, Cut, LabelGraph, Matching, Simplex, as_structure

ELEMENTS = {
    "ties": st.integers(-2, 2).map(float),
    "large": st.floats(-1e3, 1e3, allow_subnormal=False),
    "masked": st.sampled_from([-np.inf, -1.0, 0.0, 2.0]),
    "rarely masked": st.sampled_from([-np.inf, *np.linspace(-1e3, 1e3, 41)]),
}
each_structure = pytest.mark.parametrize("family", STRUCTURES.values(), ids=STRUCTURES)


@st.composite
def scored_shapes(draw, family):
    shape = draw(st.sampled_from(family.shapes))
    elements = ELEMENTS[draw(st.sampled_from(sorted(ELEMENTS)))]
    return shape, draw(arrays(np.float64, family.part_shape(shape), elements=elements))


def random_scores(family, seed=0, stacked=1):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=family.part_shape(family.shapes[0])) for _ in range(stacked)]


# ---- maximisation ---------------------------------------------------------------------------------------


@each_structure
@given(data=st.data())
def test_maximize_finds_the_best_of_all_vertices(family, data):
    shape, theta = data.draw(scored_shapes(family))
    vertices = family.vertices(shape)
    best = score_of(theta, vertices).max()
    if best == -np.inf:
        with pytest.raises(ValueError, match="no output is allowed"):
            family.structure.maximize(theta)
        return
    found = family.structure.maximize(theta)
    assert found.shape == theta.shape
    assert (found.ravel() == vertices).all(axis=1).any()
    assert score_of(theta, found.reshape(1, -1))[0] == pytest.approx(best, rel=1e-12, abs=1e-9)


@each_structure
@given(data=st.data())
def test_corner_and_peak_give_the_maximum_whatever_the_scratch_memory_holds(family, data):
    shape, theta = data.draw(scored_shapes(family))
    best = score_of(theta, family.vertices(shape)).max()
    record = family.structure.record
    local, shared = family.structure.split(theta.ravel(), shape)
    largest = tuple(np.max([(4, 4), *family.shapes], axis=0).tolist())
    work = workspace(record, largest)
    vertex = np.full(theta.size, 7.0)
    for operation in (maximize, max_value, maximize):
        value = operation(record, shape, local, shared, work, vertex)
        assert value == pytest.approx(best, rel=1e-12, abs=1e-9)
    if best > -np.inf:
        assert (vertex == family.vertices(shape)).all(axis=1).any()


@each_structure
def test_lists_and_stacks_are_maximised_one_by_one(family):
    scores = random_scores(family, stacked=3)
    one_by_one = [family.structure.maximize(theta) for theta in scores]
    stacked = family.structure.maximize(np.stack(scores))
    listed = family.structure.maximize(scores)
    assert isinstance(listed, list)
    np.testing.assert_array_equal(stacked, one_by_one)
    np.testing.assert_array_equal(listed, one_by_one)


@each_structure
def test_plain_lists_of_numbers_are_scores_of_one_output(family):
    theta = random_scores(family)[0]
    np.testing.assert_array_equal(family.structure.maximize(theta.tolist()), family.structure.maximize(theta))


@each_structure
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_nan_or_plus_infinity_are_refused(family, bad):
    theta = random_scores(family)[0]
    theta.flat[0] = bad
    with pytest.raises(ValueError, match=r"finite or -inf .* NaN or \+inf"):
        family.structure.maximize(theta)


@each_structure
def test_scores_with_too_many_axes_are_refused(family):
    theta = random_scores(family)[0]
    with pytest.raises(ValueError, match="axes"):
        family.structure.maximize(theta[None, None])


@pytest.mark.parametrize(
    ("structure", "size"),
    [
        (Simplex(3), 4),
        (Cube(3), 2),
        (LabelGraph(3), 14),
        (Chain(3), 11),
        (Chain(3), 9),
        (Chain(2, start=True), 7),
        (Cut(2, [(0, 1)]), 2),
    ],
)
def test_part_vectors_of_a_wrong_size_are_refused(structure, size):
    with pytest.raises(ValueError, match="parts"):
        structure.maximize(np.zeros(size))


# ---- codes ----------------------------------------------------------------------------------------------


@each_structure
def test_encode_writes_the_vertex_and_decode_reads_it(family):
    for shape in family.shapes:
        for y in family.outputs(shape):
            mu = family.structure.encode(y, shape)
            np.testing.assert_array_equal(mu, family.write(y, shape))
            np.testing.assert_array_equal(family.structure.decode(mu), y)


@each_structure
def test_encode_many_is_encode_for_each(family):
    shapes = [shape for shape in family.shapes for _ in family.outputs(shape)]
    outputs = [y for shape in family.shapes for y in family.outputs(shape)]
    vertices = family.structure.encode_many(outputs, np.array(shapes))
    assert len(vertices.start) == len(outputs) + 1
    for i, (y, shape) in enumerate(zip(outputs, shapes)):
        mu = family.write(y, shape).ravel()
        np.testing.assert_array_equal(vertices.dense(i, mu.size), mu)


@pytest.mark.parametrize(
    ("structure", "y", "sentence"),
    [
        (Simplex(3), 3, "Label 3 is outside 0 .. 2"),
        (Simplex(3), -1, "Label -1 is outside"),
        (Chain(3), [0, 4], "Label 4 is outside 0 .. 2"),
        (Chain(3), [0.0, 1.0], "integers"),
        (Chain(3), [], "at least one"),
        (Chain(3), [[0, 1]], "vector"),
        (Cube(3), [0, 1], "3 labels"),
        (Cube(3), [0, 1, 2], "0/1"),
        (LabelGraph(3), [0, 1, 0.5], "0/1"),
        (Cut(2, [(0, 1)]), [0, 2], "0/1"),
        (Cut(2, [(0, 1)]), [0, 1, 1], "2 labels"),
        (as_structure(ChooseTwo()), [0, 2, 1], "0/1 part vector"),
    ],
)
def test_outputs_that_are_none_of_the_structure_are_refused(structure, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        structure.encode(y)


def test_encode_many_refuses_labels_outside_the_simplex():
    with pytest.raises(ValueError, match="outside"):
        Simplex(3).encode_many([0, 3], np.array([[1, 3], [1, 3]]))


def test_chain_parts_and_tables_are_inverse():
    structure = Chain(2, start=True, end=True)
    tables = {
        "unary": [[1, 2], [3, 4], [5, 6]],
        "transitions": [[7, 8], [9, 10]],
        "start": [11, 12],
        "end": [13, 14],
    }
    parts = structure.parts(**tables)
    np.testing.assert_array_equal(parts, np.arange(1, 15))
    for name, table in structure.tables(parts).items():
        np.testing.assert_array_equal(table, tables[name])


def test_chain_parts_wants_start_and_end_exactly_where_the_chain_has_them():
    with pytest.raises(ValueError, match="start and end scores exactly where"):
        Chain(2).parts(np.zeros((1, 2)), np.zeros((2, 2)), start=np.zeros(2))


# ---- costs ----------------------------------------------------------------------------------------------

BY_LABEL = np.array([2.0, 0.5, 1.0, 0.25])
BY_PAIR = np.array([[0, 1, 2, 3], [4, 0, 5, 6], [7, 8, 0, 9], [1, 1, 1, 0.0]])


def count_wrong(gold, y, nodes):
    return sum(node * (a != b) for a, b, node in zip(gold, y, nodes))


def missed_by_label(gold, y, nodes):
    return sum(node * BY_LABEL[a] * (a != b) for a, b, node in zip(gold, y, nodes))


def mistaken_pairs(gold, y, nodes):
    return sum(node * BY_PAIR[a, b] for a, b, node in zip(gold, y, nodes))


def wrong_switches(gold, y, nodes):
    return sum(weight * node * (a != b) for a, b, weight, node in zip(gold, y, BY_LABEL, nodes))


def wrong_links(gold, y, nodes):
    prices = np.where(gold == 1, LINKS["missed"], LINKS["spurious"]) * np.asarray(nodes)[:, None]
    return prices[gold != y].sum()


LINKS = {"missed": 3.0, "spurious": 0.5}
K3, K2 = slice(3), slice(2)
WEIGHTED = {
    "simplex": [(None, count_wrong), (BY_LABEL, missed_by_label), (BY_PAIR, mistaken_pairs)],
    "chain": [(None, count_wrong), (BY_LABEL[K3], missed_by_label), (BY_PAIR[K3, K3], mistaken_pairs)],
    "chain with start and end": [(BY_LABEL[K2], missed_by_label), (BY_PAIR[K2, K2], mistaken_pairs)],
    "cube": [(None, count_wrong), (BY_LABEL[K3], wrong_switches)],
    "label tree": [(None, count_wrong), (BY_LABEL, wrong_switches)],
    "label graph": [(BY_LABEL[K3], wrong_switches)],
    "matching": [(LINKS, wrong_links)],
    "full matching": [(LINKS, wrong_links)],
    "many-to-one": [(LINKS, wrong_links)],
    "cut": [(None, count_wrong), (BY_LABEL[K2], missed_by_label)],
    "cuts": [(BY_LABEL[K2], missed_by_label)],
    "conditioned chain": [(None, count_wrong), (BY_LABEL[K2], missed_by_label)],
    "projective tree": [(None, count_wrong)],
    "tree, several roots": [(None, count_wrong)],
    "own, plain Python": [(None, count_wrong)],
    "own, compiled": [(None, count_wrong)],
}
COSTS = [
    pytest.param(name, weights, loss, id=f"{name}, {loss.__name__}")
    for name, kinds in WEIGHTED.items()
    for weights, loss in kinds
]


def n_nodes(family, y):
    """How many rows of an output have a weight of their own."""
    return len(np.atleast_1d(y))


def normaliser(name, gold):
    if "match" in name or "many" in name:
        return max(1, gold.sum())
    return len(np.atleast_1d(gold))


@pytest.mark.parametrize(("name", "weights", "loss"), COSTS)
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("weighted_nodes", [True, False])
def test_cost_is_the_task_loss_of_every_vertex(name, weights, loss, normalized, weighted_nodes):
    """Delta(z) = <c, z - mu>."""
    family = STRUCTURES[name]
    shape = family.shapes[0]
    outputs = family.outputs(shape)
    vertices = np.array([family.write(y, shape).ravel() for y in outputs])
    for gold, mu in list(zip(outputs, vertices))[:: max(1, len(outputs) // 5)]:
        nodes = np.arange(1.0, n_nodes(family, gold) + 1)
        options = {"nodes": nodes} if weighted_nodes else {}
        part_vector = mu.reshape(family.part_shape(shape))
        c = family.structure.cost(part_vector, weights=weights, normalized=normalized, **options).ravel()
        scale = normaliser(name, np.asarray(gold)) if normalized else 1
        ones = nodes if weighted_nodes else np.ones_like(nodes)
        expected = [loss(np.atleast_1d(gold), np.atleast_1d(y), ones) / scale for y in outputs]
        np.testing.assert_allclose((vertices - mu) @ c, expected, atol=1e-12)


@pytest.mark.parametrize(("name", "weights", "loss"), COSTS)
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("weighted_nodes", [True, False])
def test_cost_many_is_cost_for_each(name, weights, loss, normalized, weighted_nodes):
    family = STRUCTURES[name]
    structure = family.structure
    shapes = np.array(family.shapes)
    outputs = [family.outputs(shape)[-1] for shape in family.shapes]
    options = {"weights": weights, "normalized": normalized}
    nodes = [np.arange(1.0, n_nodes(family, y) + 1) if weighted_nodes else None for y in outputs]
    mus = [structure.encode(y, shape) for y, shape in zip(outputs, family.shapes)]
    expected = [
        structure.cost(mu, nodes=node, **options).ravel()[: structure.n_local(shape)]
        for mu, node, shape in zip(mus, nodes, shapes)
    ]
    gold = structure.encode_many(outputs, shapes)
    together = structure.cost_many(gold, shapes, nodes=nodes if weighted_nodes else None, **options)
    np.testing.assert_allclose(together, np.concatenate(expected))


@pytest.mark.parametrize(
    "structure", [Simplex(3), Chain(3), Cube(3), LabelGraph(3)], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize(
    ("weights", "sentence"),
    [(np.ones(2), "shape"), ([1.0, -1.0, 1.0], "at least 0"), ([1.0, np.nan, 1.0], "finite")],
)
def test_cost_weights_that_cannot_be_are_refused(structure, weights, sentence):
    mu = structure.maximize(np.zeros(3 + structure.n_shared))
    with pytest.raises(ValueError, match=sentence):
        structure.cost(mu, weights=weights)


@pytest.mark.parametrize("structure", [Simplex(3), Chain(3)], ids=["Simplex", "Chain"])
def test_a_right_label_that_costs_is_refused(structure):
    mu = structure.maximize(np.zeros(3 + structure.n_shared))
    with pytest.raises(ValueError, match="diagonal of the cost table must be zero"):
        structure.cost(mu, weights=np.ones((3, 3)))


@pytest.mark.parametrize(
    ("structure", "y", "nodes"),
    [
        (Chain(2), [0, 1, 1], [1.0, 1.0]),
        (Chain(2), [0, 1, 1], [2.0]),
        (Chain(2), [0, 1, 1], [1.0, -1.0, 1.0]),
        (Chain(2), [0, 1, 1], [1.0, np.nan, 1.0]),
        (Cut(2, [(0, 1)]), [0, 1], [1.0]),
        (Cut(2, [(0, 1)]), [0, 1], [1.0, np.nan]),
        (Cube(2), [0, 1], [1.0]),
        (Cube(2), [0, 1], [1.0, -1.0]),
        (Matching(), np.eye(2), [1.0]),
        (Matching(), np.eye(2), [1.0, -1.0]),
    ],
)
def test_node_weights_that_cannot_be_are_refused(structure, y, nodes):
    with pytest.raises(ValueError, match=r"at least 0|shape|per row"):
        structure.cost(structure.encode(y), nodes=nodes)


# ---- a user's own ---------------------------------------------------------------------------------------

OWN = [ChooseTwo(), CompiledChooseTwo(), choose_two]


@given(theta=arrays(np.float64, 5, elements=ELEMENTS["ties"] | ELEMENTS["large"]))
def test_the_three_forms_of_an_own_structure_answer_alike(theta):
    answers = [as_structure(own).maximize(theta) for own in OWN]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_what_cannot_maximise_is_no_structure():
    with pytest.raises(TypeError, match=r"`maximize\(theta\) -> vertex`.* object has neither"):
        as_structure(object())
    with pytest.raises(TypeError, match=r"not a class: give ChooseTwo\(\)"):
        as_structure(ChooseTwo)


def test_what_only_maximises_has_no_marginals():
    with pytest.raises(TypeError, match="use loss='hinge' or 'sparsemax'"):
        as_structure(ChooseTwo()).marginals(np.zeros(3))


def test_our_own_structures_are_taken_as_they_are():
    structure = Simplex(3)
    assert as_structure(structure) is structure


def test_an_answer_of_the_wrong_size_is_refused():
    class Short:
        def maximize(self, theta):
            return theta[:-1]

    with pytest.raises(ValueError, match="must return a vector of 3 parts; it returned 2"):
        as_structure(Short()).maximize(np.zeros(3))


def test_an_answer_that_is_no_number_is_refused():
    class Lost:
        def maximize(self, theta):
            return np.full(len(theta), np.nan)

    with pytest.raises(ValueError, match="it returned NaN or inf"):
        as_structure(Lost()).maximize(np.zeros(3))


@pytest.mark.parametrize("part_ndim", [1, 2])
def test_an_own_structure_that_scribbles_on_its_scores_harms_nobody(part_ndim):
    class Scribbler:
        def maximize(self, theta):
            theta[:] = 99.0
            return np.ones(theta.shape)

    Scribbler.part_ndim = part_ndim
    theta = np.arange(4.0)
    structure = as_structure(Scribbler())  # lives as long as its record is used
    work = workspace(structure.record, (2, 2))
    value = maximize(structure.record, (2, 2), theta, np.empty(0), work, np.empty(4))
    assert value == 6.0
    np.testing.assert_array_equal(theta, np.arange(4.0))


def test_an_own_structure_may_bring_its_code_and_its_cost():
    class Named(ChooseTwo):
        def encode(self, y):
            return np.array([name in y for name in "abcd"], dtype=float)

        def decode(self, vertex):
            return "".join(name for name, on in zip("abcd", vertex) if on)

        def cost(self, mu):
            return 5.0 * (1 - 2 * mu)

    structure = as_structure(Named())
    mu = structure.encode("bd")
    np.testing.assert_array_equal(mu, [0, 1, 0, 1])
    assert structure.decode(mu) == "bd"
    np.testing.assert_array_equal(structure.cost(mu), [5, -5, 5, -5])


def test_arguments_make_the_same_structure_again():
    for family in (
        STRUCTURES["chain with start and end"],
        STRUCTURES["many-to-one"],
        STRUCTURES["label tree"],
        STRUCTURES["cut"],
        STRUCTURES["conditioned chain"],
        STRUCTURES["tree, several roots"],
    ):
        again = type(family.structure)(**family.structure.arguments())
        theta = random_scores(family)[0]
        np.testing.assert_array_equal(again.maximize(theta), family.structure.maximize(theta))


# ---- the references themselves --------------------------------------------------------------------------


def test_the_enumerations_have_the_known_sizes():
    assert len(chain(3, [4]).outputs((4, 3))) == 3**4
    assert len(matching([(3, 3)], unmatched=False).outputs((3, 3))) == 6
    assert len(matching([(3, 3)]).outputs((3, 3))) == 34  # sum_k C(3, k)^2 k!
