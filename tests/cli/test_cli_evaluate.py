"""The figures of `evaluate`: of all, of each label, and as JSON."""

import json

import numpy as np
import pytest
from cli_cases import rows, table, values
from sklearn.metrics import precision_recall_fscore_support

from structlearn import load
from structlearn.data import write_libsvm
from structlearn.metrics import label_scores

HOSTILE = "\x1b[31mred\x1b[0m\u202e<b>"


def test_scores_of_classes_are_those_of_scikit_learn(run, model, tmp_path):
    X, y = rows(seed=1)
    data = tmp_path / "new.libsvm"
    write_libsvm(data, X, [*y[:-2].tolist(), 7, 7])  # 7 is unknown to the model
    result = run("evaluate", model, data)
    found = load(model).predict(X)
    gold = np.r_[y[:-2], 7, 7]
    expected = precision_recall_fscore_support(gold, found, zero_division=0)
    shown = values(result.stdout)
    for k, label in enumerate([0, 1, 2, 7]):
        cells = shown[f"class {label}"].split()
        assert cells[:3] == [f"{one[k]:.4f}" for one in expected[:3]]
        assert cells[3:] == [str((gold == label).sum()), str((found == label).sum()), cells[5]]
        assert int(cells[5]) == ((gold == label) & (found == label)).sum()
    macro = precision_recall_fscore_support(gold, found, average="macro", zero_division=0)
    names = ("macro_precision", "macro_recall", "macro_f1")
    assert [shown[name] for name in names] == [f"{one:.6g}" for one in macro[:3]]
    assert list(shown)[:7] == ["accuracy", "accuracy_of_most_frequent", *names, "log_loss", "examples"]
    assert "2 of the labels" in result.stderr
    figures = json.loads(run("evaluate", model, data, "--json").stdout)
    assert figures["recall 1"] == pytest.approx(expected[1][1])
    assert (figures["examples 7"], figures["f1 7"]) == (2, 0)


def test_labels_of_tokens(run, tags, tmp_path):
    out = tmp_path / "model.st"
    run("train", "tag", tags, "--out", out)
    shown = values(run("evaluate", out, tags).stdout)
    assert shown["label"].split() == ["precision", "recall", "f1", "gold", "found", "right"]
    counts = np.array([shown[f"label {label}"].split()[3:] for label in "DNV"], dtype=int)
    assert counts[:, 0].sum() == counts[:, 1].sum() == int(shown["tokens"])
    assert shown["accuracy"] == f"{counts[:, 2].sum() / int(shown['tokens']):.6g}"


PARTLY = "Ann B-PER\nLee _\nruns O\n\n"
WHOLE = "in B-LOC\nRome B-LOC\n\nAnn B-PER\nruns O\n\n"


def test_labels_that_are_not_known_are_left_out(run, refused, write, tmp_path):
    """Of a sentence with `_` the other tokens count; exact matches and spans are those of the others."""
    data = write("Ann B-PER\nLee I-PER\nruns O\n\nin O\nRome B-LOC\n", "train.txt")
    both, whole, nothing = write(PARTLY + WHOLE), write(WHOLE, "whole.txt"), write("Ann _\n", "nothing.txt")
    for task, flags in (("tag", ()), ("ner", ()), ("ner", ("--model", "segments"))):
        out = tmp_path / "model.st"
        run("train", task, data, "--out", out, *flags)
        found = [one.split()[-1] for one in run("predict", out, both).stdout.splitlines() if one]
        gold = [one.split()[-1] for one in (PARTLY + WHOLE).splitlines() if one]
        right = [a == b for a, b in zip(gold, found) if a != "_"]
        result = run("evaluate", out, both)
        shown, others = values(result.stdout), values(run("evaluate", out, whole).stdout)
        assert "unknown" not in result.stderr
        assert shown.pop("accuracy") == f"{np.mean(right):.6g}"
        counts = [shown.pop(name) for name in ("sequences", "whole_sequences", "tokens", "unlabelled_tokens")]
        assert counts == ["3", "2", "6", "1"]
        assert "unlabelled_tokens" not in others
        if task == "ner":
            assert shown == {name: one for name, one in others.items() if name in shown}
            partly = write(PARTLY, "partly.txt")
            assert "no sentence of the file has all its labels" in refused("evaluate", out, partly)
        assert shown["exact_match"] == others["exact_match"]
        assert "has no label that is known" in refused("evaluate", out, nothing)
        page = tmp_path / "page.html"
        run("show", out, both, "--out", page)
        assert "[_]" not in page.read_text()
    for command in ("calibrate", "conformalize"):
        assert "whole labellings; leave these sentences out" in refused(command, out, both, "--out", out)


def test_hostile_labels_cannot_act_on_a_terminal(run, tmp_path):
    X, y = rows()
    data, out = tmp_path / "table.csv", tmp_path / "model.st"
    names = [HOSTILE, "x" * 10**5, "plain: one"]
    data.write_text(table(X, "a,b,c,d,kind", [names[k] for k in y]))
    run("train", "classify", data, "--out", out)
    lines = run("evaluate", out, data).stdout.splitlines()
    assert all(line.isprintable() and len(line) < 200 for line in lines)
    assert any("class \\x1b[31mred" in line for line in lines)
    told = run("evaluate", out, data, "--json").stdout
    assert told.replace("\n", "").isprintable()
    assert f"f1 {HOSTILE}" in json.loads(told)


def test_a_single_example_and_json_without_nan(run, real, tmp_path):
    out, one = tmp_path / "model.st", tmp_path / "one.libsvm"
    run("train", "regress", real, "--out", out)
    one.write_text("1 1:2\n")
    assert json.loads(run("evaluate", out, one, "--json").stdout)["r2"] is None
    assert values(run("evaluate", out, one).stdout)["r2"] == "nan"


def test_a_type_may_be_called_all(run, write, tmp_path):
    data, out = write("a B-all\nb O\nc B-x\n\nb O\na B-all\n" * 5, "train.txt"), tmp_path / "model.st"
    run("train", "chunk", data, "--out", out, "--tol", "0.1")
    shown = values(run("evaluate", out, data).stdout)
    assert (shown["spans"], shown["type all"].split()[3]) == ("15", "10")


def test_labels_of_no_examples():
    assert label_scores([], []) == {}
    assert list(label_scores(["b", 2], ["a", 2])) == [2, "a", "b"]
