"""The page of tagged text: scores, confusions, order, colours, contributions; all escaped, and bounded."""

import re

import pytest

from structlearn.estimators.weights.explaining import Contribution, Explanation
from structlearn.reports.tagged_text import TaggedText
from structlearn.tagging import page as pages
from structlearn.tagging.page import text_page

EVIL = "<script>alert(1)</script>\"'&"
GOOD = TaggedText(["New", "York", "is"], ["B-LOC", "I-LOC", "O"], ["B-LOC", "I-LOC", "O"])
LONG = TaggedText(list("abcd"), ["O"] * 4, ["B-PER", "I-PER", "I-PER", "I-PER"])  # one span missed
TWO = TaggedText(["x", "y"], ["B-LOC", "B-PER"], ["O", "B-LOC"])  # two wrong, one missed


def drawn(sentences, **options):
    return text_page(sentences, **{"title": "t", "limit": 10, "of_spans": True, **options}).html()


def cells(html, name):
    row = re.findall(rf"<tr><th scope=.row.>{name}</th>(.*?)</tr>", html)[0]
    return re.findall(r"<td>(.*?)</td>", row)


def test_the_worst_by_spans_comes_first_with_scores_and_confusions_of_all():
    html = drawn([GOOD, LONG, TWO], limit=2)
    assert re.findall(r"Sequence (\d)", html) == ["3", "2"]
    assert "2 of 3 sequences are shown, the worst first" in html
    assert cells(html, "all") == ["0.3333", "0.3333", "0.3333", "3", "3", "1"]
    assert cells(html, "LOC") == ["0.5000", "0.5000", "0.5000", "2", "2", "1"]
    assert "Accuracy 0.3333: the share of 9 tokens" in html
    assert cells(html, "I-PER") == ["O", "3", "50.0%"]
    assert len(re.findall('class="swatch"', html)) == 2  # LOC and PER
    by_tokens = drawn([GOOD, LONG, TWO], of_spans=False)
    assert re.findall(r"Sequence (\d)", by_tokens) == ["2", "3", "1"]
    assert cells(by_tokens, "B-LOC")[3:] == ["2", "2", "1"]


def test_a_span_of_one_word_is_named_as_longer_ones_are():
    def names(*tags, gold=None):
        one = TaggedText(["w"] * len(tags), list(tags), gold and list(gold))
        return re.findall("<small>(.*?)</small>", drawn([one]))

    assert names("B-LOC", "O", "S-PER") == ["LOC", "PER"]
    assert names("B-LOC", "B-LOC", "I-LOC") == ["LOC", "LOC"]
    assert names("B-LOC", "I-LOC", gold=("B-LOC", "O")) == [
        "B-LOC",
        "I-LOC [O]",
    ]  # the first word of a longer span
    assert names("B-LOC", gold=["B-PER"]) == ["B-LOC [B-PER]"]


def test_without_gold_labels_there_are_no_scores():
    html = drawn([one._replace(gold=None) for one in (GOOD, TWO)])
    assert "Accuracy" not in html
    assert re.findall(r"Sequence (\d)", html) == ["1", "2"]
    assert "<h1>t</h1>" in drawn([])
    assert "Accuracy" in drawn([TaggedText([], [], [])], of_spans=False)  # of no tokens


def explain(chosen):
    parts = [Contribution(f"{EVIL}{k}", 5.0 - k) for k in range(9)]
    return [[Explanation(EVIL, "O", 3.0, parts)] * 3 for _ in chosen]


def test_contributions_are_shown_escaped_and_bounded(monkeypatch):
    html = drawn([GOOD] * 5, explain=explain)
    assert "<script" not in html
    assert html.count('class="why"') == 10  # a span in one box, and a word outside
    assert html.count("<i>") == 15 * pages.MOST_CONTRIBUTIONS
    assert "<i>+5.00 &lt;script" in html
    monkeypatch.setattr(pages, "MOST_EXPLAINED", 4)
    assert drawn([GOOD] * 5, explain=explain).count("<i>") == 4 * pages.MOST_CONTRIBUTIONS
    alone = Explanation("O", None, float("inf"), [])
    assert 'class="why"' not in drawn([GOOD], explain=lambda chosen: [[alone] * 3])


def test_hostile_words_and_labels_are_escaped():
    html = drawn([TaggedText([EVIL, "b"], [EVIL, "O"], ["O", EVIL])], title=EVIL)
    assert "<script" not in html


@pytest.mark.parametrize("task", ["tag", "chunk"])
def test_from_the_shell(task, tmp_path):
    from typer.testing import CliRunner

    from structlearn.cli import app

    data, model, out = tmp_path / "data", tmp_path / "model", tmp_path / "page.html"
    data.write_text("the D B-NP\ndog N I-NP\nruns V O\n\na D B-NP\ncat N I-NP\n\n" * 4)
    for command in (["train", task, data, "--out", model], ["show", model, data, "--out", out]):
        assert CliRunner().invoke(app, list(map(str, command))).exit_code == 0
    html = out.read_text()
    assert "pos=D</i>" in html or "pos[-1]=D" in html
    assert "Accuracy 1.0000" in html
