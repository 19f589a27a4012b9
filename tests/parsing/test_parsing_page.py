"""Pages of trees and of tagged text: what comes from data is escaped, mistakes are marked."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from structlearn.parsing.drawing import arcs_of, draw_tree
from structlearn.parsing.page import ParsedSentence, tree_page
from structlearn.reports.tagged_text import TaggedText, draw_tagged, tagged_page
from structlearn.reports.templates import render

EVIL = '<script>alert("x")</script>'


def parsed(words, heads, gold=None, **options):
    labels = [EVIL] * len(words)
    right = None if gold is None else (np.array(gold), labels)
    return ParsedSentence(words, ["X&Y"] * len(words), (np.array(heads), labels), right, **options)


def svg_of(words, tags, arcs):
    return render("tree.html", drawing=draw_tree(words, tags, arcs))


def test_pages_are_escaped_and_need_nothing_else():
    page = tree_page([parsed([EVIL, "b"], [2, 0], gold=[0, 1])], title=EVIL).html()
    tags = tagged_page([TaggedText([EVIL, "b"], [EVIL, "O"], ["O", EVIL])], title=EVIL).html()
    for html in (page, tags):
        assert "<script" not in html
        assert "&lt;script&gt;" in html
        assert "http://" not in html.replace("http-equiv", "")
        assert "https://" not in html


def test_every_arc_is_drawn_once_with_its_kind():
    arcs = arcs_of(
        (np.array([2, 0, 2]), ["a", "b", "c"]), (np.array([2, 0, 1]), ["a", "x", "c"]), [0.1, 0.2, 0.3]
    )
    kinds = {(arc.head, arc.word): arc.kind for arc in arcs}
    assert kinds == {(2, 1): "right", (0, 2): "relabelled", (2, 3): "wrong", (1, 3): "missed"}
    svg = ElementTree.fromstring(svg_of(["u", "v", "w"], ["A", "B", "C"], arcs))  # noqa: S314  (ours)
    groups = [one for one in svg if one.tag == "g"]
    assert sorted(one.get("class").split()[1] for one in groups) == sorted(kinds.values())
    titles = [one.find("title").text for one in groups]
    assert "v → w, c: predicted, the head wrong, confidence 0.30" in titles
    texts = [one.text for one in svg if one.tag == "text"]
    assert texts == ["u", "A", "v", "B", "w", "C"]


def test_arcs_over_the_same_words_have_different_heights():
    arcs = arcs_of((np.array([2, 0]), "ab"), (np.array([0, 1]), "ab"))
    heights = re.findall(r" Q[0-9.]+ ([0-9.]+) ", svg_of("uv", "AB", arcs))[::2]
    assert len(set(heights)) == len(heights) == 2


def test_all_is_inside_the_picture_and_labels_are_no_wider_than_their_arcs():
    """A short word with many arcs, at either end of the sentence."""
    for heads in ([0, 1, 1, 1, 1, 1, 1], [7, 7, 7, 7, 7, 7, 0]):
        arcs = arcs_of((np.array(heads), ["relation"] * 7))
        svg = ElementTree.fromstring(svg_of("abcdefg", "ABCDEFG", arcs))  # noqa: S314  (ours)
        width = float(svg.get("width"))
        for group in (one for one in svg if one.tag == "g"):
            label = group.find("text")
            half = 10 * 0.6 * len(label.text) / 2  # of a monospaced 10px font
            ends = [float(x) for x in re.findall(r"[MQ]([-0-9.]+) ", group.find("path").get("d"))]
            middle = float(label.get("x"))
            assert min(middle - half, *ends) >= 0
            assert max(middle + half, *ends) <= width
            if len(set(ends)) > 1:
                assert max(ends) - min(ends) >= 2 * half


def test_the_worst_sentence_comes_first_and_the_limit_holds():
    good, bad = parsed(["a", "b"], [0, 1], gold=[0, 1]), parsed(["c", "d"], [2, 0], gold=[0, 1])
    page = tree_page([good, bad], limit=1).html()
    assert "Sentence 2" in page
    assert "Sentence 1<" not in page
    assert "1 of 2 sentences are shown" in page
    assert "0.5000" in page  # UAS of all


def test_spans_are_one_box_and_mistakes_show_the_right_tag():
    html = draw_tagged(TaggedText(["New", "York", "is", "big"], ["B-LOC", "I-LOC", "O", "O"]))
    assert re.findall(r'class="(\w+)"', html) == ["tagged", "span", "outside", "outside"]
    assert "New York<small>LOC</small>" in html
    html = draw_tagged(TaggedText(["New", "York"], ["B-LOC", "I-LOC"], ["B-LOC", "O"]))
    assert "York<small>I-LOC [O]</small>" in html
    assert html.count("span wrong") == 1


def projective(words, head, rng):
    """Heads of a random projective tree over `words`, in their order."""
    if not words:
        return {}
    root = rng.choice(words)
    sides = [[word for word in words if word < root], [word for word in words if word > root]]
    return {root: head, **projective(sides[0], root, rng), **projective(sides[1], root, rng)}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("word", ["word", "كلمة"])
def test_arcs_of_projective_trees_do_not_cross(seed, word):
    heads = projective(list(range(1, 11)), 0, np.random.default_rng(seed))
    arcs = arcs_of((np.array([heads[k] for k in range(1, 11)]), ["x"] * 10))
    drawn = []
    for one in draw_tree([word] * 10, ["T"] * 10, arcs).arcs:
        x = [float(place) for place in re.findall(r"[MQH]([-0-9.]+)", one.path)]
        drawn.append((min(x), max(x), one.y, {x[0], x[-1]}))
    for low, high, y, _ in drawn:
        for _, _, top, feet in drawn:  # a foot goes down from its own top
            assert not any(low + 0.2 < foot < high - 0.2 and top < y for foot in feet)
