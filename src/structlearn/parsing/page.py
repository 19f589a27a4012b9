"""The page of parsed sentences: a drawing of each tree, the worst first where gold trees are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from structlearn.core.contract import Array
from structlearn.parsing.drawing import KINDS, TreeDrawing, arcs_of, draw_tree
from structlearn.parsing.metrics import ParsingScores, parsing_scores
from structlearn.reports import Page
from structlearn.reports.summaries import lead

#: Heads and labels of the words of a sentence.
HeadsAndLabels = tuple[Sequence[int] | Array, Sequence[str] | Array]
#: Longer sentences are not drawn.
MOST_WORDS = 200


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
    """Return a page that draws trees; `html()` or `write(path)` it.

    Sentences with gold trees come first, those with most wrong heads at the top. `limit` is how many are
    drawn at most; the figures at the top are of all.
    """
    numbered = list(enumerate(sentences, 1))
    judged = [one for _, one in numbered if one.gold is not None]
    shown = sorted(numbered, key=lambda pair: _badness(pair[1]))[:limit]
    counted = lead(len(numbered), len(shown), "sentence", judged=bool(judged))
    return Page(
        title,
        f"{counted} Point at an arc to see what it is.",
        "trees.html",
        scores=_scores(judged) if judged else None,
        legend=[(kind, KINDS[kind]) for kind in KINDS if (kind == "plain") != bool(judged)],
        sentences=[(number, _note(one), _drawing(one)) for number, one in shown],
    )


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
    told = [
        f"{_wrong(one)} of {len(one.words)} heads wrong" if one.gold is not None else "",
        f"{len(one.words)} words: too long to be drawn" if len(one.words) > MOST_WORDS else "",
    ]
    return ", ".join(filter(None, told))


def _drawing(one: ParsedSentence) -> TreeDrawing | None:
    if len(one.words) > MOST_WORDS:
        return None
    return draw_tree(one.words, one.tags, arcs_of(one.predicted, one.gold, one.confidence))
