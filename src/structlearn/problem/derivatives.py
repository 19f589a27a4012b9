"""How predictions move with their scores: J v, with J the Hessian of Omega*.

    z(theta) = argmax_{z in M} <theta, z> - Omega(z)          J v = d/dh z(theta + h v) at h = 0

Every row of a batch is on its own, and a part that an answer does not use (z = 0, a masked one, say) neither
moves nor moves others. Exact for the simplex and the cube; for marginals of chains (forward-backward twice);
for SparseMAP by active sets, where J projects onto the face of the answer. Else by central differences of
fourth order, four predictions. The step has a fixed length in units of scores: predictions change over
differences of about one, whatever the size of the scores.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structlearn.core.contract import Array, Shape, project
from structlearn.core.erased import operations_of
from structlearn.core.kernels import implementation
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.regularizers import Shannon, SquaredNorm, Tsallis
from structlearn.structures import Chain, Cube, Simplex
from structlearn.structures.chain.derivative import chain_derivative
from structlearn.structures.erased import ErasedStructure, erase
from structlearn.structures.sparsemap import SparseMAPScratch, active_set_project, active_set_workspace

#: How far differences look, in units of scores: where answers are smooth, where they are piecewise linear.
SMOOTH_STEP, LINEAR_STEP = 1e-3, 1e-5
#: d/dh f(h) at 0 is the sum of weight * f(step h) / h over these (step, weight), to O(h^4).
STENCIL = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))

Rule = Callable[[FenchelYoungLoss, Array, Array, Array], Array]


def derivative(loss: FenchelYoungLoss, theta: Array, v: Array) -> Array:
    """J v of stacks of scores and directions of one shape; NaN in rows whose direction is not finite."""
    if not loss.regularizer.smooth:
        return np.zeros_like(v)
    z = loss.predict(theta)
    used = z > 0
    v = np.where(used, v, 0.0)
    finite = np.isfinite(v).reshape(len(v), -1).all(axis=1)
    found = np.full_like(v, np.nan)
    if finite.any():
        found[finite] = _rule(loss)(loss, theta[finite], v[finite], z[finite])
    return np.where(used, found, 0.0)


def _rule(loss: FenchelYoungLoss) -> Rule:
    """The best way there is for a structure and a regulariser."""
    structure, regularizer = loss.structure, loss.regularizer
    if isinstance(structure, Simplex):
        return _on_the_simplex
    if isinstance(structure, Cube):
        return _on_the_cube
    if isinstance(structure, Chain) and isinstance(regularizer, Shannon):
        return lambda loss, theta, v, z: chain_derivative(structure, theta, v)
    active_sets = implementation(project, structure.record) is active_set_project
    return _on_a_face if isinstance(regularizer, SquaredNorm) and active_sets else _by_differences


def _on_the_simplex(loss: FenchelYoungLoss, theta: Array, v: Array, z: Array) -> Array:
    """J = diag(s) - s s'/sum(s), s = z^(2 - alpha) on the support: softmax 1, sparsemax 2, entmax between."""
    alpha = 1.0 if isinstance(loss.regularizer, Shannon) else 2.0
    if isinstance(loss.regularizer, Tsallis):
        alpha = loss.regularizer.alpha
    s = np.where(z > 0, z ** (2.0 - alpha), 0.0)
    return s * (v - (s * v).sum(axis=1, keepdims=True) / s.sum(axis=1, keepdims=True))


def _on_the_cube(loss: FenchelYoungLoss, theta: Array, v: Array, z: Array) -> Array:
    """J = diag(z (1 - z)) for the entropy, 1 where a label is between off and on for the squared norm."""
    return v * (z * (1 - z) if isinstance(loss.regularizer, Shannon) else (z > 0) & (z < 1))


def _on_a_face(loss: FenchelYoungLoss, theta: Array, v: Array, z: Array) -> Array:
    """J v = E' (E_l E_l')^-1 E v with the edges E of the answer's face and their local parts E_l."""
    structure, found = loss.structure, np.zeros_like(v)
    shape = structure.shape(theta[0])
    inner, owner = erase(structure.record, shape, operations_of(active_set_project))
    work = active_set_workspace(inner, shape)
    for scores, way, out in zip(theta, v, found):
        edges = _edges(loss, shape, scores, inner, work)
        local = edges[:, : structure.n_local(shape)]
        along = np.linalg.lstsq(local @ local.T, edges @ way.ravel(), rcond=None)[0]
        out[...] = (along @ edges).reshape(out.shape)
    del owner
    return found


def _edges(
    loss: FenchelYoungLoss, shape: Shape, scores: Array, record: ErasedStructure, work: SparseMAPScratch
) -> Array:
    """From the first atom of an answer to the others; the local parts are independent."""
    z = np.zeros(scores.size)
    local, shared = loss.structure.split(scores.ravel(), shape)
    active_set_project(record, shape, local, shared, work, z)
    loss.structure.raise_failure()
    atoms = work.atoms.parts[work.atoms.slot[work.atoms.weight > 0], : z.size]
    return atoms[1:] - atoms[0]


def _by_differences(loss: FenchelYoungLoss, theta: Array, v: Array, z: Array) -> Array:
    """Each row by a step that moves no part, and no output on average, by more than STEP."""
    axes = tuple(range(1, v.ndim))
    length = np.maximum(np.abs(v).max(axis=axes, keepdims=True), (z * np.abs(v)).sum(axes, keepdims=True))
    far = SMOOTH_STEP if isinstance(loss.regularizer, Shannon) else LINEAR_STEP
    step = far / np.where(length > 0, length, 1.0)
    found = np.zeros_like(v)
    for side, weight in STENCIL:
        found += weight * (loss.predict(theta + side * step * v) - z)
    return found / step
