"""How predictions move with their scores: J v, with J the Hessian of Omega*.

    z(theta) = argmax_{z in M} <theta, z> - Omega(z)          J v = d/dh z(theta + h v) at h = 0

Every row of a batch is on its own, and a part that no output of the answer uses (a masked one, say) neither
moves nor moves others. Exact for the simplex and the cube; for marginals of chains (forward-backward twice);
for SparseMAP by active sets and by flows, where J projects onto the face of the answer. Else by central
differences of fourth order, four predictions. The step has a fixed length in units of scores: predictions
change over differences of about one, whatever the size of the scores.

J itself moves by D J[u] v = d/dh J(theta + h u) v, symmetric in u and v and, with a third direction, in all
three: so it is also the gradient of <u, J v>. It is zero for the squared norm, whose predictions are linear
in pieces; exact for the simplex and the cube; else by the same differences, of J v.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import cast

import numpy as np

from structlearn.core.contract import (
    Array,
    Shape,
    face_size,
    find_face,
    project,
    project_derivative,
    project_workspace,
)
from structlearn.core.erased import operations_of
from structlearn.core.kernels import implementation, is_implemented
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.regularizers import Shannon, SquaredNorm, Tsallis
from structlearn.structures import Chain, Cube, Simplex
from structlearn.structures.base import Structure
from structlearn.structures.chain.derivative import chain_derivative
from structlearn.structures.chain.projection import SequenceProjectionScratch
from structlearn.structures.erased import erase_structure
from structlearn.structures.sparsemap import SparseMAPScratch, active_set_project, active_set_workspace

#: How far differences look, in units of scores: where answers are smooth, where they are piecewise linear.
SMOOTH_STEP, LINEAR_STEP = 1e-3, 1e-5
#: d/dh f(h) at 0 is the sum of weight * f(step h) / h over these (step, weight), to O(h^4).
STENCIL = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))

Rule = Callable[[FenchelYoungLoss, Array, Array, Array], Array]


def derivative(loss: FenchelYoungLoss, theta: Array, v: Array, faces: Array | None = None) -> Array:
    """Return J v for stacks of scores and directions of one shape; NaN in rows with non-finite directions.

    faces : those of the answers, where they are known already (see `structures.remembering`)
    """
    if not loss.regularizer.smooth:
        return np.zeros_like(v)
    if _has_face(loss):
        return _on_a_face(loss, theta, v, faces)
    z = loss.predict(theta)
    return _on_used_parts(
        _find_used_parts(loss, z), (v,), lambda rows, v: _rule(loss)(loss, theta[rows], v, z[rows])
    )


def second_derivative(loss: FenchelYoungLoss, theta: Array, u: Array, v: Array) -> Array:
    """Return D J[u] v, with stacks as in `derivative`."""
    if not loss.regularizer.smooth or isinstance(loss.regularizer, SquaredNorm):
        return np.zeros_like(v)
    z = loss.predict(theta)
    rule = _SECOND.get(type(loss.structure), _second_by_differences)
    return _on_used_parts(
        _find_used_parts(loss, z), (u, v), lambda rows, u, v: rule(loss, theta[rows], u, v, z[rows])
    )


def _find_used_parts(loss: FenchelYoungLoss, z: Array) -> Array:
    """Find the parts that some output of the answer uses; where pairs may be negative, 0 says nothing."""
    used = z > 0
    if loss.structure.signed:
        used[:, loss.structure.n_curved(loss.structure.shape(z[0])) :] = True
    return used


def _on_used_parts(used: Array, ways: tuple[Array, ...], rule: Callable[..., Array]) -> Array:
    """Return the answer of `rule` for rows with finite directions, restricted to the parts that are used."""
    ways = tuple(np.where(used, way, 0.0) for way in ways)
    finite = np.isfinite(sum(ways)).reshape(len(used), -1).all(axis=1)
    found = np.full(used.shape, np.nan)
    if finite.any():
        found[finite] = rule(finite, *(way[finite] for way in ways))
    return np.where(used, found, 0.0)


def _has_face(loss: FenchelYoungLoss) -> bool:
    """Return whether answers are mixtures of atoms that an active set has found, or flows."""
    record = loss.structure.record
    known = implementation(project, record) is active_set_project or is_implemented(
        project_derivative, record
    )
    return known and isinstance(loss.regularizer, SquaredNorm)


def _rule(loss: FenchelYoungLoss) -> Rule:
    """Return the best rule available for a structure and a regulariser."""
    structure, regularizer = loss.structure, loss.regularizer
    if isinstance(structure, Simplex):
        return _on_the_simplex
    if isinstance(structure, Cube):
        return _on_the_cube
    if type(structure) is Chain and isinstance(regularizer, Shannon):
        return lambda loss, theta, v, z: chain_derivative(structure, theta, v)
    return _by_differences


def _on_the_simplex(loss: FenchelYoungLoss, theta: Array, v: Array, z: Array) -> Array:
    """J = diag(s) - s s'/sum(s), s = z^(2 - alpha) on the support: softmax 1, sparsemax 2, entmax between."""
    _, s = _simplex_slopes(loss, z)
    return s * _subtract_mean(v, s)


