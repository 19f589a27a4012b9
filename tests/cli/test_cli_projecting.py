"""`structlearn align project`, `phrases` and `dictionary`, from files to files."""

import json

import pytest

from structlearn.alignment.corpus import load_corpus

LABELS = "the D B-X\nhouse N I-X\nis V O\nhere A O\n. P O\n"
TARGET = "la maison est ici .\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model of the embedded corpus, and its files."""
    from typer.testing import CliRunner

    from structlearn.cli import app

    folder = tmp_path_factory.mktemp("uses")
    for name in ("source", "target"):
        lines = (" ".join(getattr(one, name)) for one in load_corpus())
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    files = ["--src", str(folder / "source"), "--tgt", str(folder / "target")]
    result = CliRunner().invoke(app, ["align", "train", *files, "--out", str(folder / "m.st")])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def project(run, trained, write):
    """Project the labels of a text onto TARGET."""

    def call(labels, *options, target=TARGET):
        files = ["--labels", write(labels, "labels"), "--tgt", write(target, "x.fr")]
        return run("align", "project", trained / "m.st", *files, *options).stdout

    return call


def test_spans_and_tags(project):
    assert project(LABELS) == "la\tB-X\nmaison\tI-X\nest\tO\nici\tO\n.\tO\n\n"
    assert project(LABELS, "--column", "1") == "la\tD\nmaison\tN\nest\tV\nici\tA\n.\tP\n\n"
    row = project(LABELS, "--scores").splitlines()[0].split("\t")
    assert 0 < float(row[2]) <= 1
    assert "B-X" not in project(LABELS, "--min-confidence", "1.01")


def test_formats(project):
    assert project(LABELS, "--format", "inline") == "[X la maison] est ici .\n"
    assert project("[X the house] is here .\n") == "[X la maison] est ici .\n"
    assert json.loads(project(LABELS, "--format", "jsonl"))["spans"] == [{"label": "X", "start": 0, "end": 2}]
    cells = "\t_\t_\t_\t_\t_\t_"
    words = "".join(f"{k}\t{word}\t_\t{tag}{cells}\n" for k, (word, tag, _) in
                    enumerate(map(str.split, LABELS.splitlines()), 1))  # fmt: skip
    assert project(words).splitlines()[1] == f"2\tmaison\t_\tN{cells}"


def test_given_links_and_text(run, trained, write):
    labels, target = write(LABELS, "labels"), write(TARGET, "x.fr")
    source, links = write("the house is here .\n", "x.en"), write("0-0 1-2:0.5 2-1\n", "x.links")
    files = ["--labels", labels, "--src", source, "--tgt", target, "--links", links]
    for gaps, expected in (
        ("fill", "[X la maison est]"),
        ("split", "[X la] maison [X est]"),
        ("drop", "la maison est"),
    ):
        found = run("align", "project", *files, "--gaps", gaps, "--format", "inline").stdout
        assert found == f"{expected} ici .\n"


def test_the_other_way(run, trained, write):
    labels = write("la B-X\nmaison O\nest O\nici O\n. O\n", "labels")
    files = ["--labels", labels, "--src", write("the house is here .\n", "x.en")]
    found = run("align", "project", trained / "m.st", *files, "--side", "target", "--format", "inline").stdout
    assert found == "[X the] house is here .\n"


def test_refusals_of_project(refused, trained, write, tmp_path):
    model, labels, target = trained / "m.st", write(LABELS, "tags"), write(TARGET, "x.fr")
    source = write("the house was here .\n", "x.en")
    out = ["--out", tmp_path / "new"]
    given = ["--labels", labels, "--tgt", target]
    said = refused("align", "project", model, *given, "--src", source, *out)
    assert 'tags, line 3: the word is "is", but in' in said
    assert 'x.en, line 1, it is "was"' in said
    more = write(TARGET * 2, "y.fr")
    said = refused("align", "project", model, "--labels", labels, "--tgt", more, *out)
    assert "tags ends before line 2 of" in said
    said = refused(
        "align", "project", model, "--labels", write(f"{LABELS}\n{LABELS}", "twice"), "--tgt", target, *out
    )
    assert "x.fr, line 2: the text ends here, but" in said
    assert "not both" in refused("align", "project", model, *given, "--links", target, *out)
    assert "Give a model" in refused("align", "project", *given, *out)
    assert "Unknown policy for gaps" in refused("align", "project", model, *given, "--gaps", "leap", *out)
    assert "Unknown side" in refused("align", "project", model, *given, "--side", "left", *out)
    assert "Give the text as" in refused("align", "project", model, "--labels", labels, "--src", source, *out)
    outside = ["--links", write("0-9\n", "x.links")]
    assert "x.links, line 1: the link from source word 1" in refused(
        "align", "project", *given, *outside, *out
    )
    short = ["--links", write("", "x.links")]
    assert "x.links, line 1: there are fewer lines than pairs" in refused(
        "align", "project", *given, *short, *out
    )
    assert not (tmp_path / "new").exists()


def test_phrases(run, trained, write):
    text = ["--src", write("a b c\na b\n", "x.en"), "--tgt", write("d e f\nd e\n", "x.fr")]
    links = ["--links", write("0-0 1-1 2-2\n0-0 1-1\n", "x.links")]
    rows = run("align", "phrases", *text, *links, "--phrase-length", "2").stdout.splitlines()
    assert rows == [
        "a\td\t2\t1\t1", "a b\td e\t2\t1\t1", "b\te\t2\t1\t1", "b c\te f\t1\t1\t1", "c\tf\t1\t1\t1",
    ]  # fmt: skip
    moses = run("align", "phrases", *text, *links, "--format", "moses", "--min-count", "2").stdout
    assert moses.splitlines()[0] == "a ||| d ||| 1 1 ||| ||| 2 2 2"
    files = ["--src", trained / "source", "--tgt", trained / "target"]
    found = run("align", "phrases", trained / "m.st", *files, "--format", "jsonl", "--memory", "1KB").stdout
    assert all(json.loads(row)["count"] > 0 for row in found.splitlines())


def test_dictionary_of_a_model(run, refused, trained, tmp_path):
    rows = [line.split("\t") for line in run("align", "dictionary", trained / "m.st").stdout.splitlines()]
    assert ["house", "maison"] in [row[:2] for row in rows]
    assert all(len(row) == 6 and float(row[2]) >= 0.1 for row in rows)
    words = run("align", "dictionary", trained / "m.st", "--format", "words", "--out", "-").stdout
    assert words.splitlines() == ["\t".join(row[:2]) for row in rows]
    assert "Unknown format" in refused("align", "dictionary", trained / "m.st", "--format", "xml")
