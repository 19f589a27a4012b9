"""Tagged text as HTML: every word coloured by its tag; words of one B-/I- span in one box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from structlearn.reports.page import Page
from structlearn.reports.summaries import Summary, hues, lead
from structlearn.reports.templates import render

#: The tag of what is outside of all spans.
OUTSIDE = "O"
#: Words that a page shows at most of one sequence, and of all together: so it stays below some 10 MB.
MOST_WORDS, MOST_WORDS_OF_ALL = 1000, 50_000


class Why(NamedTuple):
    """What speaks for a label against the runner-up: names and amounts, and the difference of scores."""

    label: str
    runner_up: str
    difference: str
    parts: Sequence[tuple[str, str]]


class TaggedText(NamedTuple):
    """A sequence of words with predicted tags and, where known, the right ones, and why the tags are so."""

    words: Sequence[str]
    tags: Sequence[str]
    gold: Sequence[str] | None = None
    why: Sequence[Why | None] = ()


class _Box(NamedTuple):
    """Words in one box; outside of all spans, with no tag."""

    words: str
    tag: str | None = None
    wrong: bool = False
    hue: int = 0
    whys: Sequence[tuple[str, Why]] = ()


def tagged_page(
    sentences: Iterable[TaggedText],
    *,
    title: str = "Tagged text",
    numbers: Sequence[int] | None = None,
    summary: Summary | None = None,
    every: Sequence[TaggedText] | None = None,
) -> Page:
    """Return a page of tagged sentences in the order given; `html()` or `write(path)` it.

    numbers : of the sentences shown; 1, 2 ... unless given
    summary : shown on top
    every : all sentences, whose tags have colours, where not all are shown
    """
    given = list(sentences)
    shown = list(_within_bounds(given))
    every = given if every is None else every
    judged = any(one.gold is not None for one in shown)
    colours = _hues(tag for one in every for tag in (*one.tags, *(one.gold or ())))
    boxed = [(list(_boxes(_cut(one), colours)), len(one.words) - MOST_WORDS) for one in shown]
    return Page(
        title,
        lead(len(every), len(shown), "sequence", judged=judged),
        "tagged.html",
        judged=judged,
        summary=summary,
        legend=[(hue, kind) for kind, hue in colours.items() if kind != OUTSIDE],
        explained=any(why for one in shown for why in one.why),
        sentences=[(number, *one) for number, one in zip(numbers or range(1, len(shown) + 1), boxed)],
    )


def _within_bounds(sentences: Iterable[TaggedText]) -> Iterator[TaggedText]:
    """Yield the first of them, until there are words enough."""
    n_words = 0
    for one in sentences:
        if n_words >= MOST_WORDS_OF_ALL:
            return
        n_words += min(len(one.words), MOST_WORDS)
        yield one


def _cut(one: TaggedText) -> TaggedText:
    gold = None if one.gold is None else one.gold[:MOST_WORDS]
    return TaggedText(one.words[:MOST_WORDS], one.tags[:MOST_WORDS], gold, one.why[:MOST_WORDS])


def draw_tagged(one: TaggedText) -> str:
    """Return a paragraph of coloured words."""
    return render("tagged_text.html", boxes=_boxes(one, _hues(one.tags)))


def _boxes(one: TaggedText, colours: Mapping[str, int]) -> Iterator[_Box]:
    """Yield the words of one span together, or single words; `colours` are hues by kind of tag."""
    start = 0
    while start < len(one.words):
        end = start + 1
        while end < len(one.words) and _continues(one, end):
            end += 1
        yield _box(one, start, end, colours)
        start = end


def _continues(one: TaggedText, k: int) -> bool:
    """Whether word k belongs to the span of the word before, rightly or in both."""
    if not _is_inside(one.tags, k):
        return False
    return one.gold is None or (one.gold[k] == one.tags[k] and one.gold[k - 1] == one.tags[k - 1])


def _box(one: TaggedText, start: int, end: int, colours: Mapping[str, int]) -> _Box:
    words = " ".join(map(str, one.words[start:end]))
    tag = str(one.tags[start])
    right = tag if one.gold is None else str(one.gold[start])
    known = zip(one.words[start:end], one.why[start:end])
    whys = [(str(word), why) for word, why in known if why is not None]
    if tag == right == OUTSIDE:
        return _Box(words, whys=whys)
    name = _kind(tag) if end > start + 1 or (right == tag and _is_whole(one, start)) else tag
    shown = name if right == tag else f"{name} [{right}]"
    return _Box(words, shown, right != tag, colours.get(_kind(tag), 0), whys)


def _is_whole(one: TaggedText, k: int) -> bool:
    """Whether word k is a span by itself."""
    if str(one.tags[k])[:2] not in ("B-", "S-", "U-"):
        return False
    return k + 1 == len(one.words) or not _is_inside(one.tags, k + 1)


def _is_inside(tags: Sequence[str], k: int) -> bool:
    """Whether tag k goes on with the span of the tag before."""
    return str(tags[k])[:2] in ("I-", "E-", "L-") and _kind(tags[k]) == _kind(tags[k - 1])


def _kind(tag: str) -> str:
    """Return what a tag is about: its name without B-, I-, E- or S- (or L-, U-)."""
    tag = str(tag)
    return tag[2:] if tag[:2] in ("B-", "I-", "E-", "S-", "L-", "U-") else tag


def _hues(tags: Iterable[str]) -> dict[str, int]:
    return hues({_kind(tag) for tag in tags})
