"""A photo with a label for each pixel: the examples of grid and graph.

The photo comes with scikit-learn; labels were drawn for this library on the photo at a quarter of its size.
It is cut into tiles, of which every other one is for testing.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structlearn.apps.examples.example import OWN_LICENCE, TaskExample, shipped, try_commands
from structlearn.core.contract import Array

#: Pixels of the photo per pixel here, and the size of tiles.
_SHRUNK, _ROWS, _COLUMNS = 4, 26, 32
#: What a tile has of the height and of the width of the photo.
_SHARE = np.array([1 / 4, 1 / 5])
_LICENCE = (
    f"china.jpg by danielbuechele, from scikit-learn, CC BY 2.0; labels drawn for structlearn, {OWN_LICENCE}"
)
_LABELS = "0 is sky, 1 the temple, 2 trees, 3 water and its far shore"


class Tile(NamedTuple):
    """A piece of the photo: pixels, their labels, the segment of each pixel, and where in the photo it is."""

    pixels: Array
    labels: Array
    segments: Array
    #: of the first row and column, between 0 and 1
    corner: Array


def _tiles(name: str) -> Iterator[Tile]:
    """Yield the tiles of "train" or of "test", like the colours of a chess board."""
    labels, segments = (_decoded(f"temple-{one}.png") for one in ("labels", "segments"))
    pixels = _photo(labels.shape)
    for k, top in enumerate(range(0, len(labels), _ROWS)):
        for j, left in enumerate(range(0, labels.shape[1], _COLUMNS)):
            if (k + j) % 2 == (name == "test"):
                here = np.s_[top : top + _ROWS, left : left + _COLUMNS]
                corner = np.array([top, left]) / labels.shape
                yield Tile(pixels[here], labels[here], segments[here], corner)


def _decoded(name: str) -> Array:
    from PIL import Image

    return np.array(Image.open(BytesIO(shipped(name))))


def _photo(shape: tuple[int, ...]) -> Array:
    from sklearn.datasets import load_sample_image

    rows, columns = shape
    return _shrunk(load_sample_image("china.jpg")[: rows * _SHRUNK, : columns * _SHRUNK], _SHRUNK)


def _shrunk(pixels: Array, times: int) -> Array:
    """Return the means of squares of pixels."""
    rows, columns = (side // times for side in pixels.shape[:2])
    means: Array = pixels.reshape(rows, times, columns, times, -1).mean(axis=(1, 3))
    return means.round().astype(np.uint8)


def _write_tiles(folder: Path) -> None:
    from structlearn.data import write_label_image
    from structlearn.data.label_images import png_bytes

    for name in ("train", "test"):
        for part in ("images", "labels"):
            (folder / name / part).mkdir(parents=True)
        for k, tile in enumerate(_tiles(name)):
            (folder / name / "images" / f"{k}.png").write_bytes(png_bytes(_shrunk(tile.pixels, 2)))
            write_label_image(folder / name / "labels" / f"{k}.png", tile.labels[::2, ::2])


def _write_regions(folder: Path) -> None:
    from structlearn.data import superpixel_graph, write_graphs

    for name in ("train", "test"):
        tiles = list(_tiles(name))
        found = [superpixel_graph(one.pixels / 255.0, segments=one.segments) for one in tiles]
        for one, region in zip(
            tiles, found
        ):  # the last two features are places in the photo, not in the tile
            region.nodes[:, -2:] = one.corner + region.nodes[:, -2:] * _SHARE
        write_graphs(
            folder / f"{name}.npz",
            [region.graph for region in found],
            [region.labels(one.labels) for region, one in zip(found, tiles)],
            positions=[region.nodes[:, -2:] for region in found],
        )


GRID = TaskExample(
    f"20 tiles of a photo, 13 x 16 pixels each, with a label for each pixel: {_LABELS}",
    _LICENCE,
    _write_tiles,
    try_commands("grid", "", train="--window 3 --tol 0.01", predict="--out found"),
)
GRAPH = TaskExample(
    f"20 tiles of a photo, cut into about 25 regions each, with a label for each region: {_LABELS}",
    _LICENCE,
    _write_regions,
    try_commands("graph", ".npz"),
)
