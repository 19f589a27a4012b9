"""`--nonlinear`: the maps are those of Python, in training and among the choices of `tune`."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_cases import values
from sklearn.pipeline import make_pipeline

from structlearn import MulticlassClassifier, SplineExpansion, make_table_transformer
from structlearn.data import write_libsvm
from structlearn.estimators.files.persistence import load_bundle


def rings(n=150, seed=0):
    """Two classes inside and outside a circle, which no line parts; a category and gaps beside them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)).round(3), columns=["a", "b"])
    y = np.where((frame**2).sum(axis=1) < 1.4, "in", "out")
    frame["city"] = rng.choice(["Rome", "Oslo"], n)
    frame.loc[::11, "a"] = np.nan
    return frame, y


@pytest.fixture
def csv(tmp_path):
    for name, seed in (("rings", 0), ("new", 1)):
        frame, y = rings(seed=seed)
        frame.assign(y=y).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path / "rings.csv"


def test_splines_are_those_of_python(run, csv, tmp_path):
    out = tmp_path / "m.st"
    run("train", "classify", csv, "--nonlinear", "splines", "--out", out)
    frame, y = rings()
    mapped = make_pipeline(make_table_transformer(), SplineExpansion())
    same = MulticlassClassifier(row_transformer=mapped, random_state=0).fit(frame, y)
    new, _ = rings(seed=1)
    assert run("predict", out, tmp_path / "new.csv").stdout.split() == same.predict(new).tolist()
    assert "a curve 1" in run("weights", out, "--top", "40").stdout
    assert "SplineExpansion" in run("info", out).stdout


@pytest.mark.parametrize("kind", ["auto", "nystroem"])
def test_kernels_part_what_no_line_does(run, csv, tmp_path, kind):
    out = tmp_path / "m.st"
    figures = {}
    for one in ("none", kind):
        run("train", "classify", csv, "--nonlinear", one, "--regularization", "0.001", "--out", out)
        figures[one] = float(values(run("evaluate", out, tmp_path / "new.csv").stdout)["accuracy"])
    assert figures[kind] > figures["none"] + 0.15


def test_tune_chooses_among_them(run, csv, tmp_path):
    out = tmp_path / "m.st"
    flags = ("--nonlinear", "none,splines", "--regularization", "0.1,0.001", "--folds", "3", "--json")
    result = run("tune", "classify", csv, *flags, "--out", out)
    found = json.loads(result.stdout)
    assert [one["value"] for one in found["gains"]] == ["none", "splines"]
    assert found["chosen"]["nonlinear"] == "splines"
    assert found["gains"][1]["gain"] > 0.1
    assert result.stderr.count("Read ") == 1
    assert len(load_bundle(out).estimator.row_transformer.maps) == 2


@pytest.mark.parametrize("kind", ["splines", "nystroem"])
def test_numbers_of_libsvm_files(run, tmp_path, kind):
    frame, y = rings()
    X = frame[["a", "b"]].fillna(0.1).to_numpy()
    write_libsvm(tmp_path / "rings.libsvm", X, np.where(y == "in", 1, 0))
    out = tmp_path / "m.st"
    flags = ("--nonlinear", kind, "--regularization", "0.001")
    run("train", "classify", tmp_path / "rings.libsvm", *flags, "--out", out)
    shown = values(run("evaluate", out, tmp_path / "rings.libsvm").stdout)
    assert float(shown["accuracy"]) > float(shown["accuracy_of_most_frequent"]) + 0.15
    run("train", "regress", tmp_path / "rings.libsvm", *flags, "--out", out)
    assert float(values(run("evaluate", out, tmp_path / "rings.libsvm").stdout)["r2"]) > 0.3


def test_what_does_not_go_together(run, refused, csv, tmp_path):
    out = tmp_path / "m.st"
    assert "Did you mean 'splines'?" in refused(
        "train", "classify", csv, "--nonlinear", "spline", "--out", out
    )
    groups = ("--penalty", "group", "--groups", "a,b,c", "--nonlinear", "splines")
    assert "--groups goes with features as the file has them" in refused(
        "train", "regress", csv, *groups, "--out", out
    )
    write_libsvm(tmp_path / "some.libsvm", np.eye(4), [0, 1, 0, 1])
    run("data", "pack", "classify", tmp_path / "some.libsvm", "--out", tmp_path / "packed")
    message = refused("train", "classify", tmp_path / "packed", "--nonlinear", "splines", "--out", out)
    assert "--nonlinear goes with files" in message
