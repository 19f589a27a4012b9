"""Random regressions of hostile scales and shifts, and certificates recomputed in extended precision.

Nothing here shares code with the package: data are centred, P is evaluated and its minimum is approached from
above in `np.longdouble`. So a dual value above the minimum found here is false without any allowance.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from structlearn import LinearRegressor

LONG = np.longdouble
#: Whether `np.longdouble` has more digits than float64 here.
EXTENDED = np.finfo(LONG).eps < 1e-18
PENALTIES = ("l2", "l1", "elasticnet", "group")
UNIT = 2.0**-53


class Regression(NamedTuple):
    """A model to be fitted, its data, and a sentence on how they were drawn."""

    model: LinearRegressor
    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    about: str


class Verdict(NamedTuple):
    """What a fit says, and the least P that was found for its problem."""

    primal: float
    dual: float
    best: float
    converged: bool


# ---- problems --------------------------------------------------------------------------------------


def random_regression(seed: int, **options: Any) -> Regression:
    """A small regression with columns of scales and shifts of 1e-6 to 1e6.

    `options` are parameters of the model, and of the data `kind` ("dense", "csr"), `dtype`, `scale`, `shift`
    and `weighted`, which are drawn unless given.
    """
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 8))
    drawn = {
        "kind": str(rng.choice(["dense", "csr"])),
        "dtype": str(rng.choice(["float64", "float32"], p=[0.7, 0.3])),
        "scale": 10.0 ** rng.uniform(-6, 6, size=d if rng.random() < 0.7 else 1),
        "shift": 10.0 ** rng.uniform(-6, 6, size=d) * rng.choice([-1, 0, 1], size=d),
        "weighted": bool(rng.random() < 0.3),
    }
    drawn.update({name: options.pop(name) for name in list(options) if name in drawn})
    U = _columns(rng, n, d)
    y = U @ np.where(rng.random(d) < 0.6, rng.normal(size=d), 0.0) + rng.choice([0.01, 0.3]) * rng.normal(
        size=n
    )
    y = y * 10.0 ** rng.uniform(-3, 3) + rng.choice([0.0, 1.0, 1e4])
    X = U * drawn["scale"]
    X = np.where(U == 0, 0.0, X) if rng.random() < 0.5 else X + drawn["shift"]
    X = X.astype(drawn["dtype"])
    weight = rng.choice([0.1, 1.0, 3.0], size=n) if drawn["weighted"] else None
    penalty = options.pop("penalty", str(rng.choice(PENALTIES)))
    parameters = {**_parameters(rng, X.astype(np.float64), y, penalty), **options}
    given = sparse.csr_matrix(X) if drawn["kind"] == "csr" else X
    return Regression(LinearRegressor(**parameters), given, y, weight, f"seed {seed}: {drawn} {parameters}")


def _columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Normal columns, some of them almost or quite equal, with zeros, or constant."""
    U = rng.normal(size=(n, d))
    if d > 1 and rng.random() < 0.3:
        U[:, 0] = U[:, 1] + rng.choice([0.0, 1e-6, 1e-2]) * U[:, 0]
    if rng.random() < 0.4:
        U[rng.random(U.shape) > rng.uniform(0.1, 0.9)] = 0
    if rng.random() < 0.1:
        U[:, -1] = 1.0
    return U


def _parameters(rng: np.random.Generator, X: np.ndarray, y: np.ndarray, penalty: str) -> dict[str, Any]:
    largest = float(np.abs((X - X.mean(0)).T @ (y - y.mean())).max()) / len(y)
    strength = largest if rng.random() < 0.7 else 1.0
    regularization = strength * 10.0 ** rng.uniform(-8, 0.1)
    if penalty == "l2" and rng.random() < 0.2:
        regularization = 0.0
    return {
        "penalty": penalty,
        "groups": np.arange(X.shape[1]) // 3 if penalty == "group" else None,
        "regularization": float(regularization),
        "solver": "proximal" if regularization > 0 and rng.random() < 0.3 else "auto",
        "tol": float(10.0 ** rng.uniform(-8, -2)),
        "max_passes": 200,
        "fit_intercept": bool(rng.random() < 0.85),
        "random_state": 0,
    }


# ---- P in extended precision -------------------------------------------------------------------------


