"""What regularization="auto" stands for on graphs, and that everything goes by it."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from model_files import rewrite
from structlearn import (
    ChainClassifier,
    CutSegmenter,
    GraphClassifier,
    GridClassifier,
    MulticlassClassifier,
    load,
    regularization_path,
    regularization_values,
)
from structlearn.core.errors import NothingLearnedWarning

MODELS = Path(__file__).parent / "models"
RING = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])
FAST = {"tol": 1e-3, "random_state": 0}
EXACT = {"tol": 1e-8, "random_state": 0}


def rings(n=12, seed=0, edges=RING, scale=1.0):
    """Graphs of four nodes, whose edges have two features."""
    rng = np.random.default_rng(seed)
    y = [np.r_[(i + i // 3) % 2, np.full(3, i % 2)] for i in range(n)]
    nodes = [np.eye(2)[one] + 0.6 * rng.normal(size=(4, 2)) for one in y]
    return [(scale * x, edges, scale * rng.uniform(0.5, 2, size=(len(edges), 2))) for x in nodes], y


def mean_square(tables):
    """The mean of ||row||^2, by plain sums."""
    rows = [row for table in tables for row in table]
    return sum(float(sum(value * value for value in row)) for row in rows) / len(rows)


# ---- the rule -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "size"),
    [({}, 4), ({"cost": [1.0, 2.0]}, 4), ({"cost": "count"}, 1), ({"loss": "softmax"}, 1)],
)
def test_lambda_of_graphs_by_hand(options, size):
    X, y = rings()
    model = GraphClassifier(**FAST, **options).fit(X, y)
    rows = mean_square([table for one in X for table in (one[0], one[2])])
    assert model.regularization_ == pytest.approx(0.01 * rows * size, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lambda_of_images_by_hand(dtype):
    """Edges have unit length where they have a direction; sizes of images may differ."""
    rng = np.random.default_rng(1)
    shapes = [(2, 3), (4, 2), (1, 1)]
    X = [rng.normal(size=(*shape, 3)).astype(dtype) for shape in shapes]
    y = [np.arange(a * b).reshape(a, b) % 2 for a, b in shapes]
    n_edges = sum(a * (b - 1) + b * (a - 1) for a, b in shapes)
    squares = sum(float(np.square(x.astype(float)).sum()) for x in X) + n_edges
    expected = 0.01 * squares / (15 + n_edges) * 15 / 3
    assert GridClassifier(**FAST).fit(X, y).regularization_ == pytest.approx(expected, rel=1e-6)
    constant = CutSegmenter(edge_features="constant", **FAST).fit(X, y)
    assert constant.regularization_ == pytest.approx(expected, rel=1e-6)


def test_single_nodes_of_unit_length_have_the_lambda_of_rows():
    X, y = np.eye(3)[np.arange(12) % 3], np.arange(12) % 3
    none = np.empty((0, 2), dtype=int)
    model = GraphClassifier(loss="softmax", **EXACT).fit([(x[None], none) for x in X], y[:, None])
    assert model.regularization_ == pytest.approx(MulticlassClassifier().regularization)
    rows = MulticlassClassifier(**EXACT).fit(X, y)
    assert model.certificate_.primal == pytest.approx(rows.certificate_.primal, abs=1e-7)


def test_a_path_of_unit_rows_is_a_chain_with_its_default():
    rng = np.random.default_rng(2)
    y = [rng.integers(3, size=5) for _ in range(10)]
    rows = [np.eye(3)[np.where(rng.random(5) < 0.7, one, rng.integers(3, size=5))] for one in y]
    path = np.stack([np.arange(4), np.arange(1, 5)], axis=1)
    graph = GraphClassifier(loss="softmax", **EXACT).fit([(x, path) for x in rows], y)
    chain = ChainClassifier(loss="softmax", **EXACT).fit(rows, y)
    assert graph.certificate_.primal == pytest.approx(chain.certificate_.primal, abs=1e-6)


@pytest.mark.parametrize("kind", [GraphClassifier, CutSegmenter])
@pytest.mark.parametrize("factor", [1e-3, 7.0])
def test_scaled_features_are_the_same_problem(kind, factor):
    (X, y), (scaled, _) = rings(), rings(scale=factor)
    one, other = (kind(fit_intercept=False, **EXACT).fit(data, y) for data in (X, scaled))
    assert other.regularization_ == pytest.approx(factor**2 * one.regularization_, rel=1e-12)
    assert other.certificate_.primal == pytest.approx(one.certificate_.primal, abs=1e-7)
    assert_allclose(factor * other.weights_, one.weights_, atol=1e-3)
    assert_array_equal(one.predict(X), other.predict(scaled))


def test_counted_mistakes_are_the_same_problem():
    """Graphs of one size: weights and P are multiplied with the number of nodes."""
    X, y = rings()
    mean, total = (GraphClassifier(cost=cost, **EXACT).fit(X, y) for cost in ("hamming", "count"))
    assert mean.regularization_ == pytest.approx(4 * total.regularization_)
    assert total.certificate_.primal == pytest.approx(4 * mean.certificate_.primal, abs=1e-6)
    assert_allclose(total.weights_, 4 * mean.weights_, atol=1e-3)
    assert_array_equal(mean.predict(X), total.predict(X))


@pytest.mark.parametrize(("loss", "power"), [("hinge", 1), ("softmax", 0)])
def test_copies_in_one_graph(loss, power):
    X, y = rings()
    three = [(np.tile(x, (3, 1)), np.concatenate([e, e + 4, e + 8]), np.tile(f, (3, 1))) for x, e, f in X]
    small = GraphClassifier(loss=loss, **FAST).fit(X, y)
    large = GraphClassifier(loss=loss, **FAST).fit(three, [np.tile(one, 3) for one in y])
    assert large.regularization_ == pytest.approx(3**power * small.regularization_)


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e-60, 1e-9, 1e8, 1e60, 1e140])
@pytest.mark.parametrize("kind", [GraphClassifier, CutSegmenter])
def test_scales_of_any_size_have_a_lambda(kind, scale):
    none = np.empty((0, 2), dtype=int)
    X = [(scale * np.array([[1.0], [-1.0]]), none)] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(**FAST, max_passes=20).fit(X, [[0, 1]] * 2)
    expected = 0.01 if scale < 1e-100 else np.clip(0.02 * scale**2, 1e-100, 1e100)
    assert model.regularization_ == pytest.approx(expected, rel=1e-12, abs=0)
    assert np.isfinite(model.certificate_.gap)


# ---- everything goes by it ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*training edges between like labels")
@pytest.mark.parametrize("kind", [GraphClassifier, CutSegmenter])
def test_the_number_gives_the_same_weights(kind):
    X, y = rings()
    chosen = kind(**FAST).fit(X, y)
    given = kind(regularization=chosen.regularization_, **FAST).fit(X, y)
    assert_array_equal(given.weights_, chosen.weights_)
    assert given.regularization_ == chosen.regularization_
    assert chosen.get_params()["regularization"] == "auto"
    assert clone(chosen).regularization == "auto"
    weighted = kind(**FAST).fit(X, y, np.arange(12) % 3)
    assert weighted.regularization_ == chosen.regularization_


def test_open_labels_and_latent_states():
    X, y = rings()
    known = GraphClassifier(**FAST).fit(X, y)
    partly = GraphClassifier(**FAST).fit(X, [np.where(np.arange(4) == 2, -1, one) for one in y])
    latent = GraphClassifier(latent_states={1: 2}, **FAST).fit(X, y)
    assert partly.regularization_ == latent.regularization_ == known.regularization_


def test_mapped_rows_are_the_rows():
    from sklearn.preprocessing import StandardScaler

    X, y = rings()
    model = GraphClassifier(row_transformer=StandardScaler(), **FAST).fit(X, y)
    rows = [model.row_transformer_.transform(x) for x, _, _ in X]
    expected = 0.04 * mean_square([*rows, *(one[2] for one in X)])
    assert model.regularization_ == pytest.approx(expected, rel=1e-5)


def test_no_lambda_where_none_is_used():
    X, y = rings()
    with pytest.warns(ConvergenceWarning):
        model = GraphClassifier(loss="perceptron", max_passes=1).fit(X, y)
    assert model.regularization_ == 0.0


def test_warm_starts_paths_and_searches():
    X, y = rings()
    warm = GraphClassifier(warm_start=True, **FAST).fit(X, y)
    given = GraphClassifier(warm_start=True, regularization=warm.regularization_, **FAST).fit(X, y)
    assert_array_equal(warm.fit(X, y).weights_, given.fit(X, y).weights_)
    assert warm.regularization_ == given.regularization_
    models = regularization_path(GraphClassifier(**FAST), X, y, [1.0, 0.1])
    assert [one.regularization_ for one in models] == [1.0, 0.1]
    given = regularization_values(GraphClassifier(regularization=0.5), X, y)
    assert regularization_values(GraphClassifier(), X, y) == given
    grid = GridSearchCV(GraphClassifier(**FAST), {"regularization": ["auto", 0.3]}, cv=2).fit(X, y)
    assert set(grid.cv_results_["param_regularization"]) == {"auto", 0.3}


def test_a_model_that_learned_nothing_names_the_number():
    rng = np.random.default_rng(0)
    none = np.empty((0, 2), dtype=int)
    X = [(np.zeros((1, 1)), none)] * 30
    model = CutSegmenter(fit_intercept=False, edge_features="constant")
    with pytest.warns(NothingLearnedWarning, match="a regularization below 0.01"):
        model.fit(X, rng.permutation([0, 1] * 15)[:, None])


# ---- refusals and files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["often", "1", "AUTO"])
def test_other_words_are_refused(value):
    with pytest.raises(ValueError, match=f"^regularization must be 'auto' or a number; got '{value}'.$"):
        GraphClassifier(regularization=value).fit(*rings())


@pytest.mark.parametrize("value", [-1.0, np.nan, None, True])
def test_other_numbers_are_refused(value):
    with pytest.raises(ValueError, match=r"^regularization must be"):
        CutSegmenter(regularization=value).fit(*rings())


def test_other_estimators_have_a_number():
    with pytest.raises(ValueError, match=r"^regularization must be a finite number; got 'auto'.$"):
        MulticlassClassifier(regularization="auto").fit(np.eye(2), [0, 1])


@pytest.mark.parametrize("kind", [GraphClassifier, CutSegmenter])
def test_files_hold_the_word_and_the_number(tmp_path, kind):
    X, y = rings()
    model = kind(**FAST).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert again.regularization == "auto"
    assert again.regularization_ == model.regularization_
    assert_array_equal(again.fit(X, y).weights_, model.weights_)


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        *(("parameters", "regularization", value) for value in ("often", None, [1.0])),
        *(("fitted", "regularization_", value) for value in ("auto", float("nan"))),
    ],
)
def test_damaged_files_are_refused(tmp_path, place, name, value):
    path = tmp_path / "model.safetensors"
    GraphClassifier(**FAST).fit(*rings()).save(path)
    rewrite(path, lambda header, tensors: header[place].update({name: value}))
    with pytest.raises(ValueError, match=f"{place}.{name} must be"):
        load(path)


def test_files_of_0_2_hold_a_number():
    model = load(MODELS / "v5-graph.safetensors")
    expected = json.loads((MODELS / "v5-graph.json").read_text())
    X = [(np.array(nodes), np.array(edges)) for nodes, edges in expected["X"]]
    assert [one.tolist() for one in model.predict(X)] == expected["y"]
    assert model.certificate_.primal == expected["primal"]
    assert model.regularization == 0.01
    assert model.fit(X, expected["y"]).regularization_ == 0.01
