"""Probabilities of spans and of whole label sequences, against enumeration."""

from itertools import combinations

import numpy as np
import pytest

from brute import chain, conditioned_chain, score_of
from structlearn.estimators.inputs.spans import SpanReading, spans

#: A chain, its labels, and what these are as tags.
CASES = {
    "tags": (chain(3, [4, 1]), ["B-X", "I-X", "O"], None),
    "two types, start and end": (
        chain(4, [4, 1], start=True, end=True),
        ["B-X", "I-X", "I-Y", "O"],
        None,
    ),
    "plain, a conditioned chain": (conditioned_chain(2, [5, 1]), [7, 3], ["I-7", "I-3"]),
    "plain, some of them O": (chain(3, [4]), ["N", "O", "S"], ["I-N", "O", "I-S"]),
    "forbidden steps": (chain(3, [4, 1], forbidden=[(None, 1), (2, 1)]), ["B-X", "I-X", "O"], None),
    "IOBES": (chain(5, [3]), ["B", "E", "I", "O", "S"], None),
}


def distribution(family, shape, theta):
    """All label sequences of a chain, their scores, and log Z."""
    outputs = family.outputs(shape)
    scores = score_of(theta, np.array([family.write(y, shape) for y in outputs]))
    return outputs, scores, np.logaddexp.reduce(scores)


def scores_of(family, shape, rng, masked):
    """Scores of which some are -inf."""
    theta = 2.0 * rng.normal(size=family.structure.n_local(shape) + family.structure.n_shared)
    return np.where(rng.random(theta.size) < masked, -np.inf, theta)


@pytest.mark.parametrize("masked", [0.0, 0.15])
@pytest.mark.parametrize("case", CASES)
def test_spans_against_enumeration(case, masked):
    family, classes, tags = CASES[case]
    reading, rng, n_compared = SpanReading(classes), np.random.default_rng(3), 0
    for shape in family.shapes * 6:
        theta = scores_of(family, shape, rng, masked)
        outputs, scores, log_z = distribution(family, shape, theta)
        if log_z == -np.inf:
            continue
        expected = {}
        for y, share in zip(outputs, np.exp(scores - log_z)):
            for kind, *place in spans([(tags or classes)[k] for k in y]):
                expected[(*place, kind)] = expected.get((*place, kind), 0.0) + share
        found = family.structure.span_probabilities(theta, reading.rows(expected), reading.labels)
        np.testing.assert_allclose(found, list(expected.values()), rtol=1e-10, atol=1e-300)
        n_compared += len(found)
    assert n_compared > 30


@pytest.mark.parametrize("masked", [0.0, 0.15])
@pytest.mark.parametrize("case", ["two types, start and end", "plain, a conditioned chain"])
def test_scores_and_log_partition_against_enumeration(case, masked):
    family, _, _ = CASES[case]
    rng = np.random.default_rng(4)
    for shape in family.shapes * 4:
        theta = scores_of(family, shape, rng, masked)
        outputs, scores, log_z = distribution(family, shape, theta)
        if log_z == -np.inf:
            with pytest.raises(ValueError, match="forbids every output"):
                family.structure.log_partition(theta)
            continue
        assert family.structure.log_partition(theta) == pytest.approx(log_z, abs=1e-12)
        found = [family.structure.score(theta, y) for y in outputs]
        np.testing.assert_allclose(found, scores, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_spans_around_a_token_and_outside_add_up_to_one(scale):
    """Whatever the scores: a token is outside, or in exactly one span."""
    family, classes, _ = CASES["two types, start and end"]
    chain_, reading, length = family.structure, SpanReading(classes), 12
    theta = scale * np.random.default_rng(5).normal(size=length * 4 + chain_.n_shared)
    theta[length * 4 + 3 * 4 + 2] = -np.inf  # I-Y never follows O
    places = list(combinations(range(length + 1), 2))
    rows = np.array([(start, end, kind) for start, end in places for kind in (0, 1)])
    shares = chain_.span_probabilities(theta, rows, reading.labels)
    outside = chain_.marginals(theta).mean[: length * 4].reshape(length, 4)[:, 3]
    inside = [shares[(rows[:, 0] <= t) & (rows[:, 1] > t)].sum() for t in range(length)]
    np.testing.assert_allclose(inside + outside, 1.0, atol=1e-9)
    assert shares.max() <= 1.0


def test_where_nothing_is_allowed():
    family, classes, _ = CASES["tags"]
    reading = SpanReading(classes)
    with pytest.raises(ValueError, match="forbids every output"):
        family.structure.span_probabilities(np.full(21, -np.inf), np.array([[0, 1, 0]]), reading.labels)
