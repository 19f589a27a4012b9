"""`structlearn weights` and what `info` tells of weights, for every kind of model."""

import json
import re

import numpy as np
import pytest
from cli_cases import columns, label_sets, numbers, rows, sentences, table

from model_files import rewrite
from structlearn import StructuredPredictor, load
from structlearn.data import make_shortest_paths, write_decisions, write_libsvm

HOSTILE = "\x1b[31mred\x1b[0m\u202e<b>"
CHUNKS = {"D": "B-NP", "N": "I-NP", "V": "O"}
TREE = (
    "1\tthe\t_\tD\t_\t_\t2\tdet\t_\t_",
    "2\tcat\t_\tN\t_\t_\t3\tsubj\t_\t_",
    "3\truns\t_\tV\t_\t_\t0\troot\t_\t_",
)


def write_table(path):
    X, y = rows()
    path.write_text(table(X, "a,b,c,d,kind", [["red", "green", "blue"][k] for k in y]))


def write_sets(path):
    X, y = label_sets()
    on = [[int(k in one) for one in y] for k in range(3)]
    path.write_text(table(X, "a,b,c,d,sun,sea,sky", *on))


def write_chunks(path):
    path.write_text(columns([[(word, tag, CHUNKS[tag]) for word, _, tag in one] for one in sentences()]))


def write_items(path):
    lines = ["\n".join(f"{tag}\tw={word}\t{cell}" for word, cell, tag in one) + "\n\n" for one in sentences()]
    path.write_text("".join(lines))


def write_pairs(path):
    links = [(i, k, k) for i in range(10) for k in range(3)]
    features = np.random.default_rng(0).normal(size=(120, 4))
    features[:, 0] += np.tile(3 * np.eye(3, 4).ravel(), 10)
    with open(path, "wb") as file:
        np.savez(file, features=features, shapes=[(3, 4)] * 10, links=links)


