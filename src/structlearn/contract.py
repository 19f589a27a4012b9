"""The questions that solvers ask: of a structure (about its polytope) and of a scoring (about Phi).

Each question is one generic function. In compiled code the type of its first argument, a NamedTuple of
arrays, chooses the kernel at compile time. In plain Python the same kernel is called or, where the first
argument is an ordinary object, its method of that name. So one source of a solver serves every structure,
the user's own included.

The parts of one output are written in one vector: first the *local* parts, scored from the example's own
features, then the *shared* parts, whose scores are weights themselves and therefore the same for every
example (the transitions of a chain, summed over positions; the pair tables of a label graph). `shape` is
(rows, columns) of the local parts: (length, labels) for a chain, (m, n) for a matching.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from structlearn.kernels import question

Array = NDArray[Any]
Shape = tuple[int, int]


# ---- asked of a structure --------------------------------------------------------------------------


@question
def workspace(structure: Any, shape: Shape) -> Any:
    """Scratch memory that serves every example of at most this shape; made once a pass."""


@question
def corner(structure: Any, shape: Shape, theta: Array, shared: Array, work: Any, vertex: Array) -> Any:
    """vertex <- argmax_{z in M} <theta, z>; returns the maximum (-inf if no output is allowed).

    theta : local scores, rows * columns of them; shared : shared scores; vertex : local, then shared parts.
    """


@question
def peak(structure: Any, shape: Shape, theta: Array, shared: Array, work: Any, vertex: Array) -> Any:
    """max_{z in M} <theta, z>, where the maximiser itself is not needed; `vertex` is scratch."""


# ---- asked of a scoring ----------------------------------------------------------------------------


@question
def scratch(scoring: Any) -> Any:
    """Scratch memory that serves every example; made once a pass."""


@question
def score(scoring: Any, i: int, w: Array, work: Any, theta: Array) -> None:
    """theta <- the local part of Phi_i w."""


@question
def squared_norm(scoring: Any, i: int, delta: Array, work: Any) -> Any:
    """||Phi_i^T delta||^2, with delta over local and shared parts."""


@question
def move(scoring: Any, i: int, delta: Array, scale: float, w: Array, work: Any) -> None:
    """w <- w + scale * Phi_i^T delta, touching only the weights of this example's features."""
