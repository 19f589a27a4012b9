"""calibrate, conformalize and predict --coverage for tables, and what evaluate, info and show say of them."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_cases import values

from structlearn import load


@pytest.fixture
def tables(tmp_path):
    """Paths of a training, a calibration and a new table."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=700).round(3), "colour": rng.choice(["red", "blue"], 700)})
    score = 2 * frame["size"] + (frame.colour == "red")
    frame["kind"] = np.where(score + rng.logistic(size=700) > 0.5, "yes, sir", "no")
    frame["wet"] = (score + rng.logistic(size=700) > 0).astype(int)
    frame["hot"] = (score + rng.logistic(size=700) > 1).astype(int)
    frame["price"] = (score + rng.normal(size=700)).round(3)
    paths = []
    for name, own in (("train", frame[:40]), ("tune", frame[40:400]), ("new", frame[400:])):
        paths.append(tmp_path / f"{name}.csv")
        own.to_csv(paths[-1], index=False)
    return paths


@pytest.fixture
def model(run, tables, tmp_path):
    def train(task, target, *flags):
        out = tmp_path / f"{task}.st"
        run("train", task, tables[0], "--target", target, "--out", out, *flags)
        return out

    return train


WEAK = ("--regularization", "1e-4")


def test_classes(run, refused, model, tables, tmp_path):
    path, out = model("classify", "kind", *WEAK), tmp_path / "sure.st"
    _, tune, new = tables
    assert "has no sets yet; run structlearn conformalize" in refused("predict", path, new, "--coverage", 0.9)
    found = values(run("calibrate", path, tune, "--out", out).stdout)
    assert float(found["temperature"]) > 1.05
    assert float(found["log_likelihood_after"]) > float(found["log_likelihood_before"])
    assert sum(int(line.split()[0]) for name, line in found.items() if name.startswith("labels_after")) == 360
    before, after = run("evaluate", path, new), run("evaluate", out, new)
    assert "calibrated" not in before.stderr
    assert f"calibrated (temperature {load(out).temperature_:.4g})" in after.stderr
    before, after = values(before.stdout), values(after.stdout)
    assert float(after["log_loss"]) < float(before["log_loss"])
    assert after["accuracy"] == before["accuracy"]
    assert run("predict", path, new, "--proba").stdout != run("predict", out, new, "--proba").stdout

    half = new.read_text().splitlines(keepends=True)
    (tmp_path / "half.csv").write_text("".join(half[:151]))
    assert values(run("conformalize", out, tmp_path / "half.csv", "--out", out).stdout)["rows"] == "150"
    lines = run("predict", out, new, "--coverage", 0.9).stdout.splitlines()
    objects = [
        json.loads(one) for one in run("predict", out, new, "--coverage", 0.9, "--json").stdout.splitlines()
    ]
    sets = [one["set"] for one in objects]
    assert [",".join(own) for own in sets] == lines
    assert [own[0] for own in sets] == [one["label"] for one in objects]
    gold = pd.read_csv(new).kind[150:]
    assert np.mean([one in own for one, own in zip(gold, sets[150:])]) == pytest.approx(0.9, abs=0.08)
    told = values(run("info", out).stdout)
    assert told["calibrated"].startswith("probabilities have the temperature 1.")
    assert "150 examples" in told["conformalized"]


def test_label_sets(run, refused, model, tables, tmp_path):
    path, out = model("multilabel", "wet,hot", "--edges", "tree", *WEAK), tmp_path / "sure.st"
    found = values(run("calibrate", path, tables[1], "--out", out).stdout)
    assert float(found["log_likelihood_after"]) >= float(found["log_likelihood_before"])
    figures = values(run("evaluate", out, tables[1]).stdout)
    assert float(figures["log_loss"]) == pytest.approx(-float(found["log_likelihood_after"]), rel=1e-4)
    line = run("predict", out, tables[2], "--proba").stdout.splitlines()[0]
    assert [one.split(":")[0] for one in line.split()] == ["wet", "hot"]
    said = refused("conformalize", path, tables[1], "--out", out)
    assert "conformalize goes with models of classify, " in said
    assert said.endswith("corrects the probabilities of its labels, which predict --proba writes.")


