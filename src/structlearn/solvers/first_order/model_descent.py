"""Coordinate descent on R(w + p) plus the second-order model of the softmax losses of rows.

With residuals r_ki = p_i (mu_ik - z_ik), m_ki = p_i z_ik and t = X p, its slope along x_j and label k is

    sum_i x_ij { r_ki - m_ki (1 - z_ik) t_ki }                        labels that are switches
    sum_i x_ij { r_ki - m_ki (t_ki - tau_i) }, tau_i = sum_l z_il t_li      labels that exclude each other

Arrays are label by label, so that the loops over a dense column run over contiguous memory. For switches the
whole bracket is kept up to date, and the slope is a plain product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel, leaf
from structlearn.scoring.base import Scoring
from structlearn.scoring.rows.rows import RowScoring

#: Sweeps end when one brings less than this share of all that they have brought, or after so many.
ENOUGH, MOST_SWEEPS = 0.05, 60
#: How often columns are read out of rows: more often takes longer than turning all rows into columns.
MOST_PICKS = 3


class WorkingColumns(NamedTuple):
    """Some columns in CSC form; those of dense data have all rows, and `rows` is empty."""

    values: Array
    rows: Array
    start: Array


class Model(NamedTuple):
    """The second-order model: all arrays are of shape (K, n).

    residual : r, or for switches r - m (1 - z) t
    mean : p_i z_ik
    share : z
    bend : m (1 - z)
    moved, shift : t of shape (K, n) and tau, of labels that exclude each other; else empty
    """

    residual: Array
    mean: Array
    share: Array
    bend: Array
    moved: Array
    shift: Array


class Strengths(NamedTuple):
    """The strengths of the l1 norm and of half the squared norm; whether a feature's weights are a group."""

    l1: float
    l2: float
    grouped: bool


