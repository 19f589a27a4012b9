"""Volumes, networkx graphs and superpixels: the same as the arrays that they stand for."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from structlearn import CutSegmenter, GraphClassifier, GridClassifier, load
from structlearn.data import superpixel_graph
from structlearn.estimators.inputs.grids import direction_names, edge_directions, edge_lengths, grid

SETTINGS = {"regularization": 0.1, "tol": 0.01, "random_state": 0}


# ---- volumes ----------------------------------------------------------------------------------------------


def test_volumes_join_each_cell_with_six_neighbours():
    shape = (2, 3, 4)
    graph = grid(shape, 6)
    places = list(product(*map(range, shape)))
    expected = {
        frozenset((a, b))
        for a, one in enumerate(places)
        for b, other in enumerate(places)
        if sum(abs(i - j) for i, j in zip(one, other)) == 1
    }
    assert len(graph.edges) == len(expected)
    assert set(map(frozenset, graph.edges.tolist())) == expected
    for step, end in zip(edge_directions(graph.edges, shape, 6), graph.edges):
        (axis,) = np.flatnonzero(np.subtract(places[end[1]], places[end[0]]))
        assert step.tolist() == [axis == 2, axis == 1, axis == 0]
    assert direction_names(6) == ["right", "down", "deep"]
    assert_allclose(edge_lengths(grid((2, 2), 8).edges, (2, 2)), [1, 1, 1, 1, 2**0.5, 2**0.5])


def test_volumes_are_learned_with_a_table_for_each_direction():
    """Labels rise with depth, and stay as they are to the right and down."""
    rng = np.random.default_rng(0)
    y = [np.repeat([0, 1, 2], 4).reshape(3, 2, 2) for _ in range(12)]
    X = [np.eye(3)[one] + rng.normal(size=(3, 2, 2, 3)) for one in y]
    model = GridClassifier(connectivity=6, **SETTINGS).fit(X, y)
    assert model.predict(X)[0].shape == (3, 2, 2)
    right, down, deep = model.edge_coef_
    assert right.argmax(axis=1).tolist() == down.argmax(axis=1).tolist() == [0, 1, 2]
    assert deep.argmax(axis=1)[:2].tolist() == [1, 2]
    assert model.edge_names() == ["right", "down", "deep"]
    two = [(one > 0).astype(int) for one in y]
    assert CutSegmenter(connectivity=6, regularization=1.0, tol=0.1).fit(X, two).predict(X)[0].shape == (
        3,
        2,
        2,
    )
    with pytest.raises(
        ValueError, match=r"Image 0 must be an array of shape \(planes, rows, columns, features\)"
    ):
        model.predict([X[0][0]])
    with pytest.raises(ValueError, match="6, for volumes; got 5"):
        GridClassifier(connectivity=5).fit(X, y)


# ---- graphs of networkx -----------------------------------------------------------------------------------


def networks(n=8):
    """Graphs of people, by name, with ages and colours; and the same as arrays."""
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(0)
    graphs, X, y = [], [], []
    for _ in range(n):
        graph, labels = networkx.DiGraph(), rng.permutation([0, 0, 1, 1])
        values = labels[:, None] + rng.normal(size=(4, 3))
        for v, name in enumerate("dbac"):
            graph.add_node(name, age=values[v, 0], colour=values[v, 1:], group=f"g{labels[v]}")
        ends = [(0, 1), (2, 1), (3, 2)]
        weights = rng.normal(size=3)
        for (a, b), weight in zip(ends, weights):
            graph.add_edge("dbac"[a], "dbac"[b], weight=weight)
        order = [ends.index(("dbac".index(a), "dbac".index(b))) for a, b in graph.edges]
        graphs.append(graph)
        X.append((values, np.array(ends)[order], weights[order][:, None]))
        y.append(np.array([f"g{k}" for k in labels]))
    return graphs, X, y


def test_networks_are_the_arrays_that_their_attributes_are(tmp_path):
    graphs, X, y = networks()
    options = {"node_attributes": ["age", "colour"], "edge_attributes": "weight"}
    one = GraphClassifier(**options, **SETTINGS).fit(graphs, "group")
    other = GraphClassifier(**SETTINGS).fit(X, y)
    assert_array_equal(one.weights_, other.weights_)
    assert_array_equal(one.predict(graphs), other.predict(X))
    assert one.score(graphs, "group") == other.score(X, y)
    del graphs[0].nodes["a"]["group"]
    partly = GraphClassifier(**options, **SETTINGS).fit(graphs, "group")
    assert hasattr(partly, "outer_history_")
    one.save(tmp_path / "m.st")
    again = load(tmp_path / "m.st")
    assert clone(again).get_params() == one.get_params()
    assert_array_equal(again.predict(graphs), one.predict(graphs))


def test_networks_that_are_refused():
    graphs, X, y = networks(2)
    with pytest.raises(ValueError, match=r"Graph 0 is a networkx graph: .*node_attributes="):
        GraphClassifier().fit(graphs, y)
    with pytest.raises(ValueError, match='Graph 0: node "d" has no attribute "size"'):
        GraphClassifier(node_attributes=["age", "size"]).fit(graphs, y)
    with pytest.raises(ValueError, match="Example 0 is none"):
        GraphClassifier().fit(X, "group")
    graphs[1].nodes["b"]["colour"] = [1.0]
    with pytest.raises(ValueError, match="not of one length"):
        GraphClassifier(node_attributes="colour").fit(graphs, y)
    with pytest.raises(ValueError, match="or a networkx graph; got SimpleNamespace"):
        GraphClassifier().fit([SimpleNamespace(nodes=[])], y)


# ---- superpixels ------------------------------------------------------------------------------------------


def test_superpixels_are_what_their_pixels_are():
    rng = np.random.default_rng(0)
    segments = np.array([[5, 5, 7, 7], [5, 5, 7, 9], [2, 2, 9, 9]])
    image = rng.random((3, 4, 2))
    found = superpixel_graph(image, segments=segments)
    assert_array_equal(found.edges, [(0, 1), (0, 3), (1, 2), (2, 3)])  # 2, 5, 7, 9 in their order
    for k, name in enumerate([2, 5, 7, 9]):
        own = image[segments == name]
        assert_allclose(found.nodes[k, :2], own.mean(axis=0))
        assert_allclose(found.nodes[k, 2:4], own.std(axis=0))
        assert_allclose(found.nodes[k, 4:], (np.argwhere(segments == name) / [2, 3]).mean(axis=0))
        assert found.areas[k] == len(own) / 12
    # 2 touches 5 twice and 9 once; 5 touches 7 twice; 7 touches 9 three times.
    assert_allclose(found.edge_features[:, 2], [2 / 3, 1 / 3, 2 / 4, 3 / 4])
    labels = np.where(segments == 5, 1, 0)
    assert found.labels(labels).tolist() == [0, 1, 0, 0]
    assert_array_equal(found.paint([0, 1, 0, 0]), labels)
    with pytest.raises(ValueError, match="but the image of"):
        found.labels(labels[:2])
    for wrong in (segments[:2], segments.astype(float)):
        with pytest.raises(ValueError, match="segments must be whole numbers"):
            superpixel_graph(image, segments=wrong)
    with pytest.raises(ValueError, match="NaN"):
        superpixel_graph(np.full((2, 2), np.nan), segments=np.zeros((2, 2), dtype=int))


def test_superpixels_of_scikit_image_are_learned():
    pytest.importorskip("skimage")
    rng = np.random.default_rng(0)
    golds = [np.add.outer(np.zeros(24), np.arange(24) > cut).astype(int) for cut in (8, 11, 15)]
    images = [gold[..., None] * [0.4, 0.2, 0.0] + 0.1 * rng.random((24, 24, 3)) for gold in golds]
    found = [superpixel_graph(image, 30, compactness=30) for image in images]
    assert all(15 < len(one.nodes) < 45 for one in found)
    X, y = [one.graph for one in found], [one.labels(gold) for one, gold in zip(found, golds)]
    model = GraphClassifier(**SETTINGS).fit(X, y, node_weights=[one.areas for one in found])
    painted = [one.paint(labels) for one, labels in zip(found, model.predict(X))]
    assert np.mean([a == b for a, b in zip(painted, golds)]) > 0.95
