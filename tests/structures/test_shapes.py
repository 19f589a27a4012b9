"""No compiled code is asked about a shape that has no output: every structure refuses it, at one place."""

import numpy as np
import pytest

from brute import STRUCTURES
from structlearn import StructuredPredictor
from structlearn.problem.losses import FenchelYoungLoss, SquaredNorm, Zero
from structlearn.problem.oracle import Oracle
from structlearn.scoring import PartScoring, RowScoring
from structlearn.structures import (
    Chain,
    ConditionedChain,
    Cube,
    LabelGraph,
    LabelledTree,
    Matching,
    ProjectiveTree,
    Simplex,
)
from structlearn.structures.unshared import Whole


def layout(family):
    shapes = np.array(family.shapes)
    sizes = np.array([family.vertices(shape).shape[1] for shape in family.shapes]) - family.structure.n_shared
    return shapes, sizes, family.structure.n_shared


@pytest.mark.parametrize("name", STRUCTURES)
def test_shapes_of_outputs_are_taken(name):
    STRUCTURES[name].structure.check_examples(*layout(STRUCTURES[name]))


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (-1, 2), (2, -1), (-2, -2), (10**6, 10**6)])
def test_an_example_without_outputs_is_named(name, shape):
    structure = STRUCTURES[name].structure
    shapes, sizes, n_shared = layout(STRUCTURES[name])
    shapes[-1], sizes[-1] = shape, 0
    with pytest.raises(ValueError, match=f"Example {len(shapes) - 1} has 0 parts"):
        structure.check_examples(shapes, sizes, n_shared)


@pytest.mark.parametrize("name", STRUCTURES)
def test_parts_that_do_not_fit_their_shape_are_refused(name):
    structure = STRUCTURES[name].structure
    shapes, sizes, n_shared = layout(STRUCTURES[name])
    with pytest.raises(ValueError, match=f"Example 0 has {sizes[0] + 1} parts"):
        structure.check_examples(shapes, sizes + 1, n_shared)
    with pytest.raises(ValueError, match="shared parts"):
        structure.check_examples(shapes, sizes, n_shared + 1)


@pytest.mark.parametrize("name", ["chain", "chain with start and end"])
def test_an_empty_sequence_does_not_reach_viterbi(name):
    """It read before the workspace and wrote behind the answer."""
    structure = STRUCTURES[name].structure
    k = structure.n_labels
    scoring = RowScoring(np.ones((3, 2)), np.array([0, 3, 0]), k, n_shared=structure.n_shared)
    with pytest.raises(ValueError, match=f"Example 0 has 0 parts in the shape \\(0, {k}\\)"):
        Oracle(structure.record, scoring, structure=structure)


def test_a_table_without_rows_does_not_reach_the_assignment():
    scoring = PartScoring(np.empty((0, 2)), np.array([[0, 4]]))
    with pytest.raises(ValueError, match="Example 0"):
        Oracle(Matching().record, scoring, structure=Matching())


@pytest.mark.parametrize("kind", [Simplex, Cube, Chain, ConditionedChain, LabelGraph])
@pytest.mark.parametrize("n_labels", [0, -2])
def test_at_least_one_label(kind, n_labels):
    with pytest.raises(ValueError, match=f"at least 1 label; got n_labels={n_labels}"):
        kind(n_labels)


def test_at_least_one_label_of_an_arc():
    with pytest.raises(ValueError, match="at least 1 label"):
        LabelledTree(ProjectiveTree(), 0)


@pytest.mark.parametrize("name", STRUCTURES)
def test_no_scores_have_no_answers(name):
    family = STRUCTURES[name]
    structure, shape = family.structure, family.part_shape(family.shapes[0])
    assert structure.maximize([]) == []
    if not name.startswith("cuts"):  # the number of parts does not tell the graph
        assert structure.maximize(np.empty((0, *shape))).shape == (0, *shape)
    assert FenchelYoungLoss(structure, Zero()).value([], []).shape == (0,)


def test_no_tables_have_no_edge_entropy():
    assert Matching().edge_entropy([]) == []
    assert Matching().edge_entropy(np.empty((0, 2, 3))).shape == (0, 2, 3)


@pytest.mark.parametrize("theta", [np.empty((0, 3)), np.empty((3, 0))])
def test_stacks_of_nothing_are_refused(theta):
    for structure in (Chain(2), Matching()):
        with pytest.raises(ValueError, match=r"parts|rows and columns"):
            structure.maximize(theta[None] if structure.part_ndim == 2 else theta)


@pytest.mark.parametrize("mu", [[np.nan, 0.0, 1.0], [-1.0, 1.0, 1.0]])
def test_part_vectors_that_are_none_are_refused(mu):
    with pytest.raises(ValueError, match=r"A part vector holds (finite numbers|numbers between 0 and 1)"):
        FenchelYoungLoss(Simplex(3), SquaredNorm()).value(np.zeros(3), mu)


# ---- all parts local --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chain"])
def test_a_whole_answers_as_its_inner_structure(name):
    family = STRUCTURES[name]
    inner, whole = family.structure, Whole(family.structure)
    for shape in family.shapes:
        theta = np.random.default_rng(0).normal(size=family.part_shape(shape))
        np.testing.assert_array_equal(whole.maximize(theta), inner.maximize(theta))
        assert whole.n_local(shape) == theta.size
        square = shape[0] * shape[1] / 2  # of the labels alone
        for one in (inner, whole):
            assert SquaredNorm().value(one, np.ones(theta.size)) == square


def test_a_whole_has_costs_of_many_examples():
    family = STRUCTURES["chain"]
    shapes = np.array(family.shapes)
    ys = [family.outputs(shape)[0] for shape in family.shapes]
    nodes = [np.arange(1.0, 1 + len(y)) for y in ys]
    whole = Whole(family.structure)
    found = whole.cost_many(whole.encode_many(ys, shapes), shapes, nodes=nodes)
    expected = [family.structure.cost(family.write(y, s), nodes=n) for y, s, n in zip(ys, shapes, nodes)]
    np.testing.assert_allclose(found, np.concatenate(expected))


def test_the_structure_of_a_fitted_predictor_answers():
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(2 * 3 + 9, 2)) for _ in range(4)], [np.array([0, 1])] * 4
    model = StructuredPredictor(Chain(3), max_passes=2, tol=10.0).fit(X, y)
    theta = rng.normal(size=15)
    np.testing.assert_array_equal(model.structure_.maximize(theta), Chain(3).maximize(theta))