def _simplex_slopes(loss: FenchelYoungLoss, z: Array) -> tuple[float, Array]:
    """Return alpha and s."""
    alpha = 1.0 if isinstance(loss.regularizer, Shannon) else 2.0
    if isinstance(loss.regularizer, Tsallis):
        alpha = loss.regularizer.alpha
    return alpha, np.where(z > 0, z ** (2.0 - alpha), 0.0)


def _subtract_mean(v: Array, s: Array) -> Array:
    """Subtract from v its mean with weights s."""
    return v - (s * v).sum(axis=1, keepdims=True) / s.sum(axis=1, keepdims=True)


def _on_the_cube(loss: FenchelYoungLoss, theta: Array, v: Array, z: Array) -> Array:
    """J = diag(z (1 - z)) for the entropy, 1 where a label is between off and on for the squared norm."""
    return v * (z * (1 - z) if isinstance(loss.regularizer, Shannon) else (z > 0) & (z < 1))


def _on_a_face(loss: FenchelYoungLoss, theta: Array, v: Array, faces: Array | None) -> Array:
    """Return J v row by row, for answers that are mixtures of atoms or, of label sequences, flows."""
    structure, found = loss.structure, np.zeros_like(v)
    shape = structure.shape(theta[0])
    as_flow = is_implemented(project_derivative, structure.record)
    move = _as_a_flow(structure, shape) if as_flow else _as_a_mixture(structure, shape)
    for scores, way, face, out in zip(theta, v, repeat(None) if faces is None else faces, found):
        out.reshape(-1)[:] = move(scores.ravel(), way.ravel(), face)
    return found


Move = Callable[[Array, Array, Array | None], Array]


def _as_a_mixture(structure: Structure, shape: Shape) -> Move:
    """Return J v as a function of scores and v; the active set is compiled once for all structures.

    What the record's addresses point to lives as long as the function.
    """
    record, owner = erase_structure(structure.record, shape, operations_of(active_set_project))
    work = active_set_workspace(record, (structure.n_local(shape), 1))

    def move(scores: Array, way: Array, face: Array | None, alive: object = owner) -> Array:
        z = np.zeros(scores.size)
        active_set_project(record, shape, *structure.split(scores, shape), work, z)
        structure.raise_failure()
        return _along_atoms(_atoms(work, z.size), way, structure.n_curved(shape))

    return move


