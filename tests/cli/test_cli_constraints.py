"""--constraints: schemes that are found or given, pairs, and the lines that break them."""

import numpy as np
import pytest

from structlearn import load
from structlearn.estimators.inputs.constraints import scheme_of
from structlearn.tagging import Tagger

BIO = "Ann B-PER\nLee I-PER\nruns O\n\nin O\nRome B-LOC\n"
QUICK = ["--max-passes", "30", "--tol", "0.1"]
ITEMS = "B-PER\tw=Ann\nI-PER\tw=Lee\nO\tw=runs\n\nO\tw=in\nB-LOC\tw=Rome\n"


def chain_of(path):
    found = load(path)
    return getattr(found, "chain_", found)


@pytest.mark.parametrize(
    ("task", "text", "found"),
    [
        ("ner", BIO, "bio"),
        ("chunk", BIO, "bio"),
        ("tag", BIO, None),
        ("ner", BIO.replace("I-PER", "E-PER").replace("B-LOC", "S-LOC"), "bioes"),
        ("ner", BIO.replace("I-PER", "L-PER").replace("B-LOC", "U-LOC"), "bilou"),
        ("ner", BIO.replace("B-", "I-"), None),
        ("ner", ITEMS, "bio"),
    ],
)
def test_schemes_are_found(run, write, tmp_path, task, text, found):
    out = tmp_path / "model.st"
    said = run("train", task, write(text, "train.txt"), "--out", out, *QUICK).stderr
    assert chain_of(out).constraints == found
    assert ("labels by" in said) == (found is not None)
    if found is not None and text != ITEMS:
        rng = np.random.default_rng(0)
        words = [rng.choice(["Ann", "Lee", "Rome", "in", "x"], size=6).tolist() for _ in range(30)]
        assert scheme_of(Tagger.load(out).predict(words)) == found


def test_constraints_by_pairs_and_none(run, write, tmp_path):
    data, out = write(BIO, "train.txt"), tmp_path / "model.st"
    run("train", "tag", data, "--out", out, "--constraints", "B-LOC>O, >B-LOC,I-PER>", *QUICK)
    assert chain_of(out).constraints == [["B-LOC", "O"], [None, "B-LOC"], ["I-PER", None]]
    assert len(chain_of(out).structure_.forbidden) == 3
    run("train", "ner", data, "--out", out, "--constraints", "none", *QUICK)
    assert chain_of(out).structure_.forbidden is None


def test_packed_data_keeps_them(run, write, tmp_path):
    run("data", "pack", "ner", write(BIO, "train.txt"), "--out", tmp_path / "packed")
    out = tmp_path / "model.st"
    run("train", "ner", tmp_path / "packed", "--out", out, *QUICK)
    assert chain_of(out).constraints == "bio"
    run("train", "ner", tmp_path / "packed", "--out", out, "--constraints", "none", *QUICK)
    assert chain_of(out).constraints is None


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
@pytest.mark.parametrize("text", [BIO, ITEMS])
def test_labels_that_are_not_known(run, refused, write, tmp_path, text, loss):
    data, out = write(text.replace("I-PER", "_"), "train.txt"), tmp_path / "model.st"
    said = run("train", "ner", data, "--out", out, "--loss", loss).output
    assert "the whole is not convex" in said
    found = chain_of(out)
    assert found.constraints == "bio"
    assert found.classes_.tolist() == ["B-LOC", "B-PER", "O"]
    assert (np.diff(found.outer_history_) < 0).all()
    assert "not packed" in refused("data", "pack", "ner", data, "--out", tmp_path / "packed")
    broken = write("Ann _\nLee O\nx I-PER\ny B-PER\n", "broken.txt")
    assert 'line 3: "I-PER"' in refused("train", "ner", broken, "--out", out, "--constraints", "bio")
    nothing = write("Ann _\nLee _\n", "nothing.txt")
    assert "no label at all" in refused("train", "ner", nothing, "--out", out)


@pytest.mark.parametrize(
    ("text", "given", "problem"),
    [
        (
            BIO.replace("I-PER", "I-LOC"),
            "bio",
            'line 2: "I-LOC" may not come after "B-PER" (--constraints bio)',
        ),
        (BIO.replace("in O", "in I-LOC"), "bio", 'line 5: "I-LOC" may not be the first label'),
        (ITEMS.replace("B-LOC", "I-LOC"), "bio", 'line 6: "I-LOC" may not come after "O"'),
        (BIO, "bioes", 'line 3: "O" may not come after "I-PER"'),
        (BIO, "iob", 'got "iob"'),
        (BIO, "O>B>I", "pairs of labels before>after"),
        (BIO, ">", "pairs of labels before>after"),
        (BIO, "O>\x1b[31mX", 'the label "\\x1b[31mX"'),
        (BIO.replace("O", "NP"), "bio", '--constraints bio goes with the labels B-x, I-x and O; y has "NP"'),
    ],
)
def test_refusals(refused, write, tmp_path, text, given, problem):
    data = write(text, "train.txt")
    line = refused("train", "ner", data, "--out", tmp_path / "model.st", "--constraints", given)
    assert problem in line
    assert not (tmp_path / "model.st").exists()
