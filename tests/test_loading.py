"""Kernels read back from the cache: without what only compiling needs, which stays possible."""

import os
import subprocess
import sys

import pytest

from structlearn.core.dispatchers import is_lean

#: Of Numba's own functions and their SciPy.
COMPILING = {"numba.np.arrayobj", "numba.np.linalg", "scipy.linalg"}
LOAD = """
import numpy as np
from structlearn.structures import Chain
print(Chain(2).maximize(np.array([0.0, 2.0, 1.0, 0.0, 5.0, 0.0, 0.0, 0.0])).tolist())
"""
TELL = f"import sys; print({COMPILING} & set(sys.modules))"
#: Allocates and adds, as what was loaded does.
COMPILE = """
from numba import njit
from structlearn.structures.flat.simplex import SimplexRecord, simplex_maximize
@njit
def doubled(theta):
    vertex = np.zeros(3)
    value = simplex_maximize(SimplexRecord(3), (1, 3), theta + vertex, np.zeros(0), vertex, vertex)
    return value + vertex.sum()
print(doubled(np.array([0.0, 2.0, 1.0])))
"""


@pytest.fixture
def run(tmp_path):
    """Run code with a cache of its own; what it prints, line by line."""

    def start(code, **more):
        environment = {**os.environ, "STRUCTLEARN_CACHE": str(tmp_path), **more}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return done.stdout.splitlines()

    return start


@pytest.mark.skipif(not is_lean(), reason="not tried with this Numba")
def test_what_is_loaded_takes_nothing_that_only_compiling_needs(run):
    first = run(LOAD + TELL)
    assert first[1] != "set()"
    assert run(LOAD + TELL) == [first[0], "set()"]


def test_what_has_loaded_kernels_can_compile(run):
    (compiled,) = run(LOAD)
    assert run(LOAD + COMPILE) == [compiled, "3.0"]


def test_other_versions_of_numba_load_as_numba_does(run):
    plain = {"STRUCTLEARN_PLAIN_NJIT": "1"}
    compiled, _ = run(LOAD + TELL, **plain)
    assert run(LOAD + TELL, **plain)[0] == compiled
