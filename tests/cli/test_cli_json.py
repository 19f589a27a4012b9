"""`--json`: one object on stdout, with the numbers of the text."""

import json

import numpy as np
import pytest
from cli_cases import values

from structlearn import load
from structlearn.cli.support.outputs import in_json
from structlearn.cli.tasks.rehearsals import REHEARSALS, _write
from structlearn.data import DATA_SETS

GOLD = "0-0 1-1\n0-0\n"


def same(shown, printed):
    """The object of --json, whose values are those of `name: value` lines."""
    found, lines = json.loads(shown), values(printed)
    assert list(found) == list(lines)
    for name, value in found.items():
        text = "nan" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        assert text == lines[name] or name == "seconds"
    return found


def test_figures_of_commands(run, libsvm, tmp_path):
    model = tmp_path / "model.st"
    train = ("train", "classify", libsvm, "--out", model)
    assert same(run(*train, "--json").stdout, run(*train).stdout)["converged"] is True
    same(run("info", "--json").stdout, run("info").stdout)
    described = json.loads(run("info", model, "--json").stdout)
    assert described["estimator"] == "MulticlassClassifier"
    assert described["status"].endswith("is within tol=0.001.")
    found = json.loads(run("evaluate", model, libsvm, "--json").stdout)
    assert found["accuracy"] == load_accuracy(model, libsvm)


def load_accuracy(model, libsvm):
    from structlearn.data import read_libsvm

    X, y = read_libsvm(libsvm)
    return float(np.mean(load(model).predict(X) == y))


def test_figures_of_alignments(run, tmp_path):
    (tmp_path / "gold").write_text(GOLD)
    (tmp_path / "mine").write_text("0-0 1-1\n0-1\n")
    evaluate = ("align", "evaluate", "--hyp", tmp_path / "mine", "--gold", tmp_path / "gold")
    assert same(run(*evaluate, "--json").stdout, run(*evaluate).stdout)["recall"] == pytest.approx(2 / 3)
    _write("text", tmp_path)
    text = ("--src", tmp_path / "text.en", "--tgt", tmp_path / "text.fr")
    train = ("align", "train", *text, "--out", tmp_path / "aligner.st")
    assert same(run(*train, "--json").stdout, run(*train).stdout)["source_words"] > 0
    show = ("align", "show", tmp_path / "aligner.st", *text, "--out", tmp_path / "page.html")
    assert same(run(*show, "--json").stdout, run(*show).stdout) == {"pairs": 25}
    clean = ("align", "clean", *text, "--out", tmp_path / "clean")
    assert same(run(*clean, "--json").stdout, run(*clean).stdout)


def test_figures_of_confidence(run, tmp_path):
    _write("words.txt", tmp_path)
    words, model = tmp_path / "words.txt", tmp_path / "model.st"
    run("train", "chunk", words, "--out", model, "--regularization", "1")
    for command in ("calibrate", "conformalize"):
        call = (command, model, words, "--out", tmp_path / "other.st")
        assert same(run(*call, "--json").stdout, run(*call).stdout)


def test_a_comparison(run, libsvm, tmp_path):
    found = json.loads(
        run(
            *("compare", "classify", libsvm, "--test", libsvm, "--solvers", "bcfw,fw"),
            *("--out", tmp_path / "report", "--max-passes", "3", "--json"),
        ).stdout
    )
    assert [one["solver"] for one in found["runs"]] == ["bcfw", "fw"]
    assert all(one["gap"] == one["primal"] - one["dual"] and 0 <= one["error"] < 1 for one in found["runs"])
    assert found["page"] == str(tmp_path / "report" / "index.html")


def test_data_sets(run, tmp_path):
    found = json.loads(run("data", "list", "--data-dir", tmp_path, "--json").stdout)
    assert {one["name"]: one["bytes"] for one in found} == {n: one.n_bytes for n, one in DATA_SETS.items()}
    assert all(one["where"] is None for one in found)


@pytest.mark.parametrize("task", [name for name in REHEARSALS if name != "align"])
def test_answers_are_those_of_the_text(run, tmp_path, task):
    data, model = REHEARSALS[task][0].data, tmp_path / "model.st"
    _write(data, tmp_path)
    flags = ["--target", "p,q,r"] if task == "multilabel" else []
    smooth = [] if task in ("regress", "match", "grid", "decide") else ["--loss", "softmax"]
    run("train", task, tmp_path / data, "--out", model, *flags, *smooth)
    shown = run("predict", model, tmp_path / data, "--json").stdout.splitlines()
    found, bundle = list(map(json.loads, shown)), load(model)
    text = run("predict", model, tmp_path / data).stdout
    if task in ("tag", "chunk", "ner"):
        expected = [[line.split()[-1] for line in one.splitlines()] for one in text.strip().split("\n\n")]
        assert [one["labels"] for one in found] == expected
    elif task == "parse":
        rows = [line.split("\t") for line in text.splitlines() if line]
        assert [head for one in found for head in one["heads"]] == [int(row[6]) for row in rows]
        assert [label for one in found for label in one["labels"]] == [row[7] for row in rows]
    else:
        form = {
            "classify": lambda one: str(one["label"]),
            "regress": lambda one: f"{one['number']:.10g}",
            "multilabel": lambda one: ",".join(one["labels"]),
            "match": lambda one: " ".join(f"{i}-{j}" for i, j in one["links"]),
            "decide": lambda one: " ".join(map(str, one["decision"])),
        }.get(task, lambda one: " ".join(map(str, np.ravel(one["labels"]))))
        assert [form(one) for one in found] == text.splitlines()
    if not smooth:
        return
    sure = run("predict", model, tmp_path / data, "--json", "--marginals").stdout.splitlines()
    first = json.loads(sure[0])["probabilities"]
    if task == "parse":
        assert np.array(first).sum(axis=0) == pytest.approx(1)
    elif task == "multilabel":
        assert set(first) == {"p", "q", "r"}
    else:
        row = first if isinstance(first, dict) else np.ravel(first)[0]
        assert sum(row.values()) == pytest.approx(1)
        assert set(row) == set(map(str, bundle.classes_))


def test_numbers_are_finite_or_null_and_text_is_ascii():
    value = {"a": float("nan"), "b": [np.float32("inf"), np.int64(3)], "c": np.bool_(True), "d": "\x1b[31mé"}
    assert in_json(value) == '{"a": null, "b": [null, 3], "c": true, "d": "\\u001b[31m\\u00e9"}'


def test_forms_that_are_none_of_json(run, refused, tmp_path):
    assert "--json does not go with scaling" in refused(
        "compare", "scaling", "--out", tmp_path / "s", "--json"
    )
    _write("words.txt", tmp_path)
    run("train", "chunk", tmp_path / "words.txt", "--out", tmp_path / "m.st", "--regularization", "1")
    assert "Give --json or --spans, not both" in refused(
        "predict", tmp_path / "m.st", tmp_path / "words.txt", "--json", "--spans"
    )
