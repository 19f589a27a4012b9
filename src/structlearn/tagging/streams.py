"""Raw text as it comes: sentences leave as soon as they are whole, and no more is kept than one paragraph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from structlearn.tagging.tokenizers import Span, TokenizerEntry

#: Characters after which a paragraph is taken apart before its end is seen.
LONGEST = 1 << 16


class Passage(NamedTuple):
    """A piece of a longer text: the sentences in it, and where it begins."""

    text: str
    sentences: list[list[Span]]
    offset: int


def passages(pieces: Iterable[str], tokenizer: TokenizerEntry) -> Iterator[Passage]:
    """Yield the passages of a text that comes in pieces, of any size; all its tokens, each once and in order.

    A passage ends at a border, which no sentence goes across. Of a paragraph that is too long to wait for its
    end, all but the last sentence leaves; of a sentence that is too long, what is there up to a blank.
    """
    rest, offset = "", 0
    for piece in pieces:
        rest += piece
        sentences: list[list[Span]] | None = None
        end = max((match.end() for match in tokenizer.border.finditer(rest)), default=0)
        if not end and len(rest) >= LONGEST:
            sentences = tokenizer.split(rest)[:-1]
            end = sentences[-1][-1][1] if sentences else _last_blank(rest)
        if end:
            yield _passage(rest[:end], sentences or None, offset, tokenizer)
            rest, offset = rest[end:], offset + end
    if rest:
        yield _passage(rest, None, offset, tokenizer)


def _passage(
    text: str, sentences: list[list[Span]] | None, offset: int, tokenizer: TokenizerEntry
) -> Passage:
    return Passage(text, tokenizer.split(text) if sentences is None else sentences, offset)


def _last_blank(text: str) -> int:
    """Return the place behind the last blank; the end of a text without one."""
    return next((at for at in range(len(text), 0, -1) if text[at - 1].isspace()), len(text))
