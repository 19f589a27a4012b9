"""How labels of a model are read as spans."""

import numpy as np
import pytest

from structlearn.estimators.inputs.spans import SpanReading, spans
from structlearn.tagging import spans as spans_of_tags


def test_tags():
    reading = SpanReading(["B-NP", "E-NP", "I-NP", "O", "S-LOC"])
    assert not reading.plain
    tags = ["B-NP", "I-NP", "O", "I-NP", "S-LOC", "S-LOC", "B-NP", "E-NP", "I-NP"]
    expected = [(0, 2, "NP"), (3, 4, "NP"), (4, 5, "LOC"), (5, 6, "LOC"), (6, 8, "NP"), (8, 9, "NP")]
    assert reading.read(tags) == expected
    np.testing.assert_array_equal(reading.rows(expected)[:, 2], [0, 0, 1, 1, 0, 0])
    assert reading.read([]) == []
    assert reading.rows([]).shape == (0, 3)
    assert spans_of_tags is spans


@pytest.mark.parametrize("classes", [["DT", "NN", "O"], ["B-X", "NN", "O"], ["PER", "O", "I"]])
def test_runs_of_plain_labels(classes):
    reading = SpanReading(classes)
    assert reading.plain
    a, b = [one for one in classes if one != "O"]
    assert reading.read([a, a, "O", "O", b, a]) == [(0, 2, a), (4, 5, b), (5, 6, a)]


def test_bilou_is_read_as_bioes():
    tags = ["B-NP", "L-NP", "I-NP", "U-NP", "U-NP", "I-NP", "L-NP", "U-LOC", "O"]
    assert spans(tags) == spans([tag.replace("L-", "E-").replace("U-", "S-") for tag in tags])
    assert SpanReading(["B-NP", "I-NP", "L-NP", "O", "U-LOC"]).read(["B-NP", "L-NP", "L-NP", "U-LOC"]) == [
        (0, 2, "NP"),
        (2, 3, "NP"),
        (3, 4, "LOC"),
    ]
    assert SpanReading(["L", "O", "U"]).plain


def test_labels_that_are_numbers_stay_numbers():
    assert SpanReading([1, 2, -3]).read([1, 1, -3]) == [(0, 2, 1), (2, 3, -3)]


def test_bare_marks_and_words_without_spaces():
    assert SpanReading(list("BMES")).read(list("BMESBES")) == [(0, 3, ""), (3, 4, ""), (4, 6, ""), (6, 7, "")]
    assert SpanReading(list("BIO")).read(list("BIBOII")) == [(0, 2, ""), (2, 3, ""), (4, 6, "")]


@pytest.mark.parametrize(
    "classes",
    [["B-X", "I-X", "I-Y", "O"], ["B", "E", "I", "O", "S"], ["B-X", "I-X", "L-X", "O", "U-X"], ["N", "V"]],
)
def test_what_structures_are_told_is_what_is_read(classes):
    """By walking from label to label: a span ends where labels are parted."""
    reading, rng = SpanReading(classes), np.random.default_rng(0)
    kind, parted = reading.labels
    for _ in range(50):
        codes = rng.integers(len(classes), size=6)
        ends = [t for t in range(1, 6) if parted[codes[t - 1], codes[t]]] + [6]
        pieces = zip([0, *ends], ends)
        expected = [[a, b, kind[codes[a]]] for a, b in pieces if kind[codes[a]] >= 0]
        found = reading.rows(reading.read([classes[k] for k in codes]))
        np.testing.assert_array_equal(found, np.reshape(expected, (-1, 3)))
