"""`structlearn completion`: what each shell gets to offer, and how quickly."""

import os
import shutil
import subprocess
import sys

import pytest

from structlearn.apps.recipes import RECIPES
from structlearn.cli.commands.compare import RECIPES as NAMED
from structlearn.cli.commands.completion import SCRIPTS
from structlearn.cli.tasks.registry import TASKS
from structlearn.solvers.registry import SOLVERS
from structlearn.tagging.written import TEXT_FORMATS


@pytest.fixture
def offered(run):
    """What the last of the words may become."""

    def ask(*words):
        return run("completion", "bash", "--", *words).stdout.split()

    return ask


def test_commands_and_tasks(offered):
    assert offered("t") == ["train", "tune", "tag"]
    assert {"align", "predict", "completion"} <= set(offered(""))
    assert offered("train", "") == list(TASKS)
    assert offered("compare", "s") == ["scene", "scaling"]
    assert offered("align", "pr") == ["project"]
    assert "letters" in offered("data", "fetch", "")


def test_options_are_those_of_the_task(offered):
    assert offered("train", "parse", "x", "--non") == ["--non-projective"]
    assert offered("train", "classify", "x", "--non") == ["--nonlinear"]
    assert offered("train", "tag", "x", "--non") == []
    assert offered("train", "--non") == []
    assert offered("predict", "--marg") == ["--marginals"]


def test_values_of_options(offered):
    assert offered("train", "tag", "x", "--solver", "") == ["auto", *SOLVERS]
    assert offered("tune", "tag", "x", "--loss", "hinge,so") == ["hinge,softmax"]
    assert offered("tune", "chunk", "x", "--metric", "") == list(TASKS["chunk"].metrics)
    assert offered("predict", "m", "-", "--format", "conll") == ["conllu"]
    assert offered("tag", "m", "--format", "") == list(TEXT_FORMATS)
    assert offered("train", "tag", "--out", "") == []  # files, by the shell itself
    assert offered("train", "tag", "") == []


def test_names_are_those_of_the_registries():
    assert list(NAMED) == [*RECIPES, "scaling", "decisions"]


def test_an_unknown_shell(refused):
    assert "Unknown shell 'bsh'; valid are 'bash', 'zsh', 'fish'. Did you mean 'bash'?" in refused(
        "completion", "bsh"
    )


def test_nothing_heavy_is_imported():
    program = (
        "import sys\nfrom structlearn.cli import main\n"
        "try:\n    main()\nfinally:\n"
        "    print(sorted({'numba', 'sklearn', 'scipy', 'numpy', 'rich'} & sys.modules.keys()))"
    )
    for words in (["train", "chunk", "--so"], ["compare", "s"], ["tag", "m", "--format", ""]):
        called = [sys.executable, "-c", program, "completion", "bash", "--", *words]
        assert subprocess.run(called, capture_output=True, text=True, check=True).stdout.endswith("[]\n")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_scripts_are_valid(run, shell, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(run("completion", shell).stdout)
    subprocess.run([program, "-n", script], check=True)


BASH = shutil.which("bash")


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_bash_offers_what_it_is_told(run, tmp_path):
    (tmp_path / "structlearn").write_text(f'#!/bin/sh\nexec {sys.executable} -m structlearn "$@"\n')
    (tmp_path / "structlearn").chmod(0o755)
    (tmp_path / "script").write_text(run("completion", "bash").stdout)
    asked = (
        f'source {tmp_path}/script; COMP_WORDS=(structlearn train tag x --solver "" more); COMP_CWORD=5; '
        '_structlearn; echo "${COMPREPLY[@]}"; complete -p structlearn'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([BASH, "-c", asked], capture_output=True, text=True, check=True, env=environment)
    values, registered = done.stdout.splitlines()
    assert values.split() == ["auto", *SOLVERS]
    assert registered == "complete -o default -F _structlearn structlearn"
