"""What the notes of a model file say of rows and tables, checked against the model and against files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy import sparse

from structlearn.cli.support.errors import say
from structlearn.cli.support.flags import in_flags
from structlearn.core.contract import Array
from structlearn.core.wording import count_of, quote
from structlearn.data import DataError
from structlearn.data.file_formats import FILE_FORMATS, TABLE, is_pipe, seen_format
from structlearn.estimators.files.persistence import Bundle
from structlearn.storage.schema import check_form
from structlearn.tables.frame import Frame
from structlearn.tables.list_map import SEPARATORS
from structlearn.tables.readings import KINDS, STORED_READING

if TYPE_CHECKING:
    from structlearn.cli.tasks.task import Training


def is_list_target(value: object) -> bool:
    """Return whether it is the name of a column that lists labels, and what separates them."""
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and value[1] in SEPARATORS
    )


#: What a model file says of its training data: of rows of numbers, and of a table.
_OF_ROWS = {"n_features": int}
#: `kinds` of columns are there where rows are those of a table (in version 0.2 `text`, columns of text);
#: `left_out` columns were of no use.
_OF_TABLE = {
    "features": list[str],
    "targets": list[str],
    "text?": list[str],
    "kinds?": [STORED_READING],
    "left_out?": list[str],
    "target_list?": is_list_target,
}


def check_table_notes(bundle: Bundle, n_targets: int) -> None:
    """Raise ValueError unless the columns of the training file are as many as the model has."""
    model, notes = bundle.estimator, bundle.notes
    check_columns(notes)
    n = len(notes["features"]) if notes["format"] == TABLE else notes["n_features"]
    if n != model.n_features_in_:
        raise ValueError(f"its notes name {n} features, but the model has {model.n_features_in_}")
    if notes["format"] == TABLE and len(notes["targets"]) != n_targets:
        raise ValueError(f"notes.targets must be {n_targets} names")
    of_tables = "text" in notes or "kinds" in notes
    if of_tables and not getattr(model.row_transformer, "of_tables", False):
        raise ValueError("its notes name kinds of columns, but the model has no map for them")
    if len(notes.get("kinds", notes.get("features", ()))) != len(notes.get("features", ())):
        raise ValueError("notes.kinds must be as many as notes.features")
    if any(one["kind"] not in KINDS for one in notes.get("kinds", ())):
        raise ValueError("notes.kinds names a kind of columns that is none")


def check_columns(notes: Mapping[str, Any]) -> None:
    """Raise ValueError unless notes name a format, and the columns of the file."""
    check_form(notes, {"format": str}, "notes")
    if notes["format"] not in [name for name, one in FILE_FORMATS.items() if one.rows or name == TABLE]:
        raise ValueError(f"notes.format is {notes['format']!r}, which this version does not read")
    check_form(notes, _OF_TABLE if notes["format"] == TABLE else _OF_ROWS, "notes")


def check_format(path: Path, expected: str) -> None:
    """DataError if a file is clearly not of the format that the model was trained on."""
    found = None if is_pipe(path) else seen_format(path)
    if found is not None and found != expected:
        looks, was = FILE_FORMATS[found].what, FILE_FORMATS[expected].what
        raise DataError(f"{path} looks like {looks}; the model was trained on {was}.")


def check_two_classes(path: Path, training: Training) -> None:
    """Raise DataError if all rows of a table have one class."""
    y = training.y
    if training.notes["format"] != TABLE or not bool((y == y[0]).all()):
        return
    targets: Any = training.notes["targets"]
    what = f"the target {quote(targets[0])} is {quote(y[0])}"
    whole = "the only row" if len(y) == 1 else f"all {len(y)} rows"
    raise DataError(
        f"{path}: {what} in {whole}, so that there is nothing to tell apart; choose another column (--target "
        "NAME), or add rows of another class."
    )


def tell_remarks(remarks: Iterable[str]) -> None:
    """Say what a user should know of a table."""
    for one in remarks:
        say(f"Note: {in_flags(one)}")


def summary_of(X: Array | sparse.csr_matrix | Frame) -> str:
    noun = "column" if isinstance(X, Frame) else "feature"
    return f"{count_of(X.shape[0], 'example')} with {count_of(X.shape[1], noun)}"
