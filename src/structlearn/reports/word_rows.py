"""Where the words of a sentence stand when they are drawn in a row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from structlearn.core.wording import display_width, runs_right_to_left, shorten

#: The width of a character of the monospaced 14px font.
CHARACTER = 8.5
#: Longer words are cut, in characters.
LONGEST_WORD = 30


def word_width(word: str) -> float:
    """Return the width of a word, cut where it is long."""
    return CHARACTER * display_width(shorten(word, LONGEST_WORD))


def word_centres(words: Sequence[str], gap: float, least: Sequence[float] = ()) -> tuple[list[float], float]:
    """Return the middle of each word, and the width of the row; Arabic and Hebrew start at the right.

    gap : between two words
    least : widths that each word has at least
    """
    widths = [word_width(word) + gap for word in words]
    if least:
        widths = [max(width, other + gap) for width, other in zip(widths, least, strict=True)]
    ends = list(accumulate(widths, initial=0.0))
    centres = [(a + b) / 2 for a, b in pairwise(ends)]
    if runs_right_to_left(" ".join(words)):
        centres = [ends[-1] - x for x in centres]
    return centres, ends[-1]
