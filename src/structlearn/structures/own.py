"""A user's own structure: anything that can maximise.

An object with `maximize(theta) -> vertex`, an object with a compiled `oracle(theta, out) -> value`, or
such a function by itself. Everything else is optional: without `encode`, an output is its own part vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape, max_value, maximize, workspace
from structlearn.core.kernels import implements, kernel
from structlearn.structures.base import Structure
from structlearn.structures.sparsemap import PlainNearest, register


class CompiledOracle(NamedTuple):
    """Compiled form of a structure whose oracle is a Numba function: it becomes part of the solver."""

    oracle: Callable[..., Any]


class PythonOracle(PlainNearest):
    """Answers the operations of `structlearn.core.contract` through a plain `maximize`."""

    def __init__(self, maximize: Callable[[Array], Any], part_ndim: int) -> None:
        self._maximize = maximize
        self._part_ndim = part_ndim

    def workspace(self, shape: Shape) -> None:
        """Nothing: the user's function has its own memory."""

    def maximize(self, shape: Shape, theta: Array, shared: Array, work: None, vertex: Array) -> float:
        asked = theta.copy().reshape(
            shape if self._part_ndim == 2 else theta.shape
        )  # the user may write to it
        found = np.asarray(self._maximize(asked), dtype=np.float64).ravel()
        if found.shape != theta.shape:
            raise ValueError(
                f"maximize must return a vector of {theta.size} parts; it returned {found.size}."
            )
        vertex[:] = found
        chosen = found != 0  # -inf * 0 is NaN
        return float(theta[chosen] @ found[chosen])

    max_value = maximize


class OwnStructure(Structure):
    """Any object with `maximize(theta) -> vertex` or a compiled `oracle(theta, out) -> value`.

    Parameters
    ----------
    inner : object or Numba function
        May also have `encode(y)`, `decode(vertex)`, `cost(mu)`, `exact` and `part_ndim`.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        oracle = inner if _is_compiled(inner) else getattr(inner, "oracle", None)
        self._oracle = oracle if _is_compiled(oracle) else None
        self.exact = bool(getattr(inner, "exact", True))
        self.part_ndim = int(getattr(inner, "part_ndim", 1))

    @property
    def record(self) -> CompiledOracle | PythonOracle:
        if self._oracle is not None:
            return CompiledOracle(self._oracle)
        return PythonOracle(self.inner.maximize, self.part_ndim)

    def shape(self, theta: Array) -> Shape:
        if theta.size == 0:
            raise ValueError("A part vector has at least one part.")
        rows, columns = theta.shape if theta.ndim == 2 else (theta.size, 1)
        return int(rows), int(columns)

    def encode(self, y: Any, shape: Shape | None = None) -> Array:
        if hasattr(self.inner, "encode"):
            return np.asarray(self.inner.encode(y), dtype=np.float64)
        mu = np.asarray(y, dtype=np.float64)
        if not np.isin(mu, (0.0, 1.0)).all():
            raise ValueError("Without `encode`, an output is its 0/1 part vector; got other values.")
        return mu

    def decode(self, vertex: Array) -> Any:
        if hasattr(self.inner, "decode"):
            return self.inner.decode(vertex)
        return np.rint(vertex).astype(np.int64)

    def cost(self, mu: Array, *, weights: Any = None, nodes: Any = None, normalized: bool = True) -> Array:
        """The structure's own `cost(mu)` if it has one, else Hamming over parts."""
        if hasattr(self.inner, "cost"):
            return np.asarray(self.inner.cost(mu), dtype=np.float64)
        scale = np.ones(mu.shape)
        for factor in (weights, nodes):
            if factor is not None:
                scale = scale * np.broadcast_to(np.asarray(factor, dtype=np.float64), mu.shape)
        return (1.0 - 2.0 * mu) * scale / (mu.size if normalized else 1)


def _is_compiled(candidate: Any) -> bool:
    return hasattr(candidate, "py_func")


def as_structure(candidate: Any) -> Structure:
    """`candidate` itself if it is one of ours, else wrapped; TypeError if it cannot maximise."""
    if isinstance(candidate, Structure):
        return candidate
    if _is_compiled(candidate) or _is_compiled(getattr(candidate, "oracle", None)):
        return OwnStructure(candidate)
    if callable(getattr(candidate, "maximize", None)):
        return OwnStructure(candidate)
    raise TypeError(
        "A structure has `maximize(theta) -> vertex`, or a Numba function `oracle(theta, out) -> value`; "
        f"{type(candidate).__name__} has neither."
    )


@implements(workspace, CompiledOracle)
@kernel
def oracle_workspace(structure: Any, shape: Any) -> Any:
    return np.empty(0)


@implements(max_value, CompiledOracle)
@implements(maximize, CompiledOracle)
@kernel
def oracle_maximize(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    vertex[:] = 0.0  # so that an oracle may write only its ones
    return structure.oracle(theta, vertex)


register(CompiledOracle)
