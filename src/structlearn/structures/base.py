"""What every structure is: a polytope of part vectors, and the questions about it.

A structure knows the polytope M of its outputs. It never sees weights, features or data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from structlearn.contract import Array, Shape, corner, workspace


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
        """c such that the task loss of the part vector z is Delta(z) = <c, z - mu> (Hamming, weighted)."""

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
            return [function(one) for one in theta] if np.ndim(theta[0]) == self.part_ndim else function(theta)
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
        theta = np.ascontiguousarray(theta, dtype=np.float64)
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
