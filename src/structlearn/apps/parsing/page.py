"""The page of parsed sentences: a drawing of each tree, the worst first where gold trees are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from structlearn.apps.parsing.drawing import KINDS, STYLE, arcs_of, draw_tree, swatch
from structlearn.apps.parsing.metrics import LabelledTree, parsing_scores
from structlearn.reports import Page

_PAGE_STYLE = """
main { max-width: 80rem; }
.tree { margin: 0 0 2rem; } .tree h2 { margin-bottom: 0; }
.tree p { margin: .2rem 0 .6rem; max-width: none; color: var(--faint); }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.5rem; }
.legend li { display: flex; align-items: center; gap: .5rem; }
"""


class ParsedSentence(NamedTuple):
    """A sentence with a predicted tree and, where known, its gold tree and confidences.

    Trees are pairs (heads, labels); confidences are one a word, between 0 and 1.
    """

    words: Sequence[str]
    tags: Sequence[str]
    predicted: LabelledTree
    gold: LabelledTree | None = None
    confidence: Sequence[float] | None = None


def tree_page(
    sentences: Iterable[ParsedSentence], *, title: str = "Dependency trees", limit: int = 200
) -> Page:
    """A page that draws trees; `html()` or `write(path)` it.

    Sentences with gold trees come first, those with most wrong heads at the top. `limit` is how many are
    drawn at most; the figures at the top are of all.
    """
    numbered = list(enumerate(sentences, 1))
    judged = [one for _, one in numbered if one.gold is not None]
    page = Page(title, _lead(len(numbered), limit, bool(judged)), style=STYLE + _PAGE_STYLE)
    if judged:
        page.table(*_summary(judged))
    kinds = [kind for kind in KINDS if (kind == "plain") != bool(judged)]
    items = "\n".join(f"<li>{swatch(kind)} {KINDS[kind]}</li>" for kind in kinds)
    page.markup(f'<ul class="legend">\n{items}\n</ul>')
    for number, one in sorted(numbered, key=lambda pair: _badness(pair[1]))[:limit]:
        page.markup(_section(number, one))
    return page


def _lead(n: int, limit: int, judged: bool) -> str:
    order = "the worst first" if judged else "in their order"
    shown = f"{limit} of {n} sentences are shown" if n > limit else f"{n} sentences"
    return f"{shown}, {order}. Point at an arc to see what it is."


def _summary(judged: Sequence[ParsedSentence]) -> tuple[list[str], list[list[object]], str]:
    scores = parsing_scores(
        [one.gold for one in judged if one.gold is not None],
        [one.predicted for one in judged],
        [one.tags for one in judged],
    )
    header = ["sentences with gold trees", "words", "UAS", "LAS", "whole trees"]
    row: list[object] = [
        scores.sentences,
        scores.words,
        *(f"{share:.4f}" for share in (scores.uas, scores.las, scores.exact_match)),
    ]
    caption = (
        "UAS: the share of words, punctuation included, with the right head. LAS: with the right head and "
        "label, whose subtypes are left out. Whole trees: sentences with all heads right."
    )
    return header, [row], caption


def _wrong(one: ParsedSentence) -> int:
    if one.gold is None:
        return 0
    return sum(int(a) != int(b) for a, b in zip(one.gold[0], one.predicted[0]))


def _badness(one: ParsedSentence) -> tuple[int, float]:
    return (1, 0.0) if one.gold is None else (0, -_wrong(one) / len(one.words))


def _section(number: int, one: ParsedSentence) -> str:
    arcs = arcs_of(one.predicted, one.gold, one.confidence)
    note = f"{_wrong(one)} of {len(one.words)} heads wrong" if one.gold is not None else ""
    return (
        f'<section class="tree">\n<h2>Sentence {number}</h2>\n<p>{escape(note)}</p>\n'
        f'<div class="wide">{draw_tree(one.words, one.tags, arcs)}</div>\n</section>'
    )
