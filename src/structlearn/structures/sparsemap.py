"""SparseMAP by an active set: the projection of any structure that can maximise.

    max_{z in M} <theta, z> + <shared, z> - 1/2 ||z||^2,   the norm over local parts only

The answer is a mixture z = sum_i p_i v_i of a few points of M, its *atoms* (see `vertex_mixture`). New atoms
come from `maximize` at the gradient (theta - z, shared). (Niculae, Martins, Blondel and Cardie 2018,
"SparseMAP"; Wolfe 1976, "Finding the nearest point in a polytope".)

Every structure that has no projection of its own is projected onto in this way; where it has shared parts, it
implements `shared_parts`.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np

from structlearn.core.contract import (
    Array,
    Record,
    Shape,
    local_parts,
    maximize,
    project,
    project_workspace,
    shared_parts,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.vertex_mixture import (
    VertexMixture,
    best_weights,
    enter,
    grow_factor,
    inner_product,
    make_atoms,
    merge_lightest,
    mix,
    start_mixture,
)

MOST_ATOMS = 512
#: The optimality at which we stop, relative to the atoms' scores: 10^4 rounding errors.
TOLERANCE = 1e-12
#: The same where more atoms than `MOST_ATOMS` would be needed, relative also to the square of a vertex: flat
#: scores of trees of more than about 30 words are such a case.
ROUGH_TOLERANCE = 1e-4
#: The same where outputs nearly tie, so that vertices come in by thousands for next to no gain. Then the best
#: point hardly has a better value; how far it is at most is known, and added to the value.
STALLED_TOLERANCE = 1e-5
#: Rounds are stalled if at the pace of the last ones (as many as atoms, and at least `LEAST_ROUNDS`) the
#: value would not rise by what is missing in `PATIENCE` times as many rounds as there have been, or if there
#: have been `PATIENCE` times as many as those last ones.
LEAST_ROUNDS, PATIENCE = 100, 20


Oracle = TypeVar("Oracle")


class SparseMAPScratch(NamedTuple, Generic[Oracle]):
    """Scratch memory: the mixture; z and theta - z over local parts; that of the structure's own oracle."""

    atoms: VertexMixture
    mean: Array
    gradient: Array
    oracle: Oracle


class SparseMAP(NamedTuple):
    """Any structure, to be projected onto in this way."""

    inner: tuple[object, ...]


@implements(project_workspace, object)
@jitable
def active_set_workspace(structure: Record, shape: Shape) -> SparseMAPScratch[object]:
    """Implement `project_workspace`."""
    n_local = local_parts(structure, shape)
    return sparsemap_scratch(n_local, n_local + shared_parts(structure), workspace(structure, shape))


@jitable
def sparsemap_scratch(
    n_curved: int, n_parts: int, oracle: Oracle, most: int = MOST_ATOMS
) -> SparseMAPScratch[Oracle]:
    """Allocate scratch memory for `n_curved` parts: at most one more independent atoms, and `most`."""
    atoms = make_atoms(min(n_curved + 2, most), n_parts)
    return SparseMAPScratch(atoms, np.empty(n_curved), np.empty(n_curved), oracle)


@implements(project, object)
@kernel
def active_set_project(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: SparseMAPScratch, point: Array
) -> float:
    """Answer `project`: exact but for rounding, after finitely many vertices.

    Where atoms must be merged it ends at `ROUGH_TOLERANCE`, where rounds are stalled at `STALLED_TOLERANCE`;
    the maximum is then an upper bound, so that what is certified by it holds.
    """
    return active_set(structure, shape, theta, shared, work, point, 100 * (theta.size + 10))[0]


