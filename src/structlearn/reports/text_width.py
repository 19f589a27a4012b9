"""How wide text is in a monospaced font."""

from __future__ import annotations

from unicodedata import combining, east_asian_width


def text_columns(text: str) -> int:
    """Columns of a monospaced font that a text takes."""
    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)
