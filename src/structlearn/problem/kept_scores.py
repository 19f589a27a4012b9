"""Scores of single rows that are kept while w moves along lines: a step length costs no product with X.

    theta(w + s p) = theta(w) + s X p

So P and its first two derivatives along p are sums over rows of a few exponentials, and only the direction
and the gradient at the end of the line take a product with X each.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.memory import Memory
from structlearn.core.rounding import Bound
from structlearn.problem.gold import GoldVertices
from structlearn.problem.objective import Objective
from structlearn.problem.problem import Predictions
from structlearn.problem.regularizers import Regularizer, Shannon
from structlearn.scoring.base import Scoring
from structlearn.scoring.rows.rows import RowScoring
from structlearn.structures import Cube, Simplex, Structure

#: The most scores that are kept: 64 MB, four times over.
MOST_SCORES = 1 << 23
#: Scores are computed afresh after this many steps, or where the way is this much longer than w: the bound of
#: the rounding errors of P allows for as many.
MOST_STEPS, LONGEST_WAY = 16, 1.5


class OnLine(NamedTuple):
    """What is known at a step length: the sums over examples of losses and of -Omega, and P', P''."""

    losses: float
    gain: float
    slope: float
    bend: float


def can_keep_scores(
    structure: Structure, regularizer: Regularizer, scoring: Scoring, memory: Memory | None
) -> bool:
    """Return whether it is the softmax loss of single rows, few enough to keep their scores."""
    flat = isinstance(structure, Simplex | Cube) and isinstance(regularizer, Shannon)
    rows = isinstance(scoring, RowScoring) and scoring.isotropic
    unlimited = memory is None or memory.limit is None
    return flat and rows and unlimited and int(scoring.start[-1]) <= MOST_SCORES


class KeptScores:
    """theta of all rows at the current w, and their change along the current direction."""

    def __init__(self, objective: Objective, w: Array) -> None:
        self.objective = objective
        self.chunks = objective.scoring.chunks(1 << 15)
        self.w = w
        self.gold = np.concatenate([objective.weighted_gold(*chunk) for chunk in self.chunks])
        self.rescore()
        self.way = np.zeros_like(self.theta)
        self.mean = np.zeros_like(self.theta)
        self._look = softmax_line if objective.couples_labels else sigmoid_line

    @property
    def n_labels(self) -> int:
        return int(self.objective.scoring.shapes[0, 1])

    def rescore(self) -> None:
        """Compute theta afresh."""
        self.theta = self.objective.cost + self._times(self.w)
        self.n_steps, self.way_length = 0, 0.0

    def aim(self, direction: Array) -> None:
        """Score a direction in which w is to move."""
        self.way, self.direction = self._times(direction), direction

    def at(self, length: float) -> OnLine:
        """Look at w + length * direction; the probabilities there become `mean`, times p_i."""
        objective, k = self.objective, self.n_labels

        def one(chunk: tuple[int, int]) -> tuple[float, float, float, float]:
            first, last = chunk
            parts = slice(first * k, last * k)
            theta, way = self.theta[parts].reshape(-1, k), self.way[parts].reshape(-1, k)
            weight, mean = objective.weight[first:last], self.mean[parts]
            return self._look(theta, way, length, objective.gold_vertices, weight, first, mean)

        found = np.sum(objective.team.deal(one, self.chunks), axis=0)
        return OnLine(*found.tolist())

    def move(self, length: float) -> None:
        """Make a step of this length, the last one that was looked at; rescore where rounding asks for it."""
        self.w = self.w + length * self.direction
        self.theta += length * self.way
        self.n_steps += 1
        self.way_length += abs(length) * float(np.linalg.norm(self.direction))
        if self.n_steps >= MOST_STEPS or self.way_length > LONGEST_WAY * float(np.linalg.norm(self.w)):
            self.rescore()
            self.way[:] = 0.0
            self.at(0.0)

    def predictions(self, found: OnLine) -> Predictions:
        """Return what the answers at the current w add up to."""
        objective = self.objective

        def pull(first: int, last: int, out: Array) -> None:
            k = self.n_labels
            left = self.gold[first * k : last * k] - self.mean[first * k : last * k]
            objective.scoring.pullback(left, first, last, out)

        dual_map = objective.oracle.added_up(pull)
        cost = found.gain
        if objective.cost.any():
            cost += float(self.mean @ objective.cost) - objective.gold_cost
        return Predictions(dual_map, cost, objective.penalty.value(self.w) + found.losses)

    def dual(self, here: Predictions) -> Bound:
        """Return D of z or, where the penalty is a norm, of the point on the way from mu to z that fits it.

        That point's entropy is computed afresh: it is more than its share of the entropy of z.
        """
        objective = self.objective
        fraction = objective.penalty.shrink(here.dual_map)
        if fraction == 1.0 or objective.cost.any():
            return objective.dual_of_map(here.dual_map, here.cost)
        apart = not objective.couples_labels
        cost = float(shrunk_entropy(self.gold, self.mean, objective.weight, fraction, apart))
        penalty = objective.penalty.conjugate(fraction * here.dual_map)
        slope = objective.penalty.slope(here.dual_map, here.cost)
        rounding = objective.magnitude.dual(slope, penalty)
        return Bound(cost - penalty - rounding, rounding)

    def _times(self, w: Array) -> Array:
        """Return the scores at w, without costs."""
        scoring, k = self.objective.scoring, self.n_labels
        out = np.zeros(int(scoring.start[-1]))
        if w.any():

            def one(chunk: tuple[int, int]) -> None:
                out[chunk[0] * k : chunk[1] * k] = scoring.scores(w, *chunk)

            self.objective.team.deal(one, self.chunks)
        return out