class ColumnReader:
    """The columns of the rows of a scoring, the constant last where there is one.

    Of sparse rows, the columns that are asked for are read out and kept, which takes a third of turning all
    rows into columns; that is done when further ones have been asked for `MOST_PICKS` times.
    """

    def __init__(self, scoring: Scoring) -> None:
        assert isinstance(scoring, RowScoring)  # noqa: S101
        self.n_rows, self.n_features = scoring.X.shape
        self.X = scoring.X
        #: where columns are among those that are `known`, -1 where they are not
        self.place = np.full(self.n_features, -1, dtype=np.int32)
        self.known = WorkingColumns(np.empty(0), np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
        self.picks = 0

    def take(self, chosen: Array) -> WorkingColumns:
        """Return some of the columns."""
        own = chosen[chosen < self.n_features]
        if isinstance(self.X, np.ndarray):
            values = np.ones((chosen.size, self.n_rows))
            values[: own.size] = self.X[:, own].T
            start = self.n_rows * np.arange(chosen.size + 1)
            return WorkingColumns(values.ravel(), np.empty(0, dtype=np.int32), start)
        self._learn(own[self.place[own] < 0])
        sizes = self.known.start[self.place[own] + 1] - self.known.start[self.place[own]]
        taken = _room_for(np.append(sizes, np.full(chosen.size - own.size, self.n_rows)))
        _copy_columns(self.known, self.place[own], taken)
        constant = slice(taken.start[own.size], None)
        taken.values[constant], taken.rows[constant] = 1.0, np.arange(taken.rows[constant].size)
        return taken

    def _learn(self, missing: Array) -> None:
        """Read out columns that are not known."""
        if not missing.size:
            return
        self.picks += 1
        if self.picks > MOST_PICKS:
            whole = sparse.csc_matrix(self.X)
            values, rows = np.asarray(whole.data, dtype=np.float64), np.asarray(whole.indices, dtype=np.int32)
            self.known = WorkingColumns(values, rows, np.asarray(whole.indptr, dtype=np.int64))
            self.place = np.arange(self.n_features, dtype=np.int32)
            return
        values, rows, start = self.known
        self.place[missing] = start.size - 1 + np.arange(missing.size)
        more = _pick_columns(self.X, missing)
        start = np.concatenate([start, start[-1] + more.start[1:]])
        self.known = WorkingColumns(np.append(values, more.values), np.append(rows, more.rows), start)


def _room_for(sizes: Array) -> WorkingColumns:
    """Return columns of these numbers of entries, which are to be filled in."""
    start = np.append(0, np.cumsum(sizes))
    return WorkingColumns(np.empty(start[-1]), np.empty(start[-1], dtype=np.int32), start)


def _pick_columns(X: sparse.csr_matrix, chosen: Array) -> WorkingColumns:
    """Return columns of a CSR matrix."""
    place = np.full(X.shape[1], -1, dtype=np.int32)
    place[chosen] = np.arange(chosen.size)
    indices = X.indices.view(f"u{X.indices.itemsize}")  # none counts from the end
    entries = np.empty(X.nnz, dtype=X.indptr.dtype)
    owners, rows = np.empty((2, X.nnz), dtype=np.int32)
    count = _find_entries(indices, X.indptr, place, entries, owners, rows)
    columns = _room_for(np.bincount(owners[:count], minlength=chosen.size))
    _put_entries(X.data, entries[:count], owners, rows, columns.start[:-1].copy(), columns)
    return columns


@leaf
def _find_entries(
    indices: Array, indptr: Array, place: Array, entries: Array, owners: Array, rows: Array
) -> int:
    """List the entries of the columns that have a place, with this and their rows; return their number."""
    count = 0
    for i in range(indptr.size - 1):
        for at in range(indptr[i], indptr[i + 1]):
            k = place[indices[at]]
            entries[count], owners[count], rows[count] = at, k, i  # written over unless k is a place
            count += 1 if k >= 0 else 0
    return count


@leaf
def _put_entries(
    data: Array, entries: Array, owners: Array, rows: Array, free: Array, columns: WorkingColumns
) -> None:
    """Write each entry into the column k that owns it, at free_k, which moves on."""
    for q in range(entries.size):
        at = free[owners[q]]
        columns.values[at], columns.rows[at] = data[entries[q]], rows[q]
        free[owners[q]] = at + 1


@leaf
def _copy_columns(known: WorkingColumns, places: Array, columns: WorkingColumns) -> None:
    """Copy some of the columns, one after the other."""
    for k in range(places.size):
        first = known.start[places[k]]
        for at in range(columns.start[k], columns.start[k + 1]):
            entry = first + at - columns.start[k]
            columns.values[at] = known.values[entry]
            columns.rows[at] = known.rows[entry]


def model_at(residual: Array, mean: Array, weight: Array, *, coupled: bool) -> Model:
    """Return the model at z, from p_i (mu_i - z_i) and p_i z_i, rows end to end."""
    n = weight.size
    m = np.ascontiguousarray(mean.reshape(n, -1).T)
    z = np.divide(m, weight, out=np.zeros_like(m), where=weight > 0)
    moved, shift = (np.zeros_like(m), np.zeros(n)) if coupled else (np.empty((0, 0)), np.empty(0))
    return Model(np.array(residual.reshape(n, -1).T, order="C"), m, z, m * (1.0 - z), moved, shift)


@leaf
def _bend(columns: WorkingColumns, j: int, bend: Array) -> float:
    """sum_i m_ki (1 - z_ik) x_ij^2, from one label's row of `bend`."""
    first, total = columns.start[j], 0.0
    size = columns.start[j + 1] - first
    if columns.rows.size == 0:
        for i in range(size):
            total += columns.values[first + i] * columns.values[first + i] * bend[i]
        return total
    for at in range(first, first + size):
        total += columns.values[at] * columns.values[at] * bend[columns.rows[at]]
    return total


@leaf
def _slope(columns: WorkingColumns, j: int, k: int, model: Model) -> float:
    """Return the model's slope along x_j and label k."""
    first, total = columns.start[j], 0.0
    size = columns.start[j + 1] - first
    dense, coupled = columns.rows.size == 0, model.shift.size > 0
    if dense and not coupled:
        for i in range(size):
            total += columns.values[first + i] * model.residual[k, i]
    elif dense:
        for i in range(size):
            pulled = model.mean[k, i] * (model.moved[k, i] - model.shift[i])
            total += columns.values[first + i] * (model.residual[k, i] - pulled)
    elif not coupled:
        for at in range(first, first + size):
            total += columns.values[at] * model.residual[k, columns.rows[at]]
    else:
        for at in range(first, first + size):
            i = columns.rows[at]
            pulled = model.mean[k, i] * (model.moved[k, i] - model.shift[i])
            total += columns.values[at] * (model.residual[k, i] - pulled)
    return total


@leaf
def _move(columns: WorkingColumns, j: int, k: int, by: float, model: Model) -> None:
    """p_jk <- p_jk + by."""
    first = columns.start[j]
    size = columns.start[j + 1] - first
    dense, coupled = columns.rows.size == 0, model.shift.size > 0
    if dense and not coupled:
        for i in range(size):
            model.residual[k, i] -= by * columns.values[first + i] * model.bend[k, i]
    elif dense:
        for i in range(size):
            step = by * columns.values[first + i]
            model.moved[k, i] += step
            model.shift[i] += model.share[k, i] * step
    elif not coupled:
        for at in range(first, first + size):
            i = columns.rows[at]
            model.residual[k, i] -= by * columns.values[at] * model.bend[k, i]
    else:
        for at in range(first, first + size):
            i = columns.rows[at]
            step = by * columns.values[at]
            model.moved[k, i] += step
            model.shift[i] += model.share[k, i] * step


@leaf
def _move_single(
    columns: WorkingColumns, j: int, model: Model, norms: Strengths, bends: Array, w: Array
) -> float:
    """Minimise over each weight of one feature in turn; return how far the model fell."""
    fall = 0.0
    for k in range(w.size):
        bound = bends[k] + norms.l2
        if bound == 0.0:
            continue
        goal = w[k] * bends[k] + _slope(columns, j, k, model)
        new = max(abs(goal) - norms.l1, 0.0) / bound
        by = (new if goal > 0.0 else -new) - w[k]
        if by != 0.0:
            w[k] += by
            _move(columns, j, k, by, model)
            fall += bound * by * by / 2.0
    return fall


@leaf
def _move_group(
    columns: WorkingColumns, j: int, model: Model, norms: Strengths, bends: Array, w: Array, aim: Array
) -> float:
    """Make a proximal step of all weights of one feature; return how far the model fell, at least.

    Twice the diagonal bounds the Hessian: a label's share moves the others' by as much, in all.
    """
    bound, square = 0.0, 0.0
    for k in range(w.size):
        bound = max(bound, 2.0 * bends[k])
    if bound == 0.0:
        return 0.0
    for k in range(w.size):
        aim[k] = w[k] + _slope(columns, j, k, model) / bound
        square += aim[k] * aim[k]
    kept = max(1.0 - norms.l1 / (bound * np.sqrt(square)), 0.0) if square > 0.0 else 0.0
    fall = 0.0
    for k in range(w.size):
        by = kept * aim[k] - w[k]
        if by != 0.0:
            w[k] += by
            _move(columns, j, k, by, model)
            fall += bound * by * by / 2.0
    return fall


@kernel
def descend(columns: WorkingColumns, model: Model, norms: Strengths, W: Array) -> float:
    """Move W, of shape (columns, K), until sweeps bring little; return how far the model fell."""
    n_columns, n_labels = W.shape
    bends, aim = np.empty((n_columns, n_labels)), np.empty(n_labels)
    for j in range(n_columns):
        for k in range(n_labels):
            bends[j, k] = _bend(columns, j, model.bend[k])
    fallen, everything = 0.0, True
    for _ in range(MOST_SWEEPS):  # after one over all columns, sweeps over those in use, until they settle
        fall = 0.0
        for j in range(n_columns):
            if not (everything or _is_used(W[j])):
                continue
            if norms.grouped:
                fall += _move_group(columns, j, model, norms, bends[j], W[j], aim)
            else:
                fall += _move_single(columns, j, model, norms, bends[j], W[j])
        fallen += fall
        settled = fall <= ENOUGH * fallen
        if settled and everything:
            break
        everything = settled
    return fallen


@leaf
def _is_used(w: Array) -> bool:
    for k in range(w.size):  # noqa: SIM110  (Numba has no generators)
        if w[k] != 0.0:
            return True
    return False