def test_numbers(run, refused, model, tables, tmp_path):
    path, out = model("regress", "price"), tmp_path / "sure.st"
    _, tune, new = tables
    assert "structlearn conformalize prepares intervals" in refused("calibrate", path, tune, "--out", out)
    assert "structlearn conformalize" in refused("predict", path, new, "--proba")
    assert "has no intervals yet" in refused("predict", path, new, "--coverage", 0.9)
    run("conformalize", path, tune, "--out", out)
    ends = np.array(
        [line.split("\t") for line in run("predict", out, new, "--coverage", 0.8).stdout.splitlines()],
        dtype=float,
    )
    gold = pd.read_csv(new).price
    assert np.mean((ends[:, 0] <= gold) & (gold <= ends[:, 1])) == pytest.approx(0.8, abs=0.06)
    middle = np.array(run("predict", out, new).stdout.split(), dtype=float)
    assert ends.mean(axis=1) == pytest.approx(middle)
    objects = [
        json.loads(one) for one in run("predict", out, new, "--coverage", 0.8, "--json").stdout.splitlines()
    ]
    assert np.array([one["interval"] for one in objects]) == pytest.approx(ends)
    assert "need 999 examples in conformalize; it had 360" in refused(
        "predict", out, new, "--coverage", 0.999
    )


def test_libsvm_sets(run, write, tmp_path):
    lines = [f"{'1,2' if k % 5 > 2 else '2' if k % 7 > 3 else '3'} 1:{k % 5} 2:{k % 7}" for k in range(60)]
    data = write("\n".join(lines) + "\n", "sets.libsvm")
    run("train", "multilabel", data, "--edges", "none", "--out", tmp_path / "m.st")
    run("calibrate", tmp_path / "m.st", data, "--out", tmp_path / "m.st")
    assert load(tmp_path / "m.st").temperature_ < 1  # regularised: not sure enough of what it has seen


def test_losses_without_a_temperature(refused, model, tables, tmp_path):
    out = tmp_path / "sure.st"
    path = model("classify", "kind", "--loss", "hinge")
    assert "--loss hinge has no probabilities; train with --loss softmax" in refused(
        "calibrate", path, tables[1], "--out", out
    )
    path = model("classify", "kind", "--loss", "sparsemax")
    assert "may be exactly 0" in refused("calibrate", path, tables[1], "--out", out)


def test_classes_that_are_not_known_are_told(run, model, tables, tmp_path):
    path, strange = model("classify", "kind", *WEAK), tmp_path / "strange.csv"
    strange.write_text(tables[1].read_text() + "1.0,red,maybe,1,1,2\n")
    said = run("calibrate", path, strange, "--out", path)
    assert "Note: the labels of 1 row are not known to the model" in said.stderr
    assert (
        sum(int(v.split()[0]) for k, v in values(said.stdout).items() if k.startswith("labels_after")) == 361
    )
    said = run("conformalize", path, strange, "--out", path)
    assert "Note: the labels of 1 row are not known" in said.stderr
    assert values(said.stdout)["highest_coverage"] == f"{360 / 362:.6g}"


@pytest.mark.parametrize(("task", "target"), [("classify", "kind"), ("multilabel", "wet,hot")])
def test_the_page_says_that_probabilities_are_calibrated(run, model, tables, tmp_path, task, target):
    flags = ("--edges", "none") if task == "multilabel" else ()
    path, page = model(task, target, *flags), tmp_path / "page.html"
    run("show", path, tables[1], "--out", page)
    assert "was calibrated" not in page.read_text()
    assert "Reliability" in page.read_text()
    run("calibrate", path, tables[1], "--out", path)
    run("show", path, tables[1], "--out", page)
    assert f"its scores are divided by {load(path).temperature_:.4g}" in page.read_text()
