"""The task `match`: which nodes of two sides belong together, from .npz files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structlearn import metrics
from structlearn.cli.tasks.task import Inputs, Scores, Task, Training
from structlearn.core.contract import Array
from structlearn.core.wording import count_of
from structlearn.data import DataError
from structlearn.data.archives import read_arrays
from structlearn.estimators.files.persistence import Bundle
from structlearn.storage.packed import PackedExamples, PackedLinks


class Match(Task):
    """Matchings of pairs of sides: `features` (all pairs of nodes, d), `shapes` (n, 2) and `links` (k, 3)."""

    estimator = "MatchingClassifier"
    packed = "matching"
    error_name: ClassVar[str] = "1 - F1 of the links"

    def read(self, path: Path, target: str | None) -> Training:
        """Read an .npz file of NumPy."""
        if target is not None:
            raise ValueError("--target goes with tables; the links of match are the array links.")
        X, y = read_matchings(path)
        if y is None:
            raise DataError(f"{path} has no array links.")
        rows, features = X.rows.shape
        pairs = f"{rows} pairs of nodes with {count_of(features, 'feature')}"
        summary = f"{count_of(len(X), 'example')}, {pairs}"
        return Training(X, y, {"format": "npz"}, {}, summary)

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read an .npz file, whose links need not be there."""
        return Inputs(*read_matchings(path))

    def lines(self, bundle: Bundle, predicted: Iterable[Array]) -> Iterator[str]:
        """Return the links of each example on a line, row-column each."""
        return (" ".join(f"{i}-{j}" for i, j in np.argwhere(table)) for table in predicted)

    def answer(self, bundle: Bundle, predicted: Array) -> dict[str, object]:
        return {"links": np.argwhere(predicted)}

    def marginals(self, bundle: Bundle, X: object) -> Iterator[str]:
        """Yield the values of all pairs of nodes, row-column:value each, one line per example."""
        for table in bundle.estimator.predict_marginals(X):
            yield " ".join(f"{i}-{j}:{table[i, j] + 0.0:.6g}" for i, j in np.ndindex(*table.shape))

    def evaluate(self, bundle: Bundle, y: PackedLinks, predicted: list[Array]) -> Scores:
        """Return precision, recall and F1 of the links."""
        found = metrics.link_scores(list(y), predicted)
        values = {"precision": found.precision, "recall": found.recall, "f1": found.f1, "examples": len(y)}
        return Scores(values, 0)

    def outcome(self, values: Mapping[str, float | int], truths: Sequence[Any]) -> str:
        wrong, missed = 1.0 - values["precision"], 1.0 - values["recall"]
        return f"{wrong:.1%} of the links found are wrong, and {missed:.1%} of the gold links are missed"

    def error(self, values: Mapping[str, float | int]) -> float:
        return 1.0 - values["f1"]


def read_matchings(path: Path) -> tuple[PackedExamples, PackedLinks | None]:
    """Read examples and, if the file has them, their links; DataError if the arrays do not fit."""
    arrays = read_arrays(path, ("features", "shapes", "links"))
    for name in ("features", "shapes"):
        if name not in arrays:
            raise DataError(f"{path} has no array {name}.")
    try:
        features, shapes = arrays["features"], _whole("shapes", arrays["shapes"])
        kind = np.float32 if features.dtype == np.float32 else np.float64
        X = PackedExamples(features.astype(kind, copy=False), _starts(features, shapes), shapes)
        return X, _links(_whole("links", arrays["links"]), shapes) if "links" in arrays else None
    except ValueError as error:
        raise DataError(f"{path} is not an .npz file of matchings: {error}.") from None


def _whole(name: str, array: Array) -> Array:
    """Return numbers of nodes and examples as integers, also of an empty list, which became floats."""
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64)
    if (whole != array).any():
        raise ValueError(f"{name} must hold whole numbers")
    return whole


def _starts(features: Array, shapes: Array) -> Array:
    """Return the first row of each example, and the end of the last."""
    if features.ndim != 2 or shapes.ndim != 2 or shapes.shape[1] != 2 or not len(shapes):
        raise ValueError("features must have a row for each pair of nodes, shapes one for each example")
    # No product of numbers that fit can overflow.
    if shapes.min() < 1 or shapes.max() > len(features):
        raise ValueError("shapes must give each side at least one node, and no more than features has")
    starts = np.concatenate([[0], np.cumsum(shapes.prod(axis=1))])
    if starts[-1] != len(features):
        raise ValueError("features must have one row per pair of nodes in shapes")
    return starts


def _links(links: Array, shapes: Array) -> PackedLinks:
    owner, row, column = links.reshape(-1, 3).T
    if owner.size and not 0 <= owner.min() <= owner.max() < len(shapes):
        raise ValueError("links names an example that shapes does not have")
    pairs = np.stack([row, column], axis=1)
    if (pairs >= shapes[owner]).any() or pairs.min(initial=0) < 0:
        raise ValueError("links names a node that its example does not have")
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], np.arange(len(shapes) + 1))
    return PackedLinks(pairs[order], starts, shapes, vectors=False)
