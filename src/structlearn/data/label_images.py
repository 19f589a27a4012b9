"""Images with label images: a folder `images` and, where labels are known, a folder `labels` beside it.

An image is a PNG or JPEG file, grey or coloured, or a .npy file of shape (rows, columns, features). Its label
image is a PNG file of the same name, of 8 bits, grey or with a palette: the number of a pixel is its label,
255 stands for a label that is not known.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.wording import quote
from structlearn.data.archives import read_npy, reading, unusable_at
from structlearn.data.scalars import LARGEST_FEATURE
from structlearn.storage.atomic import atomic_write
from structlearn.storage.errors import DataError, StrPath

if TYPE_CHECKING:
    from structlearn.core.contract import Array

#: The label of what is not known, in a label image and as estimators have it.
VOID, UNKNOWN = 255, -1
_PICTURES = (".png", ".jpg", ".jpeg")
_MODES = {
    "1": "L",
    "L": "L",
    "LA": "L",
    "P": "RGB",
    "PA": "RGB",
    "RGB": "RGB",
    "RGBA": "RGB",
    "I;16": "I;16",
    "I": "I",
}


class ImageFolder(NamedTuple):
    """Images and, where the folder has them, their labels.

    names : of the files, without their endings
    X : arrays of shape (rows, columns, channels); values of pictures lie between 0 and 1
    y : integer arrays of shape (rows, columns), -1 where the label is not known; or None
    """

    names: list[str]
    X: Sequence[Array]
    y: Sequence[Array] | None


def read_image_folder(folder: StrPath, *, labels: bool = True) -> ImageFolder:
    """Read all images of a folder, in the order of their names; DataError for other files."""
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; give a folder that contains the folder images.")
    images = _files(folder / "images", (*_PICTURES, ".npy"))
    if not images:
        raise DataError(f"{folder} has no images: they are .png, .jpg or .npy files in its folder images.")
    there = labels and (folder / "labels").is_dir()
    X = [_image(path) for path in images.values()]
    y = [_labels_of(folder / "labels", name, x) for name, x in zip(images, X)] if there else None
    return ImageFolder(list(images), X, y)


def _files(folder: Path, endings: Iterable[str]) -> dict[str, Path]:
    """Return the files by their names without endings, sorted; DataError if two have the same name."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix.lower() in endings and not path.name.startswith("."):
            if path.stem in found:
                raise DataError(
                    f"{folder} has two images named {quote(path.stem)}; one label image is for one."
                )
            found[path.stem] = path
    return found


def _image(path: Path) -> Array:
    if not path.is_file():  # a pipe would be waited for
        raise DataError(f"{path} is not a file.")
    if path.suffix.lower() == ".npy":
        return _array(path)
    mode, pixels = _pixels(path, ("PNG", "JPEG"))
    largest = 65535.0 if mode in ("I", "I;16") else 255.0
    return np.atleast_3d(pixels) / largest


def _array(path: Path) -> Array:
    found = read_npy(path)
    if found.ndim != 3 or 0 in found.shape:
        raise DataError(f"{path} must be of shape (rows, columns, features); it is of {found.shape}.")
    at = unusable_at(found)
    if at is not None:
        raise DataError(
            f"{path} has {found[at]:g} in row {at[0]}, column {at[1]}; features are numbers of at most "
            f"{LARGEST_FEATURE:g}."
        )
    return found


def _labels_of(folder: Path, name: str, x: Array) -> Array:
    path = folder / f"{name}.png"
    if not path.is_file():
        raise DataError(
            f"{path} does not exist: each image needs a label image of its name (255 for unknown)."
        )
    found = read_label_image(path)
    if found.shape != x.shape[:2]:
        wide, high = found.shape[::-1], x.shape[1::-1]
        raise DataError(f"{path} is {wide[0]} x {wide[1]} pixels large, but its image {high[0]} x {high[1]}.")
    return found


def read_label_image(path: StrPath) -> Array:
    """Read the labels of the pixels, -1 for 255; DataError for a coloured image."""
    mode, pixels = _pixels(Path(path), ("PNG",), labels=True)
    if mode not in ("1", "L", "P"):
        raise DataError(
            f"{os.fspath(path)} is not a label image: it must have 8 bits, grey or with a palette."
        )
    found = pixels.astype(np.int64)
    return np.where(found == VOID, UNKNOWN, found)


def write_label_image(path: StrPath, labels: Array) -> None:
    """Write labels between 0 and 254, and -1, as `read_label_image` reads them."""
    from PIL import Image

    if labels.min() < UNKNOWN or labels.max() >= VOID:
        raise DataError("A label image holds labels from 0 to 254.")
    with atomic_write(os.fspath(path)) as aside:
        Image.fromarray(np.where(labels == UNKNOWN, VOID, labels).astype(np.uint8)).save(aside, "PNG")


def png_bytes(pixels: Array) -> bytes:
    """Return a picture of 8 bits, (rows, columns) or (rows, columns, 3), as a PNG file."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def _pixels(path: Path, formats: tuple[str, ...], *, labels: bool = False) -> tuple[str, Array]:
    """Return the mode of a picture and its pixels: as they are, or as grey values or colours."""
    from PIL import Image

    with reading(path, "picture"), warnings.catch_warnings():
        warnings.simplefilter("error")  # a picture that is much too large is warned of
        with Image.open(path, formats=formats) as picture:
            mode = picture.mode if labels else _MODES.get(picture.mode)
            if mode is None:
                raise ValueError(f"its pixels are of the kind {picture.mode}")
            return mode, np.asarray(picture if mode == picture.mode else picture.convert(mode))


def windows(x: Array, side: int) -> Array:
    """Return each pixel with the square around it: (rows, columns, side * side * channels), side odd."""
    around = side // 2
    padded = np.pad(x, ((around, around), (around, around), (0, 0)), mode="edge")
    rows, columns = x.shape[:2]
    shifted = [padded[i : i + rows, j : j + columns] for i in range(side) for j in range(side)]
    return np.concatenate(shifted, axis=2)
