"""The cache of compiled kernels: keyed by the sources, and found again by the next process."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import structlearn

FOLDER = "from structlearn.kernels import cache_folder; print(cache_folder())"
ANSWER = """
import json, numpy as np
from structlearn.structures import Simplex
from structlearn.structures.simplex import simplex_corner
vertex = Simplex(3).maximize(np.array([0.0, 2.0, 1.0]))
stats = simplex_corner.stats
print(json.dumps([vertex.tolist(), sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package, free to be edited."""
    copy = tmp_path / "src" / "structlearn"
    shutil.copytree(Path(structlearn.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture
def run(tmp_path, package):
    """Run code with the copied package and a cache of its own."""

    def run_code(code, cache=tmp_path / "cache"):
        environment = {**os.environ, "PYTHONPATH": str(package.parent), "STRUCTLEARN_CACHE": str(cache)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
        )
        return done.stdout.strip()

    return run_code


def edit(path, old="", new="# edited\n"):
    path.write_text(path.read_text().replace(old, new, 1) if old else path.read_text() + new)


def test_the_folder_follows_the_compiled_sources(run, package, tmp_path):
    before = run(FOLDER)
    assert Path(before).parent == tmp_path / "cache" / "kernels"
    edit(package / "metrics.py")
    assert run(FOLDER) == before  # nothing compiled there
    edit(package / "structures" / "chain.py")
    after = run(FOLDER)
    assert after != before
    edit(package / "kernels.py")
    assert run(FOLDER) != after


def test_each_solver_has_a_folder_of_its_own_imports(run, package):
    folders = "from structlearn.kernels import cache_folder, _PACKAGE\n" + "".join(
        f"print(cache_folder(_PACKAGE / 'solvers' / '{name}.py'))\n" for name in ("exact_blocks", "lbfgs")
    )
    before = run(folders).split()
    edit(package / "solvers" / "totals.py")  # constants that exact_blocks imports
    after = run(folders).split()
    assert after[0] != before[0]
    assert after[1] == before[1]
    edit(package / "scoring" / "parts.py")  # answers that are compiled into both
    assert not set(run(folders).split()) & set(after)


def test_the_next_process_finds_what_was_compiled(run):
    assert json.loads(run(ANSWER)) == [[0, 1, 0], 0, 1]
    assert json.loads(run(ANSWER)) == [[0, 1, 0], 1, 0]


def test_what_is_compiled_for_a_record_of_the_user_troubles_no_other_process(run, package):
    module = package.parent / "mine.py"
    module.write_text("from typing import NamedTuple\nclass Mine(NamedTuple):\n    size: int\n")
    use = "from structlearn.structures.regularized import no_curvature; print(no_curvature(record))"
    assert run("import mine; record = mine.Mine(3);" + use) == "0.0"
    module.unlink()
    assert run("from structlearn.structures import Simplex; record = Simplex(3).record;" + use) == "0.0"


def test_an_edited_kernel_is_compiled_anew(run, package):
    run(ANSWER)
    edit(package / "structures" / "simplex.py", "if theta[k] > theta[best]", "if theta[k] < theta[best]")
    assert json.loads(run(ANSWER))[0] == [1, 0, 0]


def test_without_a_place_to_write_kernels_still_compile(run, tmp_path):
    (tmp_path / "file").write_text("no folder")
    assert json.loads(run(ANSWER, cache=tmp_path / "file"))[0] == [0, 1, 0]


def test_old_folders_are_forgotten(run, tmp_path):
    old = tmp_path / "cache" / "kernels" / "old"
    recent = tmp_path / "cache" / "kernels" / "recent"
    for folder in (old, recent):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    run(FOLDER)
    assert recent.exists()
    assert not old.exists()
