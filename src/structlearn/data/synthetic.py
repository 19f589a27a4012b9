"""Synthetic problems whose best predictor is known to be linear."""

from __future__ import annotations

from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from structlearn.data.columns import split_rows

Size: TypeAlias = int | tuple[int, int]
Seed: TypeAlias = int | np.random.Generator | None


def make_chains(
    n_sequences: int,
    length: Size,
    n_labels: int,
    n_features: int,
    random_state: Seed = None,
    *,
    noise: float = 1.0,
    dtype: DTypeLike = np.float64,
) -> tuple[list[np.ndarray], list[NDArray[np.int64]]]:
    """Draw sequences of a hidden Markov model: y_t ~ T[y_{t-1}], x_t = mean[y_t] + noise * Gaussian.

    log p(y | x) is linear in x and in the transitions, so a chain model can represent it exactly.

    Parameters
    ----------
    n_sequences : int
        Number of sequences.
    length : int, or (shortest, longest)
        Tokens in a sequence, drawn uniformly from a range.
    n_labels, n_features : int
        Sizes of the model.
    random_state : int, Generator or None
        Seed of the model and of the data.
    noise : float
        The means are about sqrt(2) apart, whatever n_features: at 1 (the default) single tokens are
        often mistaken, at 0.1 hardly ever.
    dtype : float64 or float32
        Type of X.

    Returns
    -------
    X : list of ndarray of shape (length, n_features)
        Views of one array.
    y : list of ndarray of shape (length,)
    """
    rng = np.random.default_rng(random_state)
    lengths = _sizes(length, n_sequences, rng)
    transitions = rng.dirichlet(np.full(n_labels, 0.3), size=n_labels)
    means = rng.standard_normal((n_labels, n_features)) / np.sqrt(n_features)
    # One step of all sequences at a time: the next label by inverting its distribution function.
    thresholds = np.cumsum(transitions, axis=1)[:, :-1]
    steps = np.empty((n_sequences, int(lengths.max(initial=0))), dtype=np.int64)
    if steps.size:
        steps[:, 0] = rng.integers(n_labels, size=n_sequences)
    for t in range(1, steps.shape[1]):
        steps[:, t] = (rng.random((n_sequences, 1)) > thresholds[steps[:, t - 1]]).sum(axis=1)
    labels = steps[np.arange(steps.shape[1]) < lengths[:, None]]
    kind = np.float32 if np.dtype(dtype) == np.float32 else np.float64
    X = rng.standard_normal((len(labels), n_features), dtype=kind)
    X *= kind(noise)
    X += means.astype(kind)[labels]
    return split_rows(X, lengths), split_rows(labels, lengths)


def make_multilabel(
    n_samples: int, n_labels: int, n_features: int, random_state: Seed = None, *, noise: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Label sets in which each label attracts or repels the next: x = sum_k y_k mean_k + noise * Gaussian.

    y_1, ..., y_K is a Markov chain of 0s and 1s, so neighbouring labels are correlated.

    Parameters
    ----------
    n_samples, n_labels, n_features : int
        Sizes of the problem.
    random_state : int, Generator or None
        Seed of the model and of the data.
    noise : float
        Standard deviation of the Gaussian; the means have a norm of about 1.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples, n_labels) of 0 and 1
    """
    rng = np.random.default_rng(random_state)
    # The chance that a label agrees with the one before: far from 1/2, on either side.
    agree = np.where(rng.random(n_labels) < 0.7, 0.85, 0.2)
    y = np.empty((n_samples, n_labels), dtype=np.int64)
    y[:, 0] = rng.random(n_samples) < 0.4
    for label in range(1, n_labels):
        y[:, label] = y[:, label - 1] ^ (rng.random(n_samples) >= agree[label])
    means = rng.standard_normal((n_labels, n_features)) / np.sqrt(n_features)
    return y @ means + noise * rng.standard_normal((n_samples, n_features)), y


def make_matchings(
    n_pairs: int, rows: Size, columns: Size, n_features: int, random_state: Seed = None, *, noise: float = 0.1
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
    """Draw best matchings of planted scores, <x_ij, w> + noise * Gaussian; edges below 0 stay out.

    Parameters
    ----------
    n_pairs : int
        Number of matching problems.
    rows, columns : int, or (smallest, largest)
        Nodes on either side, drawn uniformly from a range.
    n_features : int
        At least 2. The last feature is the constant 1; its negative weight leaves some nodes unmatched.
    random_state : int, Generator or None
        Seed of the weights and of the data.
    noise : float
        Standard deviation of the Gaussian; scores have one of 1.

    Returns
    -------
    X : list of ndarray of shape (m, n, n_features)
    y : list of ndarray of shape (m, n) of 0 and 1, at most one 1 in a row or column
    """
    if n_features < 2:
        raise ValueError(f"n_features must be at least 2 (the last is constant); got {n_features}.")
    rng = np.random.default_rng(random_state)
    m, n = _sizes(rows, n_pairs, rng), _sizes(columns, n_pairs, rng)
    w = rng.standard_normal(n_features)
    w[:-1] /= np.linalg.norm(w[:-1])
    # The other features score a standard Gaussian: a node has about one edge above 0, often none.
    w[-1] = -NormalDist().inv_cdf(1 - 1 / (1 + max(m.max(initial=1), n.max(initial=1))))
    X, y = [], []
    for shape in zip(m.tolist(), n.tolist()):
        x = rng.standard_normal((*shape, n_features))
        x[..., -1] = 1.0
        X.append(x)
        y.append(_best_matching(x @ w + noise * rng.standard_normal(shape)))
    return X, y


def make_segmentations(
    n_images: int, rows: int, columns: int, random_state: Seed = None, *, noise: float = 1.0
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
    """Draw images of two ellipses each on a background: x = y + noise * Gaussian, in three channels.

    Parameters
    ----------
    n_images, rows, columns : int
        Sizes of the problem.
    random_state : int, Generator or None
        Seed of the shapes and of the noise.
    noise : float
        At 1 (the default) a fifth of the pixels is mistaken without their neighbours.

    Returns
    -------
    X : list of ndarray of shape (rows, columns, 3)
    y : list of ndarray of shape (rows, columns) of 0 and 1
    """
    rng = np.random.default_rng(random_state)
    down, right = (np.mgrid[:rows, :columns] + 0.5) / np.array([rows, columns])[:, None, None]
    X, y = [], []
    for _ in range(n_images):
        inside = np.zeros((rows, columns), dtype=bool)
        for centre, radius in zip(rng.uniform(0.2, 0.8, size=(2, 2)), rng.uniform(0.1, 0.3, size=(2, 2))):
            inside |= ((down - centre[0]) / radius[0]) ** 2 + ((right - centre[1]) / radius[1]) ** 2 < 1
        y.append(inside.astype(np.int64))
        X.append(inside[..., None] + noise * rng.standard_normal((rows, columns, 3)))
    return X, y


def _best_matching(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    # Here, because importing scipy.optimize takes a quarter of a second.
    from scipy.optimize import linear_sum_assignment

    matching = np.zeros(scores.shape, dtype=np.int64)
    matching[linear_sum_assignment(np.maximum(scores, 0.0), maximize=True)] = 1
    return np.where(scores > 0, matching, 0)


def _sizes(size: Size, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    smallest, largest = size if isinstance(size, tuple) else (size, size)
    if not 1 <= smallest <= largest:
        raise ValueError(f"A size is at least 1, and a range is (smallest, largest); got {size}.")
    return rng.integers(smallest, largest + 1, size=count)
