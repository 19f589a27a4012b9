"""Projections (SparseMAP) onto polytopes whose maximum is known up to a bound.

The active set (see `structures.sparsemap`) ends where `maximize` finds nothing better. What it may have
missed is bounded: f(z) = <theta, z> - 1/2 ||z||^2 is concave, and nowhere above f(z) + max_v
<theta - z, v - z>, of which `max_value` bounds the maximum. So the value is never too low, and neither is a
primal value made of it; the point is a mixture of points of the polytope.
"""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array, Record, Shape, max_value, project, project_workspace, workspace
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.core.vectors import longest_range
from structlearn.structures.graph.bounded import BoundedGraphs
from structlearn.structures.graph.inference import GraphScores, graph_sizes
from structlearn.structures.graph.local import LocalGraphs
from structlearn.structures.sparsemap import (
    MOST_ATOMS,
    SparseMAPScratch,
    active_set_project,
    sparsemap_scratch,
)

#: The most numbers, about, that atoms take: 64 MB.
_MOST_NUMBERS = 1 << 23
#: The least number of atoms, whatever they take.
_FEWEST = 16


@implements(project_workspace, BoundedGraphs)
@jitable
def bounded_project_workspace(structure: BoundedGraphs, shape: Shape) -> SparseMAPScratch[object]:
    return _scratch(structure.scores, shape, workspace(structure, shape))


@implements(project_workspace, LocalGraphs)
@jitable
def local_project_workspace(structure: LocalGraphs, shape: Shape) -> SparseMAPScratch[object]:
    return _scratch(structure.bounded.scores, shape, workspace(structure, shape))


@jitable
def _scratch(scores: GraphScores, shape: Shape, oracle: object) -> SparseMAPScratch[object]:
    n_curved = longest_range(scores.graph.nodes) * scores.n_states
    most = min(max(_MOST_NUMBERS // shape[0], _FEWEST), MOST_ATOMS)
    return sparsemap_scratch(n_curved, shape[0], oracle, most)


@implements(project, BoundedGraphs)
@kernel
def bounded_project(
    structure: BoundedGraphs, shape: Shape, theta: Array, shared: Array, work: SparseMAPScratch, point: Array
) -> float:
    return project_with_bound(structure, n_states_of(structure.scores, shape), shape, theta, work, point)


@implements(project, LocalGraphs)
@kernel
def local_project(
    structure: LocalGraphs, shape: Shape, theta: Array, shared: Array, work: SparseMAPScratch, point: Array
) -> float:
    n_curved = n_states_of(structure.bounded.scores, shape)
    return project_with_bound(structure, n_curved, shape, theta, work, point)


@leaf
def n_states_of(scores: GraphScores, shape: Shape) -> int:
    """Return the number of the parts that are states of nodes."""
    return graph_sizes(scores, shape[1])[0] * scores.n_states


@kernel
def project_with_bound(
    structure: Record,
    n_curved: int,
    shape: Shape,
    theta: Array,
    work: SparseMAPScratch,
    point: Array,
) -> float:
    """Project onto the first parts, those of states; return the value, or a bound of the best one."""
    states, pairs = theta[:n_curved], theta[n_curved:]
    value = active_set_project(structure, shape, states, pairs, work, point)
    if value == -np.inf:
        return value
    # f(z) + max_v <theta - z, v - z> = 1/2 ||z||^2 + max_v <theta - z, v>
    gradient, half_square = work.gradient[:n_curved], 0.0
    for j in range(n_curved):
        gradient[j] = states[j] - point[j]
        half_square += 0.5 * point[j] * point[j]
    spare = work.atoms.parts[work.atoms.slot[0], : point.size]
    return max(value, half_square + max_value(structure, shape, gradient, pairs, work.oracle, spare))
