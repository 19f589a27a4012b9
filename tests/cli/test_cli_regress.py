"""The task regress, and penalties: what Python gives, and refusals."""

import re

import numpy as np
import pytest
from cli_cases import numbers, table, values

from structlearn import LinearRegressor, MulticlassClassifier, load, make_table_transformer
from structlearn.data import read_libsvm


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
def test_libsvm(run, real, tmp_path, penalty):
    out = tmp_path / "model.st"
    options = [] if penalty is None else ["--penalty", penalty]
    result = run("train", "regress", real, "--out", out, "--regularization", "0.1", *options)
    X, y = read_libsvm(real)
    same = LinearRegressor(penalty=penalty or "l2", regularization=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(load(out).weights_, same.weights_)
    certificate = values(result.stdout)
    assert list(certificate)[:3] == ["primal", "dual", "gap"]
    assert certificate["primal"] == f"{same.certificate_.primal:.6g}"
    predicted = same.predict(X)
    assert run("predict", out, real).stdout.splitlines() == [f"{value:.10g}" for value in predicted]
    scores = values(run("evaluate", out, real, "--jobs", "2").stdout)
    assert scores == {
        "r2": f"{same.score(X, y):.6g}",
        "rmse": f"{np.sqrt(np.mean((y - predicted) ** 2)):.6g}",
        "mae": f"{np.mean(np.abs(y - predicted)):.6g}",
        "rmse_of_mean": f"{np.std(y):.6g}",
        "mae_of_mean": f"{np.mean(np.abs(y - np.mean(y))):.6g}",
        "examples": "60",
    }


def test_options_reach_the_estimator(run, real, tmp_path):
    out, trace = tmp_path / "model.st", tmp_path / "trace.csv"
    options = ["--solver", "proximal", "--tol", "1e-6", "--no-intercept", "--jobs", "2", "--history", trace]
    run("train", "regress", real, "--out", out, "--penalty", "l1", *options)
    X, y = read_libsvm(real)
    same = LinearRegressor(penalty="l1", solver="proximal", tol=1e-6, fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(load(out).weights_, same.weights_)
    assert len(trace.read_text().splitlines()) == len(same.history_["gap"]) + 1


@pytest.mark.parametrize("target", [None, "price"])
def test_csv(run, tmp_path, target):
    X, y = numbers()
    path, bare, out = tmp_path / "table.csv", tmp_path / "bare.csv", tmp_path / "model.st"
    if target is None:
        path.write_text(table(X, "a,b,c,d,price", y))
    else:
        path.write_text(table(y[:, None], "price,a,b,c,d", *X.T.tolist()))
    run("train", "regress", path, "--out", out, *([] if target is None else ["--target", target]))
    same = LinearRegressor(row_transformer=make_table_transformer(), random_state=0).fit(X, y)
    expected = [f"{value:.10g}" for value in same.predict(X)]
    bare.write_text(table(X, "a,b,c,d"))
    for data in (path, bare):
        assert run("predict", out, data).stdout.splitlines() == expected
    assert values(run("evaluate", out, path).stdout)["r2"] == f"{same.score(X, y):.6g}"


@pytest.mark.parametrize("groups", ["0,0,7,7", "left, left,right,right"])
def test_groups(run, tmp_path, groups):
    X, y = numbers()
    path, out = tmp_path / "table.csv", tmp_path / "model.st"
    path.write_text(table(X, "a,b,c,d,price", y))
    options = ["--penalty", "group", "--groups", groups, "--regularization", "0.2"]
    run("train", "regress", path, "--out", out, *options)
    same = LinearRegressor(penalty="group", groups=[[0, 1], [2, 3]], regularization=0.2, random_state=0)
    same.set_params(row_transformer=make_table_transformer()).fit(X, y)
    np.testing.assert_array_equal(load(out).weights_, same.weights_)
    assert run("predict", out, path).stdout.splitlines() == [f"{value:.10g}" for value in same.predict(X)]


def test_groups_of_another_number_of_features(refused, tmp_path):
    X, y = numbers()
    path = tmp_path / "table.csv"
    path.write_text(table(X, "a,b,c,d,price", y))
    options = ["--penalty", "group", "--groups", "0,0,1"]
    message = refused("train", "regress", path, "--out", tmp_path / "model.st", *options)
    assert "groups must name the group of each of the 4 features" in message


def test_whole_numbers_are_numbers(run, tmp_path):
    path, out = tmp_path / "whole.libsvm", tmp_path / "model.st"
    path.write_text("1 1:1\n2 1:2\n3 1:3\n")
    run("train", "regress", path, "--out", out, "--regularization", "0")
    np.testing.assert_allclose([float(one) for one in run("predict", out, path).stdout.split()], [1, 2, 3])
    path.write_text("4 1:1\n")
    assert values(run("evaluate", out, path).stdout) == {
        "r2": "nan",
        "rmse": "3",
        "mae": "3",
        "rmse_of_mean": "0",
        "mae_of_mean": "0",
        "examples": "1",
    }


def test_information(run, real, tmp_path):
    out = tmp_path / "model.st"
    run("train", "regress", real, "--out", out, "--penalty", "l1")
    described = values(run("info", out).stdout)
    assert described["estimator"] == "LinearRegressor"
    assert described["task"] == "regress"
    assert described["parameters"] == "penalty=l1, random_state=0"
    assert "structure" not in described
    assert "classes" not in described


def test_targets_that_are_no_numbers(run, refused, real, csv, tmp_path):
    out, path = tmp_path / "model.st", tmp_path / "words.libsvm"
    message = refused("train", "regress", csv, "--out", out)
    assert re.search(r'line 2: the target column "kind" holds "(red|green|blue)", which is no', message)
    path.write_text("1.5 1:1\nmuch 1:2\n")
    said = 'the target of example 2 holds "much", which is not a number'
    assert said in refused("train", "regress", path, "--out", out)
    run("train", "regress", real, "--out", out)
    assert said in refused("evaluate", out, path)
    assert len(run("predict", out, path).stdout.split()) == 2  # which does not look at them
    path.write_text("1.5 1:1\ninf 1:2\n")
    assert "not finite" in refused("train", "regress", path, "--out", out)


def test_one_target(refused, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(table(numbers()[0], "a,b,c,d"))
    message = refused("train", "regress", path, "--out", tmp_path / "model.st", "--target", "a,b")
    assert "The task regress has one target column, not 'a,b'" in message


def test_evaluation_needs_targets(run, refused, tmp_path):
    X, y = numbers()
    path, out = tmp_path / "table.csv", tmp_path / "model.st"
    path.write_text(table(X, "a,b,c,d,price", y))
    run("train", "regress", path, "--out", out)
    path.write_text(table(X, "a,b,c,d"))
    assert "no labels" in refused("evaluate", out, path)


@pytest.mark.parametrize("penalty", ["l2", "l1", "group"])
def test_penalties_of_classify(run, libsvm, tmp_path, penalty):
    out = tmp_path / "model.st"
    options = ["--penalty", penalty, "--loss", "softmax", "--regularization", "0.05"]
    run("train", "classify", libsvm, "--out", out, *options)
    X, y = read_libsvm(libsvm)
    same = MulticlassClassifier(loss="softmax", penalty=penalty, regularization=0.05, random_state=0)
    same.fit(X, y)
    np.testing.assert_array_equal(load(out).weights_, same.weights_)
    assert run("predict", out, libsvm).stdout.split() == [str(label) for label in same.predict(X)]
