"""Outputs in one padded array, or in one list, against outputs that are encoded one by one."""

import numpy as np
import pytest

from brute import STRUCTURES
from structlearn.problem.losses import FenchelYoungLoss, Zero
from structlearn.problem.padded import padded_batch
from structlearn.problem.padded_gold import listed_target, padded_target, single_targets
from structlearn.structures import ConstituencyTree, LabelGraph, Matching, MonotoneAlignment, Segments

LINKS = ("matching", "full matching", "many-to-one", "full many-to-many")
PATHS = ("alignment", "forced alignment")


def random_outputs(name, n=12):
    """Outputs of the shapes of a family, and these."""
    family, rng = STRUCTURES[name], np.random.default_rng(0)
    shapes = [family.shapes[i % len(family.shapes)] for i in range(n)]
    every = {shape: family.outputs(shape) for shape in family.shapes}
    return family, [every[shape][rng.integers(len(every[shape]))] for shape in shapes], np.array(shapes)


def pad(outputs, filler):
    """One array, filled up with something that must not matter."""
    most = np.max([np.shape(one) for one in outputs], axis=0)
    table = np.full((len(outputs), *most), filler, dtype=np.int64)
    for row, one in zip(table, outputs):
        row[tuple(slice(size) for size in np.shape(one))] = one
    return table


def assert_same(found, wanted):
    for one, other in zip((*found.gold.vertices, found.omega), (*wanted.gold.vertices, wanted.omega)):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(found.gold.cost, wanted.gold.cost)
    np.testing.assert_array_equal(found.gold.cost_start, wanted.gold.cost_start)


@pytest.mark.parametrize("cost", [None, "hamming"])
@pytest.mark.parametrize(
    "name", [*LINKS, *PATHS, "constituency tree", "label graph", "label tree", "segments"]
)
def test_outputs_at_once_are_those_one_by_one(name, cost):
    family, outputs, shapes = random_outputs(name)
    loss = FenchelYoungLoss(family.structure, Zero(), cost)
    n_local = np.asarray(family.structure.n_local(shapes.T))
    wanted = single_targets(
        loss, outputs, [family.part_shape(tuple(shape)) for shape in shapes.tolist()], n_local
    )
    if name == "segments":
        found = listed_target(loss, outputs, shapes)
    else:
        found = padded_target(loss, pad(outputs, 7), shapes)
    assert found is not None
    sorted_entries = found.gold.vertices
    order = np.lexsort(
        (sorted_entries.index, np.repeat(np.arange(len(shapes)), np.diff(sorted_entries.start)))
    )
    found = found._replace(
        gold=found.gold._replace(vertices=sorted_entries._replace(index=sorted_entries.index[order]))
    )
    assert_same(found, wanted)


#: structure, shape of scores, sizes, outputs, what the error says
WRONG = {
    "two links": (Matching(), (2, 2, 2), None, [np.eye(2), [[1, 1], [0, 0]]], "Output 1 .*Row 0 has 2 links"),
    "no link": (
        Matching(unmatched=False),
        (2, 2, 3),
        None,
        [[[1, 0, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 0]]],
        "Output 1 .*Row 1 has 0 links",
    ),
    "half a link": (Matching(), (1, 2, 2), None, [[[2, 0], [0, 0]]], "Output 0 .*between 0 and 1"),
    "a gap": (
        MonotoneAlignment(),
        (2, 3, 3),
        [[3, 3], [2, 3]],
        [np.eye(3), [[1, 0, 0], [0, 0, 1], [1, 1, 1]]],
        r"Output 1 .*No move leads from the cell \(0, 0\)",
    ),
    "a second path": (MonotoneAlignment(), (1, 2, 2), None, [[[1, 1], [1, 1]]], "Output 0 .*No move"),
    "a move that is not allowed": (
        MonotoneAlignment(right=False),
        (1, 2, 2),
        None,
        [[[1, 1], [0, 1]]],
        "No move",
    ),
    "no end": (MonotoneAlignment(), (1, 2, 2), None, [[[1, 0], [1, 0]]], "Output 0 .*A path leads from"),
    "crossing spans": (
        ConstituencyTree(1),
        (2, 3, 3, 1),
        [2, 3],
        [
            [[0, 2, 0], [0, 1, 0], [1, 2, 0], [9, 9, -1], [9, 9, -1]],
            [[0, 3, 0], [0, 2, 0], [1, 3, 0], [0, 1, 0], [2, 3, 0]],
        ],
        "Output 1 .*does not fall into two spans",
    ),
    "a label": (ConstituencyTree(1), (1, 1, 1, 1), None, [[[0, 1, 1]]], "Output 0 .*label 1 is not among"),
    "a switch": (LabelGraph(2, "all"), (2, 2), None, [[0, 1], [0, 2]], "Output 1 .*0/1 vector"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_an_output_that_is_not_in_the_structure_is_named(case):
    structure, shape, sizes, y, message = case
    shared = (structure.n_shared,) if structure.n_shared else None
    batch = padded_batch(FenchelYoungLoss(structure, Zero()), shape, shared, sizes)
    with pytest.raises(ValueError, match=message):
        batch.targets(np.array(y))


def test_a_list_with_a_wrong_segmentation_is_named():
    structure = Segments(2, 2)
    batch = padded_batch(
        FenchelYoungLoss(structure, Zero()), (2, 3, structure.n_columns), (structure.n_shared,)
    )
    with pytest.raises(ValueError, match="Output 1 has the span"):
        batch.targets([[(0, 2, 1)], [(0, 3, 1)]])


@pytest.mark.parametrize("structure", [Matching(), MonotoneAlignment(), MonotoneAlignment(down=False)])
def test_all_small_tables_are_outputs_or_refused_as_encode_says(structure):
    loss, shapes = FenchelYoungLoss(structure, Zero()), np.array([[2, 3]])
    for bits in np.ndindex(*[2] * 6):
        table = np.reshape(bits, (1, 2, 3))
        try:
            structure.encode(table[0])
        except ValueError:
            assert padded_target(loss, table, shapes) is None
        else:
            assert padded_target(loss, table, shapes) is not None


def test_lengths_and_masks_of_words_stand_for_both_axes_of_tables_of_words():
    for name, shape in (("tree", (2, 5, 4)), ("constituency tree", (2, 4, 4, 2))):
        loss = FenchelYoungLoss(STRUCTURES[name].structure, Zero())
        mask = np.arange(4) < np.array([[3], [2]])
        wanted = [[4, 3], [3, 2]] if name == "tree" else [[3, 3], [2, 2]]
        for given in ({"sizes": [3, 2]}, {"mask": mask}, {"sizes": wanted}):
            np.testing.assert_array_equal(padded_batch(loss, shape, None, **given).sizes, wanted)


@pytest.mark.parametrize("y", [[1, 1, 0], [0, 0, 0], [0.5, 0.5, 0.5]])
def test_a_mixture_of_labels_that_does_not_sum_to_one_is_refused(y):
    with pytest.raises(ValueError, match="sums to 1"):
        FenchelYoungLoss(STRUCTURES["simplex"].structure, Zero()).target(np.zeros(4), np.array([*y, 0.0]))


def test_a_table_of_arcs_with_two_heads_for_a_word_is_refused():
    arcs = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="no output"):
        FenchelYoungLoss(STRUCTURES["tree, several roots"].structure, Zero()).target(np.zeros((3, 2)), arcs)
