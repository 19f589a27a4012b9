"""Records behind addresses: what a pass sees of a structure and a scoring is what their records do."""

import copy
import ctypes
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numba
import numba.extending
import numpy as np
import pytest
from numba.core.errors import TypingError

import structlearn.core.contract
from brute import STRUCTURES, build, problem
from structlearn import StructuredPredictor
from structlearn.core import contract as of
from structlearn.core.callbacks import Callback, raise_uncompiled
from structlearn.core.contract import maximize, omega
from structlearn.core.erased import CFunction, operations_of
from structlearn.core.kernels import jitable, kernel
from structlearn.core.words import Words, load_words
from structlearn.problem.oracle import Oracle, loss_chunk, maximize_chunk
from structlearn.solvers import ActiveBlocks, BlockFrankWolfe, Stopping, solve
from structlearn.solvers.bcfw.active_pass import active_pass
from structlearn.solvers.bcfw.plain_pass import plain_pass
from structlearn.structures import as_structure
from structlearn.structures.erased import ErasedStructure


def test_values_come_back_from_words():
    table = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    words = Words((3, (True, -2.5)), table, np.array([True, False]), np.empty(0, dtype=np.int64))

    def total(pointer, factor):
        (count, (flag, number)), numbers, marks, nothing = load_words(pointer)
        size = count + number + (1 if flag else 0) + numbers[1, 0] + nothing.size
        return factor * size + marks[0] - marks[1]

    address = CFunction(total, (numba.float64,)).address(words.kind)
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)(address)
    assert function(words.address, 2.0) == 2 * (3 - 2.5 + 1 + 3 + 0) + 1


def test_arrays_in_words_are_made_contiguous():
    table = np.arange(6.0).reshape(2, 3).T
    words = Words(table)

    def entry(pointer):
        return load_words(pointer)[0][2, 1]

    address = CFunction(entry, ()).address(words.kind)
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(address)(words.address) == table[2, 1]


def test_a_pass_asks_for_the_operations_that_it_names():
    assert "max_value" in operations_of(loss_chunk)
    assert "maximize" not in operations_of(loss_chunk)
    assert {"maximize", "omega"} <= operations_of(maximize_chunk)
    assert {"maximize", "score", "add_pullback"} <= operations_of(plain_pass)
    assert {"gram", "score_subset"} <= operations_of(active_pass)  # by what it calls


def test_passes_are_compiled_once_for_all_structures_and_scorings():
    compiled = []
    for name in ("simplex", "chain", "matching", "own, plain Python", "own, compiled"):
        objective = problem(name).objective
        solve(objective, BlockFrankWolfe(exact=False), Stopping(max_passes=2), seed=0)
        solve(objective, ActiveBlocks(exact=False), Stopping(max_passes=2), seed=0)
        compiled.append((len(plain_pass.overloads), len(active_pass.overloads)))
    assert set(compiled) == {compiled[0]}


@pytest.mark.parametrize("name", ["chain", "matching", "label graph", "own, compiled"])
def test_threads_have_scratch_memory_of_their_own(name):
    objective = build(STRUCTURES[name]).objective
    rng = np.random.default_rng(0)
    points = [rng.normal(size=objective.n_weights) for _ in range(30)]
    alone = [objective.primal(w) for w in points]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(objective.primal, points)) == alone


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_an_oracle_holds_is_freed_with_it_not_when_garbage_is_looked_for(n_jobs):
    known = build(STRUCTURES["chain"]).objective
    scoring = copy.copy(known.scoring)
    oracle = Oracle(known.oracle.record, scoring, structure=known.structure, n_jobs=n_jobs)
    w = np.ones(scoring.n_weights)
    assert len(list(oracle.predict(w))) == scoring.n_examples
    assert len(oracle.read(w, np.sum)) == len(scoring.chunks())
    held = weakref.ref(oracle), weakref.ref(scoring)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        del oracle, scoring
        assert [one() for one in held] == [None, None]
    finally:
        (gc.enable if was_enabled else gc.disable)()


# ---- plain Python, called from compiled code ------------------------------------------------------------


class Failing:
    """Chooses the largest part; the third time it fails."""

    def __init__(self, error, calls=3):
        self.error, self.calls, self.asked = error, calls, 0

    def maximize(self, theta):
        self.asked += 1
        if self.asked >= self.calls:
            raise self.error
        return np.eye(theta.size)[np.argmax(theta)]


def examples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(8, 3, 2)), np.eye(3)[rng.integers(0, 3, 8)]


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), KeyError("mine"), SystemExit(3)])
def test_what_a_users_function_raises_is_raised_after_the_pass(error):
    failing = Failing(error)
    with pytest.raises(type(error)) as caught:
        StructuredPredictor(failing, random_state=0).fit(*examples())
    assert caught.value is error
    assert failing.asked == 3  # and it is not asked again


def test_a_failure_of_one_call_does_not_trouble_the_next():
    structure = as_structure(Failing(ValueError("once")))
    theta = np.array([1.0, 3.0, 2.0])
    for _ in range(2):
        np.testing.assert_array_equal(structure.maximize(theta), [0, 1, 0])
    with pytest.raises(ValueError, match="once"):
        structure.maximize(theta)
    structure.inner.calls = 99
    np.testing.assert_array_equal(structure.maximize(theta), [0, 1, 0])


