"""Which format a file of examples has: libsvm, or a table (CSV) with a header."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from structlearn.data import DataError, open_text
from structlearn.data.tables.cells import DELIMITERS

#: Sniffing reads this many lines: the first examples of a libsvm file may have no features.
_LINES = 20
ENTRY = re.compile(r"[0-9]+:[^,\s]+")
_TABLES = (".csv", ".tsv", ".parquet")
NAMES = {"csv": "a table with a header (CSV or Parquet)", "libsvm": "a libsvm file"}


def training_format(path: Path, target: str | None) -> str:
    """The format of training data, "csv" or "libsvm".

    1. A file named .csv, .tsv or .parquet (or .csv.gz, .tsv.gz) is a table.
    2. Else a file with an index:value entry among its first lines is libsvm.
    3. Else a file with a comma, tab or semicolon in its first line is a table, and any other is libsvm.

    A pipe can be read only once: it is a table if a target is named, else libsvm.
    """
    if _is_pipe(path):
        return "csv" if target is not None else "libsvm"
    return _sniffed(path) or "libsvm"


def check_format(path: Path, expected: str) -> None:
    """DataError if `path` is clearly not of the format that the model was trained on."""
    found = None if _is_pipe(path) else _sniffed(path)
    if found is not None and found != expected:
        raise DataError(f"{path} looks like {NAMES[found]}; the model was trained on {NAMES[expected]}.")


def _is_pipe(path: Path) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _sniffed(path: Path) -> str | None:
    if path.name.lower().removesuffix(".gz").endswith(_TABLES):
        return "csv"
    first = list(islice((line for _, line in open_text(path) if line.strip()), _LINES))
    if any(ENTRY.fullmatch(token) for line in first for token in line.partition("#")[0].split()):
        return "libsvm"
    return "csv" if first and any(one in first[0] for one in DELIMITERS) else None
