"""Bounds on label sequences under constraints on counts: what each count costs, compiled.

    max_y { s(y) : l_c <= n_c(y) <= u_c }  <=  max_y [ s(y) - sum_c p_c n_c(y) ] + sum_c max(p_c u_c, p_c l_c)

for any prices p: n_c(y) adds up events at steps (before, label), so that the maximum is Viterbi's. The prices
of the least bound are looked for by subgradient steps whose length is that to the best value known (Polyak
1969); sequences that keep all limits are met on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel, leaf
from structlearn.core.vectors import assign

#: Steps of the prices, at most.
_MOST_STEPS = 80
#: Where no sequence that keeps the limits is known: how far below the bound one is looked for, as a share of
#: it, and how that falls where a step has not lowered the bound.
_FIRST_AIM, _CLOSER = 0.05, 0.7


class CountedSteps(NamedTuple):
    """Scores of label sequences of length L, and what their steps count.

    unary : (L, K). steps : (L, K, K) as (from, to), the first unused; -inf forbids
    event : (C, K + 1, K), how much each count grows at a step; the last row is before the first label
    low, high : (C,), limits of the counts; high may be infinite
    """

    unary: Array
    steps: Array
    event: Array
    low: Array
    high: Array


@leaf
def charge_steps(counted: CountedSteps, price: Array, charge: Array) -> None:
    """charge[j, k] <- sum_c p_c event_c[j, k]."""
    charge[:] = 0.0
    for c in range(price.size):
        if price[c] != 0.0:
            for j in range(charge.shape[0]):
                for k in range(charge.shape[1]):
                    charge[j, k] += price[c] * counted.event[c, j, k]


@kernel
def fill_ahead(counted: CountedSteps, charge: Array, ahead: Array) -> None:
    """ahead[t, j] <- the best score of labels and steps after label j at position t, charges taken off."""
    length, n = counted.unary.shape
    row = np.empty(n)
    for j in range(n):
        ahead[length - 1, j] = 0.0
    for t in range(length - 1, 0, -1):
        for k in range(n):
            row[k] = counted.unary[t, k] + ahead[t, k]
        for j in range(n):
            best = -np.inf
            for k in range(n):
                best = max(best, counted.steps[t, j, k] - charge[j, k] + row[k])
            ahead[t - 1, j] = best


@kernel
def best_charged(counted: CountedSteps, charge: Array, ahead: Array, labels: Array) -> float:
    """labels <- the best sequence, charges taken off, from `fill_ahead`; returns its charged score."""
    length, n = counted.unary.shape
    value, label = -np.inf, 0
    for k in range(n):
        found = counted.unary[0, k] - charge[n, k] + ahead[0, k]
        if found > value:
            value, label = found, k
    labels[0] = label
    for t in range(1, length):
        best, after = -np.inf, 0
        for k in range(n):
            found = counted.steps[t, label, k] - charge[label, k] + counted.unary[t, k] + ahead[t, k]
            if found > best:
                best, after = found, k
        labels[t] = label = after
    return value


@leaf
def count_events(counted: CountedSteps, labels: Array, counts: Array) -> float:
    """Set counts <- n_c of a sequence; return its score, without charges."""
    counts[:] = 0
    before, value = counted.unary.shape[1], 0.0
    for t in range(labels.size):
        label = labels[t]
        value += counted.unary[t, label]
        if t > 0:
            value += counted.steps[t, before, label]
        for c in range(counts.size):
            counts[c] += counted.event[c, before, label]
        before = label
    return value


@leaf
def _slopes(counted: CountedSteps, counts: Array, price: Array, slope: Array) -> tuple[float, bool]:
    """slope <- a subgradient of the bound by the prices; return its square, and whether limits are kept."""
    square, kept = 0.0, True
    for c in range(price.size):
        low, high, n = counted.low[c], counted.high[c], float(counts[c])
        kept &= low <= n <= high
        aim = high if price[c] > 0.0 else (low if price[c] < 0.0 else min(max(n, low), high))
        slope[c] = aim - n
        square += slope[c] * slope[c]
    return square, kept


@leaf
def priced_limits(counted: CountedSteps, price: Array) -> float:
    """Return sum_c max(p_c u_c, p_c l_c)."""
    found = 0.0
    for c in range(price.size):
        if price[c] != 0.0:
            found += price[c] * (counted.high[c] if price[c] > 0.0 else counted.low[c])
    return found


@leaf
def _step(counted: CountedSteps, length: float, slope: Array, price: Array) -> None:
    for c in range(price.size):
        price[c] -= length * slope[c]
        if (price[c] < 0.0 and counted.low[c] <= 0.0) or (price[c] > 0.0 and counted.high[c] == np.inf):
            price[c] = 0.0


@kernel
def find_prices(counted: CountedSteps, value: float, best: Array, price: Array) -> tuple[float, float]:
    """price <- those of the least bound met; return it, and the best value, whose labels are in `best`.

    value : that of the labels in `best`, where a sequence that keeps the limits is known; else -inf.
    """
    length, n = counted.unary.shape
    counts, slope = np.zeros(price.size, dtype=np.int64), np.zeros(price.size)
    charge, ahead = np.empty((n + 1, n)), np.empty((length, n))
    labels, now = np.zeros(length, dtype=np.int64), price.copy()
    bound, aim = np.inf, _FIRST_AIM
    for _ in range(_MOST_STEPS):
        charge_steps(counted, now, charge)
        fill_ahead(counted, charge, ahead)
        here = best_charged(counted, charge, ahead, labels) + priced_limits(counted, now)
        if here == -np.inf:
            return here, value
        if here < bound:
            bound = here
            assign(price, now)
        else:
            aim *= _CLOSER
        found = count_events(counted, labels, counts)
        square, kept = _slopes(counted, counts, now, slope)
        if kept and found > value:
            value = found
            assign(best, labels)
        if square == 0.0 or bound - value <= 1e-12 * (abs(bound) + abs(value)):
            break
        target = value if value > -np.inf else bound - aim * (1.0 + abs(bound))
        _step(counted, (here - target) / square, slope, now)
    return max(bound, value), value
