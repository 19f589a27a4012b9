"""The shell applies maps of rows that a model file holds."""

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from structlearn import LinearRegressor, MulticlassClassifier, load
from structlearn.estimators.files.persistence import Bundle, save_bundle


def table(path, X, y):
    lines = ["a,b,target", *(f"{a!r},{b!r},{label}" for (a, b), label in zip(X.tolist(), y))]
    path.write_text("\n".join(lines) + "\n")


def test_models_with_a_map_predict_evaluate_and_are_described(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(np.linalg.norm(X, axis=1) < 1.1, "in", "out")
    data, model = tmp_path / "data.csv", tmp_path / "model"
    table(data, X, y)
    kernel = make_pipeline(StandardScaler(), Nystroem(n_components=30, random_state=0))
    shared = {"regularization": 1e-3, "random_state": 0}
    notes = {"task": "classify", "format": "csv", "features": ["a", "b"], "targets": ["target"]}
    fitted = MulticlassClassifier(row_transformer=kernel, **shared).fit(X, y)
    save_bundle(Bundle(fitted, notes), model)
    assert run("predict", model, data).stdout.split() == fitted.predict(X).tolist()
    accuracy = dict(line.split(": ") for line in run("evaluate", model, data).stdout.splitlines())["accuracy"]
    assert float(accuracy) > 0.95
    assert "row_transformer: StandardScaler, Nystroem" in run("info", model).stdout
    np.testing.assert_array_equal(load(model).predict(X), fitted.predict(X))


def test_regressions_with_a_map_predict(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.sin(2 * X[:, 0])
    data, model = tmp_path / "data.csv", tmp_path / "model"
    table(data, X, y)
    fitted = LinearRegressor(row_transformer=Nystroem(n_components=20, random_state=0)).fit(X, y)
    notes = {"task": "regress", "format": "csv", "features": ["a", "b"], "targets": ["target"]}
    save_bundle(Bundle(fitted, notes), model)
    found = [float(line.split()[0]) for line in run("predict", model, data).stdout.splitlines()]
    np.testing.assert_allclose(found, fitted.predict(X), atol=1e-4)
