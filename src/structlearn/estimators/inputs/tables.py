"""From a table as people have it to rows of numbers: what the shell does with CSV, in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structlearn.estimators.inputs.frames import check_no_dates, column_arrays

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer


def make_table_transformer(*, scale: bool = True, min_frequency: float | None = 5) -> ColumnTransformer:
    """Make a `ColumnTransformer` for a table with numbers, text and missing values, as a `row_transformer`.

    Numbers are standardised; missing ones become the median, and a column of zeros and ones says where. Text
    becomes a column of zeros and ones for each level: rare levels, and those that training never saw, share
    one, and a missing value is a level of its own. `structlearn train classify people.csv` does the same.

    Parameters
    ----------
    scale : bool
        Whether numbers are standardised: (x - mean) / deviation.
    min_frequency : int, float or None
        A level of fewer rows (of a smaller share of them) is rare; None for no such group.

    Returns
    -------
    sklearn.compose.ColumnTransformer
        Not fitted. Model files can hold it (`save`). It takes data frames of pandas and polars, and arrays of
        objects. What is no number is text; columns of dates are refused.

    Examples
    --------
    >>> import pandas as pd
    >>> from structlearn import MulticlassClassifier, make_table_transformer
    >>> people = pd.DataFrame({"age": [31.0, None, 54.0, 60.0], "city": ["Rome", "Oslo", "Rome", "Oslo"]})
    >>> model = MulticlassClassifier(row_transformer=make_table_transformer(min_frequency=1))
    >>> model.fit(people, ["yes", "no", "yes", "no"]).predict(people).tolist()
    ['yes', 'no', 'yes', 'no']
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    # A column that is empty in a fold is zeros there; else it would be dropped, with a warning at each call.
    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    numbers = make_pipeline(StandardScaler(), impute) if scale else make_pipeline(impute)
    levels = OneHotEncoder(min_frequency=min_frequency, handle_unknown="infrequent_if_exist")
    return ColumnTransformer([("numbers", numbers, number_columns), ("text", levels, text_columns)])


def number_columns(X: Any) -> list[int]:
    """Return the places of the columns of numbers."""
    return _columns(X, numbers=True)


def text_columns(X: Any) -> list[int]:
    """Return the places of all other columns."""
    return _columns(X, numbers=False)


def _columns(X: Any, *, numbers: bool) -> list[int]:
    if isinstance(X, np.ndarray) and X.dtype.kind in "iuf":
        return list(range(X.shape[1])) if numbers else []
    check_no_dates(X)
    return [j for j, one in enumerate(column_arrays(X)) if (one.dtype.kind == "f") == numbers]
