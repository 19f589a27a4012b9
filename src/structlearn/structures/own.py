"""A user's own structure: anything that can maximise.

An object with `maximize(theta) -> vertex`, an object with a compiled `oracle(theta, out) -> value`, or
such a function by itself, plain or compiled. Everything else is optional: without `encode`, an output is its
own part vector.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import float64, njit
from numpy.typing import ArrayLike

from structlearn.core.callbacks import Callback
from structlearn.core.contract import Array, Shape, max_value, maximize, shared_parts
from structlearn.core.errors import OracleError
from structlearn.core.kernels import implements, jitable, leaf
from structlearn.core.rounding import MATERIAL
from structlearn.core.words import call, call_numba
from structlearn.structures.base import Structure, Weights

if TYPE_CHECKING:
    from numba.core.compiler import CompileResult


class CompiledOracle(NamedTuple):
    """A user's compiled function, by its address."""

    address: int
    #: 1 once it has raised an exception or has not returned a number
    failed: Array


class Called(NamedTuple):
    """Plain Python, by the address of a `core.callbacks.Callback`."""

    address: int
    n_shared: int = 0


class PythonOracle:
    """Answers for a structure through a plain `maximize(theta) -> vertex`."""

    def __init__(self, maximize: Callable[[Array], ArrayLike], part_ndim: int) -> None:
        self._maximize = maximize
        self._part_ndim = part_ndim

    def __call__(self, shape: Shape, theta: Array, shared: Array, vertex: Array) -> float:
        asked = theta.reshape(shape if self._part_ndim == 2 else theta.shape)
        given, value = _without_value(self._maximize(asked.copy()))  # the user may write to it
        found = np.asarray(given, dtype=np.float64).ravel()
        if found.shape != theta.shape:
            raise ValueError(
                f"maximize must return a vector of {theta.size} parts; it returned {found.size}."
            )
        if not np.isfinite(found).all():
            raise OracleError(
                "maximize must return a vertex, such as zeros and ones; it returned NaN or inf."
            )
        vertex[:] = found
        chosen = found != 0  # -inf * 0 is NaN
        terms = theta[chosen] * found[chosen]
        score = float(terms.sum())
        if value is not None and not abs(value - score) <= MATERIAL * (1.0 + np.abs(terms).sum()):
            raise OracleError(
                f"maximize returned the value {value:.6g}, but its vertex has the score {score:.6g}."
            )
        return score


def _without_value(given: Any) -> tuple[ArrayLike, float | None]:
    """Return the vertex that a `maximize` has returned, and the value if it returned (vertex, value)."""
    if isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) and not np.ndim(given[1]):
        return given[0], float(given[1])
    return given, None


class OwnStructure(Structure):
    """Any object with `maximize(theta) -> vertex` or a compiled `oracle(theta, out) -> value`.

    Parameters
    ----------
    inner : object, function `maximize(theta) -> vertex`, or Numba function
        May also have `encode(y)`, `decode(vertex)`, `cost(mu)`, `exact`, `accuracy` (a relative error of its
        values) and `part_ndim`.
    """

    zero_one = False
    no_marginals = " (it can only maximise); use {loss=hinge} or 'sparsemax'"

    def __init__(self, inner: Any) -> None:
        self.inner: object = inner
        oracle = inner if _is_compiled(inner) else getattr(inner, "oracle", None)
        self._oracle = oracle if _is_compiled(oracle) else None
        self.exact = bool(getattr(inner, "exact", True))
        self.accuracy = float(getattr(inner, "accuracy", 0.0))
        self.part_ndim = int(getattr(inner, "part_ndim", 1))
        if self._oracle is None:
            self.python = Callback(PythonOracle(getattr(inner, "maximize", inner), self.part_ndim))

    @property
    def name(self) -> str:
        """The name of the user's class or function."""
        return str(getattr(self.inner, "__name__", type(self.inner).__name__))

    @property
    def record(self) -> CompiledOracle | Called:
        return self._compiled_oracle[0] if self.python is None else Called(self.python.address)

    @property
    def content(self) -> tuple[object, ...]:
        return (self.inner, self.part_ndim)

    @cached_property
    def _compiled_oracle(self) -> tuple[CompiledOracle, object]:
        """The record of a compiled function, and what must live as long."""
        found = _machine_code(self._oracle)
        address = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)
        return CompiledOracle(address, np.zeros(1, dtype=np.int64)), found

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_oracle"}

    def raise_failure(self) -> None:
        super().raise_failure()
        if self.python is None and self._compiled_oracle[0].failed[0]:
            self._compiled_oracle[0].failed[0] = 0
            raise RuntimeError(
                "The compiled oracle raised an exception or returned NaN; call it by itself to see where."
            )

    def shape(self, theta: Array) -> Shape:
        if theta.size == 0:
            raise ValueError("A part vector has at least one part.")
        rows, columns = theta.shape if theta.ndim == 2 else (theta.size, 1)
        return int(rows), int(columns)

    @property
    def shared_shapes(self) -> tuple[tuple[int, ...], ...] | None:
        return None if self.part_ndim == 1 else ()

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        encode = getattr(self.inner, "encode", None)
        if encode is not None:
            return np.asarray(encode(y), dtype=np.float64)
        mu = np.asarray(y, dtype=np.float64)
        if not np.isin(mu, (0.0, 1.0)).all():
            raise ValueError("Without `encode`, an output is its 0/1 part vector; got other values.")
        return mu

    def decode(self, vertex: Array) -> Any:
        decode = getattr(self.inner, "decode", None)
        return np.rint(vertex).astype(np.int64) if decode is None else decode(vertex)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return the structure's own `cost(mu)` if it has one, else Hamming over parts."""
        cost = getattr(self.inner, "cost", None)
        if cost is not None:
            return np.asarray(cost(mu), dtype=np.float64)
        scale = np.ones(mu.shape)
        for factor in (weights, nodes):
            if factor is not None:
                scale = scale * _one_per_part(factor, mu.shape)
        return (1.0 - 2.0 * mu) * scale / (mu.size if normalized else 1)