@kernel
def shrunk_entropy(gold: Array, mean: Array, weight: Array, fraction: float, apart: bool) -> float:
    """Return sum_i p_i H(mu_i + s (z_i - mu_i)), from p_i mu_i and p_i z_i end to end; `apart` : switches."""
    n_labels = mean.size // weight.size
    total = 0.0
    for i in range(weight.size):
        if weight[i] == 0.0:
            continue
        for k in range(i * n_labels, (i + 1) * n_labels):
            z = (gold[k] + fraction * (mean[k] - gold[k])) / weight[i]
            if 0.0 < z < 1.0:
                total -= weight[i] * z * log(z)
                if apart:
                    total -= weight[i] * (1.0 - z) * log1p(-z)
    return total


@kernel
def softmax_line(
    theta: Array, way: Array, length: float, gold: GoldVertices, weight: Array, first: int, mean: Array
) -> tuple[float, float, float, float]:
    """Write p_i softmax(theta_i + s way_i); return the sums of losses, entropies, slopes and bends."""
    n, n_labels = theta.shape
    losses = gain = slope = bend = 0.0
    for i in range(n):
        p, out = weight[i], i * n_labels
        top = -np.inf
        for k in range(n_labels):
            mean[out + k] = theta[i, k] + length * way[i, k]
            top = max(top, mean[out + k])
        known = along_gold = 0.0
        for e in range(gold.start[first + i], gold.start[first + i + 1]):
            k, entry = gold.part[e], gold.value[e]
            known += entry * mean[out + k]
            along_gold += entry * way[i, k]
        total = below = along = square = 0.0
        for k in range(n_labels):
            under = top - mean[out + k]
            mass = exp(-under)
            mean[out + k] = mass
            total += mass
            below += mass * under if mass > 0.0 else 0.0
            along += mass * way[i, k]
            square += mass * way[i, k] * way[i, k]
        along /= total
        for k in range(n_labels):
            mean[out + k] *= p / total
        logarithm = log(total)
        losses += p * max(top + logarithm - known, 0.0)
        gain += p * min(logarithm + below / total, log(float(n_labels)))
        slope += p * (along - along_gold)
        bend += p * max(square / total - along * along, 0.0)
    return losses, gain, slope, bend


@kernel
def sigmoid_line(
    theta: Array, way: Array, length: float, gold: GoldVertices, weight: Array, first: int, mean: Array
) -> tuple[float, float, float, float]:
    """Write p_i sigmoid(theta_i + s way_i); return the sums of losses, entropies, slopes and bends."""
    n, n_labels = theta.shape
    losses = gain = slope = bend = 0.0
    for i in range(n):
        p, out = weight[i], i * n_labels
        known = along_gold = value = entropy = along = square = 0.0
        for e in range(gold.start[first + i], gold.start[first + i + 1]):
            k, entry = gold.part[e], gold.value[e]
            known += entry * (theta[i, k] + length * way[i, k])
            along_gold += entry * way[i, k]
        for k in range(n_labels):
            score, change = theta[i, k] + length * way[i, k], way[i, k]
            small = exp(-abs(score))
            tail, share = log1p(small), 1.0 / (1.0 + small)
            on = share if score >= 0.0 else small * share
            mean[out + k] = p * on
            value += max(score, 0.0) + tail
            entropy += tail + abs(score) * small * share if small > 0.0 else 0.0
            along += on * change
            square += small * share * share * change * change
        losses += p * max(value - known, 0.0)
        gain += p * min(entropy, n_labels * log(2.0))
        slope += p * (along - along_gold)
        bend += p * square
    return losses, gain, slope, bend
