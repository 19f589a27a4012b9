"""Checking and laying out what users pass: once, at the door."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, Protocol, TypeAlias, TypeVar, cast, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.errors import doubt_alike
from structlearn.core.threads import in_order
from structlearn.core.wording import kind_of
from structlearn.estimators.scikit import Rows, Table, check_is_fitted
from structlearn.metrics import Outputs, refuse_sparse
from structlearn.scoring.base import check_csr

F = TypeVar("F", bound=Callable[..., object])
#: What users pass where each example has rows of its own.
Tables: TypeAlias = Sequence[Table] | Array

#: Rows that are checked at a time, where all are too many.
ROWS_AT_ONCE = 1 << 16
VALUES_AT_ONCE = 1 << 20
#: From this many bytes on, threads share the copying and checking.
BYTES_SHARED = 1 << 24


def check_sample_weight(sample_weight: ArrayLike | None, n_examples: int) -> Array | None:
    """Return sample weights as an array of n finite numbers >= 0, not all zero; None stays None."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_examples,):
        raise ValueError(
            f"sample_weight must have shape ({n_examples},), one an example; got {weight.shape}."
        )
    if not np.isfinite(weight).all() or weight.min() < 0:
        raise ValueError("Sample weights must be finite and at least 0.")
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number; all are zero.")
    return weight


def summed_duplicates(X: Any) -> Any:
    """Return `X` itself, or a copy in which repeated entries of a sparse matrix are added up."""
    if sparse.issparse(X):
        check_csr(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X


def for_no_examples(method: F) -> F:
    """Let a method of a fitted estimator answer a list of no examples with an empty list."""

    @wraps(method)
    def ask(self: object, X: Tables, *args: object, **options: object) -> object:
        if _is_list(X) and len(X) == 0:
            check_is_fitted(self)
            return []
        return method(self, X, *args, **options)

    return cast("F", ask)


def _is_list(data: object) -> bool:
    unordered = isinstance(data, str | bytes | dict | set | frozenset)
    return hasattr(data, "__len__") and not unordered and not sparse.issparse(data)


def as_list(data: Any, name: str) -> Sequence[Any]:
    """Return a non-empty list, tuple or array of examples as it is; outputs y must not be sparse."""
    if name == "y":
        refuse_sparse(data)
    if not _is_list(data):
        raise TypeError(f"{name} must be a list with one array an example; got {type(data).__name__}.")
    if len(data) == 0:
        raise ValueError(f"{name} is empty: at least one example is needed.")
    return data


def check_same_length(X: Sized, y: Sized) -> None:
    refuse_sparse(y)
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} examples but y has {len(y)}: give one output per example.")


@runtime_checkable
class LaidOut(Protocol):
    """Data that is laid out already: the rows of all examples, and each one's shape without the features."""

    @property
    def rows(self) -> Rows: ...

    @property
    def shapes(self) -> Array: ...


@runtime_checkable
class Coded(Protocol):
    """Labels that are positions in sorted classes already, those of all examples end to end."""

    @property
    def classes(self) -> Array: ...

    @property
    def codes(self) -> Array: ...

    @property
    def lengths(self) -> Array: ...


@dataclass(frozen=True, eq=False)
class Stacked(Sequence[Rows]):
    """Examples end to end, as applications make them: the rows of all in one matrix, and their numbers.

    rows : CSR matrix in canonical form, or array, of finite float32 or float64 numbers
    lengths : int array of shape (n_examples,)
    key_columns : the columns of keys that a tag dictionary may have, where there is to be one
    """

    rows: Rows
    lengths: Array
    key_columns: Array | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, key: int) -> Rows: ...
    @overload
    def __getitem__(self, key: slice) -> list[Rows]: ...
    def __getitem__(self, key: int | slice) -> Rows | list[Rows]:
        """Return the rows of an example, or a list of them for a slice."""
        ends, lengths = self.ends[key], self.lengths[key]
        if not isinstance(key, slice):
            return self.rows[ends - lengths : ends]
        return [self.rows[end - length : end] for end, length in zip(ends, lengths, strict=True)]

    @cached_property
    def ends(self) -> Array:
        """Where the rows of each example end."""
        return np.cumsum(self.lengths)

    @property
    def shapes(self) -> Array:
        """Each example's shape without the feature axis."""
        return self.lengths[:, None]


