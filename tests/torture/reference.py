"""The objective written out: every output of every example, in extended precision, with bounds on the error.

Nothing here comes from the package. An example is a table with one row a corner y of its polytope M_i:

    features[y] = Phi_i^T (y - mu_i)      cost[y] = Delta_i(y)      bent[y] = the parts of y in 1/2 ||z||^2

so that, with t = features w, the losses are

    hinge      max_y t_y + cost_y
    softmax    log sum_y exp t_y                                        (t of the gold output is 0)
    sparsemax  max_q <t, q> - 1/2 ||bent^T q||^2 + 1/2 ||bent[gold]||^2      q a mixture of corners
    entmax15   max_q <t, q> - 4/3 sum_y (q_y^1.5 - q_y)

Each value is a pair of bounds: below by a mixture q, above by weak duality, each moved outwards by what
rounding may have done to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = Any
EXTENDED = np.longdouble
EPSILON = float(np.finfo(EXTENDED).eps)


class Example(NamedTuple):
    """One example, its corners written out."""

    weight: float
    features: Array
    cost: Array
    bent: Array
    gold: int


class Bounds(NamedTuple):
    """Two numbers around a value."""

    below: Any
    above: Any


class Written(NamedTuple):
    """R(w) + sum_i p_i loss_i(w) with R = strength/2 ||w||^2, or another penalty."""

    examples: list[Example]
    loss: str
    strength: float
    #: "l2", "l1", "elasticnet", "group" (columns of w as a table of so many rows), "ball" (||w|| <=
    #: strength), "nonnegative" ("l2" with w >= 0)
    penalty: str = "l2"
    rows: int = 1
    #: of the elastic net, R = strength (ratio ||w||_1 + (1 - ratio)/2 ||w||^2)
    ratio: float = 0.0

    @property
    def n_weights(self) -> int:
        return self.examples[0].features.shape[1]

    def at_zero(self) -> float:
        """P(0)."""
        return float(self.value(np.zeros(self.n_weights)).above)

    def value(self, w: Array) -> Bounds:
        """P(w)."""
        w = np.asarray(w, dtype=EXTENDED)
        below = above = self.regularizer(w)
        error = 16 * w.size * EPSILON * below
        for one in self.examples:
            t = one.features @ w
            scores = t + one.cost if self.loss == "hinge" else t
            loss = LOSSES[self.loss](scores, one)
            size = np.abs(one.features) @ np.abs(w) + (np.abs(one.cost) if self.loss == "hinge" else 1)
            below, above = below + one.weight * loss.below, above + one.weight * loss.above
            error += 16 * (w.size + len(t)) * EPSILON * one.weight * size.max()
        return Bounds(below - error, above + error)

    def regularizer(self, w: Array) -> Any:
        """R(w)."""
        if self.penalty == "l1":
            return self.strength * np.abs(w).sum()
        if self.penalty == "elasticnet":
            ratio = EXTENDED(self.ratio)
            return self.strength * (ratio * np.abs(w).sum() + (1 - ratio) / 2 * (w @ w))
        if self.penalty == "group":
            return self.strength * np.sqrt(np.square(w.reshape(self.rows, -1)).sum(axis=0)).sum()
        if self.penalty == "ball":
            return EXTENDED(0 if np.sqrt(w @ w) <= self.strength * (1 + 2e-12) else np.inf)
        if self.penalty == "nonnegative" and (w < 0).any():
            return EXTENDED(np.inf)
        return EXTENDED(self.strength) / 2 * (w @ w)


def hinge(scores: Array, one: Example) -> Bounds:
    return Bounds(scores.max(), scores.max())


def softmax(t: Array, one: Example) -> Bounds:
    value = t.max() + np.log(np.exp(t - t.max()).sum())
    return Bounds(value, value)


def entmax15(t: Array, one: Example) -> Bounds:
    """min_tau tau + 2/3 sum_y u_y^3, u = [(t - tau)/2 + 2/3]_+, whose derivative is 1 - sum_y u_y^2."""
    top = t.max()
    low, high = top + EXTENDED(4) / 3 - 2, top + EXTENDED(4) / 3
    for _ in range(80):
        tau = (low + high) / 2
        low, high = (tau, high) if _entmax_roots(t, tau) @ _entmax_roots(t, tau) > 1 else (low, tau)
    u = _entmax_roots(t, (low + high) / 2)
    q = np.square(u) / (u @ u)
    below = t @ q - EXTENDED(4) / 3 * (q * np.sqrt(q) - q).sum()
    return Bounds(below, (low + high) / 2 + EXTENDED(2) / 3 * (u * u * u).sum())


def _entmax_roots(t: Array, tau: Any) -> Array:
    return np.maximum((t - tau) / 2 + EXTENDED(2) / 3, 0)


def sparsemax(t: Array, one: Example) -> Bounds:
    """By a mixture q and z = bent^T q: below at q, above since -1/2 ||z'||^2 <= 1/2 ||z||^2 - <z, z'>."""
    near = np.flatnonzero(t >= t.max() - one.bent.shape[1] - 1)  # others are in no best mixture
    shifted = t[near] - t.max()
    q = best_mixture(shifted.astype(np.float64), one.bent[near]).astype(EXTENDED)
    q /= q.sum()
    z = one.bent[near].T.astype(EXTENDED) @ q
    base = t.max() + one.bent[one.gold] @ one.bent[one.gold] / EXTENDED(2)
    above = (t - t.max() - one.bent @ z).max() + z @ z / 2
    return Bounds(base + shifted @ q - z @ z / 2, base + above)


def best_mixture(t: Array, bent: Array) -> Array:
    """argmax_q <t, q> - 1/2 ||bent^T q||^2 over the simplex, by an active set of corners."""
    q = np.zeros(len(t))
    q[np.argmax(t - np.square(bent).sum(axis=1) / 2)] = 1.0
    for _ in range(20 * len(t)):
        slope = t - bent @ (bent.T @ q)
        best = int(np.argmax(slope))
        if slope[best] - q @ slope <= 1e-15:
            break
        active = np.flatnonzero(q > 0)
        active = np.union1d(active, [best])
        while not _step(t, bent, q, active):
            active = active[q[active] > 0]
    return q


def _step(t: Array, bent: Array, q: Array, active: Array) -> bool:
    """Move q to the best point over the active corners, or as far towards it as it stays a mixture."""
    C, here = bent[active], q[active]
    slope = t[active] - C @ (C.T @ here)
    # <slope, d> - 1/2 ||C^T d||^2 over directions d that keep the sum: the basis leaves the last entry out
    basis = np.vstack([np.eye(len(active) - 1), -np.ones(len(active) - 1)])
    image, dual_map = C.T @ basis, basis.T @ slope
    d, *_ = np.linalg.lstsq(image.T @ image, dual_map, rcond=1e-10)
    flat = dual_map - image.T @ (image @ d)
    endless = np.abs(flat).max(initial=0.0) > 1e-9  # a direction of no curvature that gains
    d = basis @ (flat if endless else d)
    down = d < 0
    reach = np.min(-here[down] / d[down], initial=np.inf if endless else 1.0)
    full = not endless and reach >= 1.0
    q[active] = np.maximum(here + min(reach, 1.0 if not endless else reach) * d, 0.0)
    if not full:
        q[active[down][np.argmin(-here[down] / d[down])]] = 0.0
    q /= q.sum()
    return full


LOSSES = {"hinge": hinge, "softmax": softmax, "sparsemax": sparsemax, "entmax15": entmax15}
