"""What `train` says in the end, against what `evaluate` prints of the same data; and what `info` says."""

import math

import pytest
from cli_cases import columns, sentences, values

from structlearn.cli.answers.outcome import certificate_line, most_frequent
from structlearn.solvers import Certificate


def told(run, *arguments):
    """The last three lines of `train`."""
    return run("train", *arguments).stderr.splitlines()[-3:]


def share(line, before=""):
    """The percentage behind a text, as a share."""
    return float(line.partition(before)[2].split("%")[0]) / 100


def test_its_error_is_that_of_evaluate(run, tags, tmp_path):
    out = tmp_path / "model.st"
    wrong, bound, following = told(run, "tag", tags, "--out", out)
    figures = values(run("evaluate", out, tags).stdout)
    assert share(wrong, "On its training data, ") == pytest.approx(1 - float(figures["accuracy"]), abs=6e-4)
    labels = [token[-1] for one in sentences() for token in one]
    assert share(wrong, "(") == pytest.approx(1 - max(map(labels.count, labels)) / len(labels), abs=6e-4)
    assert bound.startswith("Its objective, ")
    assert following == f"Next: structlearn evaluate {out} TEST_DATA, then structlearn predict {out} NEW_DATA"


def test_errors_of_tables_stand_beside_those_of_constant_answers(run, libsvm, sets, real, tmp_path):
    out = tmp_path / "model.st"
    for task, path, one, other in (
        ("classify", libsvm, "accuracy", "accuracy_of_most_frequent"),
        ("multilabel", sets, "exact_match", "exact_match_of_most_frequent"),
    ):
        wrong, *_ = told(run, task, path, "--out", out)
        figures = values(run("evaluate", out, path).stdout.split("\nclass:")[0].split("\nlabel:")[0])
        assert share(wrong, "On its training data, ") == pytest.approx(1 - float(figures[one]), abs=6e-4)
        assert share(wrong, "(") == pytest.approx(1 - float(figures[other]), abs=6e-4)
    wrong, *_ = told(run, "regress", real, "--out", out)
    figures = values(run("evaluate", out, real).stdout)
    assert f"off by {float(figures['rmse']):.3g} " in wrong
    assert f"{float(figures['rmse_of_mean']):.3g} if all" in wrong


def test_json_has_no_outcome_and_large_data_no_error(run, tags, tmp_path, monkeypatch):
    assert "Next: " not in run("train", "tag", tags, "--out", tmp_path / "a.st", "--json").stderr
    monkeypatch.setattr("structlearn.cli.answers.outcome._LARGEST", 10)
    assert "On its training data" not in run("train", "tag", tags, "--out", tmp_path / "a.st").stderr


def certificate(gap, exact=True):
    return Certificate(1.5, 1.5 - gap, gap, 1, 1, 0.0, "", exact)


def test_the_bound_that_is_said_is_never_smaller_than_the_gap():
    for gap in (0.0104, 0.99951, 1.2e-7, 123.4, 1e-300):
        said = float(certificate_line(certificate(gap)).split("within ")[1].split(" ")[0])
        assert gap <= said <= 1.1 * gap
    assert "rounding errors" in certificate_line(certificate(0.0))
    assert "of the relaxed problem." in certificate_line(certificate(0.1, exact=False))
    assert certificate_line(certificate(math.inf)) is None


def test_most_frequent_counts_all_pieces():
    assert most_frequent([["a", "b"], ["b", "b", "c"]]) == 0.6


def test_info_says_what_a_tagger_looks_at(run, tmp_path):
    path, out = tmp_path / "chunks.txt", tmp_path / "model.st"
    path.write_text(columns([[("the", "D", "B-NP"), ("cat", "N", "I-NP"), ("runs", "V", "B-VP")]] * 4))
    run("train", "chunk", path, "--out", out)
    described = values(run("info", out).stdout)
    assert next(iter(described)) == "task"
    assert described["columns"] == "word (column 0), pos (column 1); the label is column 2"
    assert described["templates"].startswith("word[-2] word[-1] word ")
    assert described["tokenizer"].startswith("penn")
    assert described["size"].endswith("B")
