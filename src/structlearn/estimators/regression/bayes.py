"""Bayesian linear regression: the Gaussian posterior at the precisions of most evidence.

Everything works on the weighted, centred rows of a `Design`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from structlearn.core.contract import Array
from structlearn.estimators.regression.design import Design
from structlearn.estimators.regression.ridge import EPSILON, projections

#: Distance of the points between which a maximum is looked for, as a difference of log(alpha/beta).
STEP = 0.25
#: alpha/beta goes up to this many times the largest eigenvalue: beyond, all weights round to zero.
FARTHEST = 1e12
#: And down to this share of the least: below, a ridge solution is that of least squares to all digits.
NEAREST = EPSILON / 100


# ---- evidence --------------------------------------------------------------------------------------


class Evidence(NamedTuple):
    """The posterior's covariance at the most likely precisions; its mean is a ridge solution."""

    covariance: Array
    prior_precision: float
    noise_precision: float
    #: the largest log p(y | prior and noise precision) so far, at each evaluation
    path: Array


class _Profile(NamedTuple):
    """The evidence as a function of t = alpha/beta alone, beta at its best, n / misfit(t).

    In the basis of the eigenvectors, with v the eigenvalues of X^T X and a = y along them,

        misfit(t) = rest + sum a^2 t / (t + v)
        log p(y)  = n/2 { log(n / (2 pi misfit)) - 1 } - 1/2 sum log(1 + v/t)
    """

    values: Array
    squares: Array  # of y along the left singular vectors
    rest: float  # what is left of ||y||^2
    n: float

    def misfit(self, t: float) -> float:
        return self.rest + float(np.sum(self.squares * (t / (t + self.values))))

    def log_evidence(self, t: float) -> float:
        fit = self.n * (np.log(self.n / (2 * np.pi * self.misfit(t))) - 1)
        return (fit - float(np.sum(np.log1p(self.values / t)))) / 2

    def slope(self, log_t: float) -> float:
        """Return the derivative of twice the evidence by log t."""
        t = float(np.exp(log_t))
        share = self.values / (t + self.values)
        fall = float(np.sum(self.squares * share * (t / (t + self.values))))
        return float(np.sum(share)) - self.n * fall / self.misfit(t)

    def candidates(self) -> list[float]:
        """Return all maxima over t, and the ends of the range beyond which the evidence falls or is flat.

        Where the weights can fit whatever y is (rest = 0), the evidence of centred data has no bound towards
        t = 0, no noise at all, which means nothing: then an end counts only if there is no maximum.
        """
        lowest, highest = self.values.min() * NEAREST, self.values.max() * FARTHEST
        log_t = np.arange(np.log(lowest), np.log(highest) + STEP, STEP)
        slopes = np.array([self.slope(one) for one in log_t])
        tops = np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))
        found = [optimize.brentq(self.slope, log_t[k], log_t[k + 1], xtol=1e-14) for k in tops]
        ends = [] if found and self.rest == 0 else [log_t[0], log_t[-1]]
        return [float(np.exp(one)) for one in (*found, *ends)]


def maximise_evidence(A: Design, y: Array, n: float) -> Evidence:
    """Fit Bayesian linear regression: w ~ N(0, I/alpha), y ~ N(A w, I/beta), both precisions by evidence.

    p(y | alpha, beta) = integral p(y | w, beta) p(w | alpha) dw may have several maxima. For each ratio
    alpha/beta the best beta is known, and the features of what is left have a width of about 1 in the log of
    the ratio, so that a scan finds them all. An intercept is taken at its estimate (by centring), as in
    scikit-learn's BayesianRidge, whose fixed points without hyperpriors are the stationary points.

    n : the number of examples, or the sum of their weights
    """
    s, V, along, rest = projections(A, y)
    variance = float(y @ y)
    free = A.shape[0] - A.centred - s.size
    profile = _Profile(n * s**2, n * along**2, n * max(rest, variance * EPSILON) if free > 0 else 0.0, n)
    if variance == 0 or not s.size:  # nothing to explain, or nothing to explain it with
        alpha, beta = 1.0, 1 / variance if variance > 0 else 1.0
        spread = float(np.sum(np.log1p(beta / alpha * profile.values)))
        path = np.array([n * np.log(beta / (2 * np.pi)) - beta * n * variance - spread]) / 2
    else:
        candidates = profile.candidates()
        values = np.array([profile.log_evidence(t) for t in candidates])
        t, path = candidates[int(values.argmax())], np.maximum.accumulate(values)
        beta = n / profile.misfit(t)
        alpha = t * beta
    covariance = (V * (1 / (alpha + beta * profile.values) - 1 / alpha)) @ V.T
    covariance[np.diag_indices_from(covariance)] += 1 / alpha
    return Evidence(covariance, alpha, beta, path)


# ---- predictions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class GaussianPrediction:
    """A normal distribution for each example.

    Attributes
    ----------
    mean, std : ndarray of shape (n,)
    """

    mean: Array
    std: Array

    def interval(self, level: float = 0.95) -> Array:
        """Return the central intervals that hold `level` of the probability, of shape (n, 2)."""
        return central_interval(self.mean, self.std, level)

    def logpdf(self, y: ArrayLike) -> Array:
        """Return log p(y_i), of shape (n,)."""
        return stats.norm(self.mean, self.std).logpdf(np.asarray(y, dtype=np.float64))


def central_interval(mean: Array, std: Array, level: float) -> Array:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, as in 0.95; got {level!r}.")
    half = stats.norm.ppf((1 + level) / 2) * std
    return np.stack([mean - half, mean + half], axis=-1)
