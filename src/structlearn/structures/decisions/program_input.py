"""Programs as users give them, checked, and the bounds that constraints imply."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.structures.decisions.highs import Polyhedron, make_solver

#: A bound that HiGHS has found is widened by this share, so that its tolerance cuts nothing off.
WIDENED = 1e-6


def check_limits(mip_gap: float, time_limit: float | None) -> tuple[float, float | None]:
    """Return when a mixed-integer program may stop; ValueError where that makes no sense."""
    if not 0.0 <= mip_gap < np.inf:
        raise ValueError(f"mip_gap must be at least 0, such as 0.05 for five per cent; got {mip_gap}.")
    if time_limit is not None and not time_limit > 0.0:
        raise ValueError(f"time_limit must be a positive number of seconds; got {time_limit}.")
    return float(mip_gap), None if time_limit is None else float(time_limit)


def as_polyhedron(
    A: Any,
    b: ArrayLike | None,
    A_eq: Any,
    b_eq: ArrayLike | None,
    bounds: Any,
    integrality: ArrayLike | bool | None,
) -> Polyhedron:
    """Return a program in one form, which may have infinite bounds."""
    inequalities, most = _rows(A, b, "A", "b")
    equalities, exact = _rows(A_eq, b_eq, "A_eq", "b_eq")
    given = [one for one in (inequalities, equalities) if one is not None]
    n_parts = given[0].shape[1] if given else np.size(np.asarray(bounds, dtype=object)) // 2
    if len({one.shape[1] for one in given}) > 1:
        raise ValueError(
            f"A and A_eq must have one column per part; got {given[0].shape[1]} and {given[1].shape[1]}."
        )
    if n_parts < 1:
        raise ValueError("A program has at least one part.")
    lower, upper = _bounds(bounds, n_parts)
    matrix = sparse.vstack(given, format="csc") if given else sparse.csc_array((0, n_parts))
    matrix = sparse.csc_array(matrix)
    matrix.sort_indices()
    low = np.concatenate([np.full(most.size, -np.inf), exact])
    return Polyhedron(matrix, low, np.concatenate([most, exact]), lower, upper, _whole(integrality, n_parts))


def _rows(matrix: Any, limits: ArrayLike | None, name: str, right: str) -> tuple[Any, Array]:
    if (matrix is None) != (limits is None):
        raise ValueError(f"{name} and {right} must be given together, or neither of them.")
    if matrix is None:
        return None, np.empty(0)
    rows = sparse.csr_array(matrix if sparse.issparse(matrix) else np.asarray(matrix, dtype=np.float64))
    values = np.atleast_1d(np.asarray(limits, dtype=np.float64))
    if rows.ndim != 2 or values.shape != (rows.shape[0],):
        raise ValueError(
            f"{name} must have the shape (rows, parts), and {right} one number per row; got {rows.shape} and "
            f"{values.shape}."
        )
    rows = rows.astype(np.float64)
    if not (np.isfinite(rows.data).all() and np.isfinite(values).all()):
        raise ValueError(f"{name} and {right} must be finite; leave out rows that limit nothing.")
    return rows, values


def _bounds(bounds: Any, n_parts: int) -> tuple[Array, Array]:
    pairs = np.asarray([(None, None)] if bounds is None else bounds, dtype=object)
    if pairs.shape not in ((2,), (1, 2), (n_parts, 2)):
        raise ValueError(
            f"bounds must be one pair (least, most), or one per part ({n_parts}); got {pairs.shape}."
        )
    pairs = np.broadcast_to(pairs.reshape(-1, 2), (n_parts, 2))
    lower, upper = (
        np.array([side if one is None else float(one) for one in column])
        for column, side in zip(pairs.T, (-np.inf, np.inf))
    )
    wrong = np.flatnonzero(~(lower <= upper))
    if wrong.size:
        j = int(wrong[0])
        raise ValueError(f"The bounds of part {j} leave nothing: {lower[j]:g} to {upper[j]:g}.")
    return lower, upper


def _whole(integrality: ArrayLike | bool | None, n_parts: int) -> Array:
    if integrality is None or isinstance(integrality, bool | np.bool_):
        return np.full(n_parts, bool(integrality))
    found = np.asarray(integrality)
    if found.shape not in ((), (n_parts,)) or not np.isin(found, (0, 1)).all():
        raise ValueError(
            f"integrality must be True, or 0 or 1 for each of the {n_parts} parts (1 where it is whole)."
        )
    return np.broadcast_to(found, (n_parts,)).astype(bool)


def implied_bounds(polyhedron: Polyhedron) -> Polyhedron:
    """Return the program with finite bounds: where they are infinite, what the constraints allow."""
    solver, n_parts = None, polyhedron.n_parts
    found = []
    for sign, side in ((-1.0, polyhedron.lower), (1.0, polyhedron.upper)):
        side = side.copy()
        for j in np.flatnonzero(np.isinf(side)).tolist():
            solver = solver or make_solver(polyhedron)
            theta = np.zeros(n_parts)
            theta[j] = sign
            answer = solver.relaxed(theta, polyhedron.lower, polyhedron.upper)
            if answer.said:
                raise ValueError(unsolvable(answer.said, f"part {j} {'above' if sign > 0 else 'below'}"))
            side[j] = answer.point[j] + sign * WIDENED * (1.0 + abs(answer.point[j]))
        found.append(side)
    lower, upper = found
    lower[polyhedron.whole] = np.ceil(lower[polyhedron.whole] - WIDENED)
    upper[polyhedron.whole] = np.floor(upper[polyhedron.whole] + WIDENED)
    return polyhedron._replace(lower=lower, upper=upper)


def unsolvable(said: str, what: str = "a part") -> str:
    """Return the sentence for a program that has no best solution."""
    if "nfeasible" in said and "nbounded" not in said:
        return (
            f"The program is infeasible (HiGHS says: {said}): no solution meets all constraints and bounds; "
            "relax some of them."
        )
    if "nbounded" in said:
        return (
            f"The program does not bound {what} (HiGHS says: {said}), so that some scores have no maximum; "
            "give bounds or further constraints."
        )
    return f"HiGHS could not solve the program (it says: {said}); scale its rows and columns."
