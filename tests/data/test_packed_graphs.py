"""Packed graphs and images: what is packed is what is read, and training on it is the same."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from structlearn import GraphClassifier, GridClassifier
from structlearn.core.memory import Memory, anonymous_bytes
from structlearn.data import DataError, PackedWriter, open_packed, pack
from structlearn.structures.graph.pairwise import PairwiseGraphs
from structlearn.structures.graphs import make_graph

FAST = {"random_state": 0, "tol": 0.1, "regularization": 0.1}


def graphs(n=16, *, features=False, types=False, names=False, unknown=False, kind=np.float64):
    """Graphs of one node or more, with no edge or more."""
    rng, X, y = np.random.default_rng(0), [], []
    for size in [1, *rng.integers(2, 7, size=n - 1)]:
        edges = np.array([pair for pair in np.ndindex(size, size) if pair[0] < pair[1]]).reshape(-1, 2)
        edges = edges[rng.random(len(edges)) < 0.6]
        labels = rng.integers(3, size=size)
        given = rng.normal(size=(len(edges), 2)).astype(kind) if features else None
        kept = (np.eye(3)[labels] + 0.5 * rng.normal(size=(size, 3))).astype(kind), edges, given, labels % 2
        X.append(kept[: 4 if types else 3 if features else 2])
        y.append(np.array(["a", "b", "c"])[labels] if names else labels)
        if unknown:
            y[-1] = np.where(rng.random(size) < 0.3, None if names else -1, y[-1])
    return X, y


def same(one, other):
    if isinstance(one, tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other):
            same(a, b)
    elif one is None:
        assert other is None
    else:
        assert_array_equal(one, other)


OPTIONS = {
    "plain": {},
    "edge features": {"features": True},
    "types": {"types": True},
    "all, float32": {"features": True, "types": True, "kind": np.float32},
    "names, unknown": {"names": True, "unknown": True},
    "numbers, unknown": {"unknown": True},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_graphs(tmp_path, options):
    X, y = graphs(**options)
    pack(tmp_path / "p", "graph", X, y, examples_at_once=5)
    packed = open_packed(tmp_path / "p")
    assert len(packed) == len(packed.y) == len(X)
    for one, other in zip([*X, *y], [*packed.X, *packed.y], strict=True):
        same(one, other)
    alone, from_files = GraphClassifier(**FAST).fit(X, y), GraphClassifier(**FAST).fit(packed.X, packed.y)
    assert from_files.weights_.tobytes() == alone.weights_.tobytes()
    assert from_files.score(packed.X, packed.y) == alone.score(X, y)
    assert_array_equal(from_files.classes_, alone.classes_)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2)], ids=["images", "volumes"])
def test_grids(tmp_path, shape):
    rng = np.random.default_rng(0)
    y = [rng.integers(3, size=(size, *shape[1:])) for size in (2, 3, 3)]
    X = [np.eye(3)[one] + rng.normal(size=(*one.shape, 3)) for one in y]
    y[0][0, 0] = -1
    pack(tmp_path / "p", "grid", X, y, examples_at_once=2)
    packed = open_packed(tmp_path / "p")
    for one, other in zip([*X, *y], [*packed.X, *packed.y], strict=True):
        assert_array_equal(one, other)
    options = {**FAST, "connectivity": 4 if len(shape) == 2 else 6}
    alone, from_files = GridClassifier(**options).fit(X, y), GridClassifier(**options).fit(packed.X, packed.y)
    assert from_files.weights_.tobytes() == alone.weights_.tobytes()


def test_features_are_not_copied(tmp_path):
    pack(tmp_path / "p", "graph", *graphs(features=True))
    packed = open_packed(tmp_path / "p")
    examples = GraphClassifier()._examples(packed.X)
    assert np.shares_memory(examples.nodes, packed.X.rows)
    assert np.shares_memory(examples.edge_features, packed.X.edge_features)
    assert all(np.shares_memory(one.edges, packed.X.edges) for one in examples.graphs if len(one.edges))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("unknown", [False, True])
def test_training_within_a_limit_is_the_same(tmp_path, monkeypatch, n_jobs, unknown):
    monkeypatch.setattr("structlearn.core.memory.SHARE_KEPT", 0.0)  # everything goes to files
    monkeypatch.setattr("structlearn.core.memory.SMALL", 0)
    X, y = graphs(unknown=unknown)
    pack(tmp_path / "p", "graph", X, y)
    packed, options = open_packed(tmp_path / "p"), {**FAST, "n_jobs": n_jobs}
    one = GraphClassifier(**options).fit(X, y)
    limited = GraphClassifier(**options, memory=anonymous_bytes() + (2 << 30)).fit(packed.X, packed.y)
    assert limited.weights_.tobytes() == one.weights_.tobytes()


def test_the_compiled_form_of_graphs_keeps_to_a_limit(monkeypatch):
    """Graphs that are too wide to be eliminated, each its own: their arcs are in files."""
    rng, n = np.random.default_rng(0), 300
    pairs = np.stack(np.triu_indices(50, 1), axis=1)
    wide = [make_graph(50, pairs[rng.permutation(len(pairs))[:100]]) for _ in range(n)]
    assert len(PairwiseGraphs(wide[:2], 3, most_entries=0).record.middle) == 100  # compiles
    monkeypatch.setattr("structlearn.core.memory.SHARE_KEPT", 0.0)
    monkeypatch.setattr("structlearn.core.memory.SMALL", 1 << 14)
    memory = Memory(anonymous_bytes() + (2 << 30))
    tracemalloc.start()
    try:
        record = PairwiseGraphs(wide, 3, most_entries=0, memory=memory).record
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(record.scores.graph.head) == 200 * n
    assert most < 10 * 100 * n  # an edge has 32 bytes


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([(np.ones((2, 1)), [(0, 2)])], [[0, 1]], r"edge \(0, 2\) .* its nodes are 0 .. 1"),
        ([(np.ones((2, 1)), [(1, 1)])], [[0, 1]], "joins node 1 with itself"),
        ([(np.ones((2, 1)), [(0, 0.5)])], [[0, 1]], "pairs of integers"),
        (
            [(np.ones((2, 1)), [(0, 1)], np.ones((2, 1)))],
            [[0, 1]],
            r"edge features of shape \(2, 1\); give 1 row",
        ),
        ([(np.ones((3, 1)), [(0, 1), (1, 2)], np.ones(2))], [[0, 1, 1]], r"edge features of shape \(2,\)"),
        ([(np.ones((2, 1)), [(0, 1)])], [[0, 1, 1]], "2 nodes but 3 labels"),
        ([(np.ones((2, 1)), [(0, 1)])], [[-1, -1]], "no label at all"),
        ([(np.ones(2), [(0, 1)])], [[0, 1]], "node features of shape"),
        ([np.ones((2, 1))], [[0, 1]], "not a tuple"),
        ([(np.ones((1, 1)), []), (np.ones((1, 1)), [], np.ones((0, 1)))], [[0], [1]], "to all or none"),
        ([(np.ones((1, 1)), []), (np.ones((1, 1)), [])], [[0], ["a"]], "strings or numbers, not both"),
        ([(np.full((1, 1), np.nan), [])], [[0]], "NaN"),
    ],
)
def test_what_fit_refuses_is_not_packed(tmp_path, X, y, said):
    with pytest.raises((ValueError, DataError), match=said):
        pack(tmp_path / "p", "graph", X, y)
    assert list(tmp_path.iterdir()) == []


def test_batches_must_fit_together(tmp_path):
    (X, y), (others, _) = graphs(), graphs(features=True)
    writer = PackedWriter(tmp_path / "p", "graph").__enter__()
    writer.append(X, y)
    with pytest.raises(ValueError, match="in all batches, or in none"):
        writer.append(others, y)
    with pytest.raises(DataError, match="A batch was refused, so nothing is packed"):
        writer.__exit__(None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("image", "labels"),
    [((2, 3, 1), (3, 2)), ((2, 3, 1), (6,)), ((6, 1), (6,)), ((2, 3, 1, 1, 1), (2, 3, 1, 1))],
    ids=["transposed", "in a row", "no image", "too many axes"],
)
def test_labels_have_the_shape_of_their_image(tmp_path, image, labels):
    with pytest.raises(ValueError, match="Image 0 of a batch has shape"):
        pack(tmp_path / "p", "grid", [np.ones(image)], [np.zeros(labels, dtype=int)])
    assert list(tmp_path.iterdir()) == []
