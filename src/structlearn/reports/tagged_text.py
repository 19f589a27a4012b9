"""Tagged text as HTML: every word coloured by its tag; words of one B-/I- span in one box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from structlearn.reports.page import Page
from structlearn.reports.templates import render

#: The tag of what is outside of all spans.
OUTSIDE = "O"


class TaggedText(NamedTuple):
    """A sequence of words with predicted tags and, where known, the right ones."""

    words: Sequence[str]
    tags: Sequence[str]
    gold: Sequence[str] | None = None


class _Box(NamedTuple):
    """Words in one box; outside of all spans, with no tag."""

    words: str
    tag: str | None = None
    wrong: bool = False
    hue: int = 0


def tagged_page(sentences: Iterable[TaggedText], *, title: str = "Tagged text", limit: int = 200) -> Page:
    """A page of tagged sentences; `html()` or `write(path)` it.

    Sentences with most wrong tags come first where right ones are known; `limit` is how many are shown.
    """
    numbered = list(enumerate(sentences, 1))
    judged = any(one.gold is not None for _, one in numbered)
    hues = _hues(tag for _, one in numbered for tag in (*one.tags, *(one.gold or ())))
    order = "the worst first" if judged else "in their order"
    shown = f"{limit} of {len(numbered)} are shown" if len(numbered) > limit else f"{len(numbered)} sequences"
    worst_first = sorted(numbered, key=lambda pair: -_share_wrong(pair[1]))[:limit]
    boxed = [(number, list(_boxes(one, hues))) for number, one in worst_first]
    return Page(title, f"{shown}, {order}.", "tagged.html", judged=judged, sentences=boxed)


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
    if str(one.tags[k])[:2] not in ("I-", "E-") or _kind(one.tags[k]) != _kind(one.tags[k - 1]):
        return False
    return one.gold is None or (one.gold[k] == one.tags[k] and one.gold[k - 1] == one.tags[k - 1])


def _box(one: TaggedText, start: int, end: int, hues: Mapping[str, int]) -> _Box:
    words = " ".join(map(str, one.words[start:end]))
    tag = str(one.tags[start])
    right = tag if one.gold is None else str(one.gold[start])
    if tag == right == OUTSIDE:
        return _Box(words)
    name = _kind(tag) if end > start + 1 else tag
    shown = name if right == tag else f"{name} [{right}]"
    return _Box(words, shown, right != tag, hues.get(_kind(tag), 0))


def _kind(tag: str) -> str:
    """What a tag is about: its name without B-, I-, E- or S-."""
    tag = str(tag)
    return tag[2:] if tag[:2] in ("B-", "I-", "E-", "S-") else tag


def _hues(tags: Iterable[str]) -> dict[str, int]:
    kinds = sorted({_kind(tag) for tag in tags})
    return {kind: round(360 * k / len(kinds)) for k, kind in enumerate(kinds)}


def _share_wrong(one: TaggedText) -> float:
    if one.gold is None or not len(one.words):
        return 0.0
    return sum(a != b for a, b in zip(one.gold, one.tags)) / len(one.words)
