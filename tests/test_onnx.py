"""ONNX graphs, run by onnxruntime, answer as the models do."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    GridClassifier,
    LinearRegressor,
    MulticlassClassifier,
    MultiLabelClassifier,
    make_table_transformer,
)

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from structlearn.onnx import export_onnx, onnx_model  # noqa: E402


def session(model):
    return runtime.InferenceSession(onnx_model(model).SerializeToString())


def answers(model, X):
    return dict(zip(("labels", "scores"), session(model).run(["labels", "scores"], {"X": X})))


def rows(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(2.0, 3.0, (n, d)).astype(np.float32)


@pytest.mark.parametrize("names", [np.array([3, 5, 9]), np.array(["red", "blå", "green"])])
@pytest.mark.parametrize("scaler", [None, StandardScaler(), StandardScaler(with_mean=False)])
def test_classes(names, scaler):
    X = rows()
    y = names[np.digitize(X[:, 0], [1, 3])]
    model = MulticlassClassifier(tol=0.01, random_state=0, row_transformer=scaler).fit(X, y)
    found = answers(model, X)
    assert found["labels"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(found["scores"], model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("names", [np.array([False, True]), np.array(["no", "yes"])])
def test_two_classes(names):
    X = rows()
    y = names[(X[:, 0] > 2).astype(int)]
    model = BinaryClassifier(tol=0.01, random_state=0).fit(X, y)
    found = answers(model, X)
    assert found["labels"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(found["scores"].ravel(), model.decision_function(X), atol=1e-9)


def test_columns_of_numbers_of_a_table():
    X = rows().astype(np.float64)
    X[::7, 1] = np.nan
    y = np.where(X[:, 0] > 2, "yes", "no")
    model = MulticlassClassifier(tol=0.01, row_transformer=make_table_transformer()).fit(X, y)
    found = answers(model, X.astype(np.float32))
    assert found["labels"].tolist() == model.predict(X).tolist()
    scores = found["scores"][:, 1] - found["scores"][:, 0]
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-5)
    words = np.array([["Rome", 1.0], ["Oslo", 2.0]] * 10, dtype=object)
    model = MulticlassClassifier(row_transformer=make_table_transformer()).fit(words, [0, 1] * 10)
    with pytest.raises(ValueError, match="columns of text"):
        onnx_model(model)


@pytest.mark.parametrize("loss", ["softmax", "sparsemax"])
def test_label_sets(loss):
    X = rows()
    y = (X[:, :3] > [1, 2, 3]).astype(int)
    model = MultiLabelClassifier(loss=loss, edges="none", tol=0.01, random_state=0).fit(X, y)
    assert (answers(model, X)["labels"] == model.predict(X)).all()


def test_regression():
    X = rows()
    model = LinearRegressor().fit(X, X @ [1.0, -2.0, 0.5, 0.0] + 1)
    (found,) = session(model).run(None, {"X": X})
    np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-6)


def sequences(n=40):
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((rng.integers(1, 9), 5)).astype(np.float32) for _ in range(n)]
    codes = [np.clip(np.cumsum((x[:, 0] > 0).astype(int)) % 4 + (x[:, 1] > 1), 0, 3) for x in X]
    return X, [[f"L{k}" for k in one] for one in codes]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"start": True, "end": True},
        {"constraints": "never made"},
        {"transitions": "seen"},
        {"transitions": "seen-only"},
        {"features": "seen"},
        {"fit_intercept": False},
        {"row_transformer": StandardScaler()},
    ],
    ids=str,
)
def test_the_best_label_sequence(options):
    X, y = sequences()
    if "constraints" in options:
        made = {(None, one[0]) for one in y} | {pair for one in y for pair in zip(one, [*one[1:], None])}
        ends = [None, "L0", "L1", "L2", "L3"]
        pairs = [(a, b) for a in ends for b in ends if (a, b) not in made and (a, b) != (None, None)]
        assert pairs
        options = {"constraints": pairs}
    model = ChainClassifier(**{"regularization": 0.05, "tol": 0.01, "random_state": 0, **options}).fit(X, y)
    run = session(model)
    for x, best, scores in zip(X, model.predict(X), model.decision_function(X)):
        found = run.run(["labels", "scores"], {"X": x})
        assert found[0].tolist() == best.tolist()
        np.testing.assert_allclose(found[1], scores, atol=1e-5)


def test_files_are_written(tmp_path):
    model = BinaryClassifier(random_state=0).fit(rows(), rows()[:, 0] > 2)
    export_onnx(model, tmp_path / "model.onnx")
    again = runtime.InferenceSession(tmp_path / "model.onnx")
    assert again.run(["labels"], {"X": rows()})[0].tolist() == model.predict(rows()).tolist()


def test_what_does_not_fit_is_refused():
    X = rows()
    y = (X[:, 0] > 2).astype(int)
    cases = {
        "vocabulary": ChainClassifier(random_state=0).fit([[["a"], ["b"]]], [[0, 1]]),
        "transition_features": ChainClassifier(transition_features=[0]).fit([X[:4]], [[0, 1, 0, 1]]),
        "not written as ONNX": BinaryClassifier(row_transformer=MinMaxScaler()).fit(X, y),
        "pairs": MultiLabelClassifier(edges="all").fit(X, (X[:, :3] > 2).astype(int)),
    }
    for words, model in cases.items():
        with pytest.raises(ValueError, match=words):
            onnx_model(model)
    other = GridClassifier()
    other.weights_ = np.zeros(1)
    with pytest.raises(ValueError, match="GridClassifier cannot be written"):
        onnx_model(other)
