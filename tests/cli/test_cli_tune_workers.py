"""`structlearn tune` with folds side by side: in processes (tests/distributed has clusters)."""

import json
import os
import signal

import numpy as np
import pytest

from structlearn.cli.commands.fold_workers import FoldWorkers, fold_workers
from structlearn.cli.commands.folds import Fold, ReadExamples
from structlearn.cli.tasks.task import Training

SEVERAL = ("--folds", "3", "--regularization", "1,0.1", "--tol", "1e-6", "--json")


def tuned(run, folder, task, data, *flags):
    """What tune prints of its search."""
    found = json.loads(run("tune", task, data, "--out", folder / "model.st", *SEVERAL, *flags).stdout)
    return found["results"], found["chosen"]


def assert_alike(one, other):
    assert one[1] == other[1]
    for here, there in zip(one[0], other[0], strict=True):
        assert here["regularization"] == there["regularization"]
        assert here["scores"] == pytest.approx(there["scores"], abs=1e-12)


def test_processes_give_the_same_figures_as_one_job(run, tags, tmp_path):
    """Files of sentences are written where each process may write, and options go along."""
    flags = ("--loss", "hinge,softmax", "--templates", "word")
    expected = tuned(run, tmp_path, "tag", tags, *flags)
    assert len(expected[0]) == 4
    assert_alike(tuned(run, tmp_path, "tag", tags, *flags, "--jobs", "2"), expected)


def test_the_first_fold_decides_how_many_values_the_others_try(run, libsvm, tmp_path):
    settings = ("classify", libsvm, "--folds", "2", "--tol", "1e-6", "--json")
    found = [
        json.loads(run("tune", *settings, "--out", tmp_path / f"{n}.st", "--jobs", n).stdout)["results"]
        for n in (1, 2)
    ]
    assert [one["regularization"] for one in found[0]] == [one["regularization"] for one in found[1]]
    for one, other in zip(*found, strict=True):
        assert one["scores"] == pytest.approx(other["scores"])


def test_an_address_that_is_none_is_refused(refused, libsvm, tmp_path):
    out = ("--out", tmp_path / "m.st", "--cluster", "here")
    assert "A cluster is an address such as" in refused("tune", "classify", libsvm, *out)


class Dying(ReadExamples):
    """Examples on which a process dies."""

    def in_folder(self, folder):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_dies_is_told():
    examples, one = Dying(Training(None, None, {}, {}, "")), Fold(np.arange(2), np.arange(2))
    with pytest.raises(OSError, match="ended early"), fold_workers(2, None) as workers:
        list(workers.run([None], examples, [one, one]))


class Recording:
    """An executor that computes at once, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def submit(self, call, settings, examples, fold):
        self.asked.append((list(settings), fold))
        return type("Done", (), {"result": lambda _: [[one] for one in settings]})()


def test_more_workers_than_folds_share_the_settings():
    executor = Recording()
    found = list(FoldWorkers(executor, 6, lambda shared: shared).run([*"abcde"], None, [0, 1]))
    assert found == [[["a"], ["b"], ["c"], ["d"], ["e"]]] * 2  # in order, whoever tried them
    assert [len(part) for part, _ in executor.asked] == [2, 2, 1] * 2
