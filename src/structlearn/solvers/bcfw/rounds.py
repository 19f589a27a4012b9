"""Rounds: several threads take block steps at once, each on blocks and on a w of its own.

Every thread k brings back a change d_k of w, the change c_k of the cost of z, and blocks that have moved. The
dual along all these directions is a small concave quadratic program over the fractions that are committed:

    max_{0 <= gamma <= 1} sum_k gamma_k c_k - lambda/2 ||w + sum_k gamma_k d_k||^2

gamma = 0 is allowed, so that the dual never decreases. A block of which a fraction is committed is a mixture
of two points of its polytope. What comes out depends on the number of threads, not on their timing.

Where w is ahead of w(z) (see `lead`), the program is that of a visit in its block: lambda is the strength of
the pace, and lambda^2 / metric stands in its place in the quadratic term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.lead import Pace
from structlearn.solvers.bcfw.totals import CACHED_GAP, COST, LAG_COST, STEPS

#: Sweeps of coordinate ascent on the fractions, and the change at which they end.
MOST_SWEEPS = 1000
SETTLED = 1e-12
#: Weights of which all threads' changes are read at once: they stay in the nearest cache meanwhile.
WEIGHTS_AT_ONCE = 2048
#: Local parts of blocks, in the mean, for which the least lengths of rounds were measured (words of letters).
PARTS_OF_A_VISIT = 200

#: A round adds up changes of all weights; per this many weights, a thread makes one visit more.
WEIGHTS_A_VISIT = 1000

#: commits a fraction of the way that blocks have gone; returns what the cost gains beyond that fraction
Commit = Callable[[float], float]


class Accumulators(NamedTuple):
    """What a round changes beside blocks: w, the scalars of `totals`, the lag of the average; and how far."""

    w: Array
    totals: Array
    lag: Array
    pace: Pace


#: visits blocks, changing accumulators in place
Visit = Callable[[Array, Accumulators], Commit]


def run_round(objective: Objective, sums: Accumulators, order: Array, visit: Visit) -> list[Commit]:
    """Visit each block of `order`, all distinct, once; the threads share them out."""
    n = min(objective.n_jobs, order.size)
    edges = [order.size * k // n for k in range(n + 1)]
    changes, scalars = np.empty((n, sums.w.size)), np.zeros((n, sums.totals.size))

    def visit_part(k: int) -> Commit:
        changes[k] = sums.w
        own = Accumulators(changes[k], scalars[k], sums.w[:0], sums.pace)
        commit = visit(order[edges[k] : edges[k + 1]], own)
        changes[k] -= sums.w
        return commit

    team = objective.team
    commits = team.together([partial(visit_part, k) for k in range(n)])
    fractions = combine(changes, scalars, sums.pace, sums.w, sums.totals, sums.lag)
    partly = [
        partial(commit, float(fraction)) for commit, fraction in zip(commits, fractions) if fraction < 1.0
    ]
    if partly:
        add_gain(sums, sum(team.together(partly)))
    return commits


def compile_combine(sums: Accumulators) -> None:
    """Compile what joins the parts of a round."""
    changes, scalars = np.zeros((1, sums.w.size)), np.zeros((1, sums.totals.size))
    combine(changes, scalars, sums.pace, sums.w, sums.totals, sums.lag)


def add_gain(sums: Accumulators, gained: float) -> None:
    """Add what the cost of z gains where fractions are committed (see `Commit`)."""
    sums.totals[COST] += gained
    if sums.lag.size:
        sums.totals[LAG_COST] += _age(sums.totals) * gained


@kernel
def _age(totals: Array) -> float:
    """Return how much a change now lags behind in the average with weights 1, 2, 3 ... (see `plain_pass`)."""
    return totals[STEPS] * (totals[STEPS] - 1.0) / 2.0


@kernel
def combine(changes: Array, scalars: Array, pace: Pace, w: Array, totals: Array, lag: Array) -> Array:
    """Return the best fractions of each thread's, or machine's, change; w, scalars and lag move by them.

    changes : the d_k, of shape (n, n_weights); scalars : those of `totals`, from zero, of shape (n, 4)
    """
    fractions = best_fractions(changes, scalars[:, COST], w, pace)
    paid = 0.0
    for k in range(fractions.size):
        paid += fractions[k] * scalars[k, COST]
        totals[STEPS] += scalars[k, STEPS]
        totals[CACHED_GAP] += scalars[k, CACHED_GAP]
    add_changes(changes, fractions, w)
    totals[COST] += paid
    if lag.size:  # all steps of the round count as made at its end
        age = _age(totals)
        totals[LAG_COST] += age * paid
        add_changes(changes, age * fractions, lag)
    return fractions


@kernel
def add_changes(changes: Array, fractions: Array, out: Array) -> None:
    """out <- out + sum_k fractions_k d_k."""
    for begin in range(0, out.size, WEIGHTS_AT_ONCE):
        some = out[begin : begin + WEIGHTS_AT_ONCE]
        for k in range(fractions.size):
            change = changes[k, begin : begin + WEIGHTS_AT_ONCE]
            for j in range(some.size):
                some[j] += fractions[k] * change[j]


@kernel
def best_fractions(changes: Array, costs: Array, w: Array, pace: Pace) -> Array:
    """Find gamma by coordinate ascent from zero on <slope, gamma> - 1/2 <gamma, steep gamma> over the box."""
    n = changes.shape[0]
    curvature = pace.strength * (pace.strength / pace.metric)
    slope, steep, fractions = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    for begin in range(0, w.size, WEIGHTS_AT_ONCE):
        end = min(begin + WEIGHTS_AT_ONCE, w.size)
        for k in range(n):
            own = changes[k, begin:end]
            slope[k] += _dot(own, w[begin:end])
            for j in range(k + 1):
                steep[k, j] += _dot(own, changes[j, begin:end])
    for k in range(n):
        slope[k] = costs[k] - pace.strength * slope[k]
        for j in range(k + 1):
            steep[k, j] = steep[j, k] = curvature * steep[k, j]
    for _ in range(MOST_SWEEPS):
        largest = 0.0
        for k in range(n):
            left = slope[k] + steep[k, k] * fractions[k]
            for j in range(n):
                left -= steep[k, j] * fractions[j]
            best = 1.0 if left > 0.0 else 0.0
            if steep[k, k] > left > 0.0:
                best = left / steep[k, k]
            largest = max(largest, abs(best - fractions[k]))
            fractions[k] = best
        if largest <= SETTLED:
            break
    return fractions


@kernel
def _dot(x: Array, y: Array) -> float:
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


def is_distinct(order: Array) -> bool:
    """Return whether no block comes twice."""
    return not order.size or int(np.bincount(order).max()) == 1


def rounds_of(order: Array, size: int) -> Iterator[Array]:
    """Yield `order` in pieces of at most `size` blocks, none twice in a piece: repetitions wait."""
    distinct = is_distinct(order)
    while order.size:
        now, later = order[:size], order[size:]
        if not distinct:
            _, first = np.unique(now, return_index=True)
            again = np.ones(now.size, dtype=bool)
            again[first] = False
            now, later = now[~again], np.concatenate([later, now[again]])
        yield now
        order = later


def is_mostly_sums(objective: Objective, least: int) -> bool:
    """Return whether rounds of `least` visits a thread would take longer to add up than to make."""
    return objective.n_weights > least * WEIGHTS_A_VISIT


def round_size(objective: Objective, rounds: int, least: int) -> int:
    """Return the blocks of a round: a pass has `rounds`, unless they would be too short to be worth it.

    least : visits of a thread that are worth a round, of blocks of `PARTS_OF_A_VISIT`; fewer of larger ones
    """
    parts = objective.scoring.start[-1] / objective.scoring.n_examples
    least = max(1, int(least * min(1.0, PARTS_OF_A_VISIT / parts)))
    return max(-(-objective.n_active // rounds), least * objective.n_jobs)
