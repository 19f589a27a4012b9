"""How far rounding may take P and D from their true values: condition-based bounds.

A score is a sum of at most k products; it is off by at most k u <|Phi^T e|, |w|>, u = 2^-53, which is no more
than k u ||Phi^T e|| ||w||. An output of example i adds up at most m_i of them. With the *reach*

    R = sum_i p_i m_i max_j ||Phi_i^T e_j||,   C = sum_i p_i m_i max_j |c_ij|,   M = sum_i p_i m_i

all that is ever added up in P or in D is at most S = R ||w|| + C + M (M for the logarithms of partition
functions), and each of the two is off by at most the number of its roundings times u S, beside those of the
norm of w. Worst cases: the true errors are some orders of magnitude smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.threads import in_order

#: Half of the distance from 1 to the next number: the largest relative error of one operation.
UNIT = float(np.finfo(np.float64).eps) / 2
#: A loss this far below zero, over the scores that it is a difference of, is no rounding error.
MATERIAL = 1e-6
#: Operations on a number that no sum counts: products, exponentials, what a kernel does beside adding up.
FEW = 32


class Bound(NamedTuple):
    """A lower bound on the optimum: a dual value, already lowered by what rounding may have added to it."""

    value: float
    rounding: float = 0.0


class Magnitude(NamedTuple):
    """What an objective adds up, and how many terms its sums have."""

    #: R, C and M above
    reach: float
    cost: float
    mass: float
    #: most terms of the score of a part, and of the score of an output
    terms: int
    entries: int
    #: most terms of a weight of w(z)
    depth: int
    n_weights: int
    n_examples: int
    #: relative error of the oracle itself, of its values and of its points, where it is not exact
    accuracy: float = 0.0

    def size(self, norm: float) -> float:
        """Return S at ||w||."""
        return self.reach * norm + self.cost + self.mass

    def primal(self, w: Array, value: float) -> float:
        """Return an upper bound on the error of P(w), whose computed value is `value`."""
        roundings = 2 * self.terms + 4 * self.entries + FEW
        sums = (self.n_weights + self.n_examples) * abs(value)
        return (UNIT * roundings + self.accuracy) * self.size(_norm_rounded_up(w)) + UNIT * sums

    def dual(self, slope: float, penalty: float, steps: float = 0.0) -> float:
        """Bound the error of D(z) from above, if ||dD/du|| <= slope, after `steps` that changed w and z."""
        roundings = 2 * (self.depth + steps / max(self.n_examples, 1)) + FEW
        sums = 2 * (self.n_weights + steps) * abs(penalty)
        return (UNIT * roundings + self.accuracy) * self.size(slope) + UNIT * sums

    def lower_bound(self, square: float, cost: float, regularization: float, steps: float = 0.0) -> Bound:
        """Return D of a dual point z from ||w(z)||^2 and the cost of z, for the squared norm."""
        penalty = regularization / 2 * square
        rounding = self.dual(float(np.sqrt(square)) * (1 + 1e-9), penalty, steps)
        return Bound(float(cost) - penalty - rounding, rounding)

    @classmethod
    def of_examples(
        cls, scoring: Any, entries: Array, cost: Array, weight: Array, accuracy: float, n_jobs: int = 1
    ) -> Magnitude:
        """Return that of a data set whose outputs add up at most `entries` parts each."""
        chunks = scoring.chunks()
        largest = np.zeros((2, scoring.n_examples))

        costs = bool(cost.any())

        def look(chunk: tuple[int, int]) -> None:
            first, last = chunk
            largest[0, first:last] = scoring.largest_norms(first, last)
            if costs:
                parts = np.abs(cost[scoring.start[first] : scoring.start[last]])
                largest[1, first:last] = largest_of_ranges(parts, scoring.start[first : last + 1])

        with in_order(n_jobs) as run:
            for _ in run(look, chunks):
                pass
        mass = weight * entries
        reach = float(mass @ np.maximum(largest[0], 1.0 if scoring.n_shared else 0.0))
        depth = len(chunks) + max(int(scoring.start[last] - scoring.start[first]) for first, last in chunks)
        return cls(
            reach,
            cost=float(mass @ largest[1]),
            mass=float(mass.sum()),
            terms=int(scoring.n_terms),
            entries=int(entries.max()),
            depth=depth,
            n_weights=int(scoring.n_weights),
            n_examples=int(np.count_nonzero(weight)),
            accuracy=accuracy,
        )

    @classmethod
    def of_parts(cls, parts: Sequence[Magnitude], fractions: Sequence[float]) -> Magnitude:
        """Return the magnitude of a data set whose parts have these shares of all example weights."""
        *sums, terms, entries, depth, n_weights, n_examples, accuracy = zip(*parts)
        reach, cost, mass = (sum(map(mul, fractions, values)) for values in sums)
        most = max(terms), max(entries), max(depth), max(n_weights)
        return cls(reach, cost, mass, *most, sum(n_examples), max(accuracy))


def largest_of_ranges(values: Array, start: Array) -> Array:
    """Return the largest of the values of each range, which begin at start - start[0]; 0 of empty ones."""
    found, own = np.zeros(start.size - 1), np.flatnonzero(np.diff(start))
    if own.size:
        found[own] = np.maximum.reduceat(values, start[own] - start[0])
    return found


def _norm_rounded_up(w: Array) -> float:
    """Return ||w||, rounded up."""
    return float(np.linalg.norm(w)) * (1 + 1e-9)
