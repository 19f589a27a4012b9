"""The faces of projections onto label sequences, and derivatives along them.

The face of an answer is written down as the steps that carry flow (see `flow`): for each position at most 2 K
triples (label before, label, flow), of which those with flow come first. Of steps that form a circle, whose
scores then tie, it has those of a spanning forest; so it says all that `face.move_along_face` needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.core.kernels import jitable, kernel
from structlearn.structures.chain.face import keep_forest, move_along_face
from structlearn.structures.chain.flow import Flow
from structlearn.structures.chain.network import n_nodes_before
from structlearn.structures.chain.projection import SequenceProjectionScratch, make_flow
from structlearn.structures.chain.viterbi import SequenceScores
from structlearn.structures.vertex_mixture import VertexMixture


@jitable
def sequence_face_size(structure: Any, shape: Shape) -> int:
    return shape[0] * 2 * structure.n_labels * 3


@kernel
def find_sequence_face(scores: SequenceScores, work: SequenceProjectionScratch, face: Array) -> None:
    """Implement `find_face`, with the scores as tables."""
    length, n_labels = scores.unary.shape
    if work.spent[0] == 0 and not _choose_labels_of_atoms(work, length, n_labels):
        face[0] = np.nan
        return
    most = _most(work, length)
    if length * most * most > work.edges.shape[1]:
        face[0] = np.nan
        return
    flow = make_flow(scores, work, most)
    if work.spent[0] == 0:
        _add_up_atoms(flow, work.active.atoms, n_labels)
    _write_forest(flow, face[: length * 6 * n_labels].reshape(length, 2 * n_labels, 3))


@kernel
def move_sequences(
    scores: SequenceScores, work: SequenceProjectionScratch, face: Array, moved: Array
) -> None:
    """Set moved <- J v, for v as the tables of `scores`, at an answer with this face."""
    length, n_labels = scores.unary.shape
    edges = face[: length * 6 * n_labels].reshape(length, 2 * n_labels, 3)
    _choose_labels_of_face(edges, work, n_labels)
    flow = make_flow(scores, work, _most(work, length))
    _read_forest(edges, flow)
    move_along_face(flow)
    _write_moves(flow, scores.steps.shape[0], n_labels, moved)


@kernel
def _most(work: SequenceProjectionScratch, length: int) -> int:
    """Return the most labels that a position has."""
    most = 0
    for t in range(length):
        most = max(most, work.sizes[t])
    return most


@kernel
def _place_of(work: SequenceProjectionScratch, t: int, label: int) -> int:
    """Return which of the chosen labels of a position a label is; it is chosen if it has not been."""
    for k in range(work.sizes[t]):
        if work.label[t, k] == label:
            return k
    work.label[t, work.sizes[t]] = label
    work.sizes[t] += 1
    return work.sizes[t] - 1


# ---- from the atoms of an active set --------------------------------------------------------------------


@kernel
def _choose_labels_of_atoms(work: SequenceProjectionScratch, length: int, n_labels: int) -> bool:
    """Choose the labels of atoms with weight; return False if an atom is a mixture of sequences."""
    atoms = work.active.atoms
    work.sizes[:length] = 0
    for i in range(atoms.slot.size):
        if atoms.weight[i] <= 0.0:
            break
        for t in range(length):
            label = _label_of(atoms, i, t, n_labels)
            if label < 0:
                return False
            _place_of(work, t, label)
    return True


@kernel
def _label_of(atoms: VertexMixture, i: int, t: int, n_labels: int) -> int:
    """Return the label that an atom has at a position; -1 if it has parts of several."""
    parts = atoms.parts[atoms.slot[i], t * n_labels : (t + 1) * n_labels]
    for k in range(n_labels):
        if parts[k] != 0.0:
            return k if parts[k] == 1.0 else -1
    return -1


@kernel
def _add_up_atoms(flow: Flow, atoms: VertexMixture, n_labels: int) -> None:
    """x <- the flow of a mixture of sequences."""
    count = flow.network.sizes
    _clear(flow)
    for i in range(atoms.slot.size):
        if atoms.weight[i] <= 0.0:
            break
        before = 0
        for t in range(count.size):
            label, place = _label_of(atoms, i, t, n_labels), 0
            while flow.label[t, place] != label:
                place += 1
            flow.x[t, before, place] += atoms.weight[i]
            before = place


@kernel
def _clear(flow: Flow) -> None:
    """Set x, slack <- 0."""
    count = flow.network.sizes
    for t in range(count.size):
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                flow.x[t, j, k] = flow.slack[t, j, k] = 0.0


# ---- as triples -----------------------------------------------------------------------------------------


@kernel
def _write_forest(flow: Flow, edges: Array) -> None:
    count, label, weight = flow.network.sizes, flow.label, flow.network.weight
    for t in range(count.size):
        keep_forest(flow, t)
        n = 0
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                if weight[t, j, k] > 0.0:
                    edges[t, n, 0] = label[t - 1, j] if t > 0 else 0
                    edges[t, n, 1], edges[t, n, 2] = label[t, k], flow.x[t, j, k]
                    n += 1
        if n < edges.shape[1]:
            edges[t, n, 2] = 0.0


@kernel
def _choose_labels_of_face(edges: Array, work: SequenceProjectionScratch, n_labels: int) -> None:
    work.sizes[: edges.shape[0]] = 0
    for t in range(edges.shape[0]):
        for i in range(2 * n_labels):
            if edges[t, i, 2] <= 0.0:
                break
            if t > 0:
                _place_of(work, t - 1, int(edges[t, i, 0]))
            _place_of(work, t, int(edges[t, i, 1]))


@kernel
def _read_forest(edges: Array, flow: Flow) -> None:
    _clear(flow)
    for t in range(edges.shape[0]):
        for i in range(edges.shape[1]):
            if edges[t, i, 2] <= 0.0:
                break
            j = k = 0
            while t > 0 and flow.label[t - 1, j] != edges[t, i, 0]:
                j += 1
            while flow.label[t, k] != edges[t, i, 1]:
                k += 1
            flow.x[t, j, k] = edges[t, i, 2]


@kernel
def _write_moves(flow: Flow, n_tables: int, n_labels: int, moved: Array) -> None:
    """Set moved <- the moves of labels and steps."""
    count, label = flow.network.sizes, flow.label
    n_local = count.size * n_labels
    moved[:] = 0.0
    for t in range(count.size):
        s = min(t, n_tables - 1)
        for k in range(count[t]):
            moved[t * n_labels + label[t, k]] = flow.mu[t, k]
        for j in range(n_nodes_before(count, t) if t > 0 else 0):
            for k in range(count[t]):
                part = n_local + (s * n_labels + label[t - 1, j]) * n_labels + label[t, k]
                moved[part] += flow.x[t, j, k]
