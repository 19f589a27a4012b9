"""`structlearn tag`: text in, labels out, from files and through pipes."""

import gzip
import json
import subprocess

import pytest
from cli_cases import command
from typer.testing import CliRunner

from structlearn import load
from structlearn.cli import app

TEXT = "The dog runs. A cat sees\r\n\r\nthe 😀 dog!"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    lines = "the D\ndog N\nruns V\n. M\n\nA D\ncat N\nsees V\nthe D\ndog N\n! M\n\n"
    (folder / "train.txt").write_text(lines * 4)
    arguments = ["train", "tag", folder / "train.txt", "--out", folder / "m.st", "--tol", "0.1"]
    assert CliRunner().invoke(app, [str(one) for one in arguments]).exit_code == 0
    return folder / "m.st"


def test_a_file_and_a_pipe(run, model, tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    expected = [[tuple(one) for one in sentence] for sentence in load(model).tag(TEXT)]
    result = run("tag", model, tmp_path / "a.txt", "--format", "json")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [
        [(t, k, *place) for t, k, place in zip(one["tokens"], one["labels"], one["offsets"])] for one in found
    ] == expected
    for arguments in ([tmp_path / "a.txt.gz"], ["-"], []):
        command = ["tag", model, *arguments, "--format", "json"]
        piped = CliRunner().invoke(app, [str(one) for one in command], input=TEXT.encode())
        assert piped.stdout == result.stdout
    run("tag", model, tmp_path / "a.txt", "--out", tmp_path / "out.txt")
    lines = (tmp_path / "out.txt").read_text()
    assert lines == "".join("".join(f"{t}\t{k}\n" for t, k, *_ in one) + "\n" for one in expected)
    assert run("tag", model, tmp_path / "a.txt").stdout == lines
    inline = run("tag", model, tmp_path / "a.txt", "--format", "inline", "--tokenizer", "blanks").stdout
    assert [line.split("/")[0] for line in inline.splitlines()] == ["The", "the"]


@pytest.mark.parametrize("raw", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
def test_no_words_have_no_labels(run, model, tmp_path, raw):
    (tmp_path / "a.txt").write_bytes(raw)
    assert run("tag", model, tmp_path / "a.txt").output == ""


def test_sentences_leave_while_text_comes(model):
    """The first paragraph is answered before the second is written."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command("tag", model, "--format", "inline"), stdin=pipe, stdout=pipe) as process:
        try:
            process.stdin.write(b"The dog\nruns.\n\nA c")
            process.stdin.flush()
            assert process.stdout.readline().split() == [b"The/D", b"dog/N", b"runs/V", b"./M"]
            process.stdin.close()
            assert process.stdout.read().split()[0] == b"A/D"
        finally:
            process.kill()


def test_refusals(refused, run, model, tmp_path):
    text = tmp_path / "a.txt"
    text.write_bytes(b"The dog\n\xff")
    assert "a.txt: byte 9 is not UTF-8 text: " in refused("tag", model, text)
    assert "does not exist" in refused("tag", model, tmp_path / "none.txt")
    assert "is a directory" in refused("tag", model, tmp_path)
    text.write_text("The dog")
    assert "Unknown format 'xml'" in refused("tag", model, text, "--format", "xml")
    assert "Unknown tokenizer 'words'" in refused("tag", model, text, "--tokenizer", "words")
    assert "the command uses this file already" in refused("tag", model, text, "--out", text)
    (tmp_path / "pos.txt").write_text("the D X\ndog N Y\n\n" * 3)
    run("train", "tag", tmp_path / "pos.txt", "--out", tmp_path / "pos.st", "--tol", "9")
    assert "looks at the column pos beside words" in refused("tag", tmp_path / "pos.st", text)
    (tmp_path / "flat.csv").write_text("a,b\n1,x\n2,y\n")
    run("train", "classify", tmp_path / "flat.csv", "--out", tmp_path / "flat.st", "--tol", "9")
    assert "Models of the task classify do not label words" in refused("tag", tmp_path / "flat.st", text)
