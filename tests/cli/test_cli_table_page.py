"""`show` for tables: what the page holds, the order of its rows, and that nothing of the data is markup."""

import numpy as np
import pandas as pd
import pytest

from structlearn import load

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def csv(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60).round(3), EVIL: rng.choice(["x", EVIL], 60)})
    frame["p"] = (frame.a + rng.normal(size=60) * 0.3 > 0).astype(int)
    frame["q"] = (frame.a < 0.5).astype(int)
    frame["y"] = np.where(frame.p, EVIL, "no")
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


CASES = {
    "classify": ("y", ["Confusions", "Reliability", "The largest weights", "most wrong"]),
    "multilabel": ("p,q", ["By label", "The largest weights", "most wrong"]),
    "regress": ("a", ["rmse of mean", "The largest weights", "most wrong"]),
}


@pytest.mark.parametrize("task", CASES)
def test_pages_of_tables(run, csv, tmp_path, task):
    target, expected = CASES[task]
    model, page = tmp_path / "m.st", tmp_path / "page.html"
    run("train", task, csv, "--target", target, "--out", model)
    run("show", model, csv, "--out", page, "--limit", "7")
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    for part in expected:
        assert part in text
    rows = text.split("most wrong about")[1].split("<tbody>")[1].split("</tbody>")[0]
    assert rows.count("<tr>") == 7


def test_the_worst_rows_come_first(run, csv, tmp_path):
    model, page = tmp_path / "m.st", tmp_path / "page.html"
    run("train", "regress", csv, "--target", "a", "--out", model)
    run("show", model, csv, "--out", page, "--limit", "1")
    frame = pd.read_csv(csv)
    errors = np.abs(frame.a - load(model).predict(frame.drop(columns="a")))
    shown = page.read_text().split("most wrong about")[1]
    assert f'<th scope="row">{errors.argmax() + 1}</th><td>{errors.max():.4g}</td>' in shown


def test_long_text_is_cut_and_the_weights_of_two_classes_are_shown_once(run, csv, tmp_path):
    frame = pd.read_csv(csv)
    frame["essay"] = [f"{'very ' * 100}{k}" for k in range(len(frame))]
    frame["kind"] = np.where(frame.p, "on", "off")
    frame.drop(columns=["y", "q", "p"]).to_csv(csv, index=False)
    model, page = tmp_path / "m.st", tmp_path / "page.html"
    run("train", "classify", csv, "--target", "kind", "--text", "essay", "--out", model)
    run("show", model, csv, "--out", page)
    text = page.read_text()
    assert "very " * 12 not in text
    assert "very very" in text
    weights = text.split("The largest weights")[1].split("most wrong")[0]
    assert "label on" in weights
    assert "label off" not in weights
    assert "▲ for it" in weights


def test_weights_of_numbers_make_more_or_less(run, csv, tmp_path):
    model, page = tmp_path / "m.st", tmp_path / "page.html"
    run("train", "regress", csv, "--target", "a", "--out", model)
    run("show", model, csv, "--out", page)
    assert "▼ less" in page.read_text()
    assert "for it" not in page.read_text()
    assert f"of {csv.name}" in page.read_text()
