"""`train --checkpoint`: a real process, killed with SIGKILL again and again, ends with the same weights."""

import os
import time

import numpy as np
import pytest
from cli_cases import rows

from structlearn import load
from structlearn.data import write_libsvm
from structlearn.solvers.checkpoint import NAME

OPTIONS = ("--tol", 0, "--max-passes", 400, "--regularization", 1e-5, "--checkpoint-seconds", 0)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.libsvm"
    write_libsvm(path, *rows(n=3000, d=12, k=8))
    return path


def killed_when_written(process, path, *, after):
    """SIGKILL a process once it has replaced `path`, and some seconds later."""
    before = path.stat().st_mtime_ns if path.exists() else None
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if path.exists() and path.stat().st_mtime_ns != before:
            time.sleep(after)
            break
        time.sleep(0.001)
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()


def test_a_process_killed_again_and_again_gives_the_same_weights(start, data, tmp_path):
    folder, model = tmp_path / "kept", tmp_path / "model.st"
    whole = start("train", "classify", data, "--out", tmp_path / "whole.st", *OPTIONS[:-2])
    command = ("train", "classify", data, "--out", model, "--checkpoint", folder, "--resume", *OPTIONS)
    for after in (0.0, 0.013):
        killed_when_written(start(*command), folder / NAME, after=after)
        assert not model.exists()
    last = start(*command)
    _, stderr = last.communicate()
    assert last.returncode == 0, stderr
    whole.communicate()
    assert load(model).weights_.tobytes() == load(tmp_path / "whole.st").weights_.tobytes()
    assert np.array_equal(load(model).history_.gap, load(tmp_path / "whole.st").history_.gap)
    assert os.listdir(folder) == [NAME]


def test_checkpoints_are_refused_with_a_sentence(run, refused, libsvm, tmp_path):
    folder, model = tmp_path / "kept", tmp_path / "model.st"
    command = ("train", "classify", libsvm, "--out", model, "--checkpoint", folder)
    run(*command)
    assert "holds a checkpoint: resume from it" in refused(*command)
    assert "other data or other parameters" in refused(*command, "--resume", "--regularization", 0.5)
    run(*command, "--resume")
    assert "say where it is with --checkpoint DIR" in refused(
        "train", "classify", libsvm, "--out", model, "--resume"
    )
    assert "--checkpoint does not go with the task regress" in refused(
        "train", "regress", libsvm, "--out", model, "--checkpoint", folder
    )
    assert "is a file, not a folder" in refused(*command[:-1], libsvm)
    assert "checkpoint-seconds must be at least 0" in refused(*command, "--checkpoint-seconds", -1)
