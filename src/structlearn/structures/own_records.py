"""The compiled forms of a user's own structure: functions behind addresses.

A structure has marginals or a projection of its own if the class of its record implements them, so that there
is a class for each of the four cases, for compiled functions and for plain Python. In plain Python all
answers come from one `core.callbacks.Callback`, which is told what is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import float64, njit, types

from structlearn.core.contract import (
    Array,
    Shape,
    entropy,
    local_parts,
    log_partition,
    marginals,
    max_value,
    maximize,
    project,
    project_workspace,
    shared_parts,
)
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.core.words import call, call_numba
from structlearn.structures.regularized import entropy_difference

if TYPE_CHECKING:
    from numba.core.compiler import CompileResult

#: What a `Callback` is asked: its answers in this order.
MAXIMIZE, BOUND, MARGINALS, PROJECT = range(4)


class Called(NamedTuple):
    """Plain Python, by the address of a `core.callbacks.Callback`."""

    address: int
    n_shared: int = 0
    #: 1 where examples have instances of their own, so that shapes are (parts, number of the instance)
    has_instances: int = 0


class CalledMarginals(Called):
    """The same with marginals."""


class CalledProjection(Called):
    """The same with a projection."""


class CalledBoth(Called):
    """The same with marginals and a projection."""


class CompiledOracle(NamedTuple):
    """A user's compiled functions, by their addresses; 0 where there is none."""

    address: int
    #: 1 once one has raised an exception or has not returned a number
    failed: Array
    marginals: int = 0
    project: int = 0


class CompiledMarginals(CompiledOracle):
    """The same with marginals."""


class CompiledProjection(CompiledOracle):
    """The same with a projection."""


class CompiledBoth(CompiledOracle):
    """The same with marginals and a projection."""


_CALLED = (Called, CalledMarginals, CalledProjection, CalledBoth)
_COMPILED = (CompiledOracle, CompiledMarginals, CompiledProjection, CompiledBoth)


def called_record(*, has_marginals: bool, has_projection: bool) -> type[Called]:
    """Return the class of records of plain Python that has these answers."""
    return _CALLED[has_marginals + 2 * has_projection]


def compiled_record(*, has_marginals: bool, has_projection: bool) -> type[CompiledOracle]:
    """Return the class of records of compiled functions that has these answers."""
    return _COMPILED[has_marginals + 2 * has_projection]


def machine_code(function: Any) -> CompileResult:
    """Compile `function(theta, out)` itself or, if it does not return a float, a wrapper of it."""
    vectors = (float64[::1], float64[::1])
    if function._can_compile:  # not so with signatures given by the user
        function.compile(vectors)
    found = function.overloads.get(vectors)
    if found is not None and found.signature.return_type == float64:
        return found
    silent = found is not None and found.signature.return_type == types.none

    @njit
    def answer(theta: Array, out: Array) -> np.float64:
        return np.float64(function(theta, out))

    @njit
    def answer_of_silent(theta: Array, out: Array) -> float:
        function(theta, out)
        return 0.0

    wrapper = answer_of_silent if silent else answer
    wrapper.compile(vectors)
    return wrapper.overloads[vectors]


def code_address(code: CompileResult) -> int:
    """Return where machine code is."""
    return int(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))


# ---- plain Python --------------------------------------------------------------------------------------


@implements(maximize, *_CALLED)
@leaf
def called_maximize(
    structure: Called, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return call(structure.address, (MAXIMIZE, shape[0], shape[1], theta, shared, vertex))


@implements(max_value, *_CALLED)
@leaf
def called_max_value(
    structure: Called, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return call(structure.address, (BOUND, shape[0], shape[1], theta, shared, vertex))


@implements(shared_parts, *_CALLED)
@jitable
def called_shared_parts(structure: Called) -> int:
    return structure.n_shared


@implements(local_parts, *_CALLED)
@jitable
def called_local_parts(structure: Called, shape: Shape) -> int:
    return shape[0] if structure.has_instances else shape[0] * shape[1]


@implements(log_partition, CalledMarginals, CalledBoth)
@implements(marginals, CalledMarginals, CalledBoth)
@leaf
def called_marginals(
    structure: Called, shape: Shape, theta: Array, shared: Array, work: object, mean: Array
) -> float:
    return call(structure.address, (MARGINALS, shape[0], shape[1], theta, shared, mean))


@implements(project, CalledProjection, CalledBoth)
@leaf
def called_project(
    structure: Called, shape: Shape, theta: Array, shared: Array, work: object, point: Array
) -> float:
    return call(structure.address, (PROJECT, shape[0], shape[1], theta, shared, point))


@implements(project_workspace, CalledProjection, CalledBoth)
@jitable
def called_project_workspace(structure: Called, shape: Shape) -> int:
    return 0


# ---- compiled functions --------------------------------------------------------------------------------


@leaf
def _ask_function(address: int, failed: Array, theta: Array, out: Array) -> float:
    """Call a user's function; NaN where it has failed."""
    for j in range(out.size):  # so that an oracle may write only its ones
        out[j] = 0.0
    value = call_numba(address, (theta, out))
    if np.isnan(value):
        failed[0] = 1
    return value


@implements(max_value, *_COMPILED)
@implements(maximize, *_COMPILED)
@leaf
def oracle_maximize(
    structure: CompiledOracle, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    value = _ask_function(structure.address, structure.failed, theta, vertex)
    return -np.inf if np.isnan(value) else value


@implements(log_partition, CompiledMarginals, CompiledBoth)
@implements(marginals, CompiledMarginals, CompiledBoth)
@leaf
def oracle_marginals(
    structure: CompiledOracle, shape: Shape, theta: Array, shared: Array, work: object, mean: Array
) -> float:
    value = _ask_function(structure.marginals, structure.failed, theta, mean)
    return -np.inf if np.isnan(value) else value


@implements(project_workspace, CompiledProjection, CompiledBoth)
@jitable
def oracle_project_workspace(structure: CompiledOracle, shape: Shape) -> tuple[Array, Array]:
    n_parts = shape[0] * shape[1]
    return np.empty(n_parts), np.empty(n_parts)


@implements(project, CompiledProjection, CompiledBoth)
@kernel
def oracle_project(
    structure: CompiledOracle,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: tuple[Array, Array],
    point: Array,
) -> float:
    """Answer `project` by the user's function; the maximum is bounded by that of the gradient there.

    max_z <theta, z> - 1/2 ||z||^2  <=  max_v <theta - p, v> + 1/2 ||p||^2      for any p
    """
    if np.isnan(_ask_function(structure.project, structure.failed, theta, point)):
        return -np.inf
    gradient, vertex = work[0][: theta.size], work[1][: theta.size]
    value = square = 0.0
    for j in range(theta.size):
        gradient[j] = theta[j] - point[j]
        if point[j] != 0.0:
            value += theta[j] * point[j]
            square += point[j] * point[j]
    best = oracle_maximize(structure, shape, gradient, shared, 0, vertex)
    return max(value - square / 2.0, best + square / 2.0)


# ---- both --------------------------------------------------------------------------------------------------


@implements(entropy, CalledMarginals, CalledBoth, CompiledMarginals, CompiledBoth)
@kernel
def own_entropy(
    structure: Called, shape: Shape, theta: Array, shared: Array, work: object, mean: Array, log_z: float
) -> float:
    """Return log Z - <theta, mean>, less possible rounding: vertices may be others than zeros and ones."""
    return max(entropy_difference(theta, shared, mean, log_z), 0.0)
