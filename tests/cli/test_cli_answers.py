"""Answers on tables: penalties, figures beside those of a constant, confusions, probabilities."""

import json

import numpy as np
import pytest
from cli_cases import label_sets, numbers, rows, values
from sklearn import metrics as reference

from structlearn import MulticlassClassifier, load
from structlearn.data import write_libsvm
from structlearn.metrics import area_under_curve, log_loss


def test_an_elastic_net_of_classes_is_the_one_of_python(run, libsvm, tmp_path):
    out = tmp_path / "model.st"
    flags = ["--penalty", "elasticnet", "--l1-ratio", "0.9", "--regularization", "0.1"]
    run("train", "classify", libsvm, "--out", out, *flags)
    same = MulticlassClassifier(penalty="elasticnet", l1_ratio=0.9, regularization=0.1, random_state=0)
    np.testing.assert_allclose(load(out).weights_, same.fit(*rows()).weights_, atol=1e-6)
    assert (load(out).coef_ == 0).any()


@pytest.fixture
def two(tmp_path, run):
    """A model of two classes, and data that it was not trained on."""
    for name, seed in (("train", 0), ("test", 1)):
        X, y = rows(k=2, seed=seed)
        write_libsvm(tmp_path / f"{name}.libsvm", X, y)
    run("train", "classify", tmp_path / "train.libsvm", "--out", tmp_path / "two.st")
    return tmp_path / "two.st", tmp_path / "test.libsvm"


def test_figures_of_two_classes_are_those_of_scikit_learn(run, two):
    model, data = two
    X, y = rows(k=2, seed=1)
    fitted = load(model)
    shown = values(run("evaluate", model, data).stdout)
    assert shown["accuracy_of_most_frequent"] == f"{max(np.mean(y), 1 - np.mean(y)):.6g}"
    proba = fitted.predict_proba(X)
    assert shown["log_loss"] == f"{reference.log_loss(y, proba):.6g}"
    assert shown["auc"] == f"{reference.roc_auc_score(y, proba[:, 1]):.6g}"
    counts = reference.confusion_matrix(y, fitted.predict(X))
    assert shown["gold, found as"].split() == ["0", "1"]
    assert [shown[f"gold {k}"].split() for k in (0, 1)] == counts.astype(str).tolist()
    found = json.loads(run("evaluate", model, data, "--json").stdout)
    assert found["confusions"]["0"]["1"] == counts[0, 1]
    assert found["auc"] == pytest.approx(reference.roc_auc_score(y, proba[:, 1]))


def test_the_area_counts_ties_as_halves_and_needs_both_kinds():
    rng = np.random.default_rng(0)
    second, scores = rng.random(200) < 0.3, rng.integers(0, 5, 200)
    expected = reference.roc_auc_score(second, scores)
    assert area_under_curve(second, scores) == pytest.approx(expected)
    assert np.isnan(area_under_curve(np.zeros(3), [1, 2, 3]))


def test_a_probability_of_zero_leaves_the_log_loss_finite():
    table = np.array([[1.0, 0.0], [0.25, 0.75]])
    codes = np.array([1, 0])
    assert log_loss(codes, table) == pytest.approx(reference.log_loss(codes, table))


def test_a_hinge_has_an_area_but_no_log_loss(run, refused, two, tmp_path):
    _, data = two
    train, out = tmp_path / "train.libsvm", tmp_path / "hinge.st"
    run("train", "classify", train, "--loss", "hinge", "--out", out)
    shown = values(run("evaluate", out, data).stdout)
    assert "log_loss" not in shown
    assert 0.5 < float(shown["auc"]) <= 1
    tune = ("tune", "classify", train, "--loss", "hinge", "--out", out, "--metric", "log_loss")
    result = run(*tune, code=2)
    assert "log_loss needs a loss with probabilities" in result.stderr


def test_tune_goes_by_the_log_loss(run, two, tmp_path):
    shown = run(
        *("tune", "classify", tmp_path / "train.libsvm", "--out", tmp_path / "t.st", "--metric", "log_loss"),
        *("--regularization", "10,0.01", "--json"),
    ).stdout
    strong, weak = json.loads(shown)["results"]
    assert weak["mean"] < strong["mean"]
    assert weak["chosen"]


def test_many_classes_have_their_frequent_mistakes_listed(run, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 6)
    X = np.eye(12)[y] + rng.normal(size=(72, 12)) * 0.7
    write_libsvm(tmp_path / "many.libsvm", X, y)
    run("train", "classify", tmp_path / "many.libsvm", "--out", tmp_path / "m.st")
    shown = values(run("evaluate", tmp_path / "m.st", tmp_path / "many.libsvm").stdout)
    counts = reference.confusion_matrix(y, load(tmp_path / "m.st").predict(X))
    np.fill_diagonal(counts, 0)
    listed = {name: int(n) for name, n in shown.items() if " taken for " in name}
    assert len(listed) == min(10, (counts > 0).sum())
    assert max(listed.values()) == counts.max()


def test_label_sets_have_a_row_per_label(run, sets, tmp_path):
    run("train", "multilabel", sets, "--edges", "none", "--out", tmp_path / "sets.st")
    shown = values(run("evaluate", tmp_path / "sets.st", sets).stdout)
    X, y = label_sets()
    fitted = load(tmp_path / "sets.st")
    gold, found = (
        np.array([[label in one for label in fitted.classes_.tolist()] for one in sets_])
        for sets_ in (y, fitted.predict(X))
    )
    expected = reference.precision_recall_fscore_support(gold, found, zero_division=0)
    for k, label in enumerate(fitted.classes_.tolist()):
        cells = shown[f"label {label}"].split()
        assert cells[:3] == [f"{one[k]:.4f}" for one in expected[:3]]
        assert int(cells[3]) == gold[:, k].sum()
    assert shown["macro_f1"] == f"{reference.f1_score(gold, found, average='macro', zero_division=0):.6g}"
    best = max(np.mean((gold == row).all(axis=1)) for row in gold)
    assert shown["exact_match_of_most_frequent"] == f"{best:.6g}"


def test_numbers_are_compared_with_their_mean(run, real, tmp_path):
    run("train", "regress", real, "--out", tmp_path / "r.st")
    shown = values(run("evaluate", tmp_path / "r.st", real).stdout)
    _, y = numbers()
    assert float(shown["rmse_of_mean"]) == pytest.approx(np.std(y), rel=1e-5)
    assert float(shown["mae_of_mean"]) == pytest.approx(np.abs(y - y.mean()).mean(), rel=1e-5)
    r2 = 1 - (float(shown["rmse"]) / float(shown["rmse_of_mean"])) ** 2
    assert float(shown["r2"]) == pytest.approx(r2, abs=1e-4)


def test_probabilities_have_two_names(run, model, libsvm):
    proba = run("predict", model, libsvm, "--proba").stdout
    assert proba == run("predict", model, libsvm, "--marginals").stdout
    assert ":" in proba
