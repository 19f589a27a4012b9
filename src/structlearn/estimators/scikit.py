"""The door to scikit-learn: what estimators inherit from it, and what they ask of it.

Importing it takes longer than all else that the prediction of a small file needs. So its functions are
imported where they are called, checks that pass do without, and its classes are bases of estimators from the
moment on that it is imported (`scikit_bases`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.tables.frame import Frame

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.metaestimators import available_if
else:
    from structlearn.estimators.scikit_bases import (
        BaseEstimator,
        ClassifierMixin,
        RegressorMixin,
        available_if,
    )

__all__ = [
    "FLOATS",
    "BaseEstimator",
    "ClassifierMixin",
    "RegressorMixin",
    "Rows",
    "Table",
    "available_if",
    "balanced_weights",
    "check_classes",
    "check_is_fitted",
    "checked_examples",
    "checked_rows",
    "checked_table",
    "checked_table_again",
    "clone_unfitted",
    "cluster_centres",
    "drawn_seed",
    "frozen",
    "is_frozen",
    "needs_outputs",
    "sample_weights",
    "warn_of_convergence",
]

FLOATS = (np.float64, np.float32)
SPARSE = (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array)
#: Rows of features as users pass them, and as they are once they are checked.
Table: TypeAlias = ArrayLike | sparse.spmatrix | sparse.sparray
Rows: TypeAlias = Array | sparse.csr_matrix


# ---- prediction -----------------------------------------------------------------------------------


def check_is_fitted(estimator: object, attribute: str | None = None) -> None:
    """Raise NotFittedError if `fit` has not set the attribute (without one: any)."""
    if attribute in vars(estimator):
        return
    from sklearn.utils import validation

    validation.check_is_fitted(estimator, attribute)


def checked_rows(estimator: object, X: Table, *, order: str | None = "C") -> Rows:
    """Return X as `validate_data` gives it for a fitted estimator: finite floats, dense or CSR.

    What needs no change is looked through here; all else, and every refusal, is scikit-learn's.
    """
    if _is_fine(estimator, X, order):
        return X
    return checked_examples(estimator, X, accept_sparse="csr", order=order, reset=False)


def checked_table_again(estimator: Any, X: Any) -> Any:
    """Check a table for a fitted estimator: as many columns as in training, with the same names."""
    is_array = type(X) is np.ndarray and X.ndim == 2 and not hasattr(estimator, "feature_names_in_")
    if is_array or isinstance(X, Frame):
        return X  # the number of its columns is compared where it is mapped
    return _checked_columns(estimator, X, reset=False)


def _checked_columns(estimator: Any, X: Any, *, reset: bool) -> Any:
    from sklearn.utils.validation import validate_data

    if not hasattr(X, "columns"):
        X = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, rows of a table; got an array with {len(X.shape)} axes.")
    if 0 in X.shape:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s); both must be at least 1."
        )
    if isinstance(X, Frame):  # names are those of a file, which are looked up while it is read
        estimator.n_features_in_ = X.shape[1]
        return X
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def _is_fine(estimator: Any, X: Any, order: str | None) -> bool:
    if hasattr(estimator, "feature_names_in_"):
        return False
    if type(X) in SPARSE and X.format == "csr":
        values = X.data
    elif type(X) is np.ndarray and (order is None or X.flags.c_contiguous):
        values = X
    else:
        return False
    fits = X.ndim == 2 and X.shape[0] > 0 and X.shape[1] == estimator.n_features_in_
    return fits and X.dtype in FLOATS and bool(np.isfinite(values).all())


# ---- training -------------------------------------------------------------------------------------


def checked_examples(estimator: Any, *data: Any, **options: Any) -> Any:
    """Return X, or X and y, as `validate_data` gives them, as floats.

    What needs no change is looked through here; all else, and every refusal, is scikit-learn's.
    """
    if options.get("reset", True) and _is_plain(options, *data):
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = data[0].shape[1]
        return data if len(data) > 1 else data[0]
    from sklearn.utils.validation import validate_data

    return validate_data(estimator, *data, dtype=FLOATS, **options)


def _is_plain(options: Mapping[str, object], X: Any, *outputs: Any) -> bool:
    """Whether rows and outputs are arrays that training can take as they are."""
    if type(X) is np.ndarray:
        values, form = X, {"C": X.flags.c_contiguous, "F": X.flags.f_contiguous}
        laid_out = form.get(str(options.get("order")), True)
    elif type(X) in SPARSE:
        values, laid_out = X.data, X.format == options.get("accept_sparse")
    else:
        return False
    laid_out = laid_out and X.ndim == 2 and X.dtype in FLOATS and 0 not in X.shape
    for y in outputs:
        whole = type(y) is np.ndarray and y.ndim == 1 and y.size == X.shape[0] and y.dtype.kind in "iufbU"
        laid_out = laid_out and whole and (y.dtype.kind != "f" or bool(np.isfinite(y).all()))
    return laid_out and is_finite(values)


def is_finite(X: Array) -> bool:
    """Whether all numbers are finite, without an array of answers: a sum tells, unless it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(X, dtype=np.float64))) or bool(np.isfinite(X).all())


