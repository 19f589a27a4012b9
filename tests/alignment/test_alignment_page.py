import base64
import hashlib
import re

import numpy as np
import pytest

import html_reader
from structlearn.alignment.links import Links
from structlearn.alignment.metrics import alignment_scores
from structlearn.alignment.uses.page import AlignedPair, alignment_page

GOLD = Links.of({(0, 0), (1, 1)}, {(0, 1), (2, 2)})
PREDICTED = {(0, 0), (0, 1), (2, 0)}
PAIR = AlignedPair(["the", "red", "house"], ["la", "maison", "rouge"], PREDICTED, GOLD)
HOSTILE = "<script>alert(1)</script>\"'&"


class Reader(html_reader.Reader):
    def __init__(self, page):
        super().__init__(page.html())

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
    assert "AER 0.400 · precision 0.667 · recall 0.500 · 3 links" in reader.texts
    assert "Missed: red – maison" in reader.texts
    assert "Spurious: house – la" in reader.texts


def test_the_overview_counts_all_pairs():
    scores = alignment_scores([GOLD] * 3, [PREDICTED, GOLD.sure, []])
    pairs = [PAIR, PAIR._replace(predicted=GOLD.sure), PAIR._replace(predicted=[]), PAIR._replace(gold=None)]
    found = Reader(alignment_page(pairs, limit=1)).definitions()
    expected = {
        "sentence pairs": "4", "predicted links": "8", "source words linked": "50.0%",
        "target words linked": "50.0%", "AER": f"{scores.aer:.4f}", "precision": f"{scores.precision:.4f}",
        "recall": f"{scores.recall:.4f}", "F1": f"{scores.f1:.4f}", "sure links": "6",
        "possible links": "12", "pairs with gold links": "3",
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_worst_first_and_no_more_than_the_limit():
    perfect, empty = PAIR._replace(predicted=GOLD.sure), PAIR._replace(predicted=[])
    pairs = [perfect, PAIR, empty, PAIR._replace(gold=None)]
    assert Reader(alignment_page(pairs)).headings() == ["Pair 3", "Pair 2", "Pair 1", "Pair 4"]
    cut = Reader(alignment_page([*pairs, PAIR._replace(number=77)], limit=2))
    assert cut.headings() == ["Pair 3", "Pair 2"]
    assert "The overview is of 5 sentence pairs, of which 2 are shown." in cut.texts
    assert "They are shown the worst first." in cut.texts


def test_of_many_the_best_come_last_and_once():
    """Those with few links are right by chance: they are no examples."""
    perfect, few = PAIR._replace(predicted=GOLD.possible), PAIR._replace(predicted=[(0, 0)])
    pairs = [*[PAIR] * 6, perfect, *[few] * 4, perfect, PAIR]
    reader = Reader(alignment_page(pairs))
    assert reader.headings()[-3:] == ["Pair 7", "Pair 12", "Pair 1"]
    assert reader.headings()[0] == "Pair 2"
    assert sorted(reader.headings()) == sorted(f"Pair {k}" for k in range(1, len(pairs) + 1))
    assert "The best pairs" in reader.texts
    assert "The best pairs" not in Reader(alignment_page(pairs[:11])).texts
    assert len(Reader(alignment_page(pairs, limit=2)).headings()) == 2


def test_without_gold_the_best_are_those_that_the_aligner_is_surest_of():
    def sure(share):
        return PAIR._replace(gold=None, confidence=dict.fromkeys(PREDICTED, share))

    reader = Reader(alignment_page([*[sure(0.5)] * 11, sure(0.9), sure(0.8), PAIR._replace(gold=None)]))
    assert reader.headings()[:4] == ["Pair 12", "Pair 13", "Pair 1", "Pair 2"]


def test_without_gold():
    reader = Reader(alignment_page([PAIR._replace(gold=None, number=12)]))
    assert reader.drawn("line") == {("plain", i, j) for i, j in PREDICTED}
    assert reader.headings() == ["Pair 12"]
    assert "3 links" in reader.texts
    assert reader.definitions()["predicted links"] == "3"
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


def test_the_histogram_counts_links_and_which_of_them_are_possible():
    share = np.array([[1.0, 0.95, 0.0], [0.0] * 3, [0.42, 0.0, 0.0]])
    html = alignment_page([PAIR._replace(confidence=share)] * 2).html()
    rows = re.findall(r'<th scope="row">(.*?)</th><td class="bar">.*?</td>(.*?)</tr>', html, re.DOTALL)
    counts = {name: re.findall("<td>(.*?)</td>", cells) for name, cells in rows}
    assert len(counts) == 10
    assert counts.pop("0.9 to 1.0") == ["4", "100%"]
    assert counts.pop("0.4 to 0.5") == ["2", "0%"]
    assert all(cells == ["0", "–"] for cells in counts.values())
    assert "How sure the aligner is of 6 predicted links." in html
    bars = re.findall(r'style="--share:([0-9.]+)"', html)
    assert bars == ["1.0", *["0.0"] * 5, "0.5", *["0.0"] * 4]  # of 0.4 to 0.5 the hatched half alone
    assert '<td class="bar' not in alignment_page([PAIR]).html()


def test_tables_of_those_shown_alone():
    """Of many pairs only the links' confidences are known; those of all word pairs where they are drawn."""
    asked = []

    def tables(words):
        asked.extend(words)
        return [np.full((3, 3), 0.7) for _ in words]

    pairs = [PAIR._replace(confidence=dict.fromkeys(PREDICTED, 0.6))] * 5
    reader = Reader(alignment_page(pairs, limit=2, tables=tables))
    assert asked == [(PAIR.source, PAIR.target)] * 2
    assert reader.texts.count("70") == 2 * 9
    assert "How sure the aligner is of 15 predicted links." in " ".join(reader.texts)


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


def test_arabic_and_hebrew_start_at_the_right():
    pair = AlignedPair(["שלום", "עולם", "!"], ["hello", "world", "!"], {(0, 0)})
    reader = Reader(alignment_page([pair]))
    places = [(a["data-s"], float(a["x"])) for _, a in reader.elements if "data-s" in a and "x" in a][:3]
    assert [k for k, x in sorted(places, key=lambda place: place[1])] == ["2", "1", "0"]
    places = [float(a["x"]) for _, a in reader.elements if "data-t" in a and "x" in a]
    assert places == sorted(places)


def test_long_words_are_cut():
    reader = Reader(alignment_page([AlignedPair(["w" * 99], ["x"], {(0, 0)})]))
    assert reader.texts.count(f"{'w' * 29}…") == 2
    assert "w" * 99 + " – x: predicted" in reader.texts


def test_long_sentences_have_no_grid():
    words = ["w"] * 81
    reader = Reader(alignment_page([AlignedPair(words, words, {(0, 0)}), AlignedPair(["a"], ["b"], [])]))
    assert reader.attributes("class", "svg").count("grid") == 1
    assert "1 link · too long for a grid" in reader.texts
    assert "0 links" in reader.texts


def test_links_outside_the_sentences():
    with pytest.raises(ValueError, match=r"Pair 1 has a link \(3, 0\) but only 3 and 3 words"):
        alignment_page([PAIR._replace(predicted={(3, 0)})])
