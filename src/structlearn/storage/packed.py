"""Packed training data: a folder of arrays that training reads in place, however large (see `folder`).

Eight kinds. The features are `features`, or `data`, `indices` and `indptr` of a CSR matrix:

    classes     a row per example      codes (n,): positions in the header's classes
    sets        a row per example      codes, end to end; starts (n + 1,)
    numbers     a row per example      targets (n,)
    chain       a row per position     starts (n + 1,): first rows; codes: a label per row
    matching    a row per node pair    starts (n + 1,): first rows; shapes (n, 2); links (k, 2), row and
                                       column; link_starts (n + 1,)
    graph       a row per node         starts (n + 1,); codes: -1 where it is not known; edges (E, 2), nodes
                                       counted in each graph; edge_starts (n + 1,); perhaps edge_features
                                       (E, k), and types: positions in the header's types
    grid        a row per pixel        starts (n + 1,); shapes (n, 2) or, of volumes, (n, 3); codes, as above
    decisions   a row per example      targets (n, ...): costs, of the same parts in all examples
                or a row per part      starts (n + 1,); shapes (n, k): axes of the parts; targets: costs, end
                                       to end
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from structlearn.core.wording import plain
from structlearn.storage.errors import DataError
from structlearn.storage.folder import HEADER, read_folder
from structlearn.storage.lazy_list import LazyList
from structlearn.storage.packed_checks import check_packed
from structlearn.storage.packed_graphs import PackedGraphs, PackedNodeLabels

FORMAT = "structlearn-packed"
VERSION = 1
#: what the names of arrays begin with that are kept for an application
KEPT = "kept-"
KINDS = ("classes", "sets", "numbers", "chain", "matching", "graph", "grid", "decisions")

#: Rows of features.
Matrix: TypeAlias = "np.ndarray | sparse.csr_matrix"


@dataclass(frozen=True, eq=False)
class Packed:
    """Packed data, opened: `fit(packed.X, packed.y)` trains on it without a copy.

    Attributes
    ----------
    kind : one of `KINDS`
    X : ndarray or CSR matrix of mapped arrays, or `PackedExamples`, `PackedGraphs`
    y : ndarray, list of tuples, or `PackedLabels`, `PackedLinks`, `PackedNodeLabels`, `PackedCosts`
    notes, texts, arrays : what an application keeps beside them
    classes : ndarray of all labels, sorted; empty where there are none
    """

    kind: str
    X: Any
    y: Any
    notes: dict = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    classes: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)


class PackedExamples(LazyList[Matrix]):
    """Feature arrays of examples with several rows each: `rows` are all of them, in one matrix.

    Attributes
    ----------
    rows : ndarray or CSR matrix of shape (n_rows, d)
    shapes : ndarray of shape (n, 1) for sequences, (n, 2) for pairs of sides and images, (n, 3) for volumes
    """

    def __init__(self, rows: Matrix, starts: np.ndarray, shapes: np.ndarray) -> None:
        self.rows, self.starts, self.shapes = rows, starts, shapes

    def __len__(self) -> int:
        return len(self.shapes)

    def _item(self, i: int) -> Matrix:
        rows = self.rows[self.starts[i] : self.starts[i + 1]]
        return rows if self.shapes.shape[1] == 1 else rows.reshape(*self.shapes[i], -1)


class PackedLabels(LazyList[np.ndarray]):
    """Label sequences, as positions in the sorted `classes`.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,), int32
    classes : ndarray
    lengths : ndarray of shape (n,)
    """

    def __init__(self, codes: np.ndarray, starts: np.ndarray, classes: np.ndarray) -> None:
        self.codes, self.starts, self.classes = codes, starts, classes

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def _item(self, i: int) -> np.ndarray:
        return self.classes[self.codes[self.starts[i] : self.starts[i + 1]]]


class PackedCosts(LazyList[np.ndarray]):
    """Costs of examples that may differ in their parts: `targets` are those of all parts, end to end."""

    def __init__(self, targets: np.ndarray, starts: np.ndarray, shapes: np.ndarray) -> None:
        self.targets, self.starts, self.shapes = targets, starts, shapes

    def __len__(self) -> int:
        return len(self.shapes)

    def _item(self, i: int) -> np.ndarray:
        return self.targets[self.starts[i] : self.starts[i + 1]].reshape(self.shapes[i])


class PackedLinks(LazyList[np.ndarray]):
    """Matchings: (m, n) tables of 0 and 1 or, where they were packed as such, vectors of column numbers."""

    def __init__(self, links: np.ndarray, starts: np.ndarray, shapes: np.ndarray, *, vectors: bool) -> None:
        self.links, self.starts, self.shapes, self.vectors = links, starts, shapes, vectors

    def __len__(self) -> int:
        return len(self.shapes)

    def _item(self, i: int) -> np.ndarray:
        row, column = self.links[self.starts[i] : self.starts[i + 1]].T
        if self.vectors:
            vector = np.full(self.shapes[i, 0], -1)
            vector[row] = column
            return vector
        table = np.zeros(self.shapes[i], dtype=np.int64)
        table[row, column] = 1
        return table


def is_packed(path: str | Path) -> bool:
    """Return whether a folder claims to be packed data."""
    return (Path(path) / HEADER).is_file()


def open_packed(path: str | Path, *, verify: bool = True) -> Packed:
    """Open packed data; DataError names what is missing, truncated or altered.

    Parameters
    ----------
    path : path
    verify : bool
        Whether to read every byte and compare it with its hash, which takes about a second a gigabyte.
    """
    header, arrays = read_folder(path, verify=verify)
    if header.get("format") != FORMAT:
        raise DataError(f"{path} is not packed data of structlearn.")
    if header.get("version") != VERSION:
        raise DataError(
            f"{path} has format {plain(header.get('version'), 60)}, but this version of structlearn reads "
            f"{VERSION}; pack it again."
        )
    try:
        check_packed(header, arrays, contents=verify)
        X, y = _contents(header, arrays)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise DataError(f"{path} is damaged: its arrays do not belong together ({error}).") from None
    kept = {name.removeprefix(KEPT): array for name, array in arrays.items() if name.startswith(KEPT)}
    classes = np.array(header["classes"])
    return Packed(header["kind"], X, y, header["notes"], header["texts"], kept, classes)


def _contents(header: dict, arrays: Mapping[str, np.ndarray]) -> tuple[Any, Any]:
    kind, classes = header["kind"], np.array(header["classes"])
    rows = arrays.get("features")
    if rows is None:
        shape = len(arrays["indptr"]) - 1, header["n_features"]
        rows = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    if kind == "numbers" or (kind == "decisions" and "starts" not in arrays):
        return rows, arrays["targets"]
    if kind == "classes":
        return rows, classes[arrays["codes"]]
    starts = arrays["starts"]
    if kind == "sets":
        values = classes[arrays["codes"]].tolist()
        return rows, [tuple(values[a:b]) for a, b in pairwise(starts.tolist())]
    if kind == "chain":
        y = PackedLabels(arrays["codes"], starts, classes)
        return PackedExamples(rows, starts, y.lengths[:, None]), y
    if kind == "graph":
        graphs = _graphs(rows, header, arrays)
        return graphs, PackedNodeLabels(arrays["codes"], starts, classes, graphs.shapes)
    shapes = arrays["shapes"]
    if kind == "grid":
        labels = PackedNodeLabels(arrays["codes"], starts, classes, shapes)
        return PackedExamples(rows, starts, shapes), labels
    if kind == "decisions":
        return PackedExamples(rows, starts, shapes), PackedCosts(arrays["targets"], starts, shapes)
    links = PackedLinks(arrays["links"], arrays["link_starts"], shapes, vectors=header["vectors"])
    return PackedExamples(rows, starts, shapes), links


def _graphs(rows: np.ndarray, header: dict, arrays: Mapping[str, np.ndarray]) -> PackedGraphs:
    names = header.get("types")
    return PackedGraphs(
        *(rows, arrays["starts"], arrays["edges"], arrays["edge_starts"]),
        edge_features=arrays.get("edge_features"),
        types=arrays.get("types"),
        type_names=None if names is None else np.array(names),
    )
