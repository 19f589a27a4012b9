"""Entropies of Gibbs distributions against enumeration in extended precision, at scores of every size."""

import numpy as np
import pytest

from brute import STRUCTURES, trees
from structlearn.core.contract import entropy, marginals, marginals_workspace, maximize, omega, workspace
from structlearn.core.kernels import is_implemented
from structlearn.structures import LabelledTree, ProjectiveTree, Simplex
from structlearn.structures.flat.entmax import TsallisRecord, entmax, tsallis

EXACT = [
    name
    for name, family in STRUCTURES.items()
    if is_implemented(marginals, family.structure.record) and not name.startswith("tree")
]
SCALES = [0.0, 1.0, 1e2, 1e4, 1e8, 1e12, 1e14]


def near_ties(rng, shape, scale):
    """Scores whose sums are exact in floating point: small integers, some of them far above the others.

    So many outputs are nearly the best one, and the entropy is not zero, however large the scores are.
    """
    return rng.integers(-3, 4, shape).astype(float) + scale * rng.integers(0, 2, shape)


def enumerated_entropy(theta, vertices):
    scores = vertices.astype(np.longdouble) @ theta.ravel().astype(np.longdouble)
    below = scores - scores.max()
    p = np.exp(below) / np.exp(below).sum()
    return float(np.log(np.exp(below).sum()) - p @ below)


def answered_entropy(structure, theta, shape):
    """As a solver asks for it."""
    local, shared = structure.split(theta.ravel(), shape)
    work = marginals_workspace(structure.record, shape)
    mean = np.zeros(theta.size)
    log_z = marginals(structure.record, shape, local, shared, work, mean)
    return entropy(structure.record, shape, local, shared, work, mean, log_z)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", EXACT)
def test_entropy_is_that_of_all_outputs_however_large_the_scores(name, scale):
    family = STRUCTURES[name]
    rng = np.random.default_rng(0)
    for trial in range(30):
        shape = family.shapes[trial % len(family.shapes)]
        theta = near_ties(rng, family.part_shape(shape), scale)
        wanted = enumerated_entropy(theta, family.vertices(shape))
        found = answered_entropy(family.structure, theta, shape)
        # what outputs add up to beside a score of this size is itself rounded
        assert found == pytest.approx(wanted, abs=1e-11 + 4e-15 * scale)
        assert 0.0 <= found <= np.log(len(family.vertices(shape))) + 1e-15


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ["tree", "tree, several roots"])
def test_entropy_from_determinants_is_never_above_that_of_all_trees(name, scale):
    family = STRUCTURES[name]
    rng = np.random.default_rng(1)
    for trial in range(30):
        shape = family.shapes[trial % len(family.shapes)]
        theta = near_ties(rng, shape, scale)
        wanted = enumerated_entropy(theta, family.vertices(shape))
        found = answered_entropy(family.structure, theta, shape)
        rounded = 4e-15 * scale  # as above
        assert 0.0 <= found <= wanted + 1e-13 + rounded
        assert found >= wanted - 1e-12 - 300 * rounded


@pytest.mark.parametrize("scale", SCALES)
def test_entropy_of_labelled_trees(scale):
    n, n_labels = 3, 2
    inner = trees(ProjectiveTree(), [n], projective=True)
    structure = LabelledTree(ProjectiveTree(), n_labels)
    rng = np.random.default_rng(2)
    vertices = []
    for heads in inner.outputs((n + 1, n)):
        for labels in np.ndindex(*[n_labels] * n):
            table = np.zeros((n + 1, n, n_labels))
            table[heads, np.arange(n), labels] = 1.0
            vertices.append(table.ravel())
    for _ in range(20):
        theta = near_ties(rng, (n + 1, n, n_labels), scale)
        found = answered_entropy(structure, theta, structure.shape(theta))
        assert found == pytest.approx(
            enumerated_entropy(theta, np.array(vertices)), abs=1e-11 + 4e-15 * scale
        )


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("alpha", [1.0, 1.25, 1.5, 2.0])
def test_omega_of_entmax_is_that_of_its_answer(alpha, scale):
    theta = near_ties(np.random.default_rng(3), 6, scale) / 4
    record, shape, z = TsallisRecord(Simplex(6).record, alpha), (1, 6), np.zeros(6)
    work = workspace(record, shape)
    value = maximize(record, shape, theta, theta[:0], work, z)
    assert np.array_equal(z, entmax(theta, alpha))
    assert omega(record, shape, theta, theta[:0], work, z, value) == pytest.approx(
        tsallis(z, alpha), abs=1e-14
    )
