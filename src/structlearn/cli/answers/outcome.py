"""What training came to, in three lines: how wrong the model is, how far from optimal, and what is next."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structlearn.distributed import is_partitioned

if TYPE_CHECKING:
    from structlearn.cli.tasks.task import Inputs, Task
    from structlearn.estimators.files.persistence import Bundle
    from structlearn.solvers import Certificate

#: Training data of more bytes are not predicted again only to say how wrong the model is on them.
_LARGEST = 20_000_000


def training_error(task: Task, bundle: Bundle, data: Path) -> str | None:
    """Return a sentence on the model's mistakes on its training data; None for data that are large."""
    if is_partitioned(data) or (data.is_dir() and not task.of_folders) or _size(data) > _LARGEST:
        return None
    truths: list[Any] = []

    def pieces() -> Iterator[Inputs]:
        for one in task.pieces(data, bundle, labels=True):
            truths.append(one.y)
            yield one

    try:
        scores = task.judge(bundle, pieces())
    except ValueError:  # no sentence has all its labels, so that there is nothing to compare with
        return None
    return f"On its training data, {task.outcome(scores.values, truths)}."


def _size(data: Path) -> int:
    files: Iterable[Path] = data.rglob("*") if data.is_dir() else [data]
    return sum(one.stat().st_size for one in files)


def most_frequent(labels: Iterable[Any]) -> float:
    """Return the share of the most frequent label among arrays of labels."""
    _, counts = np.unique(np.concatenate([np.ravel(one) for one in labels]), return_counts=True)
    return float(counts.max() / counts.sum())


def certificate_line(certificate: Certificate) -> str | None:
    """Return how far from the best possible value the objective is; None where no bound is known."""
    if not math.isfinite(certificate.gap):
        return None
    relaxed = "" if certificate.exact else " of the relaxed problem"
    gap = f"{_rounded_up(certificate.gap):.2g}" if certificate.gap > 0 else "rounding errors"
    return f"Its objective, {certificate.primal:.4g}, is within {gap} of the best possible{relaxed}."


def _rounded_up(gap: float) -> float:
    """Return a positive number with two digits that is not smaller: what is said must be true."""
    unit: float = 10.0 ** (math.floor(math.log10(gap)) - 1)
    return math.ceil(gap / unit) * unit


def next_line(model: Path) -> str:
    """Return which commands go on from a model."""
    name = shlex.quote(str(model))
    return f"Next: structlearn evaluate {name} TEST_DATA, then structlearn predict {name} NEW_DATA"
