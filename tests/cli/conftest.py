"""Small data files, and the command line run in this process or in one of its own."""

import subprocess

import pytest
from cli_cases import columns, command, label_sets, numbers, rows, sentences, table
from typer.testing import CliRunner

from structlearn.cli import app
from structlearn.core.kernel_cache import compilation
from structlearn.data import write_libsvm


@pytest.fixture(autouse=True)
def _compiled_before(monkeypatch):
    """Whether a cache is warm is no matter of these tests: nothing is said of compilation."""
    monkeypatch.setattr(compilation, "_told", ["before"])


@pytest.fixture
def run():
    """Run `structlearn ARGUMENTS` in this process; with `code`, the exit code it must have."""

    def invoke(*arguments, code=0):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        return result

    return invoke


@pytest.fixture
def refused(run):
    """Run what must be refused: exit code 2, nothing on stdout, one sentence on stderr, which is returned.

    What was read before, how long it may take, and what is worth knowing, may be said first.
    """

    def invoke(*arguments):
        result = run(*arguments, code=2)
        assert result.stdout == ""
        before = ("Read ", "At most ", "Note: ")
        (line,) = [line for line in result.stderr.splitlines() if not line.startswith(before)]
        assert line.startswith("Error: ")
        return line

    return invoke


@pytest.fixture
def start():
    """Start `structlearn ARGUMENTS` in a process of its own."""
    started = []

    def popen(*arguments):
        pipe = subprocess.PIPE
        process = subprocess.Popen(command(*arguments), stdout=pipe, stderr=pipe, text=True)
        started.append(process)
        return process

    yield popen
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def libsvm(tmp_path):
    path = tmp_path / "classes.libsvm"
    write_libsvm(path, *rows())
    return path


@pytest.fixture
def real(tmp_path):
    path = tmp_path / "numbers.libsvm"
    write_libsvm(path, *numbers())
    return path


@pytest.fixture
def csv(tmp_path):
    X, y = rows()
    path = tmp_path / "classes.csv"
    path.write_text(table(X, "a,b,c,d,kind", [["red", "green", "blue"][k] for k in y]))
    return path


@pytest.fixture
def sets(tmp_path):
    path = tmp_path / "sets.libsvm"
    write_libsvm(path, *label_sets(), multilabel=True)
    return path


@pytest.fixture
def tags(tmp_path):
    path = tmp_path / "tags.txt"
    path.write_text(columns(sentences()))
    return path


@pytest.fixture
def model(tmp_path, run, libsvm):
    """A model file of the task classify, trained on `libsvm`."""
    path = tmp_path / "model.st"
    run("train", "classify", libsvm, "--out", path)
    return path
