"""Rows of features, mapped before they are scored: theta = <w, T(x)>, T a transformer of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from structlearn.core.content import NoContentError, content_hash
from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.core.progress import counted
from structlearn.estimators.inputs.checking import check_feature_count
from structlearn.estimators.inputs.frames import is_table, rows_between
from structlearn.estimators.scikit import (
    Rows,
    checked_examples,
    checked_rows,
    checked_table,
    checked_table_again,
    clone_unfitted,
    is_frozen,
    needs_outputs,
)
from structlearn.estimators.training.fresh_fit import forget_solution, former_of
from structlearn.metrics import refuse_sparse

#: Rows that are mapped at a time, so that nothing but the result is of the size of all.
ROWS_AT_ONCE = 1024


@runtime_checkable
class Transformer(Protocol):
    """What maps rows of features to rows of features."""

    def fit(self, X: Any) -> Any: ...

    def transform(self, X: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class FittedMap:
    """T of a fitted estimator: rows of features as they are given, to rows as they are scored.

    n_given : features of a row as it is given
    n_scored : features of a row that have weights
    owner : what the estimator is called, in refusals
    transformer : T; None where rows are scored as they are
    """

    n_given: int
    n_scored: int
    owner: str
    transformer: Transformer | None = None

    def apply(self, rows: Rows) -> Rows:
        """Map rows; ValueError unless they have as many features as those of `fit`."""
        check_feature_count(rows.shape[1], self.n_given, self.owner)
        if self.transformer is None:
            return rows
        if rows.shape[0] == 0:
            return np.empty((0, self.n_scored), dtype=np.float32)
        mapped = transform_rows(self.transformer, rows, Memory())
        if mapped.shape[1] != self.n_scored:
            raise ValueError(
                f"row_transformer_ gave {mapped.shape[1]} features; in training it gave {self.n_scored}."
            )
        return mapped


@dataclass(kw_only=True, eq=False, repr=False)
class MappedRows:
    """An estimator whose rows of features may be mapped.

    Parameters
    ----------
    row_transformer : transformer of scikit-learn, optional
        T of theta = <w, T(x)>, such as `Nystroem()` for a kernel, or a pipeline. `fit` fits a clone of it to
        all training rows (of all sequences, sets, matchings) and keeps that as `row_transformer_`; all other
        methods apply it. T(x) is kept as float32. Estimators of single rows give a data frame to it as it is,
        with text and missing values, where it takes some (`make_table_transformer()`, ColumnTransformer).
        Docs: docs/nonlinear.md, docs/tables.md.
    """

    row_transformer: Transformer | None = None

    n_features_in_: int = field(init=False)
    #: where rows are mapped
    row_transformer_: Transformer = field(init=False)
    #: how many features they then have
    _n_mapped: int = field(init=False)

    @property
    def row_map(self) -> FittedMap:
        """The fitted map of rows."""
        transformer = getattr(self, "row_transformer_", None)
        n_scored = self.n_features_in_ if transformer is None else self._n_mapped
        return FittedMap(self.n_features_in_, n_scored, type(self).__name__, transformer)

    def take_row_map(self, transformer: Transformer, n_outputs: int) -> None:
        """Have rows mapped by a fitted transformer."""
        self.row_transformer_, self._n_mapped = transformer, n_outputs

    def check_row_transformer(self) -> None:
        """Refuse what is no transformer, without data."""
        given = self.row_transformer
        if given is None:
            return
        if isinstance(given, type):
            raise TypeError(
                f"row_transformer must be an instance, {given.__name__}(), not the class {given.__name__}."
            )
        if not (hasattr(given, "fit") and hasattr(given, "transform")):
            raise TypeError(
                "row_transformer must be a transformer, with fit and transform, such as scikit-learn's "
                f"Nystroem(); got {type(given).__name__}."
            )
        if needs_outputs(given):
            raise ValueError(
                f"row_transformer={type(given).__name__} learns from outputs, but it is fitted to rows of "
                "features alone; use one that does not need y."
            )

    def _checked_inputs(self, *data: Any, **options: Any) -> Any:
        """Return X, or X and y, as `fit` takes them: rows of numbers, or a table for the transformer."""
        self.check_row_transformer()
        for y in data[1:]:
            refuse_sparse(y)
        if takes_table(self.row_transformer, data[0]):
            return checked_table(self, *data, y_numeric=options.get("y_numeric", False))
        return checked_examples(self, *data, **options)

    def _checked_rows(self, X: Any, **options: Any) -> Any:
        """Return X as a fitted estimator takes it."""
        if takes_table(getattr(self, "row_transformer_", None), X):
            return checked_table_again(self, X)
        return checked_rows(self, X, **options)

    def fit_rows(self, rows: Rows, memory: Memory) -> Rows:
        """Fit the transformer to all training rows; the rows as the problem has them."""
        self.check_row_transformer()
        given, former = self.row_transformer, former_of(self)
        earlier = former.get("row_transformer_")
        goes_on = getattr(self, "warm_start", False) and _alike(earlier, given, rows.shape[1])
        if (earlier is not None or given is not None) and not goes_on:
            forget_solution(self)  # its weights are of features as they were
        if given is None:
            return rows
        transformer = earlier if goes_on and earlier is not None else fitted_to(rows, given)
        mapped = transform_rows(transformer, rows, memory)
        self.take_row_map(transformer, mapped.shape[1])
        return mapped


def takes_table(transformer: Any, X: Any) -> bool:
    """Whether a transformer is to get X as it is: those that are known to take numbers only are not."""
    if transformer is None or sparse.issparse(X):
        return False
    if hasattr(transformer, "of_tables"):
        return bool(transformer.of_tables)
    if hasattr(transformer, "steps"):
        return bool(transformer.steps) and takes_table(transformer.steps[0][1], X)
    from structlearn.estimators.row_maps.base import row_map_entry

    entry = row_map_entry(getattr(transformer, "estimator", transformer))
    return is_table(X) if entry is None else entry.kind.of_tables


def _alike(fitted: Any, other: Any, n_features: int) -> bool:
    """Whether another transformer, fitted to rows of `n_features` features, would be one like this."""
    if type(fitted) is not type(other) or getattr(fitted, "n_features_in_", None) != n_features:
        return False
    if fitted is other:
        return True
    try:
        return content_hash(_parameters(fitted)) == content_hash(_parameters(other))
    except NoContentError:
        return False


def _parameters(value: Any) -> object:
    """Return what tells a transformer before it is fitted: its class and parameters, and those inside."""
    if isinstance(value, list | tuple):
        return [_parameters(one) for one in value]
    if not hasattr(value, "get_params") or isinstance(value, type):
        return value
    parameters = value.get_params(deep=False)
    return type(value), {name: _parameters(one) for name, one in parameters.items()}


def fitted_to(rows: Rows, given: Transformer) -> Transformer:
    """Return a clone of the transformer, fitted to rows it cannot change; a frozen one is returned itself."""
    if is_frozen(given):
        return given
    if isinstance(rows, np.ndarray):  # what works in place (copy=False) copies what it cannot write to
        rows = rows.view()
        rows.flags.writeable = False
    transformer = clone_unfitted(given)
    try:
        with np.errstate(invalid="ignore"):  # means of empty columns; NaN in what it gives is found below
            transformer.fit(rows)
    except (TypeError, ValueError) as error:
        error.add_note(f"(row_transformer={type(given).__name__} was fitted to rows of features, without y)")
        raise
    return transformer


def transform_rows(transformer: Transformer, rows: Rows, memory: Memory) -> Rows:
    """Return T(x) of all rows, range by range: a float32 array, or CSR if the transformer returns sparse."""
    parts = _parts(transformer, rows)
    first = next(parts)
    if not isinstance(first, np.ndarray):
        found = sparse.vstack([first, *parts], format="csr")
        found.sum_duplicates()
        return found
    n, width = rows.shape[0], first.shape[1]
    mapped = memory.empty(n * width, np.float32).reshape(n, width)
    at = 0
    for part in chain([first], parts):
        mapped[at : at + part.shape[0]] = part if isinstance(part, np.ndarray) else part.toarray()
        at += part.shape[0]
    return mapped


def _parts(transformer: Transformer, rows: Any) -> Iterator[Array | sparse.csr_matrix]:
    """Yield one range of rows after the other, mapped and checked."""
    name, width = type(transformer).__name__, None
    rows = rows.tocsr() if sparse.issparse(rows) else rows
    at_once: int = getattr(transformer, "rows_at_once", ROWS_AT_ONCE)
    starts = range(0, rows.shape[0], at_once)
    for a in counted(starts, "features", len(starts)):
        given = rows_between(rows, a, a + at_once)  # theirs to change
        found = transformer.transform(given)
        part = sparse.csr_matrix(found) if sparse.issparse(found) else np.asarray(found)
        if part.ndim != 2 or part.dtype.kind not in "biuf":
            raise ValueError(f"row_transformer {name} must give rows of numbers, as many as it gets.")
        if part.shape[0] != given.shape[0]:
            raise ValueError(
                f"row_transformer {name} made {part.shape[0]} rows of {given.shape[0]}: it must keep every "
                "row, since each has its place in an example."
            )
        if width not in (None, part.shape[1]) or not part.shape[1]:
            raise ValueError(
                f"row_transformer {name} gave rows of {width or 0} and of {part.shape[1]} features."
            )
        width = part.shape[1]
        with np.errstate(over="ignore"):  # which is found below
            part = part.astype(np.float32)
        if not np.isfinite(part if isinstance(part, np.ndarray) else part.data).all():
            raise ValueError(
                f"row_transformer {name} gave NaN or infinity (as float32) in rows {a} to "
                f"{a + part.shape[0] - 1}; scale the features before it, or use another."
            )
        yield part