def stack_examples(
    X: Tables, *, ndim: int, noun: str, n_features: int | None = None, n_jobs: int = 1
) -> tuple[Rows, Array]:
    """Stack all examples' feature rows in one matrix; return it with each example's shape without that axis.

    `X` is a list of arrays with `ndim` axes, the last of which is the features, or (for ndim = 2) of sparse
    matrices. float32 stays float32 if all examples are. Data that is laid out like this already (packed, see
    `structlearn.data.open_packed`) says so by its `rows` and `shapes`, and is not copied. With `n_features`,
    those of a fitted model, an example may have no rows: there is something to predict, if not to learn.
    """
    if isinstance(X, LaidOut):
        return _laid_out(X, ndim, noun, n_features is not None)
    examples = [_one_example(x, ndim, f"{noun} {i}", n_features) for i, x in enumerate(as_list(X, "X"))]
    widths = np.array([x.shape[-1] for x in examples])
    odd = np.flatnonzero(widths != widths[0])
    if odd.size:
        raise ValueError(f"{noun} {odd[0]} has {widths[odd[0]]} features but {noun} 0 has {widths[0]}.")
    shapes = np.array([x.shape[:-1] for x in examples], dtype=np.int64)
    if set(map(type, examples)) != {np.ndarray}:
        rows = sparse.vstack([sparse.csr_matrix(x) for x in examples], format="csr")
        check_csr(rows)
        rows.sum_duplicates()
        values = rows.data
    else:
        rows = _concatenate(examples if ndim == 2 else [x.reshape(-1, widths[0]) for x in examples], n_jobs)
        values = rows
    if not _is_finite(values, n_jobs):
        bad = next(i for i, x in enumerate(examples) if not np.isfinite(getattr(x, "data", x)).all())
        raise ValueError(f"{noun} {bad} contains NaN or infinity in its features.")
    return rows, shapes


def _concatenate(arrays: list[Array], n_jobs: int) -> Array:
    """Concatenate arrays, with `n_jobs` threads if there is much to copy: touching new pages is slow."""
    ends = np.cumsum([len(one) for one in arrays])
    kind = np.result_type(*{one.dtype for one in arrays})
    out = np.empty((ends[-1], arrays[0].shape[1]), kind)
    n = n_jobs if out.nbytes > BYTES_SHARED else 1
    edges = np.searchsorted(ends, ends[-1] * np.arange(n + 1) // n)
    edges[-1] = len(arrays)

    def copy(k: int) -> None:
        some = slice(edges[k], edges[k + 1])
        if arrays[some]:
            first, last = edges[k], edges[k + 1] - 1
            np.concatenate(arrays[some], out=out[ends[first] - len(arrays[first]) : ends[last]])

    with in_order(n) as run:
        for _ in run(copy, range(n)):
            pass
    return out


def _is_finite(values: Array, n_jobs: int) -> bool:
    flat = values.reshape(-1)
    n = n_jobs if flat.nbytes > BYTES_SHARED else 1
    with in_order(n) as run:
        pieces = range(0, flat.size, VALUES_AT_ONCE)
        return all(run(lambda a: bool(np.isfinite(flat[a : a + VALUES_AT_ONCE]).all()), pieces))


def _laid_out(X: LaidOut, ndim: int, noun: str, may_be_empty: bool) -> tuple[Rows, Array]:
    if X.shapes.shape[1] != ndim - 1:
        raise ValueError(f"{noun} 0 must have {ndim} axes, the last of them the features.")
    empty = np.flatnonzero((np.asarray(X.shapes) <= 0).any(axis=1))
    if empty.size and not may_be_empty:
        raise ValueError(f"{noun} {empty[0]} is empty.")
    values = X.rows if isinstance(X.rows, np.ndarray) else X.rows.data
    if not all(np.isfinite(values[a : a + ROWS_AT_ONCE]).all() for a in range(0, len(values), ROWS_AT_ONCE)):
        raise ValueError("X contains NaN or infinity in its features.")
    return X.rows, np.asarray(X.shapes, dtype=np.int64)


def _one_example(x: Any, ndim: int, name: str, n_features: int | None) -> Rows:
    if type(x) is np.ndarray and x.ndim == ndim and x.size and x.dtype.char in "df":
        return x  # the usual case, of which there may be a million
    if sparse.issparse(x) and ndim == 2:
        x = x.tocsr()
    else:
        try:
            x = np.asarray(x)
        except ValueError:
            raise ValueError(f"{name} is ragged: its rows differ in length.") from None
    if x.dtype.kind in "US":
        raise _no_numbers(name, x)
    if x.size == 0 and x.ndim == 1 and n_features is not None:
        x = x.reshape(0, n_features)
    if x.ndim == 1 and x.dtype == object:
        kind = kind_of(next(iter(x), None))
        raise ValueError(f"{name} holds {kind} per row, not numbers; give all examples as arrays, or none.")
    if x.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} axes, the last of them the features; got {x.ndim}.")
    if 0 in x.shape[:-1] and n_features is None:
        raise ValueError(f"{name} is empty.")
    if x.shape[-1] == 0:
        raise ValueError(f"{name} has no features.")
    if np.issubdtype(x.dtype, np.complexfloating):
        raise ValueError(f"{name} has complex features; they must be real.")
    if x.dtype in (np.float32, np.float64):
        return x
    try:
        return x.astype(np.float64)
    except (TypeError, ValueError):
        raise _no_numbers(name, x) from None