def _as_a_flow(structure: Structure, shape: Shape) -> Move:
    """Do the same for label sequences, whose mixtures are flows; as a mixture if that has too many edges."""
    record = structure.record
    work = cast(SequenceProjectionScratch, project_workspace(record, shape))

    def move(scores: Array, way: Array, face: Array | None) -> Array:
        moved, z = np.zeros(scores.size), np.zeros(scores.size)
        if face is not None and not np.isnan(face[0]):
            project_derivative(record, shape, *structure.split(way, shape), work, face, moved)
            if np.isfinite(moved).all():
                return moved
        split = structure.split(scores, shape)
        project(record, shape, *split, work, z)
        face = np.empty(face_size(record, shape))
        find_face(record, shape, *split, work, face)
        if np.isnan(face[0]):
            return _along_atoms(_atoms(work.active, z.size), way, structure.n_curved(shape))
        project_derivative(record, shape, *structure.split(way, shape), work, face, moved)
        return moved if np.isfinite(moved).all() else np.where(z > 0, np.nan, 0.0)

    return move


def _atoms(work: SparseMAPScratch, n_parts: int) -> Array:
    """Return the outputs that an answer mixes, one per row; their local parts are independent."""
    return work.atoms.parts[work.atoms.slot[work.atoms.weight > 0], :n_parts]


def _along_atoms(atoms: Array, way: Array, n_curved: int) -> Array:
    """J v = E' (E_l E_l')^-1 E v with the edges E of the answer's face and their local parts E_l."""
    moved, used = np.zeros(way.size), (atoms != 0).any(axis=0)
    edges, towards = (atoms[1:] - atoms[0])[:, used], way[used]
    local = edges[:, : used[:n_curved].sum()]
    along = np.linalg.lstsq(local @ local.T, edges @ towards, rcond=None)[0]
    moved[used] = along @ edges if np.isfinite(towards).all() else np.nan
    return moved


def _by_differences(loss: FenchelYoungLoss, theta: Array, v: Array, z: Array) -> Array:
    """Differentiate each row by a step that moves no part, and no output on average, by more than STEP."""
    return _difference(loss, theta, v, z, lambda scores: loss.predict(scores) - z)


def _difference(
    loss: FenchelYoungLoss, theta: Array, v: Array, z: Array, moved: Callable[[Array], Array]
) -> Array:
    """d/dh moved(theta + h v) at h = 0."""
    axes = tuple(range(1, v.ndim))
    size = np.abs(v)
    length = np.maximum(size.max(axis=axes, keepdims=True), (np.abs(z) * size).sum(axes, keepdims=True))
    far = SMOOTH_STEP if isinstance(loss.regularizer, Shannon) else LINEAR_STEP
    step = far / np.where(length > 0, length, 1.0)
    return sum(weight * moved(theta + side * step * v) for side, weight in STENCIL) / step


# ---- how J moves --------------------------------------------------------------------------------------


def _second_on_the_simplex(loss: FenchelYoungLoss, theta: Array, u: Array, v: Array, z: Array) -> Array:
    """With s and J of `_on_the_simplex`: s moves by (2 - alpha) z^(1 - alpha) J u."""
    alpha, s = _simplex_slopes(loss, z)
    with np.errstate(divide="ignore"):
        bend = np.where(z > 0, (2.0 - alpha) * z ** (3.0 - 2.0 * alpha), 0.0)
    both = bend * _subtract_mean(u, s) * _subtract_mean(v, s)
    return both - s * (both.sum(axis=1, keepdims=True) / s.sum(axis=1, keepdims=True))


def _second_on_the_cube(loss: FenchelYoungLoss, theta: Array, u: Array, v: Array, z: Array) -> Array:
    """Differentiate z (1 - z), for the entropy."""
    return z * (1 - z) * (1 - 2 * z) * u * v


def _second_by_differences(loss: FenchelYoungLoss, theta: Array, u: Array, v: Array, z: Array) -> Array:
    return _difference(loss, theta, u, z, lambda scores: derivative(loss, scores, v))


_SECOND: dict[type, Callable[..., Array]] = {Simplex: _second_on_the_simplex, Cube: _second_on_the_cube}
