"""Ctrl-C, once and twice, in real processes: an exit code, a sentence, whole files, no traceback."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from cli_cases import await_end_of_group, rows

from structlearn import load
from structlearn.data import write_libsvm

# Ctrl-C reaches the child even where this process was started with SIGINT ignored.
BEGIN = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
END = "\nfrom structlearn.cli import main\nprint('ready', file=sys.stderr, flush=True)\nmain()"
SLOW_SAVING = """
import time, structlearn.storage.atomic as files
replace = files.os.replace
class Slow:
    def __getattr__(self, name): return getattr(os, name)
    def replace(self, *args):
        print('saving', file=sys.stderr, flush=True)
        time.sleep(30)
        replace(*args)
import os
files.os = Slow()
"""
TALKATIVE = """
from structlearn.reports import comparison, runs
execute = runs.execute
def loud(job):
    job.estimator.set_params(verbose=1)
    print('solver', job.name, file=sys.stderr, flush=True)
    return execute(job)
comparison.execute = loud
"""
HELD = """
import time
from structlearn.reports import comparison
comparison._rehearsed = lambda *args, **options: time.sleep(600)
"""
LONG = partial(pytest.param, marks=pytest.mark.long)
ENDLESS = ("--tol", "0", "--max-passes", "100000000")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "large.libsvm"
    write_libsvm(path, *rows(n=2000, d=20, k=10))
    return path


@pytest.fixture
def begin():
    """Start a command in a process, with something changed before; its stderr, read up to a word."""
    started = []

    def popen(*arguments, changed=""):
        program = [sys.executable, "-c", BEGIN + changed + END, *map(str, arguments)]
        process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield popen
    for process in started:
        process.kill()
        process.communicate()


def read_until(process, word):
    for line in process.stderr:
        if line.startswith(word):
            return
    raise AssertionError(f"{word} was never said")


def ended(process, code):
    """What a process has said at its end; with the code 130, one sentence about the interruption."""
    stdout, stderr = process.communicate(timeout=600)
    assert process.returncode in code, (process.returncode, stderr)
    assert "Traceback" not in stderr
    assert "Exception ignored" not in stderr
    said = [line for line in stderr.splitlines() if line.startswith("Interrupted")]
    assert len(said) == (process.returncode == 130), stderr
    return stdout, stderr


def interrupt(process, *pauses):
    process.send_signal(signal.SIGINT)
    for pause in pauses:
        time.sleep(pause)
        process.send_signal(signal.SIGINT)


def is_whole(model):
    """Whether a model is not there, or can be read: a quick machine may come to the end of training first."""
    return not model.exists() or load(model).certificate_.status.startswith(("Interrupted", "Stopped"))


@pytest.mark.parametrize("pauses", [(0.0,), LONG((0.002,)), (0.01,), LONG((0.03,)), (0.005, 0.005, 0.005)])
def test_pressed_again_while_training_ends(begin, data, tmp_path, pauses):
    model = tmp_path / "model.st"
    process = begin("train", "classify", data, "--out", model, *ENDLESS, "--verbose")
    read_until(process, "pass 1 ")
    interrupt(process, *pauses)
    ended(process, {0, 130})
    assert is_whole(model)
    assert set(os.listdir(tmp_path)) <= {"large.libsvm", "model.st"}


def test_a_search_ends_with_nothing_written(begin, data, tmp_path):
    """Also while a model is trained, which `train` would keep: it is one of many."""
    model = tmp_path / "model.st"
    process = begin(
        "tune", "classify", data, "--out", model, "--regularization", "1,1e-7", "--tol", "1e-6", "--verbose"
    )
    read_until(process, "Fold 1 of 5, lambda 1:")
    time.sleep(0.1)
    interrupt(process)
    ended(process, {130})
    assert os.listdir(tmp_path) == ["large.libsvm"]


@pytest.mark.parametrize("after", [LONG(0.0), 0.3, LONG(1.0), 2.0])
def test_pressed_twice_while_all_is_loaded(begin, data, tmp_path, after):
    process = begin("train", "classify", data, "--out", tmp_path / "model.st", *ENDLESS)
    read_until(process, "ready")
    time.sleep(after)
    interrupt(process, 0.02)
    ended(process, {0, 130})  # 0 where training had begun, and the second came after its end
    assert is_whole(tmp_path / "model.st")


def test_pressed_while_the_model_is_written(begin, data, tmp_path):
    model = tmp_path / "model.st"
    model.write_text("what was there")
    process = begin("train", "classify", data, "--out", model, *ENDLESS, "--verbose", changed=SLOW_SAVING)
    read_until(process, "pass 1 ")
    interrupt(process)
    read_until(process, "saving")
    interrupt(process, 0.02)
    _, stderr = ended(process, {130})
    assert "each is whole, or as it was" in stderr
    assert model.read_text() == "what was there"
    assert set(os.listdir(tmp_path)) == {"large.libsvm", "model.st"}


def test_in_this_process_too(run, libsvm, tmp_path, monkeypatch):
    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("structlearn.estimators.files.persistence.save_bundle", stopped)
    before = signal.getsignal(signal.SIGINT)
    talk = run("train", "classify", libsvm, "--out", tmp_path / "model.st", code=130).stderr
    assert talk.splitlines()[-1].startswith("Interrupted. No file is half written")
    assert signal.getsignal(signal.SIGINT) is before


def test_predictions(run, model, libsvm, tmp_path, monkeypatch):
    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("structlearn.MulticlassClassifier.predict", stopped)
    result = run("predict", model, libsvm, "--out", tmp_path / "labels.txt", code=130)
    assert result.stderr.startswith("Interrupted.")
    assert not (tmp_path / "labels.txt").exists()


# ---- compare -----------------------------------------------------------------------------------------


def test_in_a_comparison_the_next_solver_begins(begin, data, tmp_path):
    out = tmp_path / "report"
    options = ("--solvers", "fw,subgradient", "--out", out, *ENDLESS)
    process = begin("compare", "classify", data, *options, changed=TALKATIVE)
    for name in ("fw", "subgradient"):
        read_until(process, f"solver {name}")
        read_until(process, "pass 1 ")
        interrupt(process)
    stdout, _ = ended(process, {0})
    assert [line.split()[0] for line in stdout.splitlines()[1:3]] == ["fw", "subgradient"]
    assert (out / "index.html").exists()


def test_before_the_first_solver_nothing_is_written(begin, data, tmp_path):
    out = tmp_path / "report"
    options = ("--solvers", "fw,subgradient", "--out", out, *ENDLESS)
    process = begin("compare", "classify", data, *options, changed=HELD)
    read_until(process, "Read ")
    interrupt(process, 0.02)
    ended(process, {130})
    assert not out.exists() or os.listdir(out) == []


@pytest.mark.parametrize("after", [0.0, 1.5])
def test_a_comparison_in_processes_ends(data, tmp_path, after):
    """A terminal sends Ctrl-C to all processes of its group."""
    out = tmp_path / "report"
    options = ("--separate", "--solvers", "subgradient,fw", "--out", str(out), *ENDLESS)
    program = [sys.executable, "-c", BEGIN + SEPARATE + END, "compare", "classify", str(data), *options]
    pipe = subprocess.PIPE
    process = subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        read_until(process, "apart")
        time.sleep(after)
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = ended(process, {130})
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert "Interrupted: nothing was written." in stderr
    assert os.listdir(out) == []


def test_processes_of_a_comparison_that_was_killed_end_with_it(data, tmp_path):
    options = ("--separate", "--solvers", "subgradient,fw", "--out", str(tmp_path / "report"), *ENDLESS)
    program = [sys.executable, "-c", BEGIN + SEPARATE + END, "compare", "classify", str(data), *options]
    pipe = subprocess.PIPE
    process = subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    read_until(process, "apart")
    process.kill()
    process.communicate(timeout=600)  # ends when nobody holds the other ends of the pipes, the child included
    await_end_of_group(process)  # the tracker of shared memory ends a little later


SEPARATE = """
import multiprocessing.process as made
start = made.BaseProcess.start
def loud(self):
    start(self)
    print('apart', file=sys.stderr, flush=True)
made.BaseProcess.start = loud
"""
