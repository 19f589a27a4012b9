"""Segmentation of images and graphs: its objective by hand, its input forms, its refusals."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from structlearn import CutSegmenter, StructuredPredictor, load
from structlearn.data import make_segmentations
from structlearn.structures import Cut
from structlearn.structures.graphs import grid_graph

EASY = {"regularization": 1.0, "tol": 0.01, "random_state": 0}


@pytest.fixture(scope="module")
def small():
    return make_segmentations(8, 2, 3, random_state=0, noise=0.5)


@pytest.fixture(scope="module")
def noisy():
    return make_segmentations(20, 12, 12, random_state=0)


def as_graphs(X, connectivity=4, **given):
    edges = [grid_graph(*x.shape[:2], connectivity).edges for x in X]
    return [(x.reshape(-1, x.shape[2]), e) for x, e in zip(X, edges)]


# ---- the objective --------------------------------------------------------------------------------------


def hinge(model, x, y):
    """max over labels, and over edges that may be cut without need, of score + share of mistakes."""
    rows, columns, _ = x.shape
    nodes = (x @ model.coef_ + model.intercept_).ravel()
    edges = grid_graph(rows, columns).edges
    pixels = x.reshape(rows * columns, -1)
    apart = np.square(pixels[edges[:, 0]] - pixels[edges[:, 1]]).sum(axis=1)
    scores = -model.edge_coef_[0] - model.edge_coef_[1] * np.exp(-apart / (2 * model.contrast_))
    gold = np.searchsorted(model.classes_, y.ravel())

    def value(labels, free):
        cut = labels[edges[:, 0]] != labels[edges[:, 1]]
        return nodes @ labels + scores[cut].sum() + free * np.maximum(scores[~cut], 0).sum()

    outputs = [np.array(one) for one in product((0, 1), repeat=rows * columns)]
    return max(value(one, 1) + np.mean(one != gold) for one in outputs) - value(gold, 0)


@pytest.mark.parametrize("regularization", [0.3, 1.0])
def test_primal_by_hand(small, regularization):
    X, y = small
    model = CutSegmenter(**{**EASY, "regularization": regularization}).fit(X, y)
    w = np.concatenate([model.coef_, [model.intercept_], model.edge_coef_])
    by_hand = regularization / 2 * w @ w + np.mean([hinge(model, *pair) for pair in zip(X, y)])
    assert model.certificate_.primal == pytest.approx(by_hand, abs=1e-12)
    assert np.abs(model.edge_coef_).min() > 1e-3


def test_neighbours_help(noisy):
    X, y = noisy
    model = CutSegmenter(**{**EASY, "regularization": 30.0}).fit(X[:10], y[:10])
    alone = np.mean([(scores > 0) == one for scores, one in zip(model.decision_function(X[10:]), y[10:])])
    assert model.score(X[10:], y[10:]) > alone + 0.03
    assert model.edge_coef_.sum() > 0


def test_features_of_every_edge_enter_by_the_length(small):
    X, y = small
    model = CutSegmenter(**EASY, connectivity=8, edge_features="constant").fit(X, y)
    given = [
        (x, e, [[1 / np.hypot(*np.subtract(divmod(a, 3), divmod(b, 3)))] for a, b in e])
        for x, e in as_graphs(X, 8)
    ]
    by_hand = CutSegmenter(**EASY).fit(given, [one.ravel() for one in y])
    assert_allclose(by_hand.weights_, model.weights_, atol=1e-12)


# ---- forms of input -------------------------------------------------------------------------------------


def test_an_image_is_the_graph_of_its_pixels(small):
    X, y = small
    images = CutSegmenter(**EASY).fit(X, y)
    graphs = CutSegmenter(**EASY).fit(as_graphs(X), [one.ravel() for one in y])
    assert_array_equal(graphs.weights_, images.weights_)
    for image, graph in zip(images.predict(X), graphs.predict(as_graphs(X))):
        assert image.shape == (2, 3)
        assert_array_equal(image.ravel(), graph)


@pytest.mark.filterwarnings("ignore:.*training edges between like labels")  # some are at 0 here
def test_graphs_differ_by_example_and_edges_may_have_their_features():
    rng = np.random.default_rng(0)
    X, y = [], []
    for n in (3, 5, 4, 5, 1):
        edges = np.array([(i, i + 1) for i in range(n - 1)]).reshape(-1, 2)
        labels = (np.arange(n) > n // 2).astype(int)
        features = np.column_stack([np.ones(n - 1), rng.random((n - 1, 2))])
        X.append((labels[:, None] + 0.1 * rng.normal(size=(n, 1)), edges, features))
        y.append(labels)
    model = CutSegmenter(**EASY).fit(X, y)
    assert model.edge_coef_.shape == (3,)
    assert model.contrast_ == 0
    assert [one.shape for one in model.predict(X)] == [one.shape for one in y]
    with pytest.raises(ValueError, match="X has 2 edge features, but the model was trained with 3"):
        model.predict([x[:2] for x in X])


def test_float32_images_train_as_float64(small):
    X, y = small
    single = [x.astype(np.float32) for x in X]
    model = CutSegmenter(**EASY).fit(single, y)
    again = CutSegmenter(**EASY).fit([x.astype(np.float64) for x in single], y)
    # rounding may break ties among vertices in another way: what is certified is the objective
    assert model.certificate_.primal == pytest.approx(again.certificate_.primal, abs=EASY["tol"])


def test_a_structured_predictor_takes_cuts(tmp_path):
    rng = np.random.default_rng(0)
    structure = Cut(3, [(0, 1), (1, 2)])
    X = [rng.normal(size=(5, 2)) for _ in range(6)]
    y = [structure.decode(structure.maximize(x @ [1.0, -1.0])) for x in X]
    model = StructuredPredictor(structure, **EASY).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.structure_.edges, structure.edges)
    assert_array_equal(again.predict(X), model.predict(X))


# ---- marginals ------------------------------------------------------------------------------------------


def test_marginals_after_sparsemax_are_projections(small):
    X, y = small
    model = CutSegmenter(loss="sparsemax", regularization=1.0, tol=0.05, random_state=0).fit(X, y)
    structure = Cut.grid(2, 3)
    for x, shares, labels in zip(X, model.predict_marginals(X), model.predict(X)):
        pixels = x.reshape(6, -1)
        i, j = structure.edges.T
        contrast = np.exp(-np.square(pixels[i] - pixels[j]).sum(axis=1) / (2 * model.contrast_))
        scores = -model.edge_coef_[0] - model.edge_coef_[1] * contrast
        theta = np.concatenate([pixels @ model.coef_ + model.intercept_, scores])
        assert_allclose(shares.ravel(), structure.project(theta)[:6], atol=1e-9)
        assert_array_equal(labels.ravel(), structure.decode(structure.maximize(theta - 0.5)))
    with pytest.raises(AttributeError, match="train with loss='sparsemax'"):
        CutSegmenter(**EASY).fit(X, y).predict_marginals(X)


def test_softmax_is_refused_with_the_reason(small):
    with pytest.raises(TypeError, match=r"#P-hard\); use .*loss='hinge'"):
        CutSegmenter(loss="softmax").fit(*small)


# ---- refusals -------------------------------------------------------------------------------------------

IMAGE, LABELS = np.zeros((2, 2, 1)), np.array([[0, 1], [1, 0]])
NODES, EDGES = np.zeros((3, 2)), [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([IMAGE[..., 0]], r"Image 0 must be an array of shape \(rows, columns, features\).*grey"),
        ([np.zeros((0, 2, 1))], "Image 0 is empty"),
        ([IMAGE, np.zeros((2, 2, 3))], "Image 1 has 3 features but Image 0 has 1"),
        ([IMAGE, IMAGE + np.nan], "Image 1 contains NaN"),
        ([(NODES,)], r"a graph is \(nodes, edges\[, edge features\[, node types\]\]\)"),
        ([(NODES[0], EDGES)], "node features of shape"),
        ([(NODES, [(0, 3)])], "Graph 0: Edge .* leaves the graph"),
        ([(NODES, EDGES, np.zeros((3, 1)))], "2 edges but edge features of shape .3, 1."),
        ([(NODES, EDGES, np.full((2, 1), np.inf))], "Edge features must be finite"),
        ([(NODES, EDGES, np.ones((2, 1))), (NODES, EDGES)], "Graph 1 has no edge features"),
        ([(NODES, EDGES, np.ones((2, 1))), (NODES, EDGES, np.ones((2, 2)))], "Graph 1 has 2 edge features"),
    ],
)
def test_images_that_cannot_be_are_refused(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        CutSegmenter().fit(X, [LABELS] * len(X))


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([LABELS.ravel()], r"labels of shape \(4,\); they must have \(2, 2\)"),
        ([LABELS * 0], "two classes, label 0 and label 1; y has 1"),
        ([[[0, 1], [2, 0]]], "two classes.* y has 3"),
        ([LABELS + 0.5], "continuous"),
    ],
)
def test_labels_that_cannot_be_are_refused(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        CutSegmenter().fit([IMAGE], y)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [({"connectivity": 5}, "4 or 8"), ({"edge_features": "none"}, "Unknown edge_features 'none'")],
)
def test_parameters_that_cannot_be_are_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        CutSegmenter(**parameters).fit([IMAGE], [LABELS])


def test_edges_that_would_repel_are_counted_in_a_warning():
    """Noisy chains are worth smoothing, even where one edge of each has the feature -1 and would repel."""
    rng = np.random.default_rng(0)
    edges = np.stack([np.arange(14), np.arange(1, 15)], axis=1)
    features = np.where(np.arange(14) == 1, -1.0, 1.0)[:, None]
    labels = (np.arange(15) > 7).astype(int)
    X = [(labels[:, None] + rng.normal(size=(15, 1)), edges, features) for _ in range(20)]
    with pytest.warns(UserWarning, match="20 of 260 training edges between like labels .* score above 0"):
        CutSegmenter(**EASY).fit(X, [labels] * 20)
