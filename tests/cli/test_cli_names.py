"""`train ner` with lexicons, clusters and vectors."""

from __future__ import annotations

import pytest

from structlearn.tagging import Tagger

SENTENCES = "Ana N B-PER\nvive V O\nen P O\nRoma N B-LOC\n\nZoe N B-PER\nPaz N I-PER\nduerme V O\n\n" * 4
QUICK = ["--max-passes", "20", "--tol", "0.1"]


@pytest.fixture
def data(write):
    return write(SENTENCES, "train.txt")


def test_names_from_files(run, write, data, tmp_path):
    people, clusters = write("Ana\nZoe Paz\n", "people.txt"), write("Ana 1\nZoe 1\nvive 2\n", "clusters.txt")
    vectors = write("2 2\nana 1 0\nvive 0 1\n", "some.vec")
    out = tmp_path / "ner.st"
    flags = ["--lexicon", f"PERSON={people}", "--lexicon", f"CITY={write('Roma', 'city.txt')}"]
    run("train", "ner", data, "--out", out, *flags, "--clusters", clusters, "--vectors", vectors, *QUICK)
    for file in (people, clusters, vectors):
        file.unlink()
    assert "f1" in run("evaluate", out, data).stdout
    assert run("predict", out, data).stdout.startswith("Ana N B-PER")
    page = tmp_path / "page.html"
    run("show", out, data, "--out", page)
    assert "CITY" in page.read_text(encoding="utf-8")
    templates = [str(one) for one in Tagger.load(out).features_.templates]
    assert {"PERSON", "CITY[1]", "cluster", "vector.prefix4", "usual1", "word.place"} <= set(templates)


def test_defaults_of_the_tasks(run, data, tmp_path):
    for task, has in (("ner", True), ("chunk", False), ("tag", False)):
        run("train", task, data, "--out", tmp_path / task, *QUICK)
        assert bool(Tagger.load(tmp_path / task).derived_.parts) is has
    run("train", "ner", data, "--out", tmp_path / "again", "--continue", tmp_path / "ner", *QUICK)
    run("train", "ner", data, "--out", tmp_path / "ner", "--usual", "none", *QUICK)
    assert not Tagger.load(tmp_path / "ner").derived_.parts


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--lexicon", "PERSON"], 'Error: --lexicon "PERSON" is not NAME=FILE'),
        (["--lexicon", "PERSON=nowhere.txt"], "nowhere.txt does not exist"),
        (["--lexicon", "pos={empty}"], "name of another column"),
        (["--lexicon", "L={empty}"], "holds no phrases"),
        (["--vectors", "{vectors}"], "of the 7 words of the training text"),
        (["--vectors", "{latin}"], "not UTF-8"),
        (["--clusters", "{latin}"], "not UTF-8"),
        (["--usual", "word.shoe"], "There is no view 'shoe'"),
    ],
)
def test_refusals(run, write, data, tmp_path, flags, message):
    (tmp_path / "latin.txt").write_bytes("ma\xf1ana 1\n".encode("latin-1"))
    places = {
        "empty": write("\n", "empty.txt"),
        "vectors": write("1 2\nhund 1 0\n", "wrong.vec"),
        "latin": tmp_path / "latin.txt",
    }
    given = [flag.format(**places) for flag in flags]
    said = run("train", "ner", data, "--out", tmp_path / "x", *given, *QUICK, code=2).stderr
    assert message in " ".join(said.split())
