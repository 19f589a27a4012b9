"""`align train` on text of any length: --memory, --checkpoint, --continue, and what is wrong with files."""

import gzip
import os
import shutil
from collections import namedtuple

import pytest
from test_cli_checkpoint import killed_when_written

from structlearn import load
from structlearn.alignment.corpus import load_corpus
from structlearn.solvers.checkpoint import NAME

CORPUS = load_corpus()
LINES = [" ".join(one.source) for one in CORPUS], [" ".join(one.target) for one in CORPUS]


def write_text(folder, name, *, times=1, part=slice(None), change=lambda line: line):
    paths = [folder / f"{name}.{side}" for side in ("en", "fr")]
    for path, lines in zip(paths, LINES):
        path.write_text("".join(f"{change(line)}\n" for line in lines[part]) * times)
    return ["--src", paths[0], "--tgt", paths[1]]


def packed(path, content):
    path.write_bytes(gzip.compress(content))
    return path


def test_memory_trains_the_same_model(run, tmp_path):
    text = write_text(tmp_path, "text")
    run("align", "train", *text, "--out", tmp_path / "one.st")
    told = run(
        "align", "train", *text, "--memory", "500MB", "--jobs", 2, "--out", tmp_path / "other.st"
    ).stderr
    assert "Working files: at most 0.0" in told
    one, other = (run("align", "apply", tmp_path / name, *text).stdout for name in ("one.st", "other.st"))
    assert one == other


def test_a_run_killed_again_and_again_gives_the_same_model(start, tmp_path):
    text = write_text(tmp_path, "text", times=150)
    memory = "--memory", "400MB"
    whole = start("align", "train", *text, *memory, "--out", tmp_path / "whole.st")
    _, stderr = whole.communicate()
    assert whole.returncode == 0, stderr
    folder, model = tmp_path / "kept", tmp_path / "model.st"
    command = ("align", "train", *text, *memory, "--checkpoint", folder, "--resume", "--out", model)
    for after in (0.0, 0.05):
        killed_when_written(start(*command), folder / NAME, after=after)
        assert not model.exists()
    last = start(*command)
    _, stderr = last.communicate()
    assert last.returncode == 0, stderr
    assert model.read_bytes() == (tmp_path / "whole.st").read_bytes()
    assert os.listdir(folder) == [NAME]


def test_checkpoints_are_refused_with_a_sentence(run, refused, tmp_path):
    text, other = write_text(tmp_path, "text"), write_text(tmp_path, "other", part=slice(100))
    out = ("--out", tmp_path / "model.st")
    kept = ("--checkpoint", tmp_path / "kept")
    assert "say where it is with --checkpoint DIR" in refused("align", "train", *text, *out, "--resume")
    run("align", "train", *text, *out, *kept)
    assert "holds a checkpoint: resume from it" in refused("align", "train", *text, *out, *kept)
    (tmp_path / "model.st").unlink()
    for arguments in (other, [*text, "--max-length", 8], [*text, "--memory", "500MB"]):
        result = run("align", "train", *arguments, *out, *kept, "--resume", code=2)
        assert "is of other data or other parameters" in result.stderr
    assert not (tmp_path / "model.st").exists()


def test_continue_adds_text_to_a_model(run, tmp_path):
    first, second = (write_text(tmp_path, name, part=slice(k, None, 2)) for k, name in enumerate("ab"))
    run("align", "train", *first, "--out", tmp_path / "first.st")
    for more in ((), ("--memory", "500MB")):
        arguments = (*second, "--continue", tmp_path / "first.st", *more, "--out", tmp_path / "newer.st")
        run("align", "train", *arguments)
        newer = load(tmp_path / "newer.st").statistics_
        assert newer.source_words.counts.sum() == sum(len(one.source) for one in CORPUS)
    result = run("align", "train", *arguments[:-1], tmp_path / "first.st", code=2)
    assert "the command uses this file already" in result.stderr


def test_models_that_cannot_be_continued(run, refused, libsvm, tmp_path):
    text = write_text(tmp_path, "text", times=2)
    plain = write_text(
        tmp_path, "plain", times=2, change=lambda line: line.encode("ascii", "ignore").decode()
    )
    model, out = tmp_path / "model.st", ("--out", tmp_path / "newer.st")
    accented = write_text(tmp_path, "accented", times=2, change=lambda line: line.replace("e", "é"))
    run("align", "train", *accented, "--out", model)
    told = run("align", "train", *plain, "--continue", model, *out, code=2).stderr
    assert f"{plain[1]}: The source text has no accents, but that of the continued model has" in told
    told = run("align", "train", *text, "--continue", model, "--keep-case", *out, code=2).stderr
    assert f"{model}: The continued model was trained with no --keep-case; give the same." in told
    run("train", "classify", libsvm, "--out", tmp_path / "classes.st")
    assert "not an Aligner" in refused("align", "train", *text, "--continue", tmp_path / "classes.st", *out)
    assert "does not exist" in refused("align", "train", *text, "--continue", tmp_path / "none.st", *out)
    assert not (tmp_path / "newer.st").exists()


@pytest.mark.parametrize("limit", [(), ("--memory", "500MB")])
def test_damaged_text_is_named_by_file_and_line(run, tmp_path, limit):
    source = b"".join(f"{line}\n".encode() for line in LINES[0])
    target = b"".join(f"{line}\n".encode() for line in LINES[1])
    good = packed(tmp_path / "good.gz", source)
    lines = target.splitlines(keepends=True)
    cases = {
        "short": (b"".join(lines[:100]), "line 101: the file ends here, but"),
        "latin": (b"".join([*lines[:120], b"\xe9t\xe9\n", *lines[121:]]), "line 121: byte 1 is not UTF-8"),
    }
    for name, (content, sentence) in cases.items():
        bad = packed(tmp_path / f"{name}.gz", content)
        result = run(
            "align", "train", "--src", good, "--tgt", bad, *limit, "--out", tmp_path / "model", code=2
        )
        assert f"{bad}, {sentence}" in result.stderr
    cut = packed(tmp_path / "cut.gz", target)
    cut.write_bytes(cut.read_bytes()[:-400])
    result = run("align", "train", "--src", good, "--tgt", cut, *limit, "--out", tmp_path / "model", code=2)
    assert f"{cut}, line" in result.stderr
    assert "cannot be read further" in result.stderr
    assert not (tmp_path / "model").exists()


def test_too_little_memory_and_too_small_a_disk(run, refused, tmp_path, monkeypatch):
    text, out = write_text(tmp_path, "text"), ("--out", tmp_path / "model.st")
    assert "is too little; use at least" in refused("align", "train", *text, "--memory", "50MB", *out)
    assert "must be a size such as" in refused("align", "train", *text, "--memory", "much", *out)
    usage = namedtuple("usage", "free")(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    result = run("align", "train", *text, "--memory", "500MB", *out, code=1)
    assert "set TMPDIR to a folder with more room" in result.stderr
    assert not (tmp_path / "model.st").exists()