def test_an_exception_of_a_compiled_oracle_is_told():
    @numba.njit
    def fails(theta, vertex):
        if theta[0] > 1.0:
            raise ValueError("not this")
        vertex[0] = 1.0
        return theta[0]

    structure = as_structure(fails)
    np.testing.assert_array_equal(structure.maximize(np.array([0.5, 0.0])), [1, 0])
    with pytest.raises(RuntimeError, match="compiled oracle raised an exception or returned NaN"):
        structure.maximize(np.array([2.0, 0.0]))
    np.testing.assert_array_equal(structure.maximize(np.array([0.5, 0.0])), [1, 0])


def first(theta, vertex):
    vertex[0] = 1.0
    return theta[0]


def whole_number(theta, vertex):
    vertex[0] = 1.0
    return 2


@pytest.mark.parametrize(
    "oracle",
    [
        numba.njit(first),
        numba.njit("f8(f8[::1], f8[::1])")(first),
        numba.njit("f4(f8[:], f8[:])")(first),
        numba.njit(whole_number),
    ],
    ids=["float64", "float64, as it is called", "float32, of any layout", "int64"],
)
def test_a_compiled_oracle_may_return_any_kind_of_number(oracle):
    structure, vertex = as_structure(oracle), np.empty(2)
    value = maximize(structure.record, (2, 1), np.array([2.0, 3.0]), np.empty(0), vertex, vertex)
    assert value == 2.0
    np.testing.assert_array_equal(vertex, [1, 0])


def test_a_compiled_oracle_is_compiled_once():
    oracle = numba.njit(first)
    for _ in range(2):
        as_structure(oracle).maximize(np.array([2.0, 3.0]))
    assert len(oracle.signatures) == 1


@pytest.mark.parametrize("enabled", [True, False])
def test_compiling_leaves_the_search_for_garbage_as_it_was(enabled):
    was_enabled = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        assert kernel(lambda x: x + 1.0)(1.0) == 2.0
        assert gc.isenabled() == enabled
        with pytest.raises(TypingError):
            kernel(lambda x: x.nothing)(1.0)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_structures_in_plain_python_can_be_copied():
    copied = copy.deepcopy(as_structure(Failing(ValueError("x"), 9)))
    np.testing.assert_array_equal(copied.maximize(np.array([1.0, 3.0, 2.0])), [0, 1, 0])
    assert isinstance(copied.python, Callback)


# ---- operations are found whatever a kernel calls them --------------------------------------------------


@kernel
def by_a_module(structure, shape, theta, vertex):
    return of.maximize(structure, shape, theta, theta[:0], 0, vertex)


@kernel
def by_modules(structure, shape, theta, vertex):
    return structlearn.core.contract.maximize(structure, shape, theta, theta[:0], 0, vertex)


def by_a_variable_around(chosen):
    @kernel
    def answer(structure, shape, theta, vertex):
        return chosen(structure, shape, theta, theta[:0], 0, vertex)

    return answer


@kernel
def in_a_list(structure, shape, theta, vertex):
    return max([maximize(structure, shape, theta, theta[:0], 0, vertex) for _ in range(2)])


@jitable
def helper(structure, shape, theta, vertex):
    return of.maximize(structure, shape, theta, theta[:0], 0, vertex)


@kernel
def by_a_helper(structure, shape, theta, vertex):
    return helper(structure, shape, theta, vertex)


@pytest.mark.parametrize(
    "function", [by_a_module, by_modules, by_a_variable_around(maximize), in_a_list, by_a_helper]
)
def test_operations_are_found_whatever_they_are_called(function):
    oracle, theta, vertex = problem("simplex").objective.oracle, np.array([0.0, 3.0, 2.0, 1.0]), np.empty(4)
    assert oracle.run(function, (4, 1), theta, vertex) == 3.0
    np.testing.assert_array_equal(vertex, [0, 1, 0, 0])


@numba.extending.register_jitable
def hidden(structure, shape, theta, vertex):
    return maximize(structure, shape, theta, theta[:0], 0, vertex)


@kernel
def by_what_is_hidden(structure, shape, theta, vertex):
    return hidden(structure, shape, theta, vertex)


@kernel
def regularizes(structure, shape, theta, vertex):
    return omega(structure, shape, theta, theta[:0], 0, vertex, 0.0)


def test_an_operation_that_was_not_compiled_is_an_error():
    oracle, theta = problem("simplex").objective.oracle, np.arange(4.0)
    assert oracle.run(regularizes, (4, 1), theta, theta) == 0.0
    with pytest.raises(RuntimeError, match="an operation that was not compiled"):
        oracle.run(by_what_is_hidden, (4, 1), theta, np.empty(4))
    assert oracle.run(by_a_module, (4, 1), theta, np.empty(4)) == 3.0  # what was raised is forgotten
    assert np.isnan(regularizes(ErasedStructure(), (4, 1), theta, theta))
    with pytest.raises(RuntimeError, match="an operation that was not compiled"):
        oracle.structure.raise_failure()


def test_an_operation_that_was_not_compiled_is_an_error_of_its_thread():
    theta = np.arange(4.0)
    with ThreadPoolExecutor(1) as pool:
        assert np.isnan(pool.submit(regularizes, ErasedStructure(), (4, 1), theta, theta).result())
        raise_uncompiled()
        with pytest.raises(RuntimeError, match="an operation that was not compiled"):
            pool.submit(raise_uncompiled).result()


def test_a_kernel_that_calls_no_operation_needs_none():
    @kernel
    def nothing(x):
        return x

    assert operations_of(nothing) == frozenset()
