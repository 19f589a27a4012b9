"""The base of all structures: a polytope of part vectors, and the operations on it.

A structure knows the polytope M of its outputs. It never sees weights, features or data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from inspect import signature
from operator import index
from typing import Any, NamedTuple, SupportsIndex, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.callbacks import AnswersAhead, Callback, raise_uncompiled
from structlearn.core.contract import Array, Shape, marginals, maximize, workspace
from structlearn.core.erased import operations_of
from structlearn.core.kernels import is_implemented, kernel
from structlearn.core.sentences import Statement
from structlearn.structures.batches import BatchOracle
from structlearn.structures.erased import ErasedStructure, Record, erase_structure
from structlearn.structures.regularized import Entropic, Quadratic

#: Weights of labels or positions in a cost; None is one each.
Weights: TypeAlias = ArrayLike | Mapping[str, object] | None


class SparseVertices(NamedTuple):
    """Vertices of many examples, written sparsely: those of example i are start[i]:start[i + 1].

    index : part of the example's own part vector; value : its entry (a chain may use a transition twice).
    """

    start: Array
    index: Array  # type: ignore[assignment]
    value: Array

    @classmethod
    def gather(cls, owner: Array, index: Array, n_examples: int) -> SparseVertices:
        """Sort entries (of value 1) by example and part, adding up what occurs more than once."""
        order = np.lexsort((index, owner))
        owner, index = owner[order], index[order]
        new = np.r_[True, (np.diff(owner) != 0) | (np.diff(index) != 0)]
        value = np.diff(np.r_[np.flatnonzero(new), owner.size]).astype(np.float64)
        start = np.searchsorted(owner[new], np.arange(n_examples + 1))
        return cls(start, index[new], value)

    def dense(self, i: int, n_parts: int) -> Array:
        """Return the part vector of example i."""
        vertex = np.zeros(n_parts)
        entries = slice(self.start[i], self.start[i + 1])
        vertex[self.index[entries]] = self.value[entries]
        return vertex


class Marginals(NamedTuple):
    """Marginals of a Gibbs distribution, and the logarithm of its partition function."""

    mean: Any
    log_partition: Any


class Structure(ABC):
    """A polytope M, the convex hull of 0/1 part vectors.

    A subclass gives its compiled form, shapes, and the code between outputs and part vectors.
    """

    #: False where `maximize` answers a relaxation (an outer polytope, with fractional vertices).
    exact: bool = True
    #: Relative error of the values of `maximize`, beyond rounding, where it is not exact.
    accuracy: float = 0.0
    #: Whether examples have graphs of their own: a shape is then (parts, number of the graph).
    has_graphs: bool = False
    #: Whether `maximize` may answer below the maximum, of which `max_value` is then an upper bound.
    bounded: bool = False
    #: What would make these bounds tighter, as a sentence.
    to_tighten: str = ""
    #: How many of the parts, at the end of the part vector, are shared by all examples.
    n_shared: int = 0
    #: Where an output may leave parts off, the probability from which on a part is worth taking.
    threshold: float = 0.0
    #: Relative error of marginals and of log Z, beyond that of rounding.
    marginals_accuracy: float = 0.0
    #: Why there are no marginals, where there are none.
    no_marginals: str = ""
    #: Number of axes of a part vector: a matching writes its parts as an (m, n) table.
    part_ndim: int = 1
    #: What each leading axis of padded scores has beyond an example's length, where one number says both.
    beyond_length: tuple[int, ...] = (0,)
    #: Whether the parts that the squared norm covers are between 0 and 1.
    zero_one: bool = True
    #: The largest absolute value of a local part of a vertex.
    largest_entry: float = 1.0
    #: Whether others may be negative.
    signed: bool = False
    #: What compiled code calls where `maximize` is plain Python, and what may answer ahead then.
    python: Callback | None = None
    ahead: AnswersAhead | None = None

    @property
    def compiled(self) -> bool:
        """Whether `maximize` is compiled, so that threads may run it side by side."""
        return self.python is None

    @property
    def to_the_end(self) -> Structure:
        """The same structure without early stops, for questions that are asked once."""
        return self

    def batches(self, record: Record) -> BatchOracle | None:
        """Return what answers several examples at a time for `record`, where that is faster."""
        return None

    def raise_failure(self) -> None:
        """Raise what `maximize` has raised inside compiled code, if anything; call this after it."""
        raise_uncompiled()
        if self.python is not None:
            self.python.raise_failure()

    @property
    def has_linear_parts(self) -> bool:
        """Whether the squared norm leaves some parts out, so that they enter linearly."""
        return self.n_shared > 0

    @property
    @abstractmethod
    def record(self) -> Record:
        """The NamedTuple that implements the operations of `structlearn.core.contract`."""

    @property
    def content(self) -> tuple[object, ...]:
        """What tells this structure from others, equal in every process; a record may hold addresses."""
        return self.record

    def arguments(self) -> dict[str, object]:
        """Return what the constructor needs to make this structure again."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    @classmethod
    def from_arguments(cls, arguments: dict[str, Any]) -> Structure:
        """Invert `arguments`, for those of a file, whose forms are right (see `registry`)."""
        return cls(**arguments)

    @abstractmethod
    def shape(self, theta: Array) -> Shape:
        """Return (rows, columns) of a part vector's local parts; ValueError if there is no such output."""

    # ---- how scores of one example may be written as a table: what `structlearn.torch` takes ----------

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        """The axes of the local scores: a number where the size is fixed, else the name of what it counts."""
        return ("parts",) if self.part_ndim == 1 else ("rows", "columns")

    @property
    def output_axes(self) -> tuple[int | str, ...]:
        """The first axes of an output that is written as an array, by the same names."""
        return self.local_axes

    @property
    def shared_shapes(self) -> tuple[tuple[int, ...], ...] | None:
        """The shapes in which shared scores may be written; None where the structure takes any."""
        return ((self.n_shared,),) if self.n_shared else ()

    @property
    def column_blocks(self) -> tuple[int, ...]:
        """The widths of the blocks of columns that follow each other in a part vector; () for a plain table.

        Within a block the table is laid out row by row.
        """
        return ()

    def fits(self, shape: Shape | Array) -> bool | Array:
        """Return whether there are outputs of this shape: what compiled code may be asked about.

        `shape` is (rows, columns), or two arrays of them for many examples; then the answer is an array.
        """
        return (shape[0] >= 1) & (shape[1] >= 1)

    def check_examples(self, shapes: Array, sizes: Array, n_shared: int) -> None:
        """Raise a ValueError unless compiled code can answer for all examples of a data set.

        shapes : (n_examples, 2); sizes : their numbers of local parts; n_shared : that of shared ones.
        """
        if n_shared != self.n_shared:
            raise ValueError(
                f"{type(self).__name__} has {self.n_shared} shared parts; got scores of {n_shared}."
            )
        both = shapes.T
        wrong = np.flatnonzero(~(self.fits(both) & (self.n_local(both) == sizes)))
        if wrong.size:
            i = wrong[0]
            raise ValueError(
                f"Example {i} has {sizes[i]} parts in the shape {tuple(shapes[i].tolist())}: "
                f"{type(self).__name__} has no output of that shape."
            )

    def most_entries(self, shape: Shape) -> int:
        """Return how many parts of a vertex of this shape may be non-zero; all of them unless overridden."""
        return self.n_local(shape) + self.n_shared

    def most_entries_many(self, shapes: Array) -> Array:
        """Return `most_entries` of every example; it is asked once for each shape."""
        kinds, inverse = shapes[:1], np.zeros(len(shapes), dtype=np.int64)
        if (shapes != kinds).any():
            kinds, inverse = np.unique(shapes, axis=0, return_inverse=True)
        most = [self.most_entries((rows, columns)) for rows, columns in kinds.tolist()]
        return np.array(most, dtype=np.int64)[inverse.ravel()]

    @abstractmethod
    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the part vector mu of the output y."""

    @abstractmethod
    def decode(self, vertex: Array) -> Any:
        """Return the output y of a part vector."""

    @abstractmethod
    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return c such that the task loss of part vector z is Delta(z) = <c, z - mu> (Hamming, weighted)."""

    def encode_many(self, ys: Iterable[object], shapes: Array) -> SparseVertices:
        """Call `encode` for the outputs of many examples."""
        mus = [self.encode(y, (rows, columns)).ravel() for y, (rows, columns) in zip(ys, shapes.tolist())]
        index = [np.flatnonzero(mu) for mu in mus]
        start = np.concatenate([[0], np.cumsum([len(one) for one in index])])
        return SparseVertices(
            start, np.concatenate(index), np.concatenate([mu[k] for mu, k in zip(mus, index)])
        )

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        """Return the local parts' `cost` for many examples, end to end; `nodes` has one entry per example."""
        nodes = one_each(options.pop("nodes", None), len(shapes), "nodes")
        costs = []
        for i, (rows, columns) in enumerate(shapes):
            n_local = self.n_local((rows, columns))
            mu = gold.dense(i, n_local + self.n_shared)
            if self.part_ndim == 2:
                mu = mu.reshape(rows, columns)
            costs.append(self.cost(mu, nodes=nodes[i], **options).ravel()[:n_local])
        return np.concatenate(costs)

    def some_options(self, options: dict[str, Any], some: slice, n_examples: int) -> dict[str, Any]:
        """Return options of `cost_many` for some of the examples that `options` are for."""
        nodes = options.get("nodes")
        return options if nodes is None else {**options, "nodes": one_each(nodes, n_examples, "nodes")[some]}

    def maximize(self, theta: ArrayLike) -> Any:
        """argmax_{z in M} <theta, z>, a vertex.

        Parameters
        ----------
        theta : ndarray of scores, one per part, or a list or a stack of them. -inf forbids a part.

        Returns
        -------
        ndarray of the same shape (a list for a list).
        """
        return self.respond(self.record, theta)[0]

    def marginals(self, theta: ArrayLike) -> Marginals:
        """argmax_{z in M} <theta, z> + H(z): the marginals of p(y) ~ exp <theta, y>, and log Z.

        `theta` as in `maximize`; log Z is a float, or an array for many.
        """
        if not is_implemented(marginals, self.record):
            kind = type(self).__name__
            raise TypeError(Statement(f"{{kind}} has no marginals{self.no_marginals}.", kind=kind))
        return Marginals(*self.respond(Entropic(self.record), theta))

    def project(self, theta: ArrayLike) -> Any:
        """argmin_{z in M} 1/2 ||z - theta||^2 over the local parts: a sparse mixture of vertices (SparseMAP).

        Shared parts and, in chains, pairs of labels enter by their scores alone. `theta` as in `maximize`.
        """
        return self.respond(Quadratic(self.record), theta)[0]

    def respond(self, record: Record, theta: ArrayLike) -> tuple[Any, Any]:
        """Return vertices of `record` for one part vector, a list or a stack of them; and their values."""
        if is_list_of(theta, self.part_ndim):
            return self._ask_list(record, theta, "Output {}")
        scores = np.asarray(theta, dtype=np.float64)
        if scores.ndim == self.part_ndim + 1:
            return self._ask_stack(record, scores)
        found, values = self._ask_list(record, [scores], "The score vector")
        return found[0], float(values[0])

    def _ask_list(self, record: Record, thetas: Sequence[ArrayLike], name: str) -> tuple[list[Array], Array]:
        """Answer all of them with one scratch memory; `name` is what to call the i-th in an error."""
        given = [self.read_scores(theta) for theta in thetas]
        found, best = [], np.empty(len(given))
        if given:
            rows, columns = zip(*(shape for _, shape in given))
            erased = self._erased(record, (max(rows), max(columns)))
        for i, (theta, shape) in enumerate(given):
            z, values = self._ask(erased, shape, theta.reshape(1, -1))
            if values[0] == -np.inf:
                raise nothing_allowed(name.format(i))
            found.append(z.reshape(theta.shape))
            best[i] = values[0]
        return found, best

    def _ask_stack(self, record: Record, given: Array) -> tuple[Array, Array]:
        shape = self._checked_shape(np.broadcast_to(0.0, given.shape[1:]))
        theta = _checked_scores(given)
        size = self.n_local(shape) + self.n_shared
        z, values = self._ask(self._erased(record, shape), shape, theta.reshape(-1, size))
        forbidden = np.flatnonzero(np.isneginf(values))
        if forbidden.size:
            raise nothing_allowed(f"Row {forbidden[0]}")
        return z.reshape(theta.shape), values

    @staticmethod
    def _erased(record: Record, largest: Shape) -> tuple[ErasedStructure, object]:
        return erase_structure(record, largest, operations_of(maximize_rows))

    def _ask(self, erased: tuple[ErasedStructure, object], shape: Shape, theta: Array) -> tuple[Array, Array]:
        """Answer scores of equal shape in one compiled call. `erased` is a record and what lives as long."""
        z, values = np.zeros(theta.shape), np.empty(len(theta))
        maximize_rows(erased[0], shape, self.n_local(shape), theta, z, values)
        self.raise_failure()
        return z, values

    def read_scores(self, given: ArrayLike) -> tuple[Array, Shape]:
        theta = _checked_scores(given)
        if theta.ndim != self.part_ndim:
            raise ValueError(f"Scores of one output have {self.part_ndim} axes; got {theta.ndim}.")
        return theta, self._checked_shape(theta)

    def _checked_shape(self, theta: Array) -> Shape:
        shape = self.shape(theta)
        if not self.fits(shape) or self.n_local(shape) + self.n_shared != theta.size:
            raise ValueError(f"{type(self).__name__} has no output of {theta.size} parts.")
        return shape

    def n_local(self, shape: Shape | Array) -> Any:
        """Return the number of local parts of an example of a shape; of many shapes, as in `fits`."""
        return shape[0] if self.has_graphs else shape[0] * shape[1]

    def n_curved(self, shape: Shape | Array) -> Any:
        """Return how many of them, the first ones, the squared norm covers: all unless overridden."""
        return self.n_local(shape)

    def split(self, parts: Array, shape: Shape) -> tuple[Array, Array]:
        """Return local and shared entries of a flat part vector, as views."""
        n_local = self.n_local(shape)
        return parts[:n_local], parts[n_local:]


