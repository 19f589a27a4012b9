"""A user's own structure: anything that can maximise.

An object with `maximize(theta) -> vertex`, an object with a compiled `oracle(theta, out) -> value`, or
such a function by itself, plain or compiled. Everything else is optional: without `encode`, an output is its
own part vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import float64, njit

from structlearn.core.callbacks import Callback
from structlearn.core.contract import Array, Shape, max_value, maximize, shared_parts
from structlearn.core.kernels import implements, jitable, leaf
from structlearn.core.words import call, call_numba
from structlearn.structures.base import Structure, Weights
from structlearn.structures.instances import of_instances
from structlearn.structures.python_oracle import PythonOracle as PythonOracle
from structlearn.structures.python_oracle import takes_an_example

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


@of_instances
class CalledInstances(NamedTuple):
    """The same where examples have instances of their own."""

    address: int


class OwnStructure(Structure):
    """Any object with `maximize(theta) -> vertex` or a compiled `oracle(theta, out) -> value`.

    Parameters
    ----------
    inner : object, function `maximize(theta) -> vertex`, or Numba function
        May also have `encode(y)`, `decode(vertex)`, `cost(mu)`, `exact`, `accuracy` (a relative error of its
        values), `part_ndim`, `bounded` (`maximize` then returns a vertex and an upper bound of all scores),
        `largest_entry` (where vertices are not 0/1) and `maximize_many(thetas)`.
    instances : sequence, optional
        What belongs to each example, where `maximize(theta, x)` asks for it.
    """

    zero_one = False
    no_marginals = " (it can only maximise); use {loss=hinge} or 'sparsemax'"

    def __init__(self, inner: Any, instances: Sequence[object] | None = None) -> None:
        self.inner: object = inner
        self.instances = instances
        oracle = inner if _is_compiled(inner) else getattr(inner, "oracle", None)
        self._oracle = oracle if _is_compiled(oracle) else None
        self.exact = bool(getattr(inner, "exact", True))
        self.accuracy = float(getattr(inner, "accuracy", 0.0))
        self.part_ndim = int(getattr(inner, "part_ndim", 1))
        self.bounded = bool(getattr(inner, "bounded", False)) and self._oracle is None
        self.largest_entry = float(getattr(inner, "largest_entry", 1.0))
        self.has_graphs = instances is not None
        if self._oracle is None:
            self._answers = PythonOracle(
                getattr(inner, "maximize", inner), self.part_ndim, bounded=self.bounded,
                instances=instances, many=getattr(inner, "maximize_many", None),
            )  # fmt: skip
            self.python = Callback(self._answers, self._answers.bound)

    @property
    def needs_instances(self) -> bool:
        """Whether `maximize` asks for what belongs to the example."""
        return self._oracle is None and takes_an_example(getattr(self.inner, "maximize", self.inner))  # type: ignore[arg-type]

    def prepare(self, shapes: Array, thetas: Sequence[Array], n_jobs: int) -> None:
        if self._oracle is None:
            self._answers.prepare([tuple(one) for one in shapes.tolist()], thetas, n_jobs)

    def forget(self) -> None:
        if self._oracle is None:
            self._answers.forget()

    @property
    def name(self) -> str:
        """The name of the user's class or function."""
        return str(getattr(self.inner, "__name__", type(self.inner).__name__))

    @property
    def record(self) -> CompiledOracle | Called | CalledInstances:
        if self.python is None:
            return self._compiled_oracle[0]
        return (Called if self.instances is None else CalledInstances)(self.python.address)

    @property
    def content(self) -> tuple[object, ...]:
        known = (self.inner, self.part_ndim)
        return known if self.instances is None else (*known, list(self.instances))

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
        if self.instances is not None and len(self.instances) == 1:
            return int(theta.size), 0
        rows, columns = theta.shape if theta.ndim == 2 else (theta.size, 1)
        return int(rows), int(columns)

    def fits(self, shape: Shape | Array) -> bool | Array:
        if self.instances is None:
            return super().fits(shape)
        return (shape[0] >= 1) & (shape[1] >= 0) & (shape[1] < len(self.instances))

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


@implements(maximize, CalledInstances)
@implements(maximize, Called)
@leaf
def called_maximize(
    structure: Called, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return call(structure.address, (0, shape[0], shape[1], theta, shared, vertex))


@implements(max_value, CalledInstances)
@implements(max_value, Called)
@leaf
def called_max_value(
    structure: Called, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return call(structure.address, (1, shape[0], shape[1], theta, shared, vertex))


@implements(shared_parts, Called)
@jitable
def called_shared_parts(structure: Called) -> int:
    return structure.n_shared
