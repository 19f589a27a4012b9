"""Checks that the arrays of packed data belong together: later lookups in them are not checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from structlearn.core.forms import count, form
from structlearn.storage.packed_graphs import UNKNOWN, check_edges
from structlearn.storage.schema import check_form

#: Rows that are looked at at once.
_ROWS = 1 << 20


@form("a label, a string or a number")
def _label(value: object) -> bool:
    return isinstance(value, str | int | float)


_HEADER = {
    "kind": Literal["classes", "sets", "numbers", "chain", "matching", "graph", "grid", "decisions"],
    "n_features": count,
    "classes": [_label],
    "vectors": bool,
    "notes": dict[str, object],
    "texts": dict[str, list[str]],
    "types?": [_label],
}


def check_packed(header: dict, arrays: Mapping[str, np.ndarray], *, contents: bool) -> None:
    """Raise a ValueError for a foreign header, and for arrays that are missing or do not fit each other.

    With `contents`, every entry is looked at.
    """
    check_form(header, _HEADER, "")
    found, n_classes = _Arrays(arrays, contents), len(header["classes"])
    n_rows = found.check_features(header["n_features"])
    kind = header["kind"]
    if kind == "numbers":
        found.check("targets", "f", n_rows)
        found.check_finite("targets")
    elif kind == "classes":
        found.check_codes(n_rows, n_classes)
    elif kind == "sets":
        size = len(found["codes"])
        found.check_codes(size, n_classes)
        found.check_starts("starts", n_rows, size)
    elif kind == "chain":
        found.check_codes(n_rows, n_classes)
        found.check_starts("starts", len(found["starts"]) - 1, n_rows)
    elif kind == "matching":
        found.check_matchings(n_rows)
    elif kind == "decisions":
        found.check_decisions(n_rows)
    else:
        found.check_codes(n_rows, n_classes, least=UNKNOWN)
        found.check_starts("starts", len(found["starts"]) - 1, n_rows)
        if kind == "grid":
            found.check_images(n_rows)
        else:
            found.check_graphs(n_rows, header.get("types"))


class _Arrays:
    """Arrays by name; ValueError where one is missing or is not as it must be."""

    def __init__(self, arrays: Mapping[str, np.ndarray], contents: bool) -> None:
        self.arrays, self.contents = arrays, contents

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.arrays or not self.arrays[name].ndim:
            raise ValueError(f"there is no array {name}")
        return self.arrays[name]

    def check(self, name: str, kind: str, *shape: int) -> None:
        found = self[name]
        if found.dtype.kind != kind or found.shape != shape:
            raise ValueError(f"{name} are {found.dtype} of shape {found.shape}, not of shape {shape}")

    def check_starts(self, name: str, n: int, end: int) -> None:
        self.check(name, "i", n + 1)
        starts = self[name]
        if starts[0] != 0 or starts[-1] != end or (starts[1:] < starts[:-1]).any():
            raise ValueError(f"{name} do not rise from 0 to {end}")

    def check_range(self, name: str, end: int, least: int = 0) -> None:
        if any(piece.min() < least or piece.max() >= end for piece in self._pieces(name)):
            raise ValueError(f"{name} are out of range")

    def check_finite(self, name: str) -> None:
        if not all(np.isfinite(piece).all() for piece in self._pieces(name)):
            raise ValueError("there is a NaN or an infinity")

    def _pieces(self, name: str) -> Iterator[np.ndarray]:
        """Return the entries of an array, some at a time; none unless contents are to be looked at."""
        values = self[name]
        return (values[at : at + _ROWS] for at in range(0, len(values) if self.contents else 0, _ROWS))

    def check_codes(self, size: int, n_classes: int, least: int = 0) -> None:
        self.check("codes", "i", size)
        self.check_range("codes", n_classes, least)

    def check_features(self, n_features: int) -> int:
        """Return the rows of features; how many there are."""
        if "features" in self.arrays:
            n_rows = len(self["features"])
            self.check("features", "f", n_rows, n_features)
            self.check_finite("features")
            return n_rows
        n_rows, size = len(self["indptr"]) - 1, len(self["data"])
        self.check("data", "f", size)
        self.check("indices", "i", size)
        self.check_starts("indptr", n_rows, size)
        self.check_finite("data")
        self.check_range("indices", n_features)
        return n_rows

    def check_matchings(self, n_rows: int) -> None:
        n, n_links = len(self["shapes"]), len(self["links"])
        self.check("shapes", "i", n, 2)
        self.check("links", "i", n_links, 2)
        self.check_starts("starts", n, n_rows)
        self.check_starts("link_starts", n, n_links)
        shapes, links = self["shapes"], self["links"]
        self.check_products(n_rows)
        sides = np.repeat(shapes, np.diff(self["link_starts"]), axis=0)
        if self.contents and ((links < 0) | (links >= sides)).any():
            raise ValueError("links are out of range")

    def check_decisions(self, n_rows: int) -> None:
        """Check costs: one array of the same axes per row, or of other axes with a row for each part."""
        if "starts" in self.arrays:
            n = len(self["starts"]) - 1
            self.check_starts("starts", n, n_rows)
            self.check("shapes", "i", n, *self["shapes"].shape[1:2])
            self.check_products(n_rows)
            self.check("targets", "f", n_rows)
        else:
            self.check("targets", "f", n_rows, *self["targets"].shape[1:])
            if self["targets"].ndim < 2:
                raise ValueError("targets have one axis, not those of examples and parts")
        self.check_finite("targets")

    def check_products(self, n_rows: int) -> None:
        """Check that there are shapes for as many rows as the examples have."""
        shapes = self["shapes"]
        if len(shapes) and (shapes.min() < 0 or shapes.max() > n_rows):
            raise ValueError("shapes are out of range")
        if (shapes.prod(axis=1) != np.diff(self["starts"])).any():
            raise ValueError("shapes do not fit starts")

    def check_images(self, n_rows: int) -> None:
        axes = 3 if self["shapes"].ndim == 2 and self["shapes"].shape[1] == 3 else 2
        self.check("shapes", "i", len(self["starts"]) - 1, axes)
        self.check_products(n_rows)

    def check_graphs(self, n_rows: int, types: list | None) -> None:
        n, n_edges = len(self["starts"]) - 1, len(self["edges"])
        self.check("edges", "i", n_edges, 2)
        self.check_starts("edge_starts", n, n_edges)
        if "edge_features" in self.arrays:
            self.check("edge_features", "f", n_edges, self["edge_features"].shape[-1])
            self.check_finite("edge_features")
        if (types is not None) != ("types" in self.arrays):
            raise ValueError("types and their names go together")
        if types is not None:
            self.check("types", "i", n_rows)
            self.check_range("types", len(types))
        if self.contents:
            sizes = np.repeat(np.diff(self["starts"]), np.diff(self["edge_starts"]))
            check_edges(self["edges"], sizes, "the data")
