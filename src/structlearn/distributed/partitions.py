"""Partitions: a data set split at random into packed folders, one a worker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.data import DataError, Packed, PackedWriter, open_packed
from structlearn.storage.atomic import make_folder

EXAMPLES_AT_ONCE = 4096
Examples: TypeAlias = Array | sparse.csr_matrix | Sequence[object]


@dataclass(frozen=True, eq=False)
class Partitions:
    """Packed folders that together are one data set: `fit(partitions, None, client=client)`.

    Attributes
    ----------
    paths : list of paths, where the workers find them
    examples : for each, which examples of the whole it has, where that is known
    """

    paths: list[Path]
    examples: list[Array] = field(default_factory=list)

    def first(self) -> Packed:
        """Return the first of them, unverified: workers read all of it."""
        return open_packed(self.paths[0], verify=False)

    def weights(self, weight: Array | None) -> list[Array | None]:
        """Return example weights of each partition."""
        if weight is None:
            return [None] * len(self.paths)
        if not self.examples:
            raise ValueError("sample_weight goes with data that `fit` splits, not with given partitions.")
        return [weight[some] for some in self.examples]


def open_partitions(folder: str | Path) -> Partitions:
    """Return the partitions that `split` wrote into a folder; DataError if there are none."""
    paths = sorted(path for path in Path(folder).glob("part-*") if path.is_dir())
    if not paths:
        raise DataError(f"{folder} holds no partitions; `structlearn data split` writes them.")
    wanted = int(paths[0].name.rsplit("-", 1)[-1])
    if len(paths) != wanted:
        raise DataError(f"{folder} holds {len(paths)} partitions of {wanted}.")
    return Partitions([path.absolute() for path in paths])


def split(
    folder: str | Path,
    kind: str,
    X: Examples,
    y: Examples,
    *,
    parts: int,
    seed: int = 0,
    **kept: Any,
) -> Partitions:
    """Write a random split of a data set as packed folders part-0000-of-0002, ...

    Each knows the classes of the whole, of which it need not have all. `kept` is as of `PackedWriter`.
    """
    n = len(y)
    if not 1 <= parts <= n:
        raise ValueError(f"{n} examples can be split into 1 to {n} parts; got {parts}.")
    make_folder(folder)
    order = np.random.default_rng(seed).permutation(n)
    examples = [np.sort(some) for some in np.array_split(order, parts)]
    classes = all_classes(kind, y)
    paths = [Path(folder).absolute() / f"part-{k:04d}-of-{parts:04d}" for k in range(parts)]
    try:
        for path, some in zip(paths, examples):
            with PackedWriter(path, kind, classes=classes, **kept) as writer:
                for batch in _batches(some):
                    writer.append(_take(X, batch), _take(y, batch))
    except BaseException:
        for path in paths:
            shutil.rmtree(path, ignore_errors=True)
        raise
    return Partitions(paths, examples)


def all_classes(kind: str, y: Examples) -> Array | None:
    """Return all labels of a data set, sorted; None if its outputs are not labels."""
    if kind not in ("classes", "chain"):
        return None
    if hasattr(y, "classes"):
        return y.classes
    return np.unique(np.asarray(y) if kind == "classes" else np.concatenate([np.asarray(one) for one in y]))


def is_partitioned(folder: str | Path) -> bool:
    """Whether a folder holds partitions."""
    return any(Path(folder).glob("part-*-of-*"))


def _batches(some: Array) -> Iterator[Array]:
    return (some[a : a + EXAMPLES_AT_ONCE] for a in range(0, some.size, EXAMPLES_AT_ONCE))


def _take(data: Any, batch: Array) -> Any:
    """Return some examples of an array, a matrix or a list."""
    if sparse.issparse(data) or isinstance(data, np.ndarray):
        return data[batch]
    return [data[int(i)] for i in batch]
