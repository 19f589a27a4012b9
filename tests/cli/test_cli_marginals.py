"""Smooth losses, and `predict --marginals`."""

import gzip

import numpy as np
import pytest
from cli_cases import label_sets, read_tags, rows, table

from structlearn import (
    ChainClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
    load,
    make_table_transformer,
)
from structlearn.data import read_libsvm


def written(names, rows):
    """Lines of `label:probability`."""
    return [" ".join(f"{name}:{p:.6g}" for name, p in zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("loss", ["softmax", "sparsemax", "entmax15"])
def test_classify(run, libsvm, tmp_path, loss):
    out = tmp_path / "model.st"
    run("train", "classify", libsvm, "--out", out, "--loss", loss)
    X, y = read_libsvm(libsvm)
    same = MulticlassClassifier(loss=loss, random_state=0).fit(X, y)
    np.testing.assert_array_equal(load(out).weights_, same.weights_)
    lines = run("predict", out, libsvm, "--marginals").stdout.splitlines()
    assert lines == written([0, 1, 2], same.predict_proba(X))
    pairs = [pair.split(":") for line in lines for pair in line.split(" ")]
    assert [label for label, _ in pairs] == ["0", "1", "2"] * 60
    np.testing.assert_allclose(np.reshape([float(p) for _, p in pairs], (60, 3)).sum(axis=1), 1, atol=1e-5)
    assert any(p == "0" for _, p in pairs) == (loss != "softmax")
    assert not any(p.startswith("-") for _, p in pairs)


def test_classify_csv(run, csv, tmp_path):
    out = tmp_path / "model.st"
    run("train", "classify", csv, "--out", out, "--loss", "sparsemax")
    X, y = rows()
    same = MulticlassClassifier(row_transformer=make_table_transformer(), loss="sparsemax", random_state=0)
    same.fit(X, np.array(["red", "green", "blue"])[y])
    expected = written(["blue", "green", "red"], same.predict_proba(X))
    assert run("predict", out, csv, "--marginals").stdout.splitlines() == expected


@pytest.mark.parametrize("loss", ["softmax", "sparsemax"])
@pytest.mark.parametrize("edges", ["all", "none"])
def test_multilabel(run, sets, tmp_path, loss, edges):
    out = tmp_path / "model.st"
    run("train", "multilabel", sets, "--out", out, "--loss", loss, "--edges", edges)
    X, y = read_libsvm(sets, multilabel=True)
    same = MultiLabelClassifier(loss=loss, edges=edges, random_state=0).fit(X, y)
    expected = written([0, 1, 2], same.predict_marginals(X))
    assert run("predict", out, sets, "--marginals").stdout.splitlines() == expected


def test_multilabel_csv(run, tmp_path):
    X, y = label_sets()
    on = np.array([[k in one for k in range(3)] for one in y]).astype(int)
    path, out = tmp_path / "sets.csv", tmp_path / "model.st"
    path.write_text(table(X, "a,b,c,d,sun,sea,sky", *on.T.tolist()))
    run("train", "multilabel", path, "--out", out, "--target", "sun,sea,sky", "--loss", "softmax")
    same = MultiLabelClassifier(row_transformer=make_table_transformer(), loss="softmax", random_state=0)
    same.fit(X, on)
    expected = written(["sun", "sea", "sky"], same.predict_marginals(X))
    assert run("predict", out, path, "--marginals").stdout.splitlines() == expected


@pytest.mark.parametrize(
    ("loss", "solver"), [("softmax", "auto"), ("sparsemax", "auto"), ("softmax", "lbfgs")]
)
def test_tag(run, tags, tmp_path, loss, solver):
    out = tmp_path / "model.st"
    run("train", "tag", tags, "--out", out, "--loss", loss, "--solver", solver)
    X, y = read_tags(tags)
    same = ChainClassifier(loss=loss, solver=solver, random_state=0).fit(X, y)
    np.testing.assert_array_equal(load(out).weights_, same.weights_)
    lines = [line.split() for line in run("predict", out, tags, "--marginals").stdout.splitlines() if line]
    labels = np.concatenate(same.predict(X))
    table = np.concatenate(same.predict_marginals(X))
    shares = table[np.arange(len(labels)), np.searchsorted(same.classes_, labels)]
    assert [line[2] for line in lines] == labels.tolist()
    assert [line[3] for line in lines] == [f"{share:.4f}" for share in shares]


def test_to_files(run, libsvm, tmp_path):
    out, packed = tmp_path / "model.st", tmp_path / "marginals.gz"
    run("train", "classify", libsvm, "--out", out, "--loss", "softmax")
    shown = run("predict", out, libsvm, "--marginals").stdout
    run("predict", out, libsvm, "--marginals", "--out", packed)
    assert gzip.decompress(packed.read_bytes()).decode() == shown


@pytest.mark.parametrize("loss", ["hinge", "perceptron"])
@pytest.mark.parametrize("task", ["classify", "multilabel", "tag"])
def test_losses_without_probabilities(run, refused, libsvm, sets, tags, tmp_path, task, loss):
    out = tmp_path / "model.st"
    data = {"classify": libsvm, "multilabel": sets, "tag": tags}[task]
    run("train", task, data, "--out", out, "--loss", loss, "--max-passes", "2")
    message = refused("predict", out, tmp_path / "absent", "--marginals")
    assert message == f"Error: --loss {loss} has no probabilities; train with --loss softmax or sparsemax."


def test_regressors_have_no_probabilities(run, refused, real, tmp_path):
    out = tmp_path / "model.st"
    run("train", "regress", real, "--out", out)
    assert "regress has no probabilities" in refused("predict", out, real, "--marginals")
