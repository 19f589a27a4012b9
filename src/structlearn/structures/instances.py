"""Records of several instances: the shape of an example names the instance that it has."""

from __future__ import annotations

from typing import TypeVar

from structlearn.core.contract import Record, Shape, local_parts
from structlearn.core.kernels import implements, jitable

R = TypeVar("R", bound=type)


def of_instances(record: R) -> R:
    """Declare that the shapes of a record are (number of parts, number of the instance)."""
    implements(local_parts, record)(parts_of_instance)
    return record


@jitable
def parts_of_instance(structure: Record, shape: Shape) -> int:
    return shape[0]
