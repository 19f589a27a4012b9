# mypy: disable-error-code="empty-body"
"""The operations that solvers call: on a structure (its polytope) and on a scoring (Phi).

Each operation is one generic function. The type of its first argument, a NamedTuple of numbers and arrays,
chooses the kernel, in compiled code at compile time. So one source of a solver serves every structure, the
user's own included.

The parts of one output are written in one vector: first the *local* parts, scored from the example's own
features, then the *shared* parts, whose scores are weights themselves and therefore the same for every
example (the transitions of a chain, summed over positions; the pair tables of a label graph). `shape` is
(rows, columns) of the local parts: (length, labels) for a chain, (m, n) for a matching. Where an example has
a graph of its own it is (parts, number of the graph).
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from structlearn.core.kernels import operation

Array = NDArray[Any]
Shape = tuple[int, int]
#: A NamedTuple of numbers, arrays and such tuples: what a structure or a scoring is to compiled code.
Record = tuple[object, ...]


# ---- on a structure --------------------------------------------------------------------------------


@operation
def workspace(structure: Record, shape: Shape) -> object:
    """Return scratch memory that serves every example of at most this shape; it is made once per pass."""


@operation
def maximize(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    """vertex <- argmax_{z in M} <theta, z>; returns the maximum (-inf if no output is allowed).

    theta : local scores; shared : shared scores; vertex : local, then shared parts.
    """


@operation
def max_value(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    """max_{z in M} <theta, z>, where the maximiser itself is not needed; `vertex` is scratch."""


@operation
def strong_convexity(structure: Record) -> float:
    """1 where `maximize` is that of <theta, z> - 1/2 ||z||^2 over local parts, else 0."""


@operation
def shared_parts(structure: Record) -> int:
    """Return the number of shared parts; zero unless implemented."""


@operation
def local_parts(structure: Record, shape: Shape) -> int:
    """At most how many local parts an example has, where shapes are at most this: rows times columns.

    Where examples have graphs or other instances of their own, it is the first number of the shape.
    """


@operation
def marginals_workspace(structure: Record, shape: Shape) -> Any:
    """Return scratch memory for `marginals` and `log_partition`, as `workspace` does for `maximize`."""


@operation
def marginals(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: object, mean: Array
) -> float:
    """mean <- argmax_{z in M} <theta, z> + H(z), the marginals of p(y) ~ exp <theta, y>; returns log Z.

    H is the entropy of that distribution. -inf if no output is allowed. Never outside [0, 1].
    """


@operation
def log_partition(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: object, mean: Array
) -> float:
    """log Z, where the marginals are not needed; `mean` is scratch."""


@operation
def entropy(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: object, mean: Array, log_z: float
) -> float:
    """H of the distribution that `marginals` has just answered with, at the same arguments; never above it.

    At scores of 1e16 the difference log Z - <theta, mean> is all rounding, so that structures add up terms
    that are not negative. Within [0, log of the number of outputs].
    """


@operation
def omega(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: object, z: Array, value: float
) -> float:
    """Omega(z) of the answer z that `maximize` has just given, with its value; never below it.

    Zero unless implemented. Solvers account for the squared norm (`strong_convexity`) themselves.
    """


@operation
def project_workspace(structure: Record, shape: Shape) -> object:
    """Return scratch memory for `project`, as `workspace` does for `maximize`."""


@operation
def project(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: object, point: Array
) -> float:
    """point <- argmax_{z in M} <theta, z> - 1/2 ||z||^2, the norm over local parts; returns the maximum.

    Without shared parts this is the Euclidean projection of theta onto M. By an active set, which asks
    `maximize` alone, unless implemented.
    """


@operation
def face_size(structure: Record, shape: Shape) -> int:
    """Return how many numbers `find_face` writes at most, for shapes up to this one."""


@operation
def find_face(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: object, face: Array
) -> None:
    """face <- the outputs that mix the answer that `project` has just given; NaN first if there are too many.

    Implemented where answers are flows; else the atoms of the active set say as much.
    """


@operation
def project_derivative(
    structure: Record, shape: Shape, v: Array, shared: Array, work: object, face: Array, moved: Array
) -> None:
    """Set moved <- d/dh of an answer with this face, for scores + h v, at h = 0."""


# ---- on a scoring ----------------------------------------------------------------------------------


@operation
def scoring_workspace(scoring: object) -> object:
    """Return scratch memory that serves every example; it is made once per pass."""


@operation
def score(scoring: Record, i: int, w: Array, work: object, theta: Array) -> None:
    """theta <- the local part of Phi_i w."""


@operation
def score_subset(scoring: Record, i: int, w: Array, wanted: Array, work: object, theta: Array) -> None:
    """theta <- the local part of Phi_i w, at least where `wanted`. All of it unless implemented."""


@operation
def gram(scoring: Record, i: int, delta: Array, wanted: Array, work: object, out: Array) -> None:
    """out <- Phi_i Phi_i^T delta over local and shared parts, at least where `wanted` and on the shared ones.

    Solvers that keep mixtures of vertices need it: <delta, out> is the inner product of pulled-back points.
    """


@operation
def squared_norm(scoring: Record, i: int, delta: Array, work: object) -> float:
    """||Phi_i^T delta||^2, or a number not far above it, with delta over local and shared parts.

    Solvers take steps of its inverse: a number above makes them a little shorter, and no less certain.
    """


@operation
def add_pullback(scoring: Record, i: int, delta: Array, scale: float, w: Array, work: object) -> None:
    """w <- w + scale * Phi_i^T delta, touching only the weights of this example's features."""


@operation
def prefetch(scoring: Record, i: int) -> None:
    """Ask for the features of example i, which will be scored soon; changes nothing."""
