"""`-` is stdin wherever data is read."""

import gzip
import json
import tempfile

import pytest
from cli_cases import values
from typer.testing import CliRunner

from structlearn.cli import app
from structlearn.cli.tasks.rehearsals import _write


@pytest.fixture
def piped():
    """Run `structlearn ARGUMENTS` with bytes on stdin."""

    def invoke(given, *arguments, code=0):
        result = CliRunner().invoke(app, [str(one) for one in arguments], input=given)
        assert result.exit_code == code, result.output
        return result

    return invoke


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files of these runs alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_all_commands_read_it(run, piped, tags, tmp_path, temporary):
    model, text = tmp_path / "model.st", tags.read_bytes()
    trained = piped(text, "train", "tag", "-", "--out", model, "--loss", "softmax")
    assert trained.stderr.startswith("Read 20 sequences, ")
    assert " from stdin." in trained.stderr
    same = run("train", "tag", tags, "--out", tmp_path / "same.st", "--loss", "softmax")
    assert values(trained.stdout)["primal"] == values(same.stdout)["primal"]
    for command in ("predict", "evaluate"):
        assert piped(text, command, model, "-").stdout == run(command, model, tags).stdout
    page = ("--out", tmp_path / "page.html")
    assert piped(text, "show", model, "-", *page).stdout == run("show", model, tags, *page).stdout
    few = ("--folds", "2", "--regularization", "0.1", "--out", tmp_path / "tuned.st", "--json")
    here, there = (
        json.loads(one.stdout)["results"]
        for one in (piped(text, "tune", "tag", "-", *few), run("tune", "tag", tags, *few))
    )
    assert here == there
    piped(text, "calibrate", model, "-", "--out", tmp_path / "calibrated.st")
    piped(text, "data", "pack", "tag", "-", "--out", tmp_path / "packed")
    assert list(temporary.iterdir()) == []


def test_archives_and_formats(run, piped, csv, tmp_path, temporary):
    model = tmp_path / "model.st"
    packed = gzip.compress(csv.read_bytes())
    assert "Read 60 examples" in piped(packed, "train", "classify", "-", "--out", model).stderr
    # one column and no comma: only a name, or --format, tells that it is a table
    one = b"kind\nred\ngreen\n"
    said = piped(one, "train", "classify", "-", "--out", model, "--format", "csv", code=2).stderr
    assert "stdin" in said
    assert str(temporary) not in said
    _write("graphs.npz", tmp_path)
    graphs = (tmp_path / "graphs.npz").read_bytes()
    flags = ("--regularization", "1", "--out", tmp_path / "graphs.st")
    assert "Read 4 graphs" in piped(graphs, "train", "graph", "-", *flags).stderr


def test_refusals(piped, refused, tags, tmp_path, temporary):
    out = ("--out", tmp_path / "m.st")
    said = piped(b"", "compare", "tag", "-", "--test", "-", *out, code=2)
    assert said.stderr == "Error: Only one file can be read from stdin (-); give the others by their names.\n"
    assert "--format goes with - (stdin); the name of" in refused(
        "train", "tag", tags, *out, "--format", "conll"
    )
    assert "Unknown format 'cvs'" in piped(b"", "train", "tag", "-", *out, "--format", "cvs", code=2).stderr
    said = piped(b"a b\n\x1b\xff\n", "train", "tag", "-", *out, code=2).stderr
    assert said.startswith("Error: stdin, line 2: byte 2 is not UTF-8 text: ")
    assert said.count("\n") == 1
    assert "stdin" in piped(b"", "train", "classify", "-", *out, code=2).stderr
    assert list(temporary.iterdir()) == []
