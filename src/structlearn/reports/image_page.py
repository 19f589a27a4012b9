"""The page of labelled images: each beside its gold labels, those that were predicted, and the mistakes."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.data.label_images import png_bytes
from structlearn.reports.labelled_nodes import error_note, hues_of, n_wrong, worst_first
from structlearn.reports.page import Page, data_address
from structlearn.reports.summaries import Summary, lead

#: Longer sides are shown smaller: so a page stays of a size that browsers like.
MOST_PIXELS = 800
_RIGHT, _WRONG, _UNKNOWN = (236, 239, 242), (194, 91, 0), (150, 160, 170)


class LabelledImage(NamedTuple):
    """An image, (rows, columns, channels), with predicted and perhaps gold labels (-1: unknown)."""

    name: str
    pixels: Array
    labels: Array
    gold: Array | None = None


class _Panel(NamedTuple):
    caption: str
    picture: str


class _Row(NamedTuple):
    number: int
    name: str
    note: str
    panels: Sequence[_Panel]


def image_page(
    images: Sequence[LabelledImage],
    *,
    title: str = "Labelled images",
    limit: int = 200,
    summary: Summary | None = None,
) -> Page:
    """Return a page of images and their labels, those with most wrong pixels first.

    `html()` or `write(path)` it.
    """
    shares = [n_wrong(one.labels, one.gold) / one.labels.size for one in images]
    colours = hues_of([one.labels for one in images] + [one.gold for one in images if one.gold is not None])
    shown = worst_first(shares, images, limit)
    return Page(
        title,
        lead(len(images), len(shown), "image", judged=summary is not None),
        "images.html",
        summary=summary,
        legend=[(hue, label) for label, hue in colours.items()],
        rows=[_row(number, one, colours) for number, one in shown],
    )


def _row(number: int, one: LabelledImage, colours: Mapping[int, int]) -> _Row:
    step = -(-max(one.labels.shape) // MOST_PIXELS)
    told = [
        error_note(one.labels, one.gold, "pixels"),
        f"shown at a scale of 1 to {step}" if step > 1 else "",
    ]
    panels = _panels(one, colours, step)
    return _Row(number, one.name, ", ".join(filter(None, told)), panels)


def _panels(one: LabelledImage, colours: Mapping[int, int], step: int) -> list[_Panel]:
    """Return the pictures beside each other, of every `step`th pixel."""
    pictures = {"image": _to_pixels(one.pixels)}
    if one.gold is not None:
        pictures["gold labels"] = _colour(one.gold, colours)
    pictures["predicted labels"] = _colour(one.labels, colours)
    if one.gold is not None:
        pictures["mistakes"] = _mistakes(one.labels, one.gold)
    return [
        _Panel(name, data_address("image/png", png_bytes(pixels[::step, ::step])))
        for name, pixels in pictures.items()
    ]


def _to_pixels(pixels: Array) -> Array:
    """Return colours or grey values; of other numbers of channels their mean."""
    found = pixels if pixels.shape[2] == 3 else pixels.mean(axis=2)
    low, high = found.min(), found.max()
    if low < 0 or high > 1:
        found = (found - low) / max(high - low, 1e-12)
    return np.round(255 * found).astype(np.uint8)


def _colour(labels: Array, colours: Mapping[int, int]) -> Array:
    """Return the colours of the legend."""
    palette = {label: _rgb(hue) for label, hue in colours.items()} | {-1: _UNKNOWN}
    known, place = np.unique(labels, return_inverse=True)
    return np.array([palette[label] for label in known.tolist()], dtype=np.uint8)[place.reshape(labels.shape)]


def _rgb(hue: int) -> tuple[int, ...]:
    return tuple(round(255 * part) for part in colorsys.hls_to_rgb(hue / 360, 0.66, 0.6))


def _mistakes(labels: Array, gold: Array) -> Array:
    kinds = np.where(gold < 0, 2, (labels != gold).astype(int))
    return np.array([_RIGHT, _WRONG, _UNKNOWN], dtype=np.uint8)[kinds]