class Exact:
    """P(w) of a regression, b at its best, and its minimum, in extended precision."""

    def __init__(self, regression: Regression) -> None:
        model, X = regression.model, regression.X
        self.model = model
        X = X.toarray() if sparse.issparse(X) else X
        n, d = X.shape
        weight = np.ones(n) if regression.weight is None else regression.weight
        self.p = weight.astype(LONG) / weight.astype(LONG).sum()
        self.X, self.y = X.astype(LONG), regression.y.astype(LONG)
        stored = np.sqrt(self.p @ self.X**2)
        for _ in range(3 if model.fit_intercept else 0):  # the first mean rounds, the others see differences
            self.X = self.X - self.p @ self.X
            self.y = self.y - self.p @ self.y
        few = 2 * np.count_nonzero(X, axis=0) <= n  # sparse columns that are not centred entry by entry
        self.sizes = np.where(few, stored, np.sqrt(self.p @ self.X**2))
        lam = LONG(model.regularization)
        ratio = LONG({"l2": 0.0, "l1": 1.0, "group": 1.0}.get(model.penalty, model.l1_ratio))
        self.l1, self.l2 = lam * ratio, lam * (1 - ratio)
        ids = np.asarray(model.groups) if model.penalty == "group" else np.arange(d)
        self.groups = [np.flatnonzero(ids == g) for g in np.unique(ids)]
        self.gram = self.X.T @ (self.p[:, None] * self.X)
        self.dual_map = self.X.T @ (self.p * self.y)

    def value(self, w: np.ndarray) -> Any:
        w = w.astype(LONG)
        r = self.y - self.X @ w
        norms = sum((np.sqrt(w[g] @ w[g]) for g in self.groups), LONG(0))
        return self.p @ r**2 / 2 + self.l1 * norms + self.l2 / 2 * (w @ w)

    def allowance(self, w: np.ndarray) -> float:
        """(n + d + 32) u times the numbers that rounding of P(w) is proportional to."""
        n, d = self.X.shape
        size = np.sqrt(self.p @ self.y**2) + 2 * np.abs(w) @ self.sizes
        residual = np.sqrt(2 * self.value(w))
        rate = UNIT * (n + d + 32)
        return float(rate * size * (residual + rate * size) + rate * self.value(w))

    # ---- its minimum, from above ---------------------------------------------------------------------

    def minimum(self, start: np.ndarray) -> Any:
        """The least P that descent finds, from zero and from `start`."""
        return min(self._descend(start.astype(LONG)), self._descend(np.zeros(len(start), LONG)))

    def _descend(self, w: np.ndarray) -> Any:
        best = self.value(w)
        for _ in range(200):
            for step in (self._sweep, self._newton):
                new = step(w)
                value = self.value(new)
                if value < best:
                    w, before, best = new, best, value
                    break
            else:
                return best
            if before - best < 1e-17 * best:
                return best
        return best

    def _sweep(self, w: np.ndarray) -> np.ndarray:
        """Ten times the minimum over each feature, or a short step of each group of several."""
        w = w.copy()
        for _ in range(10):
            for g in self.groups:
                slope = self.dual_map[g] - self.gram[g] @ w
                bound = self.gram[g, g][0] if len(g) == 1 else np.trace(self.gram[np.ix_(g, g)])
                aim = slope + bound * w[g]
                length = np.sqrt(aim @ aim)
                if bound + self.l2 > 0 and length > 0:
                    w[g] = aim * max(1 - self.l1 / length, LONG(0)) / (bound + self.l2)
        return w

    def _newton(self, w: np.ndarray) -> np.ndarray:
        """A Newton step over the features in use, the best of some of its shares."""
        hessian = self.gram + self.l2 * np.eye(len(w), dtype=LONG)
        slope = self.gram @ w - self.dual_map + self.l2 * w
        used = [g for g in self.groups if np.any(w[g] != 0)]
        for g in used if self.l1 > 0 else []:
            length = np.sqrt(w[g] @ w[g])
            unit = w[g] / length
            slope[g] += self.l1 * unit
            hessian[np.ix_(g, g)] += self.l1 / length * (np.eye(len(g)) - np.outer(unit, unit))
        rows = np.concatenate(used) if used and self.l1 > 0 else np.arange(len(w))
        change = np.zeros(len(w), LONG)
        change[rows] = _solved(hessian[np.ix_(rows, rows)], -slope[rows])
        trials = [w + LONG(0.5) ** k * change for k in range(8)]
        return min(trials, key=self.value)


def _solved(matrix: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Gauss elimination of a positive semidefinite matrix of unit diagonal, largest pivot first."""
    scale = np.sqrt(np.maximum(matrix.diagonal(), np.finfo(LONG).tiny))
    M = np.c_[matrix / np.outer(scale, scale), target / scale]
    d, solution = len(target), np.zeros(len(target), LONG)
    order: list[int] = []
    for _ in range(d):
        left = [k for k in range(d) if k not in order]
        pivot = max(left, key=lambda k: M[k, k])
        if M[pivot, pivot] < 1e-17:
            break
        order.append(pivot)
        for k in left:
            if k != pivot:
                M[k] -= M[k, pivot] / M[pivot, pivot] * M[pivot]
    for pivot in reversed(order):
        solution[pivot] = (M[pivot, d] - M[pivot, :d] @ solution) / M[pivot, pivot]
    return solution / scale


# ---- the check -------------------------------------------------------------------------------------


def check_regression(regression: Regression) -> Verdict:
    """Fit, and recompute the certificate: AssertionError where it is false."""
    model, X, y, weight, _ = regression
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, weight)
    return check_fitted(regression)


def check_fitted(regression: Regression) -> Verdict:
    """Recompute the certificate of a regression that was fitted: AssertionError where it is false."""
    model, about = regression.model, regression.about
    exact, told = Exact(regression), model.certificate_
    value, zero = exact.value(model.weights_), exact.value(np.zeros_like(model.weights_))
    allowance = exact.allowance(model.weights_)
    best = exact.minimum(model.weights_)
    about = f"{about}\n{told}\nP {value!r}, least P found {best!r}, allowance {allowance:.3g}"
    assert np.isfinite(model.weights_).all(), about
    assert abs(told.primal - value) <= allowance, f"P is not P(weights_): {about}"
    assert told.gap == told.primal - told.dual, about
    assert told.gap >= -allowance, about
    assert told.dual <= best * (1 + 1e-17) + 1e-18 * zero, f"D is above the minimum: {about}"
    assert not told.converged or told.gap <= model.tol * zero * (1 + 1e-12), about
    assert told.primal <= zero + allowance, f"worse than w = 0: {about}"
    for row in model.history_:
        assert row.dual <= best * (1 + 1e-17) + 1e-18 * zero, f"D of row {row.iteration} is too high: {about}"
    return Verdict(told.primal, told.dual, float(best), told.converged)


def run(seed: int) -> tuple[str, str | None]:
    """The label of a random regression, and what is false of its certificate (None if nothing is)."""
    regression = random_regression(seed)
    label = f"LinearRegressor / {regression.model.penalty} / {regression.model.solver}"
    try:
        check_regression(regression)
    except Exception as error:
        return label, f"{type(error).__name__}: {error}"
    return label, None
