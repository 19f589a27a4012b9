"""Writing packed data (see `packed`), all at once or in batches that fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.storage.errors import DataError
from structlearn.storage.folder import FolderWriter
from structlearn.storage.packed import FORMAT, KEPT, KINDS, VERSION, Matrix
from structlearn.storage.packed_graphs import UNKNOWN, graph_batch, is_known


class PackedWriter:
    """A writer of packed data, batch by batch; use it as a context. On an error nothing is left.

    Parameters
    ----------
    path : path
        Folder to make.
    kind : {"classes", "sets", "numbers", "chain", "matching", "graph", "grid", "decisions"}
    notes, texts, arrays : what to keep beside the data: JSON, and lists of strings and arrays by name
    classes : all labels, also those that may not occur

    Examples
    --------
    >>> with PackedWriter("chains", "chain") as writer:     # doctest: +SKIP
    ...     for X, y in batches:
    ...         writer.append(X, y)
    """

    def __init__(
        self,
        path: str | Path,
        kind: str,
        *,
        notes: Mapping[str, object] | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
        arrays: Mapping[str, np.ndarray] | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"Unknown kind {kind!r}; valid are {', '.join(map(repr, KINDS))}.")
        self.kind = kind
        self.header = {"notes": dict(notes or {}), "texts": dict(texts or {})}
        self._kept = dict(arrays or {})
        self._folder = FolderWriter(path)
        known = [] if classes is None else np.asarray(classes).tolist()
        self._codes: dict[Any, int] = {label: code for code, label in enumerate(known)}
        self._types: dict[Any, int] = {}
        self._has: tuple[bool, bool] | None = None
        self._ends: dict[str, int] = {}
        self._n_features: int | None = None
        self._sparse = self._vectors = self._refused = False

    def __enter__(self) -> Self:
        self._folder.__enter__()
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._folder.__exit__(kind, *rest)

    def append(self, X: Matrix | Sequence[Matrix], y: Sequence | np.ndarray) -> None:
        """Append examples, as `fit` of the kind's estimator takes them.

        After a batch that is refused nothing is packed: a part of it may have been written.
        """
        if len(y) != _length(X):
            raise ValueError("A batch has as many outputs as examples.")
        if len(y) == 0:
            return
        try:
            getattr(self, f"_append_{self.kind}")(X, y)
        except BaseException:
            self._refused = True
            raise

    # ---- kinds -------------------------------------------------------------------------------------

    def _append_classes(self, X: Matrix, y: ArrayLike) -> None:
        self._rows(X)
        self._folder.append("codes", self._code_labels(np.asarray(y)))

    def _append_sets(self, X: Matrix, y: Sequence[Sequence]) -> None:
        self._rows(X)
        self._folder.append("codes", self._code_labels(np.array([label for one in y for label in one])))
        self._starts("starts", np.array([len(one) for one in y]))

    def _append_numbers(self, X: Matrix, y: ArrayLike) -> None:
        self._rows(X)
        self._folder.append("targets", np.asarray(y, dtype=np.float64))

    def _append_chain(self, X: Sequence[Matrix], y: Sequence[Sequence]) -> None:
        lengths = np.array([len(one) for one in y])
        rows = np.array([one.shape[0] for one in X])
        if (rows != lengths).any():
            i = int(np.argmax(rows != lengths))
            raise ValueError(f"Sequence {i} of a batch has {rows[i]} rows of features, {lengths[i]} labels.")
        self._rows(_stack_rows(X))
        self._starts("starts", lengths)
        self._folder.append("codes", self._code_labels(np.concatenate([np.asarray(one) for one in y])))

    def _append_matching(self, X: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> None:
        shapes = np.array([np.shape(one)[:2] for one in X], dtype=np.int64)
        self._rows(np.concatenate([np.asarray(one).reshape(-1, np.shape(one)[2]) for one in X]))
        self._starts("starts", shapes.prod(axis=1))
        self._folder.append("shapes", shapes)
        links = [_links(np.asarray(one)) for one in y]
        self._vectors = all(np.ndim(one) == 1 for one in y)
        self._folder.append("links", np.concatenate(links).astype(np.int32))
        self._starts("link_starts", np.array([len(one) for one in links]))

    def _append_graph(self, X: Sequence[tuple], y: Sequence[ArrayLike]) -> None:
        """Append nodes and edges of all graphs, end to end; edge features get the type of node features."""
        found = graph_batch(X)
        self._nodes(found.nodes, found.n_nodes, y)
        self._folder.append("edges", found.edges)
        self._starts("edge_starts", found.n_edges)
        has = found.edge_features is not None, found.types is not None
        if self._has not in (None, has):
            raise ValueError("Edge features and node types are given in all batches, or in none.")
        self._has = has
        if found.edge_features is not None:
            self._finite("edge_features", found.edge_features.astype(_kind(found.nodes), copy=False))
        if found.types is not None:
            self._folder.append("types", _number_labels(found.types, self._types))

    def _append_grid(self, X: Sequence[np.ndarray], y: Sequence[ArrayLike]) -> None:
        images = [np.asarray(one) for one in X]
        for i, (image, labels) in enumerate(zip(images, y)):
            if image.ndim not in (3, 4) or image.shape[:-1] != np.shape(labels):
                raise ValueError(
                    f"Image {i} of a batch has shape {image.shape}, its labels {np.shape(labels)}; they must "
                    "be (rows, columns, features) and (rows, columns), of volumes with planes before them."
                )
        shapes = np.array([one.shape[:-1] for one in images], dtype=np.int64)
        self._nodes(
            np.concatenate([one.reshape(-1, one.shape[-1]) for one in images]), shapes.prod(axis=1), y
        )
        self._folder.append("shapes", shapes)

    def _append_decisions(self, X: Matrix | Sequence[Matrix], y: Sequence[ArrayLike]) -> None:
        """Append features and costs: one row per example, or one per part, whose axes are those of costs."""
        costs = [np.asarray(one, dtype=np.float64) for one in y]
        if getattr(X, "ndim", 3) == 2:
            self._rows(X)
            self._folder.append("targets", np.stack(costs))
            return
        shapes = np.array([one.shape for one in costs], dtype=np.int64)
        for i, (one, axes) in enumerate(zip(X, (one.shape for one in costs))):
            if one.shape[:-1] != axes:
                raise ValueError(f"Example {i} of a batch has features {one.shape} but costs {axes}.")
        self._rows(_stack_rows([one.reshape(-1, one.shape[-1]) if one.ndim > 2 else one for one in X]))
        self._starts("starts", shapes.prod(axis=1))
        self._folder.append("shapes", shapes)
        self._folder.append("targets", np.concatenate([one.ravel() for one in costs]))

    def _nodes(self, rows: np.ndarray, lengths: np.ndarray, y: Sequence[ArrayLike]) -> None:
        """Append features and labels of nodes, some of which may be unknown."""
        labels = [np.asarray(one).ravel() for one in y]
        odd = np.flatnonzero(lengths != [one.size for one in labels])
        if odd.size:
            i = odd[0]
            raise ValueError(f"Example {i} of a batch has {lengths[i]} nodes but {labels[i].size} labels.")
        self._rows(rows)
        self._starts("starts", lengths)
        known = [is_known(one) for one in labels]
        codes = np.full(len(rows), UNKNOWN, dtype=np.int32)
        there = [label for one, mask in zip(labels, known) for label in one[mask].tolist()]
        _check_one_kind(there)
        codes[np.concatenate(known)] = self._code_labels(np.array(there))
        self._folder.append("codes", codes)

    # ---- columns -----------------------------------------------------------------------------------

    def _rows(self, X: Matrix) -> None:
        """Append rows of features: float32 stays, everything else becomes float64."""
        if self._n_features is None:
            self._n_features, self._sparse = X.shape[1], sparse.issparse(X)
        if X.shape[1] != self._n_features or sparse.issparse(X) != self._sparse:
            raise ValueError("All batches have the same number of features, and are all dense or all sparse.")
        kind = _kind(X)
        if not self._sparse:
            self._finite("features", np.asarray(X).astype(kind, copy=False))
            return
        rows = sparse.csr_matrix(X, copy=True)
        rows.sum_duplicates()
        self._finite("data", rows.data.astype(kind, copy=False))
        self._folder.append("indices", rows.indices.astype(np.int32))
        self._starts("indptr", np.diff(rows.indptr))

    def _finite(self, name: str, values: np.ndarray) -> None:
        if not np.isfinite(values).all():
            raise DataError("Features must be finite numbers; there is a NaN or an infinity.")
        self._folder.append(name, values)

    def _starts(self, name: str, sizes: np.ndarray) -> None:
        """Append where each of further items begins; at the end, where the last one ends."""
        if name not in self._ends:
            self._ends[name] = 0
            self._folder.append(name, np.zeros(1, dtype=np.int64))
        ends = self._ends[name] + np.cumsum(sizes, dtype=np.int64)
        self._ends[name] = int(ends[-1])
        self._folder.append(name, ends)

    def _code_labels(self, labels: np.ndarray) -> np.ndarray:
        """Return labels as numbers, in the order in which they were first seen; `_finish` sorts them."""
        return _number_labels(labels, self._codes)

    def _finish(self) -> None:
        if self._refused:
            raise DataError("A batch was refused, so nothing is packed; begin again without it.")
        if self._n_features is None:
            raise DataError("There is nothing to pack: no example was given.")
        _check_one_kind(self._codes)
        _check_one_kind(self._types)
        classes = sorted(self._codes)
        if not classes and self.kind in ("graph", "grid"):
            raise DataError(
                "There is no label at all (-1 and None stand for unknown ones); label some nodes."
            )
        if classes:
            place = np.empty(len(classes), dtype=np.int32)
            place[[self._codes[label] for label in classes]] = np.arange(len(classes))
            self._folder.rewrite("codes", lambda codes: np.where(codes < 0, codes, place[codes]))
        for name, array in self._kept.items():
            self._folder.append(f"{KEPT}{name}", array)
        self._folder.finish(
            {
                "format": FORMAT,
                "version": VERSION,
                "kind": self.kind,
                "n_features": self._n_features,
                "classes": classes,
                "vectors": self._vectors,
                **({"types": list(self._types)} if self._types else {}),
                **self.header,
            }
        )


def pack(
    path: str | Path,
    kind: str,
    X: Matrix | Sequence[Matrix],
    y: Sequence | np.ndarray,
    *,
    examples_at_once: int = 4096,
    **kept: Any,
) -> None:
    """Pack data that is in memory: X and y as `fit` of the kind's estimator takes them."""
    with PackedWriter(path, kind, **kept) as writer:
        for a in range(0, _length(X), examples_at_once):
            writer.append(X[a : a + examples_at_once], y[a : a + examples_at_once])