def checked_table(estimator: Any, X: Any, *y: Any, y_numeric: bool) -> Any:
    """Check a table, or a table and y, for `fit`, and return them."""
    X = _checked_columns(estimator, X, reset=True)
    if not y:
        return X
    from sklearn.utils.validation import check_X_y

    return X, check_X_y(np.zeros((X.shape[0], 1)), *y, y_numeric=y_numeric, estimator=estimator)[1]


def check_classes(y: Array) -> None:
    """Raise ValueError if y is not a target of a classifier, and warn of one with very many classes.

    Whole numbers within half as many values as there are examples need no further look.
    """
    whole = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iu" and y.size > 0
    if whole and int(y.max()) - int(y.min()) < y.size // 2:
        return
    from sklearn.utils.multiclass import check_classification_targets

    check_classification_targets(y)


def sample_weights(class_weight: object, y: Array) -> Array:
    """Return the weight of each example's class; "balanced" weighs classes alike."""
    from sklearn.utils.class_weight import compute_sample_weight

    return compute_sample_weight(class_weight, y)


def balanced_weights(codes: Array, n_classes: int) -> Array:
    """Return weights of the classes 0, 1 ... that make up for how often each occurs."""
    from sklearn.utils.class_weight import compute_class_weight

    return compute_class_weight("balanced", classes=np.arange(n_classes), y=codes)


def cluster_centres(rows: Array, n: int, seed: int) -> Array:
    """Return the centres of n clusters of rows, by k-means."""
    if n == 1:
        return rows.mean(axis=0, keepdims=True)
    from sklearn.cluster import KMeans

    return KMeans(n, n_init=10, random_state=seed).fit(rows).cluster_centers_


def clone_unfitted(transformer: object) -> Any:
    """Return an unfitted copy with the same parameters; TypeError if scikit-learn cannot clone it."""
    from sklearn.base import clone

    return clone(transformer)


def frozen(fitted: object) -> Any:
    """Return a transformer that stays fitted as it is, even when it is fitted again or cloned."""
    from sklearn.frozen import FrozenEstimator

    return fitted if is_frozen(fitted) else FrozenEstimator(fitted)


def is_frozen(transformer: object) -> bool:
    """Whether `fit` and `clone` leave a transformer as it is."""
    from sklearn.base import clone
    from sklearn.frozen import FrozenEstimator

    return isinstance(transformer, FrozenEstimator) or clone(transformer) is transformer


def needs_outputs(transformer: object) -> bool:
    """Whether a transformer says that it cannot be fitted without y."""
    from sklearn.utils import get_tags

    return hasattr(transformer, "__sklearn_tags__") and get_tags(transformer).target_tags.required


def drawn_seed(random_state: int | np.random.RandomState | None) -> int:
    """Draw a seed from a `random_state` of any kind that scikit-learn takes."""
    if type(random_state) is int and 0 <= random_state < 2**32:
        return int(np.random.RandomState(random_state).randint(np.iinfo(np.int32).max))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def warn_of_convergence(status: str, stacklevel: int) -> None:
    """Issue a ConvergenceWarning to the caller's caller that `stacklevel` counts from there."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(status, ConvergenceWarning, stacklevel=stacklevel + 1)
