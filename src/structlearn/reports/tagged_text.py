"""Tagged text as HTML: every word coloured by its tag; words of one B-/I- span in one box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from structlearn.reports.page import Page

#: The tag of what is outside of all spans.
OUTSIDE = "O"

STYLE = """
.tagged { line-height: 3; margin: 0 0 1.2rem; max-width: none; }
.span { display: inline-block; line-height: 1.3; margin: 0 .15rem; padding: .1rem .35rem; text-align: center;
  border-radius: 5px; vertical-align: middle; background: hsl(var(--hue) 70% 88%); }
.span small { display: block; font-size: .65rem; color: #333b42; }
.span, .span small { color: #1d2329; }
.span.wrong { outline: 2px dashed #c25b00; }
.outside { margin: 0 .15rem; }
@media (prefers-color-scheme: dark) {
  .span { background: hsl(var(--hue) 35% 30%); } .span, .span small { color: #e4e8ec; }
  .span.wrong { outline-color: #f5a04a; }
}
"""


class TaggedText(NamedTuple):
    """A sequence of words with predicted tags and, where known, the right ones."""

    words: Sequence[str]
    tags: Sequence[str]
    gold: Sequence[str] | None = None


def tagged_page(sentences: Iterable[TaggedText], *, title: str = "Tagged text", limit: int = 200) -> Page:
    """A page of tagged sentences; `html()` or `write(path)` it.

    Sentences with most wrong tags come first where right ones are known; `limit` is how many are shown.
    """
    numbered = list(enumerate(sentences, 1))
    judged = any(one.gold is not None for _, one in numbered)
    hues = _hues(tag for _, one in numbered for tag in (*one.tags, *(one.gold or ())))
    order = "the worst first" if judged else "in their order"
    shown = f"{limit} of {len(numbered)} are shown" if len(numbered) > limit else f"{len(numbered)} sequences"
    page = Page(title, f"{shown}, {order}.", style=STYLE)
    if judged:
        page.text("A dashed frame: a wrong tag, with the right one in brackets.")
    for number, one in sorted(numbered, key=lambda pair: -_share_wrong(pair[1]))[:limit]:
        page.section(f"Sequence {number}").markup(draw_tagged(one, hues))
    return page


def draw_tagged(one: TaggedText, hues: dict[str, int] | None = None) -> str:
    """A paragraph of coloured words; `hues` are colours by kind of tag."""
    hues = _hues(one.tags) if hues is None else hues
    return f'<p class="tagged">{" ".join(_spans(one, hues))}</p>'


def _spans(one: TaggedText, hues: dict[str, int]) -> Iterator[str]:
    """Runs of words that are one span, or single words."""
    start = 0
    while start < len(one.words):
        end = start + 1
        while end < len(one.words) and _continues(one, end):
            end += 1
        yield _box(one, start, end, hues)
        start = end


def _continues(one: TaggedText, k: int) -> bool:
    """Whether word k belongs to the span of the word before, rightly or in both."""
    if not _inside(one.tags[k]) or _kind(one.tags[k]) != _kind(one.tags[k - 1]):
        return False
    return one.gold is None or (one.gold[k] == one.tags[k] and one.gold[k - 1] == one.tags[k - 1])


def _inside(tag: str) -> bool:
    return str(tag)[:2] in ("I-", "E-")


def _box(one: TaggedText, start: int, end: int, hues: dict[str, int]) -> str:
    words = escape(" ".join(map(str, one.words[start:end])))
    tag, right = str(one.tags[start]), None if one.gold is None else str(one.gold[start])
    wrong = right is not None and right != tag
    if tag == OUTSIDE and not wrong:
        return f'<span class="outside">{words}</span>'
    name = _kind(tag) if end > start + 1 else tag
    shown = escape(f"{name} [{right}]" if wrong else name)
    kind = "span wrong" if wrong else "span"
    return (
        f'<span class="{kind}" style="--hue:{hues.get(_kind(tag), 0)}">{words}<small>{shown}</small></span>'
    )


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