@kernel
def active_set(
    structure: Record,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SparseMAPScratch,
    point: Array,
    most_rounds: int,
) -> tuple[float, float]:
    """Do as `active_set_project` in at most `most_rounds`; return the maximum, and how far it may be off.

    That is 0 unless it ended before its time; `work.gradient` is then about that of the mixture.
    """
    atoms = work.atoms
    mean = work.mean[: theta.size]
    gradient = work.gradient[: theta.size]
    # 1. Start at the best vertex.
    if maximize(structure, shape, theta, shared, work.oracle, point) == -np.inf:
        point[:] = 0.0
        return -np.inf, 0.0
    first, scale = score_of(theta, shared, point)
    n = start_mixture(atoms, point, theta.size)
    new_factor = True
    full = False
    square = inner_product(point[: theta.size], point)
    bound, before, last, due = np.inf, -np.inf, 0, LEAST_ROUNDS
    for round_ in range(most_rounds + 1):
        # 2. The vertex that is best at the gradient; done where it is no better than the mixture.
        level = _climb(atoms, n, theta, mean, gradient)
        maximize(structure, shape, gradient, shared, work.oracle, point)
        score, size = score_of(theta, shared, point)
        scale = max(scale, size)
        gain = score - first - inner_product(mean, point) - level
        value = level + 0.5 * inner_product(mean, mean)
        bound = min(bound, value + gain)
        full = full or n == atoms.slot.size
        if gain <= TOLERANCE * (1.0 + scale):
            bound = -np.inf  # what is missing is a rounding error
            break
        if full and gain <= ROUGH_TOLERANCE * (1.0 + scale + square):
            break
        if round_ == most_rounds:
            break
        if round_ == due:
            missing = bound - value
            recent = round_ - last
            stalled = PATIENCE * round_ * (value - before) < missing * recent or round_ > PATIENCE * recent
            if stalled and missing <= STALLED_TOLERANCE * (1.0 + scale + square):
                break
            before, last, due = value, round_, round_ + max(n, LEAST_ROUNDS)
        # 3. Take it in and find the best weights. Where that leads nowhere, rounding errors have the upper
        #    hand: once more with a new factor, then no more.
        if n == atoms.slot.size:
            n = merge_lightest(atoms, n, theta.size)
        n, entered = enter(atoms, n, point, score - first, gain, theta.size)
        if entered:
            n, entered = best_weights(atoms, n)
        if not entered:
            if new_factor:
                break
            for i in range(n):
                grow_factor(atoms, i, theta.size)
            n, _ = best_weights(atoms, n)
        new_factor = not entered
    atoms.weight[n:] = 0.0  # so that only the atoms of the answer have weight
    value = mix(atoms, n, theta.size, point)
    return first + max(value, bound), max(bound - value, 0.0)


@implements(project, SparseMAP)
@kernel
def sparsemap_project(
    structure: SparseMAP, shape: Shape, theta: Array, shared: Array, work: SparseMAPScratch, point: Array
) -> float:
    return active_set_project(structure.inner, shape, theta, shared, work, point)


@kernel
def score_of(theta: Array, shared: Array, vertex: Array) -> tuple[float, float]:
    """Return <theta, v> + <shared, v>, and the sum of its terms' sizes. -inf * 0 is 0 here."""
    value, size = 0.0, 0.0
    for k in range(vertex.size):
        if vertex[k] != 0.0:
            term = vertex[k] * (theta[k] if k < theta.size else shared[k - theta.size])
            value += term
            size += abs(term)
    return value, size


@kernel
def _climb(atoms: VertexMixture, n: int, theta: Array, mean: Array, gradient: Array) -> float:
    """mean <- z, gradient <- theta - z; returns <s, p> - ||z||^2, the value of z at its own gradient."""
    mean[:] = 0.0
    level = 0.0
    for i in range(n):
        weight = atoms.weight[i]
        level += weight * atoms.score[i]
        atom = atoms.parts[atoms.slot[i]]
        for k in range(mean.size):
            mean[k] += weight * atom[k]
    for k in range(mean.size):
        gradient[k] = theta[k] - mean[k]
    return level - inner_product(mean, mean)
