"""Why a run has not converged, where its columns tell: they are of very different sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import Statement, join_sentences
from structlearn.core.wording import list_names
from structlearn.estimators.scikit import Rows
from structlearn.solvers.solution import Certificate

#: A column this many times larger than others counts as not scaled.
UNSCALED = 100.0
#: The share of entries that sparse columns must have to be compared.
FILLED = 0.5
#: How many columns are named.
_NAMED = 3


def column_sizes(X: Rows) -> Array:
    """Return the root of each column's mean square."""
    if isinstance(X, np.ndarray):
        squares = np.einsum("ij,ij->j", X, X, dtype=np.float64)
    else:
        squares = np.asarray(X.astype(np.float64).power(2).sum(axis=0)).ravel()
    return np.sqrt(squares / max(X.shape[0], 1))


def scaling_advice(X: Rows, estimator: Any, *, constant: bool) -> str:
    """Return a sentence that names columns which are much larger than others; empty if there are none.

    Nothing is said of columns that are mostly empty, such as features of words: their mean squares tell how
    rare they are, not how large.

    Parameters
    ----------
    X : rows of features, as they are scored
    estimator : what knows the columns' names
    constant : whether there is a feature that is always 1, with which columns are compared, too
    """
    if not isinstance(X, np.ndarray) and X.nnz < FILLED * X.shape[0] * X.shape[1]:
        return ""
    sizes = column_sizes(X)
    some = sizes[sizes > 0]
    if not some.size:
        return ""
    usual = float(np.median(some))
    large = np.flatnonzero(sizes >= UNSCALED * usual)
    if large.size:
        large = large[np.argsort(-sizes[large], kind="stable")]
        return _sentence(X, estimator, large, f"{_times(sizes[large[0]] / usual)} the median column")
    if constant and usual >= UNSCALED:
        most = np.argsort(-sizes, kind="stable")[:1]
        return _sentence(X, estimator, most, f"{_times(sizes[most[0]])} the constant feature")
    return ""


def add_scaling_advice(certificate: Certificate, X: Rows, estimator: Any, *, constant: bool) -> Certificate:
    """Return the certificate of a run that has not converged, with the cause, if found, in its status."""
    advice = scaling_advice(X, estimator, constant=constant)
    return replace(certificate, status=join_sentences(certificate.status, advice)) if advice else certificate


def _sentence(X: Rows, estimator: Any, columns: Array, size: str) -> str:
    from structlearn.estimators.inputs.feature_names import own_names

    named = list_names(own_names(estimator)(columns[:_NAMED]))
    more = f" and {columns.size - _NAMED} more" if columns.size > _NAMED else ""
    what = f"Column {named} is" if columns.size == 1 else f"Columns {named}{more} are up to"
    scaler = "StandardScaler()" if isinstance(X, np.ndarray) else "StandardScaler(with_mean=False)"
    how = f"{{what}} {{size}}: scale the columns, as with {{row_transformer={scaler}}}."
    return Statement(how, what=what, size=size)


def _times(ratio: float) -> str:
    return f"{ratio:.2g} times larger than"
