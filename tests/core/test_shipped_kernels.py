"""Kernels built in one place and installed in another: used if all fits, and checked before."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import structlearn
from structlearn import LinearRegressor
from structlearn.core.kernel_cache import shipped as shipped_kernels
from structlearn.core.kernel_cache.shipped import Manifest

pytestmark = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="what the wheel is built for"
)
SOURCE = Path(structlearn.__file__).parent
BUILD = SOURCE.parents[1] / "packaging" / "kernels" / "build.py"
USE = """
import json
import numpy as np
from numba.core import event
from scipy import sparse
from structlearn import LinearRegressor
from structlearn.core.kernel_cache import cache as kernel_cache
from structlearn.problem.least_squares import LeastSquares

class Count(event.Listener):
    n = 0
    def on_start(self, event):
        self.n += 1
    def on_end(self, event):
        pass

from structlearn.cli import app
app(["info"], standalone_mode=False)
count, begun, rng = Count(), [], np.random.default_rng(0)
kernel_cache.begins = begun.append
X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
with event.install_listener("numba:compile", count):
    answers = {use}
print(json.dumps(dict(compiled=count.n, begun=len(begun), answers=answers.tolist())))
"""
FIT = 'LinearRegressor(penalty="l1", tol=1e-9).fit(X, y).predict(X)'
ONE_KERNEL = "LeastSquares(sparse.csc_matrix(X), y, None, 0.1).sizes"


def python(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Of the task with the fewest kernels."""
    out = tmp_path_factory.mktemp("dist")
    python(BUILD, "regress", "--out", out, PYTHONPATH=SOURCE.parent)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installation(wheel, tmp_path_factory):
    """A folder that has structlearn and its kernels."""
    folder = tmp_path_factory.mktemp("installation")
    shutil.copytree(SOURCE, folder / "structlearn")
    python("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder, wheel)
    return folder


@pytest.fixture
def installed(installation, tmp_path):
    """A copy of it, free to be changed."""
    return shutil.copytree(installation, tmp_path / "installed")


@pytest.fixture
def use(installed, tmp_path):
    """Run code in a new process with a cache of its own, empty at first; `info`: what it says of kernels."""
    environment = {"PYTHONPATH": installed, "STRUCTLEARN_CACHE": tmp_path / "cache"}

    def start(code):
        *said, found = python("-c", USE.format(use=code), **environment).splitlines()
        info = dict(line.split(": ", 1) for line in said)
        return {**json.loads(found), "info": info["kernels"]}

    return start


def own_files(tmp_path):
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def edit(installed, **changed):
    path = installed / "structlearn_kernels" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


def test_nothing_is_compiled_beside_the_wheel(use, installed, tmp_path):
    found = use(FIT)
    assert (
        found["info"]
        == f"of structlearn-kernels {structlearn.__version__}, for x86-64-v3; others are compiled here"
    )
    assert found["compiled"] == found["begun"] == use(ONE_KERNEL)["begun"] == 0
    assert own_files(tmp_path) == []
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    compiled_here = LinearRegressor(penalty="l1", tol=1e-9).fit(X, y).predict(X)
    assert found["answers"] == pytest.approx(compiled_here, abs=1e-9)
    shutil.rmtree(installed / "structlearn_kernels")
    assert use(ONE_KERNEL)["begun"] > 0


def damage_files(installed):
    for path in (installed / "structlearn_kernels").rglob("*.nbc"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")


def damage_hashes(installed):
    files = json.loads((installed / "structlearn_kernels" / "manifest.json").read_text())["files"]
    edit(installed, files=dict.fromkeys(files, "0" * 64))


OTHERWISE = {
    "other files": (damage_files, r"without \d+ files that are not as they were built, such as "),
    "other hashes": (damage_hashes, r"without \d+ files that are not as they were built, such as "),
    "another Numba": (lambda there: edit(there, numba="0.1"), "built for numba 0.1, here is "),
    "another CPU": (lambda there: edit(there, features=["avx2", "avx9000"]), "this CPU lacks avx9000"),
}


@pytest.mark.parametrize("what", OTHERWISE)
def test_where_something_is_otherwise_kernels_are_compiled(use, installed, tmp_path, what):
    change, sentence = OTHERWISE[what]
    change(installed)
    first = use(ONE_KERNEL)
    assert re.search(sentence, first["info"])
    assert first["begun"] > 0
    assert own_files(tmp_path)
    assert use(ONE_KERNEL)["begun"] == 0  # from the user's own cache


@pytest.mark.parametrize("name", ["python", "numba", "llvmlite", "platform", "structlearn"])
def test_a_manifest_says_what_does_not_fit(name):
    here = Manifest.here()
    assert here.obstacle() == ""
    other = here._replace(**{name: "other"})
    assert other.obstacle() == f"built for {name} other, here is {getattr(here, name)}"


def test_kernels_of_other_sources_are_not_used():
    assert Manifest.here()._replace(sources="0" * 16).obstacle() == "built from other sources of structlearn"


def test_a_host_whose_features_are_unknown_has_none(monkeypatch):
    def unknown():
        raise RuntimeError

    monkeypatch.setattr(shipped_kernels.llvmlite.binding, "get_host_cpu_features", unknown)
    assert Manifest.here(features=["sse2"]).obstacle() == "this CPU lacks sse2"


def test_who_asks_for_a_cpu_gets_no_other(monkeypatch):
    monkeypatch.setattr(shipped_kernels.numba.config, "CPU_NAME", "generic")
    assert "NUMBA_CPU_NAME" in Manifest.here().obstacle()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": 3}', "null", "\x00", '"' * 100])
def test_what_is_no_manifest_is_refused(tmp_path, content):
    path = tmp_path / "manifest.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="not a manifest"):
        Manifest.read(path)


@pytest.mark.parametrize("changed", [{"features": 3}, {"files": []}, {"files": {"a": 1}}, {"cpu": None}])
def test_a_manifest_is_read_as_it_was_written_or_not_at_all(tmp_path, changed):
    path, here = tmp_path / "manifest.json", Manifest.here("cpu", ["avx2"], tmp_path)
    here.write(path)
    assert Manifest.read(path) == here
    here._replace(**changed).write(path)
    with pytest.raises(ValueError, match="not a manifest"):
        Manifest.read(path)


def test_a_manifest_that_others_can_write_is_refused(tmp_path):
    path = tmp_path / "manifest.json"
    Manifest.here().write(path)
    path.chmod(0o666)
    with pytest.raises(ValueError, match="not a manifest that can be trusted"):
        Manifest.read(path)
