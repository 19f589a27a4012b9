"""`train ner` with context and with a lexicon of the training spans."""

from __future__ import annotations

import json

import numpy as np
import pytest

QUICK = ["--max-passes", "100"]


def documents(n, seed):
    """Three sentences each: the second has the name of the first, and does not say of which kind it is."""
    rng = np.random.default_rng(seed)
    text = ""
    for _ in range(n):
        name, other = ("".join(row).capitalize() for row in rng.choice(list("abdeiklmnorstu"), (2, 7)))
        kind, before = ("PER", "señor") if rng.random() < 0.5 else ("LOC", "en")
        text += f"hoy O\n{before} O\n{name} B-{kind}\n. O\n\nya O\n{name} B-{kind}\ngana O\n\n"
        text += f"hoy O\n{before} O\n{other} B-{kind}\n. O\n\n"
    return text


@pytest.fixture
def files(write):
    return write(documents(40, 0), "train.txt"), write(documents(20, 1), "test.txt")


def f1(run, model, test):
    return json.loads(run("evaluate", model, test, "--json").stdout)["f1"]


def test_context_is_learnt_and_used(run, files, tmp_path):
    train, test = files
    with_it, without = tmp_path / "with.st", tmp_path / "without.st"
    run("train", "ner", train, "--out", with_it, *QUICK)
    run("train", "ner", train, "--out", without, "--context", "0", *QUICK)
    assert f1(run, with_it, test) == 1
    assert f1(run, without, test) < 0.95
    assert run("predict", with_it, test).stdout == test.read_text(encoding="utf-8")
    assert "within" in run("weights", with_it, "--top", "5").stdout
    raw = tmp_path / "raw.txt"
    raw.write_text("hoy señor Zuzanka .\n\nya Zuzanka gana\n", encoding="utf-8")
    told = run("tag", with_it, raw, "--format", "inline", "--tokenizer", "blanks").stdout
    assert told == "hoy señor [PER Zuzanka] .\nya [PER Zuzanka] gana\n"


def test_other_templates_and_segments(run, files, tmp_path):
    train, test = files
    flags = ["--templates", "word[-1..1]", "--context", "3", *QUICK]
    run("train", "ner", train, "--out", tmp_path / "m", *flags, "--model", "segments")
    assert f1(run, tmp_path / "m", test) == 1
    run("train", "chunk", train, "--out", tmp_path / "m", *flags)
    assert f1(run, tmp_path / "m", test) == 1


def test_lexicon_of_the_training_spans(run, write, files, tmp_path):
    text = "Villa O\nAlba O\ngana O\n\n" + "y O\n\n" * 30 + "la O\nVilla B-LOC\nAlba I-LOC\n\n"
    run("train", "ner", write(text, "two.txt"), "--out", tmp_path / "m", "--span-lexicon", *QUICK)
    told = run("weights", tmp_path / "m", "--top", "100").stdout
    assert "spans=B-LOC" in told  # which the first block knows of the second
    assert "f1: " in run("evaluate", tmp_path / "m", files[1], "--count-unknown").stdout


def test_packed_and_continued(run, files, tmp_path):
    train, test = files
    run("data", "pack", "ner", train, "--out", tmp_path / "packed")
    run("train", "ner", tmp_path / "packed", "--out", tmp_path / "m", *QUICK)
    assert f1(run, tmp_path / "m", test) == 1
    run("train", "ner", train, "--out", tmp_path / "n", "--continue", tmp_path / "m", *QUICK)
    assert f1(run, tmp_path / "n", test) == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--context", "-1"], "context is a number of sentences from 0"),
        (["--context", "3", "--templates", "crfsuite"], "go with column files"),
    ],
)
def test_refusals(run, files, tmp_path, flags, message):
    said = run("train", "ner", files[0], "--out", tmp_path / "x", *flags, *QUICK, code=2).stderr
    assert message in " ".join(said.split())


def test_other_tasks_refuse(run, write, tmp_path):
    data = write("1 1:2\n2 1:3\n", "some.libsvm")
    said = run("train", "classify", data, "--out", tmp_path / "x", "--context", "3", code=2).stderr
    assert "--context does not go with the task classify" in said


def test_sets_with_a_guarantee_are_refused(run, refused, files, tmp_path):
    train, test = files
    model = tmp_path / "model.st"
    run("train", "ner", train, "--out", model, "--context", 2)
    assert "--context 0" in refused("conformalize", model, test, "--out", tmp_path / "sets.st")