#: The task, its flags, what writes a file, and names that are to be seen.
CASES = {
    "classify table": ("classify", (), write_table, {"a", "b", "label red"}),
    "classify": ("classify", (), lambda path: write_libsvm(path, *rows()), {"index 1", "label 0"}),
    "multilabel": (
        "multilabel",
        ("--target", "sun,sea,sky"),
        write_sets,
        {"label sun", "sun & not sea", "d"},
    ),
    "regress": ("regress", (), lambda path: write_libsvm(path, *numbers()), {"index 2", "features"}),
    "cells": ("tag", (), lambda path: path.write_text(columns(sentences())), {"0=the", "D -> N"}),
    "tag": ("tag", ("--columns", "0"), write_chunks, {"word=the", "word.lower[-1]", "label O"}),
    "chunk": ("chunk", ("--boundaries",), write_chunks, {"pos=D", "(start) -> B-NP", "transitions"}),
    "hashed": ("ner", ("--hash-bits", "8"), write_chunks, {"hash ", "label B-NP"}),
    "transitions": ("chunk", ("--transitions", "pos"), write_chunks, {"pos=N: B-NP -> I-NP"}),
    "crfsuite": ("tag", (), write_items, {"w=the", "label D"}),
    "parse": (
        "parse",
        (),
        lambda path: path.write_text("\n".join((*TREE, "", "")) * 5),
        {"arcs", "hash ", "label det"},
    ),
    "match": ("match", (), write_pairs, {"x0", "features"}),
    "decide": (
        "decide",
        (),
        lambda path: write_decisions(path, *make_shortest_paths(20, rows=3, columns=3, random_state=0)),
        {"part 11: ", "(constant)", "x4"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_model(run, tmp_path, name):
    task, flags, write, expected = CASES[name]
    out, data = tmp_path / "model", tmp_path / ("data.csv" if write in (write_table, write_sets) else "data")
    write(data)
    run("train", task, data, "--out", out, "--tol", "0.1", *flags)
    shown = run("weights", out).stdout
    for text in expected:
        assert text in shown
    groups = json.loads(run("weights", out, "--json", "--top", "2").stdout)["groups"]
    assert sum(one["kind"] == "label" for one in groups) == shown.count("label ")
    for one in groups:
        found = [pair["weight"] for pair in one["weights"]]
        assert found == sorted(found, reverse=True)
        assert len(found) <= 4
        assert 0 not in found
    told = run("info", out).stdout
    first = next(one for one in groups if one["weights"] and one["weights"][0]["weight"] > 0)
    assert f"{first['weights'][0]['name']} {first['weights'][0]['weight']:.4g}" in told


def test_weights_are_those_of_the_model(run, tmp_path):
    write_table(tmp_path / "table.csv")
    run("train", "classify", tmp_path / "table.csv", "--out", tmp_path / "model")
    model = load(tmp_path / "model")
    (group,) = json.loads(run("weights", tmp_path / "model", "--json", "--label", "red").stdout)["groups"]
    own = model.coef_[list(model.classes_).index("red")]
    found = {pair["name"]: pair["weight"] for pair in group["weights"] if pair["name"] != "(constant)"}
    assert found == dict(zip("abcd", own))
    line = next(line for line in run("weights", tmp_path / "model", "--label", "red").stdout.splitlines()[1:])
    assert re.match(rf" +\+{own.max():.4g}  {'abcd'[np.argmax(own)]}\b", line)


def test_aligners(run, tmp_path):
    source, target, model = (tmp_path / name for name in ("source", "target", "model"))
    source.write_text("the cat\na dog\nthe dog\n" * 3)
    target.write_text("le chat\nun chien\nle chien\n" * 3)
    run("align", "train", "--src", source, "--tgt", target, "--out", model)
    aligner = load(model)
    best = aligner.feature_names_[int(np.argmax(aligner.weights_))]
    assert best in run("weights", model, "--top", "1").stdout
    assert best in run("info", model).stdout


class Own:
    def maximize(self, theta):
        return np.eye(len(theta))[np.argmax(theta)]


def test_structures_of_the_users_own(run, tmp_path):
    X = [np.random.default_rng(k).normal(size=(3, 2)) for k in range(4)]
    y = [np.eye(3)[k % 3] for k in range(4)]
    for scoring in (None, lambda x: x):
        model = StructuredPredictor(Own(), scoring, max_passes=3, tol=10).fit(X, y)
        model.save(tmp_path / "own.st")
        told = run("weights", tmp_path / "own.st", "--json").stdout
        (group,) = json.loads(told)["groups"]
        assert {pair["name"]: pair["weight"] for pair in group["weights"]} == {
            f"x{j}": w for j, w in enumerate(model.coef_) if w
        }


def test_hostile_names_cannot_act_on_a_terminal(run, tmp_path):
    X, y = rows()
    header = f"{HOSTILE},{'x' * 10**5},c,d,kind"
    (tmp_path / "x.csv").write_text(table(X, header, [[HOSTILE, "b", "c"][k] for k in y]))
    run("train", "classify", tmp_path / "x.csv", "--out", tmp_path / "x.st")
    for command in ("weights", "info"):
        lines = run(command, tmp_path / "x.st").stdout.splitlines()
        assert all(line.isprintable() and len(line) < 400 for line in lines)
        assert any("\\x1b[31mred" in line for line in lines)
    told = run("weights", tmp_path / "x.st", "--json").stdout
    assert told.replace("\n", "").isprintable()
    assert any(pair["name"] == HOSTILE for one in json.loads(told)["groups"] for pair in one["weights"])


def test_files_of_older_versions(run, tmp_path):
    write_chunks(tmp_path / "data")
    run("train", "chunk", tmp_path / "data", "--out", tmp_path / "model", "--tol", "0.1")

    def older(header, tensors):
        del tensors["array:strings"], tensors["array:starts"]

    before = run("predict", tmp_path / "model", tmp_path / "data").stdout
    rewrite(tmp_path / "model", older)
    assert run("predict", tmp_path / "model", tmp_path / "data").stdout == before
    assert re.search(r"  #[0-9a-f]{16}\b", run("weights", tmp_path / "model").stdout)


def test_what_is_refused(run, refused, model, tmp_path):
    assert 'no label "z"; it has 0, 1, 2.' in refused("weights", model, "--label", "z")
    assert "--top must be at least 1; got 0." in refused("weights", model, "--top", "0")
    assert "does not exist" in refused("weights", tmp_path / "nowhere.st")
    write_libsvm(tmp_path / "numbers", *numbers())
    run("train", "regress", tmp_path / "numbers", "--out", tmp_path / "numbers.st")
    assert "it has none" in refused("weights", tmp_path / "numbers.st", "--label", "a")
    (tmp_path / "text.st").write_text("no model")
    refused("weights", tmp_path / "text.st")
