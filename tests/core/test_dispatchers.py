"""Dispatchers: made when their kernel is first used, and then as Numba makes them."""

import subprocess
import sys
import threading
from inspect import signature

import pytest
from numba import njit
from numba.core.registry import CPUDispatcher

from structlearn.core.dispatchers import is_lean
from structlearn.core.kernels import kernel

lean = pytest.mark.skipif(not is_lean(), reason="not tried with this Numba")

MADE = """
import gc, numpy as np, structlearn
from structlearn.core.dispatchers import EntryDispatcher, InnerDispatcher
structlearn.ChainClassifier, structlearn.Tagger
def made():
    entries = [one for one in gc.get_objects() if isinstance(one, EntryDispatcher)]
    return {one.__name__ for one in entries if one._later is None}
print(len(made()))
print(len([one for one in gc.get_objects() if isinstance(one, InnerDispatcher)]))
structlearn.structures.Simplex(3).maximize(np.array([0.0, 2.0, 1.0]))
print("maximize_rows" in made(), len(made()) < 20)
"""


@lean
def test_imports_make_no_dispatchers():
    done = subprocess.run([sys.executable, "-c", MADE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0", "0", "True True"]


def made_anew():
    """A kernel that has not been used."""

    @kernel
    def shifted(x, by=2.0):
        """Add."""
        return x + by

    return shifted


def test_a_kernel_has_its_functions_names_before_and_after_its_first_call():
    one = made_anew()
    for _ in range(2):
        assert isinstance(one, CPUDispatcher)
        assert (one.__name__, one.__doc__, one.__module__) == ("shifted", "Add.", __name__)
        assert list(signature(one).parameters) == ["x", "by"]
        assert one(1.0) == 3.0
    with pytest.raises(AttributeError, match="nonsense"):
        one.nonsense  # noqa: B018


def test_defaults_and_names_of_arguments_count_in_the_first_call():
    assert made_anew()(1.0) == 3.0
    assert made_anew()(1.0, 5.0) == 6.0
    assert made_anew()(by=3.0, x=1.0) == 4.0
    with pytest.raises(TypeError, match="argument"):
        made_anew()()


def test_kernels_that_python_never_called_are_called_by_compiled_code():
    inside = made_anew()

    @njit
    def outside(x):
        return 2.0 * inside(x)

    assert outside(1.0) == 6.0
    assert inside(1.0) == 3.0


def test_first_calls_of_several_threads_compile_once():
    one, start, found = made_anew(), threading.Barrier(4), []

    def call():
        start.wait()
        found.append(one(1.0))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3.0] * 4
    assert len(one.overloads) == 1
