"""Pages of much data stay small, and say what they leave out."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from html_reader import Reader
from structlearn.parsing.page import ParsedSentence, tree_page
from structlearn.reports import tagged_text
from structlearn.reports.graph_page import DrawnGraph, graph_page
from structlearn.reports.image_page import LabelledImage, image_page
from structlearn.reports.summaries import lead, number_of
from structlearn.reports.tagged_text import TaggedText, tagged_page


def test_long_sequences_are_cut():
    reader = Reader(tagged_page([TaggedText(["w"] * 1300, ["A"] * 1300)]).html())
    assert reader.attributes("class").count("span") == 1000
    assert "300 more words are left out." in reader.texts
    assert not any("left out" in text for text in Reader(tagged_page([TaggedText("ab", "AB")]).html()).texts)


def test_of_many_words_the_first_sequences_are_shown(monkeypatch):
    monkeypatch.setattr(tagged_text, "MOST_WORDS_OF_ALL", 10)
    reader = Reader(tagged_page([TaggedText(["w"] * 4, ["A"] * 4)] * 5).html())
    assert reader.attributes("class").count("span") == 12
    assert "3 of 5 sequences are shown, in their order." in reader.texts


def test_legends_of_many_labels_are_cut():
    reader = Reader(tagged_page([TaggedText(["w"] * 100, [f"L{k}" for k in range(100)])]).html())
    assert reader.attributes("class").count("swatch") == 60
    assert "and 40 more" in reader.texts


def test_large_images_are_shown_smaller():
    labels = np.zeros((50, 2000), dtype=int)
    labels[:, 1000:] = 1
    html = image_page([LabelledImage("wide", np.ones((50, 2000, 1)), labels, labels)]).html()
    assert "0 of 100000 pixels wrong, shown at a scale of 1 to 3" in html
    pictures = [Image.open(io.BytesIO(base64.b64decode(one))) for one in re.findall('base64,([^"]+)', html)]
    assert [one.size for one in pictures] == [(667, 17)] * 4
    colours = np.unique(np.asarray(pictures[1])[0], axis=0)
    assert len(colours) == 2  # of the two labels, as they are


def test_long_sentences_and_large_graphs_are_not_drawn():
    words = ["w"] * 201
    page = tree_page([ParsedSentence(words, words, (range(201), words), (range(201), words))]).html()
    assert "0 of 201 heads wrong, 201 words: too long to be drawn" in page
    assert "<g class" not in page.split("</ul>")[1]  # after the legend
    page = graph_page([DrawnGraph(1001, [], np.zeros(1001, dtype=int))]).html()
    assert "1001 nodes and 0 edges: too large to be drawn" in page
    assert "<svg" not in page


@pytest.mark.parametrize(
    ("n", "shown", "judged", "said"),
    [
        (0, 0, False, "0 words."),
        (1, 1, True, "1 word."),
        (1200, 1200, False, "1,200 words, in their order."),
        (1200, 200, True, "200 of 1,200 words are shown, the worst first."),
    ],
)
def test_leads(n, shown, judged, said):
    assert lead(n, shown, "word", judged=judged) == said


def test_numbers_and_what_they_count():
    assert [number_of(n, "link") for n in (0, 1, 2, 1200)] == ["0 links", "1 link", "2 links", "1,200 links"]