def _no_numbers(name: str, x: Array) -> ValueError:
    return ValueError(
        f"{name} has features that are not numbers ({x.dtype}); each of its rows must be a list of numbers."
    )


def check_feature_count(got: int, expected: int, name: str) -> None:
    if got != expected:
        raise ValueError(f"X has {got} features, but {name} is expecting {expected} features as input.")


def label_arrays(y: Outputs, noun: str) -> tuple[list[Array], Array]:
    """Return `y` as 1-D label arrays of one type (strings, integers ...), and all of them end to end."""
    arrays = []
    for i, one in enumerate(as_list(y, "y")):
        labels = np.asarray(one)
        if labels.ndim != 1:
            raise ValueError(f"The labels of {noun} {i} must form a vector; got {labels.ndim} axes.")
        if labels.dtype.kind == "f" and not (np.isfinite(labels).all() and (labels == np.rint(labels)).all()):
            raise ValueError(
                f"The labels of {noun} {i} are continuous or NaN; labels are integers or strings."
            )
        arrays.append(labels)
    kinds = {"text" if a.dtype.kind in "US" else "other" for a in arrays if a.size}
    if len(kinds) > 1:
        raise ValueError("y mixes strings and numbers as labels; use one of the two.")
    return arrays, np.concatenate(arrays)


def label_codes(y: Outputs, noun: str, classes: Array | None = None) -> tuple[Array, Array, Array]:
    """Return the classes, all labels end to end as positions in them, and the number of labels per example.

    `classes` are all that there are, sorted, where y may lack some.
    """
    if isinstance(y, Coded):
        return y.classes, y.codes, y.lengths
    arrays, labels = label_arrays(y, noun)
    classes, codes = encode_labels(labels, classes)
    return classes, codes, np.array([len(one) for one in arrays])


def encode_labels(labels: Array, classes: Array | None) -> tuple[Array, Array]:
    """Return the classes, those of the labels unless given, and the labels as positions in them."""
    if classes is None:
        found, codes = np.unique(labels, return_inverse=True)
        return found, codes
    return classes, np.searchsorted(classes, labels)


def check_two_classes(classes: Array) -> None:
    """Raise ValueError for a single class; warn of two that look like one."""
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes[0]}; a classifier needs at least two.")
    doubt_alike(classes)
