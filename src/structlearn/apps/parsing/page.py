"""The page of parsed sentences: a drawing of each tree, the worst first where gold trees are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from structlearn.apps.parsing.drawing import KINDS, arcs_of, draw_tree, swatch
from structlearn.apps.parsing.metrics import ParsingScores, parsing_scores
from structlearn.core.contract import Array
from structlearn.reports import Page

#: Heads and labels of the words of a sentence.
HeadsAndLabels = tuple[Sequence[int] | Array, Sequence[str] | Array]


class ParsedSentence(NamedTuple):
    """A sentence with a predicted tree and, where known, its gold tree and confidences.

    Trees are pairs (heads, labels); confidences are one a word, between 0 and 1.
    """

    words: Sequence[str]
    tags: Sequence[str]
    predicted: HeadsAndLabels
    gold: HeadsAndLabels | None = None
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
    shown = sorted(numbered, key=lambda pair: _badness(pair[1]))[:limit]
    return Page(
        title,
        _lead(len(numbered), limit, bool(judged)),
        "trees.html",
        scores=_scores(judged) if judged else None,
        legend=[(swatch(kind), KINDS[kind]) for kind in KINDS if (kind == "plain") != bool(judged)],
        sentences=[(number, _note(one), _drawing(one)) for number, one in shown],
    )


def _lead(n: int, limit: int, judged: bool) -> str:
    order = "the worst first" if judged else "in their order"
    shown = f"{limit} of {n} sentences are shown" if n > limit else f"{n} sentences"
    return f"{shown}, {order}. Point at an arc to see what it is."


def _scores(judged: Sequence[ParsedSentence]) -> ParsingScores:
    golds = [one.gold for one in judged if one.gold is not None]
    return parsing_scores(golds, [one.predicted for one in judged], [one.tags for one in judged])


def _wrong(one: ParsedSentence) -> int:
    if one.gold is None:
        return 0
    return sum(int(a) != int(b) for a, b in zip(one.gold[0], one.predicted[0]))


def _badness(one: ParsedSentence) -> tuple[int, float]:
    return (1, 0.0) if one.gold is None else (0, -_wrong(one) / len(one.words))


def _note(one: ParsedSentence) -> str:
    return f"{_wrong(one)} of {len(one.words)} heads wrong" if one.gold is not None else ""


def _drawing(one: ParsedSentence) -> str:
    return draw_tree(one.words, one.tags, arcs_of(one.predicted, one.gold, one.confidence))
