"""How wide text is in a monospaced font, and columns of it."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import bidirectional, combining, east_asian_width


def display_width(text: str) -> int:
    """Columns of a monospaced font that a text takes."""
    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)


def align_columns(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Lines of columns of equal width: the first `left` flush left, the others flush right."""
    return "\n".join(aligned_lines(rows, left))


def aligned_lines(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The lines of `align_columns`, without white space at their ends."""
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_pad_cells(row, widths, left)).rstrip() for row in rows]


def _pad_cells(row: Sequence[str], widths: Sequence[int], left: int) -> list[str]:
    gaps = [" " * (width - display_width(cell)) for cell, width in zip(row, widths)]
    return [cell + gap if j < left else gap + cell for j, (cell, gap) in enumerate(zip(row, gaps))]


def runs_right_to_left(text: str) -> bool:
    """Whether the first letter that has a direction is of a script that is written from right to left."""
    found = (bidirectional(c) for c in text)
    return next((kind != "L" for kind in found if kind in ("L", "R", "AL")), False)


def shorten(text: str, most: int) -> str:
    """`text`, or its begin and an ellipsis, in at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
