"""What structures that decide share: decisions are 0/1 vectors over parts, and examples may differ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Record, Shape, max_value, maximize, workspace
from structlearn.core.forms import form
from structlearn.core.kernels import implements, jitable, leaf
from structlearn.core.vectors import longest_range
from structlearn.structures.base import Structure, Weights
from structlearn.structures.flat.switches import switch_costs
from structlearn.structures.instances import of_instances
from structlearn.structures.registry import stored


class Instance(Protocol):
    """What one example may have of its own: a graph, weights, a capacity."""

    @property
    def n_parts(self) -> int:
        """How many parts a decision has."""

    @property
    def most_chosen(self) -> int:
        """At most how many of them it takes."""


D = TypeVar("D", bound="Decisions")
Kind = TypeVar("Kind", bound="type[Decisions]")


def stored_decisions(what: str, arguments: Mapping[str, object]) -> Callable[[Kind], Kind]:
    """Register a class of decisions, which files may hold from then on, with parts that are forbidden."""
    return stored(what, {**arguments, "forbidden?": part_numbers})


@form("an array of numbers of parts")
def part_numbers(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu"


class Decisions(Structure):
    """Feasible decisions z in {0, 1}^parts of one instance, or of several of the same kind.

    The shape of an example is (number of parts, number of its instance).

    Attributes
    ----------
    instances : tuple of the instances, one unless `together` has made the structure
    """

    has_graphs = True
    no_marginals = " (it can only maximise); use {loss=hinge} or 'sparsemax'"
    instances: tuple[Any, ...]
    #: of each instance the parts that are forbidden; None where none is
    masks: tuple[Array | None, ...] = (None,)

    @property
    @abstractmethod
    def instance_record(self) -> Record:
        """The compiled form of all instances, in which no part is forbidden."""

    @cached_property
    def record(self) -> Record:
        if all(mask is None for mask in self.masks):
            return self.instance_record
        sizes = self._sizes()
        masks = [np.zeros(size, bool) if mask is None else mask for mask, size in zip(self.masks, sizes)]
        return MaskedDecisions(self.instance_record, np.cumsum([0, *sizes]), np.concatenate(masks))

    @classmethod
    def together(cls: type[D], structures: Sequence[D]) -> D:
        """Return one structure of the instances of several, of which each example may have one."""
        found = cls.__new__(cls)
        found.instances = tuple(instance for one in structures for instance in one.instances)
        found.masks = tuple(mask for one in structures for mask in one.masks)
        return found

    def arguments(self) -> dict[str, object]:
        forbidden = {} if self.masks[0] is None else {"forbidden": np.flatnonzero(self.masks[0])}
        return {**super().arguments(), **forbidden}

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Structure:
        given = {name: value for name, value in arguments.items() if name != "forbidden"}
        made = cls(**given)
        return made.without(arguments["forbidden"]) if "forbidden" in arguments else made

    def without(self: D, parts: ArrayLike) -> D:
        """Return the same decisions but for those that take one of these parts, given by their numbers."""
        wrong = self._part_numbers(parts)
        found = copy(self)
        vars(found).pop("record", None)
        mask = np.zeros(self.n_parts, dtype=bool) if self.masks[0] is None else self.masks[0].copy()
        mask[wrong] = True
        found.masks = (mask, *self.masks[1:])
        found.maximize(np.zeros(self.n_parts))  # ValueError where no decision is left
        return found

    def _part_numbers(self, parts: ArrayLike) -> Array:
        """Numbers of parts as integers; ValueError for others."""
        wrong = np.asarray(parts)
        if wrong.ndim != 1 or (wrong.size and wrong.dtype.kind not in "iu"):
            raise ValueError(f"parts must be numbers of parts, counted from 0; got {parts!r}.")
        if wrong.size and not 0 <= wrong.min() <= wrong.max() < self.n_parts:
            raise ValueError(f"parts must be numbers from 0 to {self.n_parts - 1}; got {parts!r}.")
        return wrong.astype(np.int64)

    @property
    def n_parts(self) -> int:
        """How many parts a decision of the first instance has."""
        return int(self.instances[0].n_parts)

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        return (self.n_parts,)

    def _sizes(self) -> Array:
        return np.array([one.n_parts for one in self.instances])

    def fits(self, shape: Shape | Array) -> bool | Array:
        size, which = shape
        known = (which >= 0) & (which < len(self.instances))
        return known & (self._sizes()[np.where(known, which, 0)] == size)

    def shape(self, theta: Array) -> Shape:
        """Return the instance with as many parts; ValueError if there is none, or another one."""
        size, sizes = int(np.size(theta)), self._sizes()
        fit = np.flatnonzero(sizes == size)
        if fit.size == 1:
            return size, int(fit[0])
        kind = type(self).__name__
        if fit.size:
            raise ValueError(f"{size} parts are those of {fit.size} instances of {kind}: ask one of them.")
        known = " or ".join(str(one) for one in sorted(set(sizes.tolist())))
        raise ValueError(f"This {kind} has {known} parts; got {size}.")

    def most_entries(self, shape: Shape) -> int:
        return int(self.instances[shape[1]].most_chosen)

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the decision y itself, a 0/1 vector with one entry per part."""
        size = self.n_parts if shape is None else shape[0]
        z = np.asarray(y, dtype=np.float64)
        if z.shape != (size,):
            raise ValueError(f"A decision is a 0/1 vector of {size} parts; got the shape {z.shape}.")
        if not np.isin(z, (0.0, 1.0)).all():
            raise ValueError("A decision is a 0/1 vector; got other values.")
        return z

    def decode(self, vertex: Array) -> Array:
        """Return the decision as integers 0 and 1."""
        return np.rint(vertex).astype(np.int64)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Hamming over parts: +1 on parts that mu leaves out, -1 on those that it takes."""
        return switch_costs(mu, weights, nodes, normalized)


# ---- forbidden parts -------------------------------------------------------------------------------


@of_instances
class MaskedDecisions(NamedTuple):
    """Instances of which some parts are forbidden: those of instance g are first[g]:first[g + 1]."""

    inner: Record
    first: Array
    forbidden: Array


@implements(workspace, MaskedDecisions)
@jitable
def masked_workspace(structure: MaskedDecisions, shape: Shape) -> tuple[object, Array]:
    return workspace(structure.inner, shape), np.empty(longest_range(structure.first))


@implements(max_value, MaskedDecisions)
@implements(maximize, MaskedDecisions)
@leaf
def masked_maximize(
    structure: MaskedDecisions,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: tuple[object, Array],
    vertex: Array,
) -> float:
    scores, first = work[1][: theta.size], structure.first[shape[1]]
    for j in range(theta.size):
        scores[j] = -np.inf if structure.forbidden[first + j] else theta[j]
    return maximize(structure.inner, shape, scores, shared, work[0], vertex)
