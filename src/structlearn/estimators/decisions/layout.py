"""Examples of decisions as they are laid out: one structure for all, and where the parts of each are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.estimators.inputs.instances import (
    example_shapes,
    own_instances,
    refuse_without_instances,
    takes_instances,
)
from structlearn.estimators.scikit import Rows
from structlearn.problem.oracle import Oracle
from structlearn.scoring import Scoring
from structlearn.structures import Structure, as_structure
from structlearn.structures.base import SparseVertices
from structlearn.structures.decisions.decision import Decisions
from structlearn.structures.unshared import Whole

#: The structure of each example, where they differ.
Instances = Sequence[Any] | None


class DecisionExamples(NamedTuple):
    """Examples that are laid out: their structure, scoring, and the axes of each one's parts."""

    structure: Structure
    scoring: Scoring
    axes: list[tuple[int, ...]]
    #: as they are mapped, not yet scaled
    rows: Rows

    def oracle(self, n_jobs: int, *, to_the_end: bool = False) -> Oracle:
        """Return what asks the structure about these examples, perhaps without early stops."""
        structure = self.structure.to_the_end if to_the_end else self.structure
        return Oracle(structure.record, self.scoring, structure=structure, n_jobs=n_jobs)

    def flatten(self, arrays: Sequence[Array], name: str) -> Array:
        """Return the numbers of all parts, end to end; ValueError names an example with other parts."""
        for i, (one, axes) in enumerate(zip(arrays, self.axes)):
            if one.shape != tuple(axes):
                wanted = axes[0] if len(axes) == 1 else tuple(axes)
                got = one.shape[0] if one.ndim == 1 else one.shape
                raise ValueError(f"Example {i} has {wanted} parts but its {name} are {got}.")
        return np.concatenate([one.ravel() for one in arrays])


def structure_of_all(
    given: object, axes: Sequence[tuple[int, ...]], instances: Instances
) -> tuple[Structure, list[Shape]]:
    """Return the structure of all examples, and the shape of each."""
    if instances is not None and takes_instances(given):
        n_parts = [int(np.prod(one)) for one in axes]
        return own_instances(given, instances, n_parts), example_shapes(n_parts)
    if instances is not None:
        return _join_instances(instances, axes)
    if given is None:
        raise ValueError("DecisionPredictor needs a structure: DecisionPredictor(structure).")
    structure = as_structure(given)
    refuse_without_instances(structure)
    structure = Whole(structure) if structure.n_shared else structure
    shapes: dict[tuple[int, ...], Shape] = {}
    for i, one in enumerate(axes):
        if one not in shapes:
            try:
                shapes[one] = structure.shape(np.broadcast_to(0.0, one))
            except ValueError as error:
                raise ValueError(f"Example {i}: {error}") from None
    return structure, [shapes[one] for one in axes]


def _join_instances(
    instances: Sequence[Any], axes: Sequence[tuple[int, ...]]
) -> tuple[Structure, list[Shape]]:
    """Return one structure of all instances, each of them once, and the shape of each example."""
    if len(instances) != len(axes):
        raise ValueError(
            f"instances must have one structure per example ({len(axes)}); got {len(instances)}."
        )
    kinds = {type(one) for one in instances}
    if len(kinds) != 1 or not issubclass(next(iter(kinds)), Decisions):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"instances must be structures that decide, all of one class; got {names}.")
    distinct = list({id(one): one for one in instances}.values())
    places = {id(one): k for k, one in enumerate(distinct)}
    structure: Structure = type(distinct[0]).together(distinct)
    shapes = [(int(np.prod(axis)), places[id(one)]) for one, axis in zip(instances, axes)]
    for i, shape in enumerate(shapes):
        if not structure.fits(shape):
            raise ValueError(
                f"Example {i} has {shape[0]} parts, but its instance has {instances[i].n_parts}."
            )
    return structure, shapes


def best_decisions(oracle: Oracle, scores: Array) -> SparseVertices:
    """Return the best decision of each example for given scores of all parts, end to end."""
    scoring = oracle.scoring
    ones, zero = np.ones(scoring.n_examples), np.zeros(scoring.n_weights)
    start, index, value, counts = scoring.start, [], [], []
    for answer in oracle.maximizers(zero, scores, ones):
        at = np.flatnonzero(answer.vertices)
        first = start[answer.first : answer.last + 1] - start[answer.first]
        owner = np.searchsorted(first, at, side="right") - 1
        index.append(at - first[owner])
        value.append(answer.vertices[at])
        counts.append(np.bincount(owner, minlength=answer.last - answer.first))
    begins = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return SparseVertices(begins, np.concatenate(index), np.concatenate(value))


def refuse_nothing(gold: SparseVertices, sense: str) -> None:
    """Raise ValueError if the best decisions take no part at all."""
    if not gold.index.size:
        other = "max" if sense == "min" else "min"
        raise ValueError(
            "The best decision of every example is to take no part, so that there is nothing to learn: "
            f"check the signs of the costs, or give sense={other!r}."
        )


def stack_if_alike(arrays: list[Any], axes: Sequence[tuple[int, ...]]) -> Any:
    """Return one array if all examples have the same parts, else a list."""
    same = len(set(axes)) == 1 and all(isinstance(one, np.ndarray) for one in arrays)
    return np.stack(arrays) if same and len({one.shape for one in arrays}) == 1 else arrays
