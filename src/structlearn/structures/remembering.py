"""Projections that leave their faces behind, so that derivatives need not find the answers again."""

from __future__ import annotations

from typing import NamedTuple

from structlearn.core.contract import Array, Shape, find_face, maximize, project
from structlearn.core.kernels import implements, kernel


class Remembering(NamedTuple):
    """A structure whose answers are projections; of those that follow each other, the faces are kept.

    work : scratch memory of `project`. faces : one row per answer; kept : (1,) how many there are.
    """

    inner: tuple[object, ...]
    work: tuple[object, ...]
    faces: Array
    kept: Array


@implements(maximize, Remembering)
@kernel
def project_and_remember(
    structure: Remembering, shape: Shape, theta: Array, shared: Array, work: object, point: Array
) -> float:
    value = project(structure.inner, shape, theta, shared, structure.work, point)
    face = structure.faces[structure.kept[0]]
    structure.kept[0] += 1
    if value > -float("inf"):
        find_face(structure.inner, shape, theta, shared, structure.work, face)
    return value
