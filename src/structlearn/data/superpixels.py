"""Graphs of superpixels: the segments of an image are nodes, those that touch are joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from structlearn.core.contract import Array


class Superpixels(NamedTuple):
    """An image as a graph of its segments.

    Attributes
    ----------
    nodes : array of shape (n, channels + channels + 2)
        Mean values, their standard deviations, and the centre, down and right, between 0 and 1.
    edges : array of shape (m, 2)
        Pairs of segments that touch, each once.
    edge_features : array of shape (m, 3)
        1, how alike the mean values are (exp of minus their squared distance over the mean of all edges), and
        the share of the smaller segment's border that both share.
    segments : array of shape (rows, columns)
        Which segment a pixel belongs to.
    areas : array of shape (n,)
        The share of the image's pixels that each has: what errors may cost.
    """

    nodes: Array
    edges: Array
    edge_features: Array
    segments: Array
    areas: Array

    @property
    def graph(self) -> tuple[Array, Array, Array]:
        """The example that `GraphClassifier` takes."""
        return self.nodes, self.edges, self.edge_features

    def labels(self, pixels: ArrayLike) -> Array:
        """Return the most frequent label of each segment's pixels, whole numbers; -1, where that is -1."""
        labels = np.asarray(pixels)
        if labels.shape != self.segments.shape:
            raise ValueError(f"Labels are of shape {labels.shape}, but the image of {self.segments.shape}.")
        known, codes = np.unique(labels, return_inverse=True)
        n = len(self.nodes)
        counts = np.bincount(self.segments.ravel() * len(known) + codes.ravel(), minlength=n * len(known))
        return known[counts.reshape(n, -1).argmax(axis=1)]

    def paint(self, labels: ArrayLike) -> Array:
        """Return the labels of segments as labels of pixels."""
        return np.asarray(labels)[self.segments]


def superpixel_graph(
    image: ArrayLike, n_segments: int = 200, *, compactness: float = 10.0, segments: ArrayLike | None = None
) -> Superpixels:
    """Return the segments of an image, by SLIC of scikit-image or as given, as a graph.

    Parameters
    ----------
    image : array-like of shape (rows, columns) or (rows, columns, channels)
    n_segments : int
        About how many segments there shall be.
    compactness : float
        How much nearness counts beside likeness, where SLIC makes the segments.
    segments : integer array-like of shape (rows, columns), optional
        The segment of each pixel; then scikit-image is not needed.
    """
    pixels = np.atleast_3d(np.asarray(image, dtype=np.float64))
    if pixels.ndim != 3 or 0 in pixels.shape:
        raise ValueError(f"An image is of shape (rows, columns[, channels]); got {np.shape(image)}.")
    if not np.isfinite(pixels).all():
        raise ValueError("The image contains NaN or infinity.")
    found = _slic(pixels, n_segments, compactness) if segments is None else np.asarray(segments)
    if found.shape != pixels.shape[:2] or found.dtype.kind not in "iu":
        raise ValueError(f"segments must be whole numbers of shape {pixels.shape[:2]}; got {found.shape}.")
    _, numbers = np.unique(found, return_inverse=True)
    return _graph(pixels, numbers.reshape(found.shape))


def _slic(pixels: Array, n_segments: int, compactness: float) -> Array:
    try:
        from skimage.segmentation import slic
    except ImportError:
        raise ImportError(
            "superpixel_graph makes segments by scikit-image: install structlearn[graphs], or pass segments."
        ) from None
    low, high = pixels.min(), pixels.max()
    scaled = (pixels - low) / max(high - low, 1e-12)
    found: Array = slic(scaled, n_segments, compactness, channel_axis=2, convert2lab=pixels.shape[2] == 3)
    return found


def _graph(pixels: Array, segments: Array) -> Superpixels:
    flat, n = segments.ravel(), int(segments.max()) + 1
    areas = np.bincount(flat, minlength=n)
    places = np.indices(segments.shape).reshape(2, -1).T / np.maximum(np.array(segments.shape) - 1, 1)
    values = pixels.reshape(-1, pixels.shape[2])
    means, squares, centres = (_means(one, flat, areas) for one in (values, np.square(values), places))
    deviations = np.sqrt(np.maximum(squares - np.square(means), 0.0))
    edges, lengths = _borders(segments, n)
    apart = np.square(means[edges[:, 0]] - means[edges[:, 1]]).sum(axis=1)
    like = np.exp(-apart / (apart.mean() if apart.any() else 1.0))
    around = np.bincount(edges.ravel(), np.repeat(lengths, 2), n)
    share = lengths / np.minimum(around[edges[:, 0]], around[edges[:, 1]])
    features = np.stack([np.ones(len(edges)), like, share], axis=1)
    nodes = np.hstack([means, deviations, centres])
    return Superpixels(nodes, edges, features, segments, areas / flat.size)


def _means(values: Array, owners: Array, counts: Array) -> Array:
    """Return the mean of the rows of each owner."""
    sums = [np.bincount(owners, column, len(counts)) for column in values.T]
    return np.stack(sums, axis=1) / counts[:, None]


def _borders(segments: Array, n: int) -> tuple[Array, Array]:
    """Return the pairs of segments with neighbouring pixels, each once, and the number of such pixels."""
    right = np.stack([segments[:, :-1].ravel(), segments[:, 1:].ravel()], axis=1)
    down = np.stack([segments[:-1].ravel(), segments[1:].ravel()], axis=1)
    both = np.sort(np.concatenate([right, down]), axis=1)
    both = both[both[:, 0] != both[:, 1]]
    codes, lengths = np.unique(both[:, 0] * n + both[:, 1], return_counts=True)
    return np.stack(np.divmod(codes, n), axis=1), lengths.astype(np.float64)
