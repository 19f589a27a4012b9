"""Whether the arrays of packed data belong together: what is read in place is looked up without a check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from structlearn.storage.schema import check_form

#: Rows that are looked at at once.
_ROWS = 1 << 20


def _label(value: Any) -> bool:
    """a label, a string or a number"""
    return isinstance(value, str | int | float)


def _count(value: Any) -> bool:
    """a number of at least 0"""
    return type(value) is int and value >= 0


_HEADER = {
    "kind": Literal["classes", "sets", "numbers", "chain", "matching"],
    "n_features": _count,
    "classes": [_label],
    "vectors": bool,
    "notes": dict[str, Any],
    "texts": dict[str, list[str]],
}


def check_header(header: Mapping[str, Any]) -> None:
    """ValueError for a header that none of ours is."""
    check_form(header, _HEADER, "")


def check_arrays(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, contents: bool) -> None:
    """ValueError if arrays are missing or do not fit each other; with `contents`, look at every entry."""
    n_rows = _check_rows(header, arrays, contents)
    kind = header["kind"]
    if kind == "numbers":
        _check(arrays, "targets", "f", n_rows)
        _check_finite(arrays["targets"], contents)
    elif kind == "classes":
        _check_codes(header, arrays, n_rows, contents)
    elif kind == "sets":
        _check_codes(header, arrays, len(_there(arrays, "codes")), contents)
        _check_starts(arrays, "starts", n_rows, len(arrays["codes"]))
    elif kind == "chain":
        _check_codes(header, arrays, n_rows, contents)
        _check_starts(arrays, "starts", len(_there(arrays, "starts")) - 1, n_rows)
    else:
        _check_matchings(arrays, n_rows, contents)


def _check_rows(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], contents: bool) -> int:
    """The features; how many rows they have."""
    if "features" in arrays:
        rows = arrays["features"]
        _check(arrays, "features", "f", len(rows) if rows.ndim else 0, header["n_features"])
        _check_finite(rows, contents)
        return len(rows)
    n_rows, size = len(_there(arrays, "indptr")) - 1, len(_there(arrays, "data"))
    _check(arrays, "data", "f", size)
    _check(arrays, "indices", "i", size)
    _check_starts(arrays, "indptr", n_rows, size)
    _check_finite(arrays["data"], contents)
    _check_range(arrays, "indices", header["n_features"], contents)
    return n_rows


def _check_codes(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], size: int, contents: bool
) -> None:
    _check(arrays, "codes", "i", size)
    _check_range(arrays, "codes", len(header["classes"]), contents)


def _check_matchings(arrays: Mapping[str, NDArray[Any]], n_rows: int, contents: bool) -> None:
    n, n_links = len(_there(arrays, "shapes")), len(_there(arrays, "links"))
    _check(arrays, "shapes", "i", n, 2)
    _check(arrays, "links", "i", n_links, 2)
    _check_starts(arrays, "starts", n, n_rows)
    _check_starts(arrays, "link_starts", n, n_links)
    shapes = arrays["shapes"]
    if n and (shapes.min() < 0 or shapes.max() > n_rows):
        raise ValueError("shapes are out of range")
    if (shapes.prod(axis=1) != np.diff(arrays["starts"])).any():
        raise ValueError("shapes do not fit starts")
    sides = np.repeat(shapes, np.diff(arrays["link_starts"]), axis=0)
    if contents and ((arrays["links"] < 0) | (arrays["links"] >= sides)).any():
        raise ValueError("links are out of range")


def _there(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays or not arrays[name].ndim:
        raise ValueError(f"there is no array {name}")
    return arrays[name]


def _check(arrays: Mapping[str, NDArray[Any]], name: str, kind: str, *shape: int) -> None:
    found = _there(arrays, name)
    if found.dtype.kind != kind or found.shape != shape:
        raise ValueError(f"{name} are {found.dtype} of shape {found.shape}, not of shape {shape}")


def _check_starts(arrays: Mapping[str, NDArray[Any]], name: str, n: int, end: int) -> None:
    _check(arrays, name, "i", n + 1)
    starts = arrays[name]
    if starts[0] != 0 or starts[-1] != end or (starts[1:] < starts[:-1]).any():
        raise ValueError(f"{name} do not rise from 0 to {end}")


def _check_range(arrays: Mapping[str, NDArray[Any]], name: str, end: int, contents: bool) -> None:
    for piece in _pieces(arrays[name]) if contents else ():
        if piece.min() < 0 or piece.max() >= end:
            raise ValueError(f"{name} are out of range")


def _check_finite(values: NDArray[Any], contents: bool) -> None:
    for piece in _pieces(values) if contents else ():
        if not np.isfinite(piece).all():
            raise ValueError("there is a NaN or an infinity")


def _pieces(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (values[at : at + _ROWS] for at in range(0, len(values), _ROWS))
