"""Maps of rows that make linear models non-linear: `--nonlinear` of the shell."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What --nonlinear may be.
NONLINEAR = ("none", "auto", "splines", "nystroem")
#: Rows per column from which on a kernel is taken, which needs more rows than curves of single columns do.
_ROWS_PER_COLUMN = 50
#: Training rows from which a kernel is seen, at most; always at most half of them.
_LANDMARKS = 500


def nonlinear_kind(kind: str, shape: tuple[int, int]) -> str:
    """Return what "auto" stands for, for this many rows and columns: "splines" or "nystroem"."""
    n, d = shape
    by_shape = "nystroem" if n >= _ROWS_PER_COLUMN * d else "splines"
    return by_shape if kind == "auto" else kind


def nonlinear_steps(given: str | None, shape: tuple[int, int]) -> list[Any]:
    """Return the transformers that follow those that make rows of numbers; the rows themselves stay in it."""
    kind, n_rows = nonlinear_kind(given or "none", shape), shape[0]
    if kind == "none":
        return []
    if kind == "splines":
        from structlearn.estimators.row_maps.splines import SplineExpansion

        return [SplineExpansion()]
    from sklearn.compose import ColumnTransformer
    from sklearn.kernel_approximation import Nystroem

    kernel = Nystroem(n_components=max(1, min(_LANDMARKS, n_rows // 2)), random_state=0)
    return [ColumnTransformer([("linear", "passthrough", all_columns), ("kernel", kernel, all_columns)])]


def all_columns(X: Any) -> list[int]:
    """Return the places of all columns."""
    return list(range(X.shape[1]))


def in_turn(steps: list[Any]) -> Any:
    """Return the only transformer, or a pipeline of several."""
    if len(steps) == 1:
        return steps[0]
    from sklearn.pipeline import make_pipeline

    return make_pipeline(*steps)


def map_of_rows(given: str | None, X: Any) -> dict[str, object]:
    """Return the parameters of rows that are numbers, which are scaled before a kernel sees them."""
    steps = nonlinear_steps(given, X.shape)
    if nonlinear_kind(given or "none", X.shape) == "nystroem":
        from sklearn.preprocessing import StandardScaler

        steps = [StandardScaler(with_mean=isinstance(X, np.ndarray)), *steps]
    return {"row_transformer": in_turn(steps)} if steps else {}
