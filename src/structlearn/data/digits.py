"""Sequences of handwritten digits, from the images that come with scikit-learn (no download)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import numpy as np
from numpy.typing import NDArray

from structlearn.data.synthetic import Seed

Images = list[NDArray[np.float64]]
Labels = list[NDArray[np.int64]]

_FIRST_DAY = date(1950, 1, 1).toordinal()
_LAST_DAY = date(2029, 12, 31).toordinal()


def digit_sequences(
    n_sequences: int = 500, *, kind: str = "dates", noise: float = 0.0, random_state: Seed = 0
) -> tuple[Images, Labels]:
    """Return handwritten numbers with a pattern that a chain can learn.

    Parameters
    ----------
    n_sequences : int
        How many to draw.
    kind : {"dates", "counters"}
        Valid dates 1950-2029 written YYYYMMDD; or runs such as 7 8 9 0 1, of 5 to 9 digits.
    noise : float
        Standard deviation of Gaussian noise on the pixels, which are then clipped to [0, 1].
    random_state : int, Generator or None
        Seed of the draw; the same integer gives the same sequences.

    Returns
    -------
    X : list of ndarray of shape (length, 64)
        8x8 pixels in [0, 1], one image a digit.
    y : list of ndarray of shape (length,)
    """
    rng = np.random.default_rng(random_state)
    pixels, digits = digit_images()
    pools = [pixels[digits == digit] for digit in range(10)]
    return _draw(n_sequences, _writer(kind), pools, noise, rng)


def train_test_digit_sequences(
    n_train: int = 500,
    n_test: int = 500,
    *,
    kind: str = "dates",
    noise: float = 0.0,
    test_size: float = 0.5,
    random_state: Seed = 0,
) -> tuple[Images, Images, Labels, Labels]:
    """Return sequences like those of `digit_sequences`, for training and testing, from disjoint images.

    Parameters
    ----------
    n_train, n_test : int
        Numbers of sequences.
    kind, noise, random_state
        As for `digit_sequences`.
    test_size : float
        The share of each digit's images that is set aside for the test sequences.

    Returns
    -------
    X_train, X_test, y_train, y_test : lists
        In the order of scikit-learn's `train_test_split`.
    """
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must be between 0 and 1; got {test_size}.")
    rng = np.random.default_rng(random_state)
    write = _writer(kind)
    pixels, digits = digit_images()
    train, test = [], []
    for digit in range(10):
        pool = rng.permutation(pixels[digits == digit])
        n_aside = min(max(round(test_size * len(pool)), 1), len(pool) - 1)
        test.append(pool[:n_aside])
        train.append(pool[n_aside:])
    X_train, y_train = _draw(n_train, write, train, noise, rng)
    X_test, y_test = _draw(n_test, write, test, noise, rng)
    return X_train, X_test, y_train, y_test


def digit_images() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return pixels in [0, 1], 64 per image, and the digits."""
    # Here, because importing scikit-learn takes over a second.
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    return pixels / 16.0, digits


def _draw(
    n_sequences: int,
    write: Callable[[np.random.Generator], list[int]],
    pools: Images,
    noise: float,
    rng: np.random.Generator,
) -> tuple[Images, Labels]:
    y = [np.array(write(rng), dtype=np.int64) for _ in range(n_sequences)]
    X = [np.stack([pools[digit][rng.integers(len(pools[digit]))] for digit in digits]) for digits in y]
    if noise:
        X = [np.clip(images + noise * rng.standard_normal(images.shape), 0.0, 1.0) for images in X]
    return X, y


def _writer(kind: str) -> Callable[[np.random.Generator], list[int]]:
    writers = {"dates": _date, "counters": _counter}
    if kind not in writers:
        raise ValueError(f'kind must be "dates" or "counters"; got {kind!r}.')
    return writers[kind]


def _date(rng: np.random.Generator) -> list[int]:
    day = date.fromordinal(int(rng.integers(_FIRST_DAY, _LAST_DAY + 1)))
    return [int(digit) for digit in f"{day:%Y%m%d}"]


def _counter(rng: np.random.Generator) -> list[int]:
    start, length = rng.integers(10), rng.integers(5, 10)
    return [int(start + step) % 10 for step in range(length)]
