"""The Python of the pages about tagging does what they say."""

import re

import numpy as np
import pytest
from blocks import ROOT, blocks
from typer.testing import CliRunner

from structlearn.cli import app

PAGES = ("tagging", "tagging-features", "names", "tagging-labels", "confidence", "tagging-models", "segments")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The pages' blocks of Python, run in their order, and the names that there are after each."""
    after = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        for page in PAGES:
            found = {}
            for block in blocks(ROOT / "docs" / f"{page}.md"):
                if block.kind == "python":
                    exec(block.text, found)  # noqa: S102  (our own page)
                    after.append((block.text, dict(found)))
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


def flags_of(task):
    """The options that `structlearn train TASK --help` lists."""
    shown = CliRunner().invoke(app, ["train", task, "--help"]).output
    return set(re.findall(r"^\s+(--[a-z0-9-]+)", shown, re.MULTILINE))


def test_the_table_of_options_has_what_the_shell_has_for_words():
    page = (ROOT / "docs" / "tagging-files.md").read_text()
    table = page.partition("## Options of train")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `--")]
    listed = {flag for row in rows for flag in re.findall(r"--[a-z0-9-]+", row)}
    of_words = flags_of("tag") | flags_of("chunk") | flags_of("ner")
    assert listed <= of_words
    assert of_words - flags_of("classify") <= listed
