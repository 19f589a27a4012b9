"""What every structure is: a polytope of part vectors, and the questions about it.

A structure knows the polytope M of its outputs. It never sees weights, features or data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from structlearn.contract import Array, Shape, corner, workspace


class Corners(NamedTuple):
    """Vertices of many examples, written sparsely: those of example i are start[i]:start[i + 1].

    index : part of the example's own part vector; value : its entry (a chain may use a transition twice).
    """

    start: Array
    index: Array  # type: ignore[assignment]
    value: Array

    @classmethod
    def gather(cls, owner: Array, index: Array, n_examples: int) -> Corners:
        """Sort entries (of value 1) by example and part, adding up what occurs more than once."""
        order = np.lexsort((index, owner))
        owner, index = owner[order], index[order]
        new = np.r_[True, (np.diff(owner) != 0) | (np.diff(index) != 0)]
        value = np.diff(np.r_[np.flatnonzero(new), owner.size]).astype(np.float64)
        start = np.searchsorted(owner[new], np.arange(n_examples + 1))
        return cls(start, index[new], value)

    def dense(self, i: int, n_parts: int) -> Array:
        """The part vector of example i."""
        vertex = np.zeros(n_parts)
        entries = slice(self.start[i], self.start[i + 1])
        vertex[self.index[entries]] = self.value[entries]
        return vertex


class Structure(ABC):
    """A polytope M, the convex hull of 0/1 part vectors.

    A subclass gives its compiled form (`record`), the shape of its local parts, and the code between
    outputs and part vectors. `maximize` then follows.
    """

    #: False where `maximize` answers a relaxation (an outer polytope, with fractional corners).
    exact: bool = True
    #: How many of the parts, at the end of the part vector, are shared by all examples.
    n_shared: int = 0
    #: Number of axes of a part vector: a matching writes its parts as an (m, n) table.
    part_ndim: int = 1

    @property
    @abstractmethod
    def record(self) -> Any:
        """The NamedTuple (or plain object) that answers the questions of `structlearn.contract`."""

    def arguments(self) -> dict[str, Any]:
        """What the constructor needs to make this structure again."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    @abstractmethod
    def shape(self, theta: Array) -> Shape:
        """(rows, columns) of the local parts in a part vector; ValueError if there is no such output."""

    @abstractmethod
    def encode(self, y: Any, shape: Shape | None = None) -> Array:
        """The part vector mu of the output y."""

    @abstractmethod
    def decode(self, vertex: Array) -> Any:
        """The output y of a part vector."""

    @abstractmethod
    def cost(self, mu: Array, *, weights: Any = None, nodes: Any = None, normalized: bool = True) -> Array:
        """C such that the task loss of the part vector z is Delta(z) = <c, z - mu> (Hamming, weighted)."""

    def encode_many(self, ys: Any, shapes: Array) -> Corners:
        """`encode` for the outputs of many examples."""
        mus = [self.encode(y, (int(rows), int(columns))).ravel() for y, (rows, columns) in zip(ys, shapes)]
        index = [np.flatnonzero(mu) for mu in mus]
        start = np.concatenate([[0], np.cumsum([len(one) for one in index])])
        return Corners(start, np.concatenate(index), np.concatenate([mu[k] for mu, k in zip(mus, index)]))

    def cost_many(self, gold: Corners, shapes: Array, **options: Any) -> Array:
        """The local parts' `cost` for many examples, end to end; `nodes` is then a list, one an example."""
        nodes = options.pop("nodes", None)
        costs = []
        for i, (rows, columns) in enumerate(shapes):
            mu = gold.dense(i, rows * columns + self.n_shared)
            if self.part_ndim == 2:
                mu = mu.reshape(rows, columns)
            one = self.cost(mu, nodes=None if nodes is None else nodes[i], **options)
            costs.append(one.ravel()[: rows * columns])
        return np.concatenate(costs)

    def maximize(self, theta: Any) -> Any:
        """argmax_{z in M} <theta, z>, a corner.

        Parameters
        ----------
        theta : ndarray of scores, one a part, or a list or a stack of them. -inf forbids a part.

        Returns
        -------
        ndarray of the same shape (a list for a list).
        """
        return self._each(self._maximize_one, theta)

    def _each(self, function: Any, theta: Any) -> Any:
        """Apply `function` to one part vector, or to each of a list or stack."""
        if isinstance(theta, list | tuple) and np.ndim(theta[0]) > 0:
            return (
                [function(one) for one in theta] if np.ndim(theta[0]) == self.part_ndim else function(theta)
            )
        theta = np.asarray(theta, dtype=np.float64)
        if theta.ndim == self.part_ndim + 1:
            return np.stack([function(one) for one in theta])
        return function(theta)

    def _maximize_one(self, theta: Array) -> Array:
        theta, shape = self._checked(theta)
        vertex = np.zeros(theta.size)
        local, shared = self.split(theta.ravel(), shape)
        value = corner(self.record, shape, local, shared, workspace(self.record, shape), vertex)
        if value == -np.inf:
            raise ValueError("Every output has a part with score -inf: no output is allowed.")
        return vertex.reshape(theta.shape)

    def _checked(self, theta: Any) -> tuple[Array, Shape]:
        theta = np.require(theta, dtype=np.float64, requirements=["C", "W"])  # one layout, one compilation
        if theta.ndim != self.part_ndim:
            raise ValueError(f"Scores of one output have {self.part_ndim} axes; got {theta.ndim}.")
        if np.isnan(theta).any() or np.isposinf(theta).any():
            raise ValueError("Scores must be finite or -inf (a forbidden part); got NaN or +inf.")
        return theta, self.shape(theta)

    @staticmethod
    def split(parts: Array, shape: Shape) -> tuple[Array, Array]:
        """Local and shared entries of a flat part vector, as views."""
        n_local = shape[0] * shape[1]
        return parts[:n_local], parts[n_local:]
