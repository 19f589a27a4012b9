"""Files of decision problems: written and read again, and what is refused, by a sentence that names it."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from structlearn import structures
from structlearn.data import DataError, make_knapsacks, read_decisions, write_decisions
from structlearn.structures import Assignment, Knapsack, ShortestPath, SpanningTree, Subset, TopK

RING = [(0, 1), (1, 2), (0, 3), (3, 2)]
#: Structures of four parts, and the best decision by the scores 4, 3, 2, 1.
KINDS = {
    "path": (ShortestPath(RING, 0, 2), [1, 1, 0, 0]),
    "tree": (SpanningTree(RING), [1, 1, 1, 0]),
    "knapsack": (Knapsack([5, 4, 3, 2], 8), [1, 0, 1, 0]),
    "two dimensions": (Knapsack([[5, 4, 3, 2], [1, 1, 1, 1]], [9, 1]), [1, 0, 0, 0]),
    "k": (TopK(4, 3), [1, 1, 1, 0]),
    "subset": (Subset(4, 1, 2), [1, 1, 0, 0]),
    "assignment": (Assignment(2, 2), [1, 0, 0, 1]),
    "one row": (Assignment(1, 4), [1, 0, 0, 0]),
    "forbidden": (TopK(4, 2).without([1]), [1, 0, 1, 0]),
}


def examples(n=3, parts=4, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, parts))


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_comes_back(tmp_path, name):
    structure, best = KINDS[name]
    X, costs = examples()
    write_decisions(tmp_path / "x.npz", X, costs, structure, sense="max", known_costs=-costs)
    found = read_decisions(tmp_path / "x.npz")
    assert type(found.structure) is type(structure)
    assert_array_equal(found.X, X)
    assert_array_equal(found.costs, costs)
    assert_array_equal(found.known_costs, -costs)
    assert found.sense == "max"
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    assert_array_equal(found.structure.maximize(scores), best)


def test_tours_come_back(tmp_path):
    X, costs = examples(parts=6)
    write_decisions(tmp_path / "x.npz", X, costs, structures.Tour(4))
    found = read_decisions(tmp_path / "x.npz").structure
    assert_array_equal(found.maximize(np.array([2.0, 0, 2, 2, 0, 2])), [1, 0, 1, 1, 0, 1])


def test_programs_come_back(tmp_path):
    X, costs = examples()
    program = structures.Program(
        A=[[5, 4, 3, 2]], b=[8], A_eq=[[1, 1, 1, 1]], b_eq=[2], bounds=(0, 1), integrality=True
    )
    write_decisions(tmp_path / "x.npz", X, costs, program)
    found = read_decisions(tmp_path / "x.npz").structure
    assert_array_equal(np.rint(found.maximize(np.array([4.0, 3, 2, 1]))), [1, 0, 1, 0])
    np.savez(tmp_path / "x.npz", features=X, costs=costs, A=np.ones((1, 4)), b=[2], upper=[1, 2, 1, 1])
    found = read_decisions(tmp_path / "x.npz").structure
    assert_array_equal(np.rint(found.maximize(np.array([1.0, 3, 2, 0]))), [0, 2, 0, 0])


def test_what_is_missing_is_none(tmp_path):
    X, _ = examples()
    write_decisions(tmp_path / "x.npz", X)
    found = read_decisions(tmp_path / "x.npz")
    assert found[1:5] == (None, None, None, None)
    write_decisions(tmp_path / "x.npz", X, None, TopK(4, 2))
    assert read_decisions(tmp_path / "x.npz", n_parts=4).structure.n_parts == 4
    with pytest.raises(DataError, match="how many parts"):
        read_decisions(tmp_path / "x.npz")
    write_decisions(tmp_path / "x.npz", np.ones((3, 5, 2)), None, TopK(5, 2))
    assert read_decisions(tmp_path / "x.npz").structure.n_parts == 5


def test_structures_that_files_cannot_hold(tmp_path):
    X, costs = examples()
    with pytest.raises(TypeError, match="A file cannot hold this Matching"):
        write_decisions(tmp_path / "x.npz", X, costs, structures.Matching())
    both = TopK.together([TopK(4, 1), TopK(4, 2)])
    with pytest.raises(TypeError, match="A file cannot hold this TopK"):
        write_decisions(tmp_path / "x.npz", X, costs, both)


def test_a_generated_problem_comes_back(tmp_path):
    made = make_knapsacks(5, n_items=6, dimensions=2, random_state=0)
    write_decisions(tmp_path / "x.npz", *made, sense="max")
    found = read_decisions(tmp_path / "x.npz")
    assert_array_equal(found.structure.weights, made.structure.weights)
    assert_array_equal(found.costs, made.costs)


def arrays(**changes):
    X, costs = examples()
    found = {"features": X, "costs": costs, "edges": np.array(RING), "source": 0, "target": 2}
    return {name: value for name, value in {**found, **changes}.items() if value is not None}


PATH = {"edges": None, "source": None, "target": None}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"features": None}, "has no array features."),
        ({"features": np.ones(3)}, "features must have the shape (examples, d) or (examples, parts, d)"),
        ({"features": np.full((3, 2), np.nan)}, "features has nan at [0, 0]"),
        ({"features": np.ones((2, 2))}, "costs has 3 rows but features has 2"),
        ({"features": np.ones((3, 5, 2))}, "costs has 4 columns, but features has rows of 5 parts."),
        ({"costs": np.ones(3)}, "costs must have the shape (examples, parts); got (3,)."),
        ({"costs": np.array([[1, 2, 3, np.inf]] * 3)}, "costs has inf at [0, 3]; leave the example out"),
        ({"costs": np.ones((3, 5))}, "There are 5 costs per example, but 4 parts by edges, source, target."),
        ({"known_costs": np.ones((3, 5))}, "costs has 4 columns, but known_costs has 5."),
        ({"known_costs": np.full((3, 4), np.nan)}, "known_costs has nan at [0, 0]"),
        ({"costs": np.array([["a"] * 4] * 3)}, "costs.npy holds no numbers"),
        ({"costs": np.ones((3, 4), dtype=object)}, "costs.npy holds no numbers"),
        ({"sense": "up"}, 'sense must be the text "min" or "max"; got [\'up\'].'),
        ({"sense": 1}, 'sense must be the text "min" or "max"; got [1].'),
        ({"target": None}, "There is no array target, which a path (edges, source, target) needs."),
        ({"edges": None}, "There is no array edges, which a path"),
        ({"source": [0, 1]}, "source must be one whole number; got 2 numbers."),
        ({"source": 0.5}, "source must hold whole numbers; got 0.5 at [0]."),
        ({"target": 2**40}, "The graph has a node 1099511627776 but 4 edges: number its nodes from 0."),
        ({"target": 9}, "No path leads from node 0 to node 9."),
        ({"edges": np.ones(4)}, "edges must have the shape (parts, 2); got (4,)."),
        ({"edges": np.array(RING) + 0.5}, "edges must hold whole numbers; got 0.5 at [0, 0]."),
        ({"k": 2}, "The arrays say twice what is decided: a path (edges, source, target) and a choice (k)."),
        ({**PATH, "k": 5}, "TopK needs 0 <= least <= most <= n_parts; got least=5, most=5 of 4 parts."),
        ({**PATH, "least": 1}, "There is no array most, which a choice (least, most) needs."),
        ({**PATH, "weights": [1, 2, 3, 0], "capacity": 3}, "item 3 has the weight 0"),
        (
            {**PATH, "weights": [1, 2, 3], "capacity": 3},
            "4 costs per example, but 3 parts by weights, capacity.",
        ),
        (
            {**PATH, "weights": [1, 2, 3, 4.5], "capacity": 3},
            "weights must hold whole numbers; got 4.5 at [3]",
        ),
        ({**PATH, "rows": 2**31, "columns": 2**33}, "but 18446744073709551616 parts by rows, columns."),
        ({**PATH, "edges": [(0, 1), (0, 1), (2, 3), (2, 3)]}, "no spanning tree"),
        ({**PATH, "A": np.ones((2, 3)), "b": [1, 1]}, "A must have one column per part (4); got (2, 3)."),
        ({**PATH, "A": np.ones(4), "b": [1]}, "A must have one column per part (4); got (4,)."),
        ({**PATH, "A": np.ones((2, 4))}, "A and b must be given together"),
        ({**PATH, "A": np.ones((1, 4)), "b": [-1]}, "The program is infeasible"),
        ({**PATH, "upper": np.inf}, "does not bound part 0 above"),
        ({**PATH, "upper": [1, 2]}, "upper must hold one number, or one per part (4); got 2."),
        ({**PATH, "integrality": 0.5}, "integrality must hold whole numbers; got 0.5"),
        ({**PATH, "n_nodes": 5}, "There are 4 costs per example, but 10 parts by n_nodes."),
        ({"forbidden": [4]}, "parts must be numbers from 0 to 3"),
        ({"forbidden": [0, 2]}, "The array forbidden leaves no decision"),
    ],
)
def test_refused_files(tmp_path, changes, problem):
    path = tmp_path / "x.npz"
    np.savez(path, **arrays(**changes))
    with pytest.raises(DataError) as error:
        read_decisions(path)
    assert problem in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_no_file_and_no_archive(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_decisions(tmp_path / "none.npz")
    (tmp_path / "x.npz").write_text("features")
    with pytest.raises(DataError, match=r"is no \.npz file"):
        read_decisions(tmp_path / "x.npz")
