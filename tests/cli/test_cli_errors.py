"""Help, versions, information, talk, formats by content, signals and pipes."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_cases import rows

import structlearn
from structlearn import LinearRegressor, MulticlassClassifier, StructuredPredictor, TreeParser, load
from structlearn.cli.tasks.options import ProblemOptions
from structlearn.data import write_libsvm
from structlearn.data.file_formats import rows_format
from structlearn.estimators.base import StructuredEstimator
from structlearn.problem.registry import CLASSES, STRUCTURES, losses_of
from structlearn.solvers.registry import SOLVERS

COMMANDS = ["demo", "train", "predict", "evaluate", "align", "info"]


@pytest.mark.parametrize(
    "command", [[], ["train"], ["train", "ner"], ["tune", "grid"], ["compare"], ["align", "train"]]
)
def test_help_imports_nothing_heavy(command):
    program = (
        "import atexit, sys\n"
        "heavy = lambda: sys.modules.keys() & {'numba', 'sklearn', 'scipy', 'numpy', 'matplotlib', 'rich'}\n"
        "atexit.register(lambda: print(sorted(heavy()), file=sys.stderr))\n"
        "from structlearn.cli import main; main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, *command, "--help"], capture_output=True, text=True, check=True
    )
    assert result.stderr == "[]\n"
    assert command or all(name in result.stdout for name in COMMANDS)


def test_without_arguments_help_is_shown(run):
    assert run().stdout == run("--help").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command_has_an_example(run, name):
    assert f"Example: structlearn {name}" in run(name, "--help").stdout


def test_version(run):
    assert run("--version").stdout == f"structlearn {structlearn.__version__}\n"


def test_defaults_are_those_of_the_estimators(run):
    renamed = {"jobs": "n_jobs"}
    for name in ("solver", "max_passes", "max_seconds", "jobs"):
        for estimator in (StructuredEstimator(), LinearRegressor()):
            if name != "jobs" or hasattr(estimator, "n_jobs"):
                assert getattr(ProblemOptions(), name) == getattr(estimator, renamed.get(name, name)), name
    # What depends on the estimator is its own affair; the help has it in words.
    shown = " ".join(run("train", "classify", "--help").stdout.split())
    for name in ("cost", "penalty", "regularization", "tol"):
        assert f"[default: {getattr(MulticlassClassifier(), name)}" in shown
    for name in ("penalty", "regularization", "tol"):
        assert getattr(LinearRegressor(), name) == getattr(MulticlassClassifier(), name)
    shown = " ".join(run("train", "parse", "--help").stdout.split())
    assert f"[default: {TreeParser().cost}]" in shown
    assert f"[default: {TreeParser().tol}]" in shown


def test_help_names_all_losses_and_solvers(run):
    helps = run("train", "classify", "--help").stdout + run("train", "regress", "--help").stdout
    unbroken = re.sub(r"-\n +", "-", helps)
    shown = re.findall(r"[\w-]+", unbroken)
    losses = {*losses_of(CLASSES), *losses_of(STRUCTURES)}
    assert {*losses, *SOLVERS} <= {*shown}


def test_demo_calls_the_application(run, monkeypatch, tmp_path):
    from structlearn.apps import demo

    called = []
    monkeypatch.setattr(demo, "run_demo", called.append)
    run("demo", "--out", tmp_path)
    run("demo")
    assert called == [tmp_path, Path("structlearn-demo")]


def test_info(run, model):
    installed = run("info").stdout
    for name in ("structlearn", "python", "numpy", "scipy", "numba", "scikit-learn", "cache", "threads"):
        assert f"{name}: " in installed
    described = run("info", model).stdout.splitlines()
    for line in (
        "estimator: MulticlassClassifier",
        "task: classify",
        "format: 3",
        f"structlearn: {structlearn.__version__}",
        "structure: Simplex(n_labels=3)",
        "weights: 15",
        "classes: 0, 1, 2",
        "parameters: random_state=0, loss=softmax",
    ):
        assert line in described
    for line in str(load(model).certificate_).splitlines():
        assert line in described  # the status in the words of the shell


def test_info_of_a_structure_of_the_users_own(run, tmp_path):
    class Pick:
        n_parts = 2

        def maximize(self, theta):
            return np.eye(2)[np.argmax(theta)]

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2, 3))
    path = tmp_path / "own.st"
    StructuredPredictor(structure=Pick(), random_state=0, tol=0.1).fit(
        list(X), [np.eye(2)[i % 2] for i in range(6)]
    ).save(path)
    assert "structure: the user's own" in run("info", path).stdout


def test_classes_are_cut_short(run, tmp_path):
    path, out = tmp_path / "many.libsvm", tmp_path / "model.st"
    write_libsvm(path, np.tile(np.eye(30), (3, 1)), [*range(30)] * 3)
    run("train", "classify", path, "--out", out, "--max-passes", "2")
    assert "18, 19, ... (30 in all)" in run("info", out).stdout


def test_convergence_warnings_are_sentences(run, libsvm, tmp_path):
    result = run(
        "train", "classify", libsvm, "--out", tmp_path / "model.st", "--max-passes", "1", "--tol", "1e-9"
    )
    (warning,) = [line for line in result.stderr.splitlines() if "max-passes" in line]
    assert warning.startswith("Warning: Stopped after --max-passes 1 ")
    assert "converged: False" in result.stdout


def test_verbose(run, libsvm, tmp_path):
    quiet = run("train", "classify", libsvm, "--out", tmp_path / "model.st")
    verbose = run("train", "classify", libsvm, "--out", tmp_path / "model.st", "--verbose")
    assert "pass 1 " not in quiet.stderr
    assert "pass 1 " in verbose.stderr
    assert "Read 60 examples with 4 features" in quiet.stderr
    assert "pass 1 " not in verbose.stdout


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x.csv", "1 1:2\n", "csv"),
        ("x.TSV.gz", "", "csv"),
        ("x.txt", "\n1 1:2\n", "libsvm"),
        ("x", "a,b\n1,2\n", "csv"),
        ("x", "a\tb\n1\t2\n", "csv"),
        ("x", "a;b\n1;2\n", "csv"),
        ("x.parquet", "", "csv"),
        ("x", "0,4\n0,5 3:1.5\n", "libsvm"),
        ("x", "1 # 1:2 in a comment\n1\n", "libsvm"),
        ("x", "kind,time\nx,12:30\n", "csv"),
    ],
)
def test_formats(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_text(text)
    assert rows_format(path) == expected


def test_pipes_are_read_once(run, libsvm, csv, tmp_path):
    def piped(data):
        end, start = os.pipe()
        os.write(start, data.read_bytes())
        os.close(start)
        return f"/dev/fd/{end}"

    out = tmp_path / "model.st"
    for data, options in ((libsvm, []), (csv, ["--target", "kind"])):
        run("train", "classify", piped(data), "--out", out, *options)
        assert run("evaluate", out, piped(data)).stdout == run("evaluate", out, data).stdout


def test_closed_pipe(run, start, model, libsvm):
    run("predict", model, libsvm)  # so that all is compiled, and nothing is said of it
    process = start("predict", model, libsvm)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 1


@pytest.fixture
def training(start, tmp_path):
    """A training run that would take long, after its first evaluation."""
    data = tmp_path / "large.libsvm"
    X, y = rows(n=2000, d=20, k=10)
    write_libsvm(data, X, y)
    endless = ["--tol", "0", "--max-passes", "100000", "--verbose"]
    process = start("train", "classify", data, "--out", tmp_path / "model.st", *endless)
    assert any(line.startswith("pass 1 ") for line in process.stderr)
    return process


def test_interrupted_training_keeps_the_best_model(training, run, tmp_path):
    training.send_signal(signal.SIGINT)
    stdout, stderr = training.communicate()
    assert training.returncode == 0, stderr
    assert "Traceback" not in stderr
    assert "status: Interrupted with gap " in stdout
    assert sorted(os.listdir(tmp_path)) == ["large.libsvm", "model.st"]
    assert load(tmp_path / "model.st").certificate_.status.startswith("Interrupted")
    assert "accuracy: " in run("evaluate", tmp_path / "model.st", tmp_path / "large.libsvm").stdout


def test_killed_training_leaves_nothing(training, tmp_path):
    training.kill()
    training.communicate()
    assert os.listdir(tmp_path) == ["large.libsvm"]


def test_interrupted_before_there_is_a_model(run, libsvm, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("structlearn.MulticlassClassifier.fit", interrupt)
    result = run("train", "classify", libsvm, "--out", tmp_path / "model.st", code=130)
    assert result.stderr.endswith("Interrupted before there was a model: nothing was written.\n")
    assert os.listdir(tmp_path) == [libsvm.name]
