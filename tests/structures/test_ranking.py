"""The k best outputs and samples of every structure, against all of its outputs."""

import numpy as np
import pytest
from scipy.stats import chisquare

from brute import BOUNDED, STRUCTURES, score_of
from structlearn.core.contract import marginals
from structlearn.core.kernels import is_implemented
from structlearn.structures import Matching
from structlearn.structures.ranking import best_outputs, draw_outputs


def has_one_instance(family):
    """Whether scores alone say of which shape an output is."""
    return not family.structure.has_graphs or len(family.shapes) == 1


RANKED = {name: one for name, one in STRUCTURES.items() if has_one_instance(one)}
SAMPLED = {
    name: one
    for name, one in RANKED.items()
    if is_implemented(marginals, one.structure.record) and not one.structure.marginals_accuracy
}


#: Those without a way of their own, or whose own way is not tested elsewhere; all others in long tests.
RANKED_HERE = {"cube", "simplex", "label graph", "matching", "alignment", "constituency tree", "knapsack"}
SAMPLED_HERE = {"cube", "simplex", "label tree", "label graph", "segments", "constituency tree", "alignment"}


def each_of(families, here):
    marks = [[] if name in here else [pytest.mark.long] for name in families]
    cases = [pytest.param(one, id=name, marks=own) for (name, one), own in zip(families.items(), marks)]
    return pytest.mark.parametrize("family", cases)


def small_case(family, seed=0):
    """Scores of a shape, all outputs, and their part vectors."""
    shape = min(family.shapes, key=lambda one: abs(len(family.outputs(one)) - 20))
    vertices = np.array([family.write(y, shape).ravel() for y in family.outputs(shape)])
    theta = np.random.default_rng(seed).normal(size=family.part_shape(shape))
    return shape, theta, vertices


def written(family, shape, outputs):
    return np.array([family.structure.encode(y, shape).ravel() for y in outputs])


@each_of(RANKED, RANKED_HERE)
def test_the_k_best_outputs_are_those_of_an_enumeration(family):
    shape, theta, vertices = small_case(family)
    if not family.structure.exact:
        pytest.skip("a relaxation")
    wanted = np.sort(score_of(theta, vertices))[::-1]
    for k in (1, 5, len(wanted) + 3):
        outputs, scores = best_outputs(family.structure, theta, k)
        found = written(family, shape, outputs)
        np.testing.assert_allclose(scores, wanted[:k], atol=1e-9)
        np.testing.assert_allclose(score_of(theta, found), scores, atol=1e-9)
        assert len(np.unique(found, axis=0)) == len(found)


@each_of(SAMPLED, SAMPLED_HERE)
def test_samples_have_the_frequencies_of_the_distribution(family):
    shape, theta, vertices = small_case(family, seed=1)
    theta *= 0.5
    p = np.exp(score_of(theta, vertices))
    outputs = draw_outputs(family.structure, theta, 600, np.random.default_rng(0))
    place = {tuple(z): i for i, z in enumerate(vertices.tolist())}
    counts = np.zeros(len(p))
    for z in written(family, shape, outputs).tolist():
        counts[place[tuple(z)]] += 1
    # rare outputs together, so that every count that is expected is at least 5
    order = np.argsort(-p)
    expected, counts = 600 * p[order] / p.sum(), counts[order]
    rare = (expected < 5) & (np.arange(len(p)) > 0)
    expected = np.append(expected[~rare], expected[rare].sum() + 1e-9)
    counts = np.append(counts[~rare], counts[rare].sum())
    few = expected[-1] < 5
    expected[-2] += expected[-1] * few
    counts[-2] += counts[-1] * few
    expected, counts = (one[: len(one) - few] for one in (expected, counts))
    if len(expected) > 1:
        assert chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-3


def test_forbidden_parts_are_neither_ranked_nor_drawn():
    for name in ("simplex", "label graph", "constituency tree", "alignment", "tree", "segments"):
        family = STRUCTURES[name]
        shape, theta, vertices = small_case(family)
        part = np.flatnonzero(vertices.mean(axis=0) < 0.7)[0]
        theta.ravel()[part] = -np.inf
        allowed = int((vertices[:, part] == 0).sum())
        outputs, scores = best_outputs(family.structure, theta, len(vertices))
        assert len(outputs) == allowed
        assert np.isfinite(scores).all()
        drawn = written(family, shape, draw_outputs(family.structure, theta, 30, np.random.default_rng(0)))
        assert not drawn[:, part].any()


def test_what_cannot_be_ranked_or_drawn_says_so():
    family = BOUNDED["local polytope"]
    theta = np.zeros(family.part_shape(family.shapes[0]))
    with pytest.raises(TypeError, match="no k best outputs"):
        best_outputs(family.structure, theta, 2)
    with pytest.raises(TypeError, match="no exact samples"):
        draw_outputs(Matching(), np.zeros((2, 2)), 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="at least 1"):
        best_outputs(Matching(), np.zeros((2, 2)), 0)
