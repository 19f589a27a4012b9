"""Data sets that come with scikit-learn: the examples of classify, multilabel, regress and decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structlearn.apps.examples.example import TaskExample, try_commands
from structlearn.core.contract import Array

#: The segments of a seven-segment display that each digit lights.
_LIT = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")
_SEGMENTS = dict(
    zip("abcdefg", ("top", "upper right", "lower right", "bottom", "lower left", "upper left", "middle"))
)
#: Patients that are compared, and those of them who are invited.
_COMPARED, _INVITED = 10, 3


def _write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    lines = [",".join(header), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_split(folder: Path, header: list[str], rows: Sequence[Sequence[object]], n_train: int) -> None:
    """Write train.csv and test.csv; rows in a fixed random order."""
    order = np.random.default_rng(0).permutation(len(rows)).tolist()
    for name, chosen in (("train", order[:n_train]), ("test", order[n_train:])):
        _write_csv(folder / f"{name}.csv", header, (rows[k] for k in chosen))


def _write_tumours(folder: Path) -> None:
    from sklearn.datasets import load_breast_cancer

    data: Any = load_breast_cancer()
    names = data.target_names.tolist()
    rows = [[*x, names[y]] for x, y in zip(data.data.tolist(), data.target.tolist())]
    _write_split(folder, [*data.feature_names.tolist(), "diagnosis"], rows, 400)


def _write_displays(folder: Path) -> None:
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    lit = [";".join(_SEGMENTS[one] for one in _LIT[digit]) for digit in digits]
    rows = [[*map(int, x), y] for x, y in zip(pixels[:900], lit)]
    _write_split(folder, [f"row{k // 8} column{k % 8}" for k in range(64)] + ["segments"], rows, 600)


def _patients() -> tuple[list[str], Array, Array]:
    from sklearn.datasets import load_diabetes

    data: Any = load_diabetes(scaled=False)
    return list(data.feature_names), data.data, data.target


def _write_progress(folder: Path) -> None:
    names, X, y = _patients()
    rows = [[*(f"{value:g}" for value in x), f"{target:g}"] for x, target in zip(X.tolist(), y.tolist())]
    _write_split(folder, [*names, "progression"], rows, 300)


def _write_invitations(folder: Path) -> None:
    from structlearn.data import write_decisions
    from structlearn.structures import TopK

    _, X, y = _patients()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    n = len(X) // _COMPARED
    chosen = np.random.default_rng(0).permutation(len(X))[: n * _COMPARED].reshape(n, _COMPARED)
    invite = TopK(_COMPARED, _INVITED)
    for name, groups in (("train", chosen[:30]), ("test", chosen[30:])):
        write_decisions(folder / f"{name}.npz", X[groups], y[groups], invite, sense="max")


CLASSIFY = TaskExample(
    "569 tumours, 30 measurements of each, and whether it is malignant or benign",
    "Breast Cancer Wisconsin, from scikit-learn; CC BY 4.0",
    _write_tumours,
    try_commands("classify", ".csv", train="--target diagnosis", predict="--proba"),
)
MULTILABEL = TaskExample(
    "900 handwritten digits, 8 x 8 pixels each, and which segments of a seven-segment display show the digit",
    "Optical Recognition of Handwritten Digits, from scikit-learn; CC BY 4.0",
    _write_displays,
    try_commands("multilabel", ".csv", train="--target segments"),
)
REGRESS = TaskExample(
    "442 diabetes patients, and how far the disease has progressed a year later",
    "the diabetes data of Efron, Hastie, Johnstone and Tibshirani (2004), from scikit-learn; BSD 3-Clause",
    _write_progress,
    try_commands("regress", ".csv", train="--target progression"),
)
DECIDE = TaskExample(
    "44 groups of 10 diabetes patients: which 3 of each group to invite, so that those are seen "
    "whose disease will have progressed most",
    REGRESS.licence,
    _write_invitations,
    try_commands("decide", ".npz"),
)
