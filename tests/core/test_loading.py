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


def run(code, cache, **more):
    """What code prints, line by line."""
    environment = {**os.environ, "STRUCTLEARN_CACHE": str(cache), **more}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """A cache of the kernels that `LOAD` needs, and what the process printed that compiled them."""
    cache = tmp_path_factory.mktemp("loading")
    return cache, *run(LOAD + TELL, cache)


@pytest.mark.skipif(not is_lean(), reason="not tried with this Numba")
def test_what_is_loaded_takes_nothing_that_only_compiling_needs(filled):
    cache, compiled, imported = filled
    assert imported != "set()"
    assert run(LOAD + TELL, cache) == [compiled, "set()"]


def test_what_has_loaded_kernels_can_compile(filled):
    cache, compiled, _ = filled
    assert run(LOAD + COMPILE, cache) == [compiled, "3.0"]


def test_other_versions_of_numba_load_as_numba_does(tmp_path):
    plain = {"STRUCTLEARN_PLAIN_NJIT": "1"}
    compiled, _ = run(LOAD + TELL, tmp_path, **plain)
    assert run(LOAD + TELL, tmp_path, **plain)[0] == compiled
