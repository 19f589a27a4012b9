"""`train --checkpoint`: a real process, killed with SIGKILL again and again, ends with the same weights."""

import os
import time

import numpy as np
import pytest
from cli_cases import rows

from structlearn import load
from structlearn.data import pack, write_libsvm
from structlearn.solvers.checkpoint import NAME
from structlearn.structures.graphs import grid_graph

OPTIONS = ("--tol", 0, "--regularization", 1e-5, "--checkpoint-seconds", 0)


@pytest.fixture
def classify(tmp_path):
    path = tmp_path / "data.libsvm"
    write_libsvm(path, *rows(n=3000, d=12, k=8))
    return path


@pytest.fixture
def graph(tmp_path):
    """Packed graphs, some of which are too wide for anything but message passing."""
    rng = np.random.default_rng(0)
    grid = grid_graph(6, 6).edges
    y = [rng.integers(4, size=36) for _ in range(60)]
    pack(tmp_path / "packed", "graph", [(np.eye(4)[one] + rng.normal(size=(36, 4)), grid) for one in y], y)
    return tmp_path / "packed"


def killed_when_written(process, path, *, after):
    """SIGKILL a process once it has replaced `path`, and some seconds later."""
    before = path.stat().st_mtime_ns if path.exists() else None
    deadline = time.monotonic() + 600
    while process.poll() is None and time.monotonic() < deadline:
        if path.exists() and path.stat().st_mtime_ns != before:
            time.sleep(after)
            break
        time.sleep(0.001)
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()


@pytest.mark.parametrize(("task", "passes"), [("classify", 2000), ("graph", 40)])
def test_a_process_killed_again_and_again_gives_the_same_weights(start, task, passes, tmp_path, request):
    data, folder, model = request.getfixturevalue(task), tmp_path / "kept", tmp_path / "model.st"
    options = ("--max-passes", passes, *OPTIONS)
    whole = start("train", task, data, "--out", tmp_path / "whole.st", *options[:-2])
    command = ("train", task, data, "--out", model, "--checkpoint", folder, "--resume", *options)
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
