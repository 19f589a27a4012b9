import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from structlearn.apps.alignment.links import Links
from structlearn.apps.alignment.page import AlignedPair, alignment_page

GOLD = Links.of({(0, 0), (1, 1)}, {(0, 1), (2, 2)})
PREDICTED = {(0, 0), (0, 1), (2, 0)}
PAIR = AlignedPair(["the", "red", "house"], ["la", "maison", "rouge"], PREDICTED, GOLD)
HOSTILE = "<script>alert(1)</script>\"'&"


class Reader(HTMLParser):
    """Elements with their attributes; asserts that all that is opened is closed."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(page.html())
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def drawn(self, role):
        """(kind, source, target) of the links that are drawn as lines or as marks."""
        classes = [
            (a.get("class", "").split(), a) for _, a in self.elements if "data-s" in a and "data-t" in a
        ]
        return {(c[1], int(a["data-s"]), int(a["data-t"])) for c, a in classes if c[0] == role}

    def headings(self):
        return [text for text in self.texts if re.fullmatch(r"Pair \d+", text)]


@pytest.mark.parametrize("role", ["line", "mark"])
def test_each_link_has_its_kind(role):
    assert Reader(alignment_page([PAIR])).drawn(role) == {
        ("right", 0, 0), ("possible", 0, 1), ("spurious", 2, 0), ("missed", 1, 1), ("unused", 2, 2),
    }  # fmt: skip


def test_figures_and_faults_in_words():
    reader = Reader(alignment_page([PAIR, PAIR]))
    assert "AER 0.400 · precision 0.667 · recall 0.500" in reader.texts
    assert "Missed: red – maison" in reader.texts
    assert "Spurious: house – la" in reader.texts
    (summary,) = re.findall(r"<tbody>\s*(.*)\s*</tbody>", alignment_page([PAIR, PAIR]).html())
    assert re.findall(r"<td>(.*?)</td>", summary) == [
        "2 of 2", "0.4000", "0.6667", "0.5000", "0.5714", "6", "4", "8",
    ]  # fmt: skip


def test_worst_first_and_no_more_than_the_limit():
    perfect, empty = PAIR._replace(predicted=GOLD.sure), PAIR._replace(predicted=[])
    pairs = [perfect, PAIR, empty, PAIR._replace(gold=None)]
    assert Reader(alignment_page(pairs)).headings() == ["Pair 3", "Pair 2", "Pair 1", "Pair 4"]
    cut = Reader(alignment_page([*pairs, PAIR._replace(number=77)], limit=2))
    assert cut.headings() == ["Pair 3", "Pair 2"]
    assert "2 of 5 sentence pairs are shown, worst first." in cut.texts


def test_without_gold():
    reader = Reader(alignment_page([PAIR._replace(gold=None, number=12)]))
    assert reader.drawn("line") == {("plain", i, j) for i, j in PREDICTED}
    assert reader.headings() == ["Pair 12"]
    assert "3 links" in reader.texts
    assert not any("AER" in text for text in reader.texts if "{" not in text)


def test_confidences():
    share = np.zeros((3, 3))
    share[2, 0], share[1, 2] = 0.93, 0.2
    reader = Reader(alignment_page([PAIR._replace(confidence=share)]))
    shades = [a["fill-opacity"] for _, a in reader.elements if a.get("class") == "shade"]
    assert len(shades) == 2
    assert {"93", "20"} <= {*reader.texts}
    assert "house – la: predicted, but not possible, confidence 0.93" in reader.texts
    with pytest.raises(ValueError, match=r"shape \(2, 3\) do not fit 3 by 3 words"):
        alignment_page([PAIR._replace(confidence=share[:2])])


def test_everything_is_escaped():
    pair = PAIR._replace(source=[HOSTILE] * 3, target=[HOSTILE] * 3)
    page = alignment_page([pair], title=HOSTILE)
    reader = Reader(page)
    assert [tag for tag, _ in reader.elements].count("script") == 1  # ours
    assert "<script>alert" not in page.html()
    assert reader.texts.count(HOSTILE) == 2 + 4 * 3  # title, h1, words of both drawings
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)


def test_only_our_script_may_run_and_nothing_is_fetched():
    html = alignment_page([PAIR]).html()
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in html
    )
    assert not re.search(r"@import|url\(|src=|href=", html)


def test_wide_characters_and_empty_sides():
    page = alignment_page([AlignedPair(["数数", "e\u0301"], ["x"], {(0, 0)}), AlignedPair([], ["x"], [])])
    assert Reader(page).headings() == ["Pair 1", "Pair 2"]


def test_links_outside_the_sentences():
    with pytest.raises(ValueError, match=r"Pair 1 has a link \(3, 0\) but only 3 and 3 words"):
        alignment_page([PAIR._replace(predicted={(3, 0)})])