def _length(X: Matrix | Sequence[Matrix]) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _stack_rows(X: Sequence[Matrix]) -> Matrix:
    if any(sparse.issparse(one) for one in X):
        return sparse.vstack([sparse.csr_matrix(one) for one in X], format="csr")
    return np.concatenate([np.asarray(one) for one in X])


def _kind(X: Matrix) -> type[np.floating]:
    """Return the type to store: float32 stays, everything else becomes float64."""
    return np.float32 if X.dtype == np.float32 else np.float64


def _number_labels(labels: np.ndarray, numbers: dict[Any, int]) -> np.ndarray:
    """Return the numbers of labels; new labels get the next ones."""
    found, inverse = np.unique(labels, return_inverse=True)
    own = [numbers.setdefault(label, len(numbers)) for label in found.tolist()]
    return np.array(own, dtype=np.int32)[inverse]


def _check_one_kind(labels: Iterable[object]) -> None:
    if len({isinstance(label, str) for label in labels}) > 1:
        raise DataError("Labels are strings or numbers, not both.")


def _links(matching: np.ndarray) -> np.ndarray:
    """Return (row, column) of the links of a table, or of a vector of column numbers with -1 for none."""
    if matching.ndim == 2:
        return np.argwhere(matching)
    row = np.flatnonzero(matching >= 0)
    return np.stack([row, matching[row]], axis=1)
