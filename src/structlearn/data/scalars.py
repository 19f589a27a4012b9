"""From text to numbers and labels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from structlearn.core.wording import quote
from structlearn.storage.errors import DataError, StrPath

#: The largest feature that files may hold: sums of squares of such are finite.
LARGEST_FEATURE = 1e150
# At most 18 digits: these fit 64 bits.
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def parse_number(text: str) -> float:
    """Return the number that `text` spells, possibly nan or infinite; ValueError if it spells none.

    Stricter than `float`: no underscores between digits, no digits of other scripts.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f'"{text}" is not a number')
    return float(text)


def number_or_none(text: str) -> float | None:
    """Return the number that `text` spells, None if it spells none."""
    try:
        return parse_number(text)
    except ValueError:
        return None


def is_number(text: str) -> bool:
    """Whether `parse_number` accepts the text."""
    return number_or_none(text) is not None


def number_problem(text: str) -> str | None:
    """Return why a cell is not a finite number, as the end of a sentence; None if it is one."""
    if not text.strip():
        return "is empty"
    number = number_or_none(text)
    if number is None:
        return f"holds {quote(text)}, which is not a number"
    return None if math.isfinite(number) else f"holds {quote(text)}, which is not finite"


def parse_labels(texts: Sequence[str], path: StrPath, lines: Sequence[int]) -> np.ndarray:
    """Return labels as integers if all are, else as floats if all are numbers, else as strings.

    `path` and `lines`, the line of each label, are for error messages.
    """
    if all(map(_INTEGER.fullmatch, texts)):
        return np.array([int(text) for text in texts], dtype=np.int64)
    if not all(map(is_number, texts)):
        return np.array(texts, dtype=np.str_)
    numbers = np.array([parse_number(text) for text in texts], dtype=np.float64)
    for wrong in np.flatnonzero(~np.isfinite(numbers)).tolist():
        raise DataError.at(path, lines[wrong], f"the label {quote(texts[wrong])} is not finite.")
    return numbers


def class_labels(texts: Sequence[str]) -> np.ndarray:
    """Return the names of classes as they are spelled: integers if they are written so, else strings."""
    if all(_INTEGER.fullmatch(text) and str(int(text)) == text for text in set(texts)):
        return np.array([int(text) for text in texts], dtype=np.int64)
    return np.array(texts, dtype=np.str_)
