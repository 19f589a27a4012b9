"""Which columns of a table there is something to learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from structlearn.core.sentences import Statement
from structlearn.core.wording import quote
from structlearn.data.tables.columns import TableColumn

#: Tables of fewer rows are taken as they are.
FEW_ROWS = 20


#: A level of text that fewer rows have is rare ...
USUAL_MIN_FREQUENCY = 5
#: ... unless the table is so small that this is more than one in this many rows.
_ONE_IN = 20
#: What columns are called that number the rows.
_ROW_NUMBERS = {"id", "index", "row", "row_id", "rowid", "nr", "no", "number", "#", "unnamed: 0"}


def usual_min_frequency(n_rows: int) -> int:
    """Return from how many rows on a level is not rare, given the number of rows of a table."""
    return max(1, min(USUAL_MIN_FREQUENCY, n_rows // _ONE_IN))


def chosen_columns(columns: Sequence[TableColumn], min_frequency: int) -> tuple[list[TableColumn], list[str]]:
    """Return the columns to learn from, and a sentence about each of the others, and about odd ones."""
    kept, remarks = [], []
    for column in columns:
        why = _useless(column, min_frequency)
        if why is None:
            kept.append(column)
        else:
            remarks.append(f"Column {quote(column.name)} is left out: {why}.")
        if why is None and _counts_rows(column):
            remarks.append(
                Statement(
                    "Column {name} counts the rows; if it is only their number, leave it out ({ignore=}).",
                    name=quote(column.name),
                    ignore=column.name,
                )
            )
    return kept, remarks


def _useless(column: TableColumn, min_frequency: int) -> str | None:
    """Return why nothing can be learned from a column, as the end of a sentence."""
    if _counts_rows(column) and column.name.lower() in _ROW_NUMBERS:
        return "it counts the rows"
    if not column.is_text:
        known = column.values[~np.isnan(column.values)]
        if not known.size:
            return "it is empty"
        same = known.size == column.values.size and known.min() == known.max()
        return "it is the same in all rows" if same and column.values.size > 1 else None
    counts = Counter(column.values.tolist())
    n_missing = counts.pop(None, 0)
    if not counts:
        return "it is empty"
    if len(counts) == 1 and not n_missing and len(column.values) > 1:
        return "it is the same in all rows"
    most = max(counts.values())
    if len(column.values) < FEW_ROWS or most >= max(2, min_frequency):
        return None
    if most == 1:
        return "its text is different in every row, as an identifier is"
    return f"no {min_frequency} rows share a text of it"


def _counts_rows(column: TableColumn) -> bool:
    values = column.values
    return not column.is_text and len(values) >= FEW_ROWS and bool((np.diff(values) == 1).all())
