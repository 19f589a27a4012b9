"""Text of others in sentences and tables of ours: quoted, escaped, cut short, and aligned by its width.

Whatever comes from data (cells, labels, names of columns, features and files, headers) may hold escape
sequences, line breaks, marks that reverse the direction of writing, bytes that are no text, or a million
characters. What these functions return cannot act on a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from unicodedata import bidirectional, combining, east_asian_width

#: The longest sentence that an error, a warning or a status may be.
LONGEST = 500
_CUT = " ... "


def quote(text: object, most: int = 60) -> str:
    """Put text between double quotes, unprintable characters escaped; of long text only the beginning."""
    whole = str(text)
    shown = escape_unprintable(whole[:most], quote=True)
    rest = len(whole) > most or len(shown) > 2 * most
    return f'"{shown[: 2 * most]}"... ({len(whole)} characters)' if rest else f'"{shown}"'


def list_names(names: Iterable[object], most: int = 10) -> str:
    """Join names by commas, unprintable characters escaped; "and 5 more" stands for those beyond `most`."""
    known: Sequence[str] = list(map(str, names))
    shown = [escape_unprintable(name) if len(name) <= 40 else quote(name, 30) for name in known[:most]]
    return ", ".join(shown) + (f" and {len(known) - most} more" if len(known) > most else "")


def count_of(n: int, noun: str) -> str:
    """Write a number of things: "1 example", "2 examples"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def kind_of(value: object) -> str:
    """Say what a value is, with its article: "an int", "a list", "None"."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def plain(sentence: object, most: int = LONGEST) -> str:
    """Make one line of at most `most` printable characters; what is too much goes from the middle."""
    whole = _without_middle(str(sentence), 8 * most)  # escaping a million characters takes its time
    return _without_middle(escape_unprintable(" ".join(whole.split())), most)


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - len(_CUT)]}{_CUT}{text[-tail:]}"


def escape_unprintable(text: str, *, quote: bool = False) -> str:
    """Write unprintable characters as Python does; within quotes also escape backslashes and quotes."""
    if text.isprintable() and not (quote and ("\\" in text or '"' in text)):
        return text
    return "".join(_character(one, quote) for one in text)


def _character(one: str, quote: bool) -> str:
    if quote and one in '\\"':
        return f"\\{one}"
    return one if one.isprintable() else repr(one)[1:-1]


# ---- columns of a monospaced font ------------------------------------------------------------------


def display_width(text: str) -> int:
    """Return the number of columns that a text takes in a monospaced font."""
    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)


def align_columns(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Lay rows out in columns of equal width: the first `left` flush left, the others flush right."""
    return "\n".join(aligned_lines(rows, left))


def aligned_lines(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of `align_columns`, without white space at their ends."""
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_pad_cells(row, widths, left)).rstrip() for row in rows]


def _pad_cells(row: Sequence[str], widths: Sequence[int], left: int) -> list[str]:
    gaps = [" " * (width - display_width(cell)) for cell, width in zip(row, widths)]
    return [cell + gap if j < left else gap + cell for j, (cell, gap) in enumerate(zip(row, gaps))]


def runs_right_to_left(text: str) -> bool:
    """Return whether the first letter that has a direction belongs to a right-to-left script."""
    found = (bidirectional(c) for c in text)
    return next((kind != "L" for kind in found if kind in ("L", "R", "AL")), False)


def shorten(text: str, most: int) -> str:
    """Return `text`, cut to `most` characters with an ellipsis at the end where it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
