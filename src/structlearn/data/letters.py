"""The OCR letters of Taskar et al.: handwritten words, letter by letter."""

from __future__ import annotations

import os
import re

import numpy as np
from numpy.typing import NDArray

from structlearn.data.text import open_text
from structlearn.storage.errors import DataError, StrPath

N_PIXELS = 128
#: id, letter, id of the next letter of the word (-1 if none), word, position, fold; then the pixels
_N_FIELDS = 6
_LAST = "-1"
_DIGITS = frozenset(b"01")
_FOLD = re.compile(r"[0-9]{1,9}")


def read_letters(
    path: StrPath,
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.str_]], NDArray[np.int64]]:
    """Read letter.data, plain, .gz or .zst.

    Returns
    -------
    X : list of ndarray of shape (length, 128)
        16 x 8 pixels, 0 or 1, one image per letter.
    y : list of ndarray of str
    folds : ndarray of shape (n_words,)
    """
    X, y, folds = [], [], []
    pixels: list[np.ndarray] = []
    letters: list[str] = []
    for number, line in open_text(path):
        fields = line.split("\t", _N_FIELDS)
        if len(fields) <= _N_FIELDS:
            raise DataError.at(
                path, number, f"{len(fields)} columns; expected {_N_FIELDS} and {N_PIXELS} pixels."
            )
        pixels.append(_pixels(fields[_N_FIELDS], path, number))
        letters.append(fields[1])
        if fields[2] == _LAST:
            X.append(np.array(pixels, dtype=np.float64))
            y.append(np.array(letters))
            if not _FOLD.fullmatch(fields[5]):
                raise DataError.at(path, number, f'the fold "{fields[5]}" is not a number.')
            folds.append(int(fields[5]))
            pixels, letters = [], []
    if not X:
        raise DataError(f"{os.fspath(path)} holds no words.")
    return X, y, np.array(folds)


def _pixels(text: str, path: StrPath, number: int) -> NDArray[np.uint8]:
    """Parse single digits 0 and 1, with a tab after each."""
    raw = text.rstrip("\t").encode()
    if len(raw) != 2 * N_PIXELS - 1 or set(raw[::2]) - _DIGITS or set(raw[1::2]) != {ord("\t")}:
        raise DataError.at(path, number, f"the pixels are not {N_PIXELS} columns of 0 and 1.")
    return np.frombuffer(raw, dtype=np.uint8)[::2] - ord("0")
