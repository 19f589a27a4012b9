"""Tagged text as HTML: every word coloured by its tag; words of one B-/I- span in one box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from structlearn.reports.page import Page
from structlearn.reports.templates import render

#: The tag of what is outside of all spans.
OUTSIDE = "O"


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


class Summary(NamedTuple):
    """How right all sequences are.

    counted : "spans" or "labels"
    rows : name, precision, recall, F1, and numbers of gold, found and right ones
    confusions : gold and predicted label, how often, and the share of all mistakes
    """

    counted: str
    accuracy: str
    n_tokens: int
    rows: Sequence[Sequence[object]]
    confusions: Sequence[Sequence[object]]


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
    """A page of tagged sentences in the order given; `html()` or `write(path)` it.

    numbers : of the sentences shown; 1, 2 ... unless given
    summary : shown on top
    every : all sentences, whose tags have colours, where not all are shown
    """
    shown = list(sentences)
    every = shown if every is None else every
    judged = any(one.gold is not None for one in shown)
    hues = _hues(tag for one in every for tag in (*one.tags, *(one.gold or ())))
    order = "the worst first" if judged else "in their order"
    some = len(every) > len(shown)
    lead = f"{len(shown)} of {len(every)} are shown" if some else f"{len(shown)} sequences"
    boxed = [list(_boxes(one, hues)) for one in shown]
    return Page(
        title,
        f"{lead}, {order}.",
        "tagged.html",
        judged=judged,
        summary=summary,
        legend=[pair for pair in hues.items() if pair[0] != OUTSIDE],
        explained=any(why for one in shown for why in one.why),
        sentences=list(zip(numbers or range(1, len(shown) + 1), boxed)),
    )


def draw_tagged(one: TaggedText) -> str:
    """A paragraph of coloured words."""
    return render("tagged_text.html", boxes=_boxes(one, _hues(one.tags)))


def _boxes(one: TaggedText, hues: Mapping[str, int]) -> Iterator[_Box]:
    """Words of one span together, or single words; `hues` are colours by kind of tag."""
    start = 0
    while start < len(one.words):
        end = start + 1
        while end < len(one.words) and _continues(one, end):
            end += 1
        yield _box(one, start, end, hues)
        start = end


def _continues(one: TaggedText, k: int) -> bool:
    """Whether word k belongs to the span of the word before, rightly or in both."""
    if str(one.tags[k])[:2] not in ("I-", "E-", "L-") or _kind(one.tags[k]) != _kind(one.tags[k - 1]):
        return False
    return one.gold is None or (one.gold[k] == one.tags[k] and one.gold[k - 1] == one.tags[k - 1])


def _box(one: TaggedText, start: int, end: int, hues: Mapping[str, int]) -> _Box:
    words = " ".join(map(str, one.words[start:end]))
    tag = str(one.tags[start])
    right = tag if one.gold is None else str(one.gold[start])
    known = zip(one.words[start:end], one.why[start:end])
    whys = [(str(word), why) for word, why in known if why is not None]
    if tag == right == OUTSIDE:
        return _Box(words, whys=whys)
    name = _kind(tag) if end > start + 1 else tag
    shown = name if right == tag else f"{name} [{right}]"
    return _Box(words, shown, right != tag, hues.get(_kind(tag), 0), whys)


def _kind(tag: str) -> str:
    """What a tag is about: its name without B-, I-, E- or S- (or L-, U-)."""
    tag = str(tag)
    return tag[2:] if tag[:2] in ("B-", "I-", "E-", "S-", "L-", "U-") else tag


def _hues(tags: Iterable[str]) -> dict[str, int]:
    kinds = sorted({_kind(tag) for tag in tags})
    return {kind: round(360 * k / len(kinds)) for k, kind in enumerate(kinds)}
