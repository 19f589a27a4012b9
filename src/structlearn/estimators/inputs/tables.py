"""From a table as people have it to rows of numbers: what the shell does with CSV, in Python."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import Statement
from structlearn.core.wording import list_names
from structlearn.estimators.inputs.frames import as_frame
from structlearn.estimators.scikit import BaseEstimator, Rows
from structlearn.tables.detection import Wishes, all_remarks, detect
from structlearn.tables.frame import Frame
from structlearn.tables.maps import ColumnRecipe
from structlearn.tables.readings import ColumnReading, UnreadableError, read_column, tell_problems
from structlearn.tables.table_map import TableMap, learn_table


class TableTransformer(BaseEstimator):
    """Makes rows of numbers of a table: numbers, flags, dates, times, categories and free text.

    What a column is, its cells tell. Numbers are standardised; missing ones become the median, and a column
    of zeros and ones says where. Flags (yes and no) are one column. Dates become days since the first, year,
    month, weekday and hour. A category becomes a column of zeros and ones for each level: rare levels, and
    those that training never saw, share one, and a missing value is a level of its own. Free text becomes
    its words (tf-idf). Columns that are empty, constant or identifiers become nothing.
    `structlearn train classify people.csv` does the same.

    Parameters
    ----------
    scale : bool
        Whether numbers are standardised: (x - mean) / deviation.
    min_frequency : int, float or None
        A level of fewer rows (of a smaller share of them) is rare; None for no such group.
    text, category, number : list of str
        Columns to take as free text, as categories and as numbers, whatever they look like. In a column that
        is named in `number`, cells that are no numbers are missing.
    day_first : bool, optional
        Whether 1/2/2020 is the first of February, where other dates of the column do not tell. By default
        it is the second of January, with a warning.
    ngrams : int
        With 2, pairs of neighbouring words of a text are features, too.
    hash_bits : int, optional
        Hash the words of texts to this many bits (at most 24), instead of keeping a vocabulary.
    kinds : mapping, optional
        How columns are read, by their names, as `kinds_` of another transformer has it; columns are then not
        looked at. One that is not there becomes nothing.

    Attributes
    ----------
    kinds_ : dict
        How each column is read.
    remarks_ : tuple of str
        What was found out about columns that a user should know.
    """

    of_tables: ClassVar[bool] = True
    #: how many rows are mapped at a time
    rows_at_once: ClassVar[int] = 1 << 16

    def __init__(
        self,
        *,
        scale: bool = True,
        min_frequency: float | None = 5,
        text: Iterable[str] = (),
        category: Iterable[str] = (),
        number: Iterable[str] = (),
        day_first: bool | None = None,
        ngrams: int = 1,
        hash_bits: int | None = None,
        kinds: Mapping[str, ColumnReading] | None = None,
    ) -> None:
        self.scale = scale
        self.min_frequency = min_frequency
        self.text = text
        self.category = category
        self.number = number
        self.day_first = day_first
        self.ngrams = ngrams
        self.hash_bits = hash_bits
        self.kinds = kinds

    def fit(self, X: Any, y: object = None) -> Self:
        """Find out what columns are, and learn their features; ValueError for those that cannot be read."""
        self._check()
        frame = as_frame(X)
        self.n_features_in_ = frame.shape[1]
        if self.kinds is None:
            self.kinds_, self.remarks_ = self._detect(frame)
        else:
            self.kinds_, self.remarks_ = dict(self.kinds), ()
        recipe = ColumnRecipe(self.scale, self.min_frequency, self.ngrams, self.hash_bits)
        readings = [self.kinds_.get(name) for name in frame.names]
        columns = [
            column if one is None else read_column(name, column, one, comma=frame.decimal_comma)
            for name, column, one in zip(frame.names, frame.columns, readings)
        ]
        self.map_: TableMap = learn_table(columns, readings, recipe)
        if not self.map_.width:
            raise ValueError(f"The table has no column to learn from: {' '.join(self.remarks_)}")
        return self

    def _detect(self, frame: Frame) -> tuple[dict[str, ColumnReading], tuple[str, ...]]:
        named = {one: frozenset(getattr(self, one)) for one in ("text", "category", "number")}
        for parameter, names in named.items():
            strange = sorted(names - set(frame.names))
            if strange:
                raise ValueError(
                    f"{parameter} names {list_names(strange)}, but the table has {list_names(frame.names)}."
                )
        least = ColumnRecipe(min_frequency=self.min_frequency).least(len(frame))
        wishes = Wishes(day_first=self.day_first, min_frequency=int(np.ceil(least)), **named)
        verdicts = detect(frame, wishes)
        problems = [one.problem for one in verdicts if one.problem is not None]
        if problems:
            raise ValueError(tell_problems(problems, "row {}".format, ""))
        remarks = all_remarks(frame.names, verdicts)
        for one in remarks:
            if isinstance(one, Statement) and "day_first" in one.template:
                warnings.warn(str(one), UserWarning, stacklevel=2)
        found = zip(frame.names, verdicts)
        return {name: one.reading for name, one in found if one.reading is not None}, remarks

    def _check(self) -> None:
        if self.ngrams < 1:
            raise ValueError(f"ngrams must be at least 1; got {self.ngrams}.")
        if self.hash_bits is not None and not 1 <= self.hash_bits <= 24:
            raise ValueError(f"hash_bits must be from 1 to 24; got {self.hash_bits}.")
        for name in ("text", "category", "number"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a list of names of columns, not one name.")

    def transform(self, X: Any) -> Rows:
        """Return the rows of features of a table."""
        return map_table(self.map_, X)

    def fit_transform(self, X: Any, y: object = None) -> Rows:
        """Fit to a table, and return its rows of features."""
        return self.fit(X).transform(X)

    def get_feature_names_out(self, input_features: Iterable[str] | None = None) -> Array:
        """Return the names of the features, such as city=Paris."""
        names = list(self.kinds_) if input_features is None else list(input_features)
        return np.array([f"{names[j]}{suffix}" for j, suffix in self.map_.suffixes()], dtype=object)


def map_table(table_map: TableMap, X: Any) -> Rows:
    """Return the rows of features of a table; ValueError that names the column and the row of odd cells."""
    frame = as_frame(X)
    if frame.shape[1] != len(table_map.maps):
        raise ValueError(f"The table has {frame.shape[1]} columns; in training it had {len(table_map.maps)}.")
    try:
        return table_map.features(frame)
    except UnreadableError as error:
        row, what = error.problem.row, error.problem.what
        raise ValueError(f"Row {row} of the table: column {error.problem.name!r} {what}.") from error


def make_table_transformer(
    *, scale: bool = True, min_frequency: float | None = 5, **options: Any
) -> TableTransformer:
    """Make a `TableTransformer` for a table with numbers, text, dates and missing values.

    Parameters
    ----------
    scale : bool
        Whether numbers are standardised: (x - mean) / deviation.
    min_frequency : int, float or None
        A level of fewer rows (of a smaller share of them) is rare; None for no such group.
    **options
        All others of `TableTransformer`.

    Returns
    -------
    TableTransformer
        Not fitted. Model files can hold it (`save`). It takes data frames of pandas and polars, and arrays of
        objects.

    Examples
    --------
    >>> import pandas as pd
    >>> from structlearn import MulticlassClassifier, make_table_transformer
    >>> people = pd.DataFrame({"age": [31.0, None, 54.0, 60.0], "city": ["Rome", "Oslo", "Rome", "Oslo"]})
    >>> model = MulticlassClassifier(row_transformer=make_table_transformer(min_frequency=1))
    >>> model.fit(people, ["yes", "no", "yes", "no"]).predict(people).tolist()
    ['yes', 'no', 'yes', 'no']
    """
    return TableTransformer(scale=scale, min_frequency=min_frequency, **options)