def _one_per_part(weights: Weights, shape: tuple[int, ...]) -> Array:
    """Return weights in the shape of the parts; ValueError for others."""
    found = np.asarray(weights, dtype=np.float64)
    try:
        return np.broadcast_to(found, shape)
    except ValueError:
        raise ValueError(
            f"Cost weights must be one number, or one per part, of shape {shape}; got {found.shape}. Where "
            "examples differ in their parts, give the structure a method cost(mu)."
        ) from None


def _is_compiled(candidate: object) -> bool:
    return hasattr(candidate, "py_func")


def as_structure(candidate: object) -> Structure:
    """Return `candidate` itself if it is one of ours, else wrapped; TypeError if it cannot maximise."""
    if isinstance(candidate, Structure):
        return candidate
    if isinstance(candidate, type):
        raise TypeError(f"A structure is an object, not a class: give {candidate.__name__}().")
    compiled = _is_compiled(candidate) or _is_compiled(getattr(candidate, "oracle", None))
    if compiled or callable(getattr(candidate, "maximize", candidate)):
        return OwnStructure(candidate)
    raise TypeError(
        "A structure is or has a function `maximize(theta) -> vertex`, or a Numba function "
        f"`oracle(theta, out) -> value`; {type(candidate).__name__} has neither."
    )


def python_path(structure: Structure) -> Structure | None:
    """Return the plain `maximize` of an object with a compiled `oracle`, as a structure; else None."""
    if not isinstance(structure, OwnStructure) or structure.python is not None:
        return None
    plain = getattr(structure.inner, "maximize", None)
    if not callable(plain):
        return None
    return OwnStructure(SimpleNamespace(maximize=plain, part_ndim=structure.part_ndim))


def _machine_code(oracle: Any) -> CompileResult:
    """Compile `oracle(theta, vertex)` itself or, if it returns another kind of number, a wrapper of it."""
    vectors = (float64[::1], float64[::1])
    if oracle._can_compile:  # not so with signatures given by the user
        oracle.compile(vectors)
    found = oracle.overloads.get(vectors)
    if found is not None and found.signature.return_type == float64:
        return found

    @njit
    def answer(theta: Array, vertex: Array) -> np.float64:
        return np.float64(oracle(theta, vertex))

    answer.compile(vectors)
    return answer.overloads[vectors]


@implements(max_value, CompiledOracle)
@implements(maximize, CompiledOracle)
@leaf
def oracle_maximize(
    structure: CompiledOracle, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    for j in range(vertex.size):  # so that an oracle may write only its ones
        vertex[j] = 0.0
    value = call_numba(structure.address, (theta, vertex))
    if np.isnan(value):
        structure.failed[0] = 1
        return -np.inf
    return value


@implements(max_value, Called)
@implements(maximize, Called)
@leaf
def called_maximize(
    structure: Called, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return call(structure.address, (0, shape[0], shape[1], theta, shared, vertex))


@implements(shared_parts, Called)
@jitable
def called_shared_parts(structure: Called) -> int:
    return structure.n_shared
