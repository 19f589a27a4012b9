"""A user's own structure: anything that can maximise.

An object with `maximize(theta) -> vertex`, an object with a compiled `oracle(theta, out) -> value`, or
such a function by itself, plain or compiled. Everything else is optional: without `encode`, an output is its
own part vector; with `marginals` there is loss="softmax"; `project` takes the place of an active set.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from structlearn.core.callbacks import Callback
from structlearn.core.contract import Array, Shape
from structlearn.structures.base import Structure, Weights
from structlearn.structures.own_records import (
    Called,
    CompiledOracle,
    called_record,
    code_address,
    compiled_record,
    machine_code,
)
from structlearn.structures.python_oracle import PythonOracle, takes_an_example

#: Relative error of log-partitions and marginals that a user's code computes, beyond that of one rounding.
COMPUTED = 1e-11


class OwnStructure(Structure):
    """Any object with `maximize(theta) -> vertex` or a compiled `oracle(theta, out) -> value`.

    Parameters
    ----------
    inner : object, function `maximize(theta) -> vertex`, or Numba function
        May also have `encode(y)`, `decode(vertex)`, `cost(mu)`, `exact`, `accuracy` (a relative error of its
        values), `part_ndim`, `bounded` (`maximize` then returns a vertex and an upper bound of all scores),
        `largest_entry` (where vertices are not 0/1), `maximize_many(thetas)`, `marginals(theta) -> (mean,
        log_partition)` and `project(theta) -> point`, which beside a compiled `oracle` are compiled as well:
        `marginals(theta, out) -> log_partition` and `project(theta, out)`. With `parallel = "processes"`, a
        plain `maximize` answers in `n_jobs` processes where several examples are asked at once.
    instances : sequence, optional
        What belongs to each example, where `maximize(theta, x)` asks for it.
    by_vertices : bool
        Whether to leave `marginals` and `project` of the object aside.
    """

    zero_one = False
    no_marginals = " (it has no method `marginals`); use {loss=hinge} or 'sparsemax'"
    marginals_accuracy = COMPUTED

    def __init__(
        self, inner: Any, instances: Sequence[object] | None = None, *, by_vertices: bool = False
    ) -> None:
        self.inner: Any = inner
        self.instances = instances
        oracle = inner if _is_compiled(inner) else getattr(inner, "oracle", None)
        self._oracle = oracle if _is_compiled(oracle) else None
        self.has_marginals = not by_vertices and self._has_method("marginals")
        self.has_projection = not by_vertices and self._has_method("project")
        self.exact = bool(getattr(inner, "exact", True))
        self.accuracy = float(getattr(inner, "accuracy", 0.0))
        self.part_ndim = int(getattr(inner, "part_ndim", 1))
        self.bounded = bool(getattr(inner, "bounded", False)) and self._oracle is None
        self.largest_entry = float(getattr(inner, "largest_entry", 1.0))
        self.has_graphs = instances is not None
        if self._oracle is None:
            found = PythonOracle(inner, self.part_ndim, bounded=self.bounded, instances=instances)
            self.ahead = found
            self.python = Callback(found, found.bound, found.marginals, found.project)

    def _has_method(self, name: str) -> bool:
        """Return whether the object has a method; TypeError if only one of it and `maximize` is compiled."""
        method = getattr(self.inner, name, None)
        if not callable(method):
            return False
        if _is_compiled(method) != (self._oracle is not None):
            raise TypeError(
                f"{self.name}.{name} and the oracle must both be Numba functions, which write to `out`, or "
                "both be plain Python; compile the other one, too."
            )
        return True

    @property
    def by_vertices(self) -> OwnStructure:
        """The same structure, which answers everything through `maximize`."""
        return OwnStructure(self.inner, self.instances, by_vertices=True)

    def of_example(self, i: int) -> OwnStructure:
        """Return the structure of one example: the same, or that of its instance alone."""
        return self if self.instances is None else OwnStructure(self.inner, [self.instances[i]])

    @property
    def needs_instances(self) -> bool:
        """Whether `maximize` asks for what belongs to the example."""
        return self._oracle is None and takes_an_example(getattr(self.inner, "maximize", self.inner))

    @property
    def uses_threads(self) -> bool:
        """Whether `maximize` is plain Python that would share one process with all threads."""
        return self.ahead is not None and getattr(self.inner, "parallel", "threads") == "threads"

    @property
    def name(self) -> str:
        """The name of the user's class or function."""
        return str(getattr(self.inner, "__name__", type(self.inner).__name__))

    @property
    def record(self) -> CompiledOracle | Called:
        if self.python is None:
            return self._compiled_oracle[0]
        kind = called_record(has_marginals=self.has_marginals, has_projection=self.has_projection)
        return kind(self.python.address, has_instances=int(self.instances is not None))

    @property
    def content(self) -> tuple[object, ...]:
        known = (self.inner, self.part_ndim)
        return known if self.instances is None else (*known, list(self.instances))

    @cached_property
    def _compiled_oracle(self) -> tuple[CompiledOracle, object]:
        """The record of compiled functions, and what must live as long."""
        marginals = machine_code(self.inner.marginals) if self.has_marginals else None
        project = machine_code(self.inner.project) if self.has_projection else None
        oracle = machine_code(self._oracle)
        kind = compiled_record(has_marginals=self.has_marginals, has_projection=self.has_projection)
        addresses = (0 if code is None else code_address(code) for code in (marginals, project))
        failed = np.zeros(1, dtype=np.int64)
        return kind(code_address(oracle), failed, *addresses), (oracle, marginals, project)

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
