"""Three items, and the question which two of them are most alike: three outcomes, each a pair."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from structlearn.data.archives import read_arrays
from structlearn.data.digits import digit_images
from structlearn.data.synthetic import Seed
from structlearn.storage.errors import DataError, StrPath

#: The pairs of three items. Outcome k says that pair k is most alike.
PAIRS = ((0, 1), (0, 2), (1, 2))


def read_triplets(path: StrPath) -> tuple[np.ndarray, NDArray[np.int64], NDArray[np.int64]]:
    """Read judgements (head, close, far), and make of them triplets with the pair that is most alike.

    Two items of a triplet are most alike if each, as the head, was judged closer to the other than to the
    third. Triplets whose judgements name no such pair are left out.

    Parameters
    ----------
    path : str or path
        An .npz file with the arrays `X`, the items' features, and `triplets`, rows (head, close, far).

    Returns
    -------
    items : ndarray of shape (n_items, n_features)
    triplets : ndarray of shape (n, 3)
        Items, in increasing order.
    outcomes : ndarray of shape (n,)
        Positions in `PAIRS`.
    """
    items, judgements = _arrays(os.fspath(path))
    triplets, inverse = np.unique(np.sort(judgements, axis=1), axis=0, return_inverse=True)
    where = inverse.ravel()
    votes = np.zeros((len(triplets), len(PAIRS)), dtype=np.int64)
    chosen = np.sort(judgements[:, :2], axis=1)
    for k, (a, b) in enumerate(PAIRS):
        agree = (chosen == triplets[where][:, [a, b]]).all(axis=1)
        for head in (a, b):
            by = agree & (judgements[:, 0] == triplets[where, head])
            votes[:, k] += np.bincount(where[by], minlength=len(triplets)) > 0
    decided = (votes == 2).sum(axis=1) == 1
    return items, triplets[decided], votes[decided].argmax(axis=1)


def _arrays(name: str) -> tuple[np.ndarray, NDArray[np.int64]]:
    arrays = read_arrays(name, ("X", "triplets"))
    if len(arrays) < 2:
        raise DataError(f"{name} is no .npz file with the arrays X and triplets.")
    items, judgements = arrays["X"], arrays["triplets"]
    if items.ndim != 2 or items.dtype.kind not in "fiu" or not np.isfinite(items).all():
        raise DataError(f"{name}: X must be a matrix of finite numbers.")
    whole = judgements.dtype.kind in "iu" and judgements.ndim == 2 and judgements.shape[1] == 3
    if not whole or not len(judgements) or judgements.min() < 0 or judgements.max() >= len(items):
        raise DataError(f"{name}: triplets must be rows of three positions in X.")
    return items, judgements.astype(np.int64)


def digit_triplets(
    n_triplets: int, *, random_state: Seed = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return triplets of scikit-learn's handwritten digits, two of one digit and one of another.

    Parameters
    ----------
    n_triplets : int
    random_state : int, Generator or None

    Returns
    -------
    items, triplets, outcomes
        As `read_triplets` gives them; the pair of equal digits is the one most alike.
    """
    pixels, digits = digit_images()
    rng = np.random.default_rng(random_state)
    pools = [np.flatnonzero(digits == digit) for digit in range(10)]
    triplets = np.empty((n_triplets, 3), dtype=np.int64)
    outcomes = rng.integers(len(PAIRS), size=n_triplets)
    for row, outcome in zip(triplets, outcomes):
        same, other = rng.choice(10, size=2, replace=False)
        row[:] = rng.choice(pools[other])
        row[list(PAIRS[outcome])] = rng.choice(pools[same], size=2, replace=False)
    return pixels, triplets, outcomes


def pair_features(items: np.ndarray, triplets: NDArray[np.int64]) -> np.ndarray:
    """|x_a - x_b| of the three pairs of each triplet: an array of shape (n, 3, n_features)."""
    return np.stack([np.abs(items[triplets[:, a]] - items[triplets[:, b]]) for a, b in PAIRS], axis=1)
