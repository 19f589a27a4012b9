"""The Python of docs/tagging.md runs from top to bottom and does what the page says; links lead somewhere."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tagging.md"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The page's blocks, run in their order, and the names that there are after each."""
    found, after = {}, []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
            exec(block, found)  # noqa: S102  (our own page)
            after.append((block, dict(found)))
    return after


def after(names, text):
    """The names after the block that has this text."""
    (found,) = (found for block, found in names if text in block)
    return found


def test_the_first_tagger(names):
    found = after(names, "import structlearn\n")
    (labels,) = found["tagger"].predict([["the", "cat", "runs"]])
    assert labels.tolist() == ["D", "N", "V"]


def test_arrays_beside_templates(names):
    found = after(names, "pairs = ")
    tagger = found["tagger"]
    assert tagger.chain_.n_features_in_ == tagger.features_.n_features + 8
    assert [one.tolist() for one in tagger.predict(found["pairs"])] == found["labels"]
    assert any(one.name == "array:3" for one in tagger.explain(found["pairs"][0])[0].contributions)


def test_what_is_allowed(names):
    found = after(names, 'predict_spans([["Lee"')
    (spans,) = found["tagger"].predict_spans([["Lee", "saw", "Rome"]], allowed=found["known"])
    assert (spans[-1].label, spans[-1].probability) == ("LOC", pytest.approx(1.0))


def test_spans_and_sets(names):
    chunker = after(names, "conformalize(X[10:]")["chunker"]
    ((span,),) = chunker.predict_spans([["the", "cat", "runs"]])
    assert (span.start, span.end, span.label) == (0, 2, "NP")
    assert len(chunker.predict_sets([["the", "cat", "runs"]], coverage=0.9)[0]) >= 1


def test_small_models_and_segments(names):
    small = after(names, "small = Tagger(")["small"]
    assert 0 < np.mean(small.chain_.weights_ != 0) < 0.9
    found = after(names, "SegmentClassifier(")
    assert found["model"].predict(found["X"]) == found["y"]
    ((name,),) = after(names, 'Tagger(model="segments"')["names"].predict_spans(
        [["we", "saw", "Anna", "Smith"]]
    )
    assert name[:3] == (2, 4, "PER")