def answering(structure: Structure) -> AbstractContextManager[None]:
    """Return a context inside which other processes may answer for a structure in plain Python."""
    return nullcontext() if structure.ahead is None else structure.ahead.working()


def one_each(values: Sequence[Any] | None, n_examples: int, name: str) -> Sequence[Any]:
    """Return `values`, one per example, or as many None; ValueError for another number of them."""
    if values is not None and len(values) != n_examples:
        raise ValueError(f"{name} must have one entry per example ({n_examples}); got {len(values)}.")
    return [None] * n_examples if values is None else values


def is_list_of(values: object, ndim: int) -> TypeGuard[Sequence[ArrayLike]]:
    """Return whether `values` is a list or tuple of arrays with `ndim` axes; an empty one is."""
    return isinstance(values, list | tuple) and (not values or np.ndim(values[0]) == ndim)


def label_count(n_labels: SupportsIndex, noun: str) -> int:
    """Return `n_labels` as an integer from 1 to 2^31 - 1; ValueError if it is not one."""
    if index(n_labels) < 1:
        raise ValueError(f"{noun} has at least 1 label; got n_labels={n_labels}.")
    if index(n_labels) >= 1 << 31:
        raise ValueError(f"{noun} has fewer than 2^31 labels; got n_labels={n_labels}.")
    return index(n_labels)


class NothingFound(ValueError):
    """A search has ended without an output that is allowed, though there may be one."""


def nothing_allowed(name: str) -> ValueError:
    """Make the error for scores that forbid every output."""
    return ValueError(f"{name} forbids every output (each has a part with score -inf): no output is allowed.")


def _checked_scores(given: ArrayLike) -> Array:
    theta = np.require(given, dtype=np.float64, requirements=["C", "W"])  # one layout, one compilation
    if np.isnan(theta).any() or np.isposinf(theta).any():
        raise ValueError("Scores must be finite or -inf (a forbidden part); got NaN or +inf.")
    return theta


@kernel
def maximize_rows(
    structure: ErasedStructure, shape: Shape, n_local: int, theta: Array, z: Array, values: Array
) -> None:
    """Compute vertices of a stack of part vectors of one shape."""
    work = workspace(structure, shape)
    for i in range(theta.shape[0]):
        values[i] = maximize(structure, shape, theta[i, :n_local], theta[i, n_local:], work, z[i])
