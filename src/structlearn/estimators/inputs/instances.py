"""What belongs to each example of an oracle of the user's own: `maximize(theta, x)`."""

from __future__ import annotations

from collections.abc import Sequence

from structlearn.core.contract import Shape
from structlearn.structures import OwnStructure, Structure, as_structure


def own_instances(given: object, instances: Sequence[object], examples: Sequence[object]) -> OwnStructure:
    """Return an own oracle with what belongs to each example; ValueError or TypeError where it cannot be.

    The shape of an example is then (parts, number of the example).
    """
    if len(instances) != len(examples):
        raise ValueError(
            f"instances must have one entry per example ({len(examples)}); got {len(instances)}."
        )
    structure = as_structure(given)
    if not isinstance(structure, OwnStructure) or not structure.needs_instances:
        raise TypeError(
            "instances are for an oracle of your own with maximize(theta, x), which "
            f"{type(given).__name__} has not."
        )
    if structure.part_ndim != 1:
        raise ValueError(
            f"instances are for part vectors; {type(given).__name__} has part_ndim = {structure.part_ndim}: "
            "write its parts in one vector."
        )
    return OwnStructure(structure.inner, list(instances))


def takes_instances(given: object) -> bool:
    """Whether an oracle of the user's own asks for what belongs to the example."""
    return given is not None and _needs(as_structure(given))


def _needs(structure: Structure) -> bool:
    return isinstance(structure, OwnStructure) and structure.needs_instances


def refuse_without_instances(structure: Structure) -> None:
    """TypeError for an oracle that asks for what belongs to the example, where that is not given."""
    if _needs(structure) and structure.instances is None:  # type: ignore[attr-defined]
        raise TypeError(
            "maximize(theta, x) asks for what belongs to the example: give instances=[...], one per example."
        )


def refuse_new_instances(structure: Structure) -> None:
    """TypeError where a model was trained with instances, and is asked without."""
    if isinstance(structure, OwnStructure) and structure.instances is not None:
        refuse_without_instances(OwnStructure(structure.inner))


def example_shapes(n_parts: Sequence[int]) -> list[Shape]:
    """Return the shapes of examples that each have an instance."""
    return [(int(n), i) for i, n in enumerate(n_parts)]
