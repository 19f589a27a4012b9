"""The formats of data files by name: one entry each. Their endings tell them apart and, where a name tells
nothing, the first lines of a file.

Light, so that help can be made of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from structlearn.core.registry import Registry, resolve_name
from structlearn.data.compression import inner_name

#: Sniffing reads this many lines: the first examples of a libsvm file may have no features.
_LINES = 20
#: An entry of a libsvm file, index:value.
ENTRY = re.compile(r"[0-9]+:[^,\s]+")
#: What stands between the cells of tables.
DELIMITERS = (",", "\t", ";")
#: The format of tables with a header, whichever their file is in.
TABLE = "csv"


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """A format of data files by name.

    Attributes
    ----------
    name : what users call it, and how names of files end
    what : what it is, in words
    rows : how a file of examples with a row of numbers each is read, or where the function is that reads it:
        `rows(path, multilabel=, n_features=)` gives X and y; empty for other formats
    table : whether it is a table with a header
    looks : whether the first lines of a file look like this format; for formats of rows and tables
    """

    name: str
    what: str
    rows: str | Callable[..., tuple[object, object]] = ""
    table: bool = False
    looks: Callable[[Sequence[str]], bool] | None = None

    def is_named(self, path: Path) -> bool:
        """Whether the name of a file, perhaps a .gz one, says that it has this format."""
        return inner_name(path).lower().endswith(f".{self.name}")

    def read_rows(
        self, path: Path, *, multilabel: bool, n_features: int | None = None
    ) -> tuple[object, object]:
        """Read X and y of a format that has rows."""
        found: tuple[object, object] = resolve_name(self.rows)(
            path, multilabel=multilabel, n_features=n_features
        )
        return found


def _has_entries(lines: Sequence[str]) -> bool:
    return any(ENTRY.fullmatch(token) for line in lines for token in line.partition("#")[0].split())


def _has_cells(lines: Sequence[str]) -> bool:
    return bool(lines) and any(one in lines[0] for one in DELIMITERS)


FILE_FORMATS: Registry[FileFormat] = Registry(
    "format",
    [
        FileFormat(
            name="libsvm",
            what="a libsvm file",
            rows="structlearn.data.libsvm:read_libsvm",
            looks=_has_entries,
        ),
        FileFormat(name=TABLE, what="a table with a header (CSV or Parquet)", table=True, looks=_has_cells),
        FileFormat(name="tsv", what="a table with a header, tabs between its cells", table=True),
        FileFormat(name="parquet", what="a Parquet file", table=True),
        FileFormat(name="conll", what="columns, one token per line"),
        FileFormat(name="conllu", what="CoNLL-U"),
        FileFormat(name="crfsuite", what="a file of CRFsuite"),
        FileFormat(name="npz", what="an .npz file of NumPy"),
    ],
)


def rows_format(path: Path, *, has_target: bool = False) -> str:
    """Return the format of training data with a row per example: "csv" for tables, or the name of another.

    The name of a file tells it, or else the first lines: a file with an index:value entry is libsvm, one with
    a comma, tab or semicolon in its first line a table, and any other libsvm. A pipe can be read only once:
    it is a table if a target is named, else libsvm.
    """
    if is_pipe(path):
        return TABLE if has_target else "libsvm"
    return seen_format(path) or "libsvm"


def seen_format(path: Path) -> str | None:
    """Return what the name or the first lines of a file say; None where they say nothing."""
    from structlearn.data.text import open_text

    known = [one for one in FILE_FORMATS.values() if one.table or one.rows]
    named = next((one for one in known if one.is_named(path)), None)
    if named is None:
        first = list(islice((line for _, line in open_text(path) if line.strip()), _LINES))
        named = next((one for one in known if one.looks is not None and one.looks(first)), None)
    if named is None:
        return None
    return TABLE if named.table else named.name


def is_pipe(path: Path) -> bool:
    """Whether a file can be read only once."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
