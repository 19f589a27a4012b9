"""Rounds: several threads take block steps at once, each on blocks and on a w of its own.

Every thread k brings back a change d_k of w, the change c_k of the cost of z, and blocks that have moved. The
dual along all these directions is a small concave quadratic program over the shares of them that are kept:

    max_{0 <= gamma <= 1} sum_k gamma_k c_k - lambda/2 ||w + sum_k gamma_k d_k||^2

gamma = 0 is allowed, so that the dual never decreases. A block of which a share is kept is a mixture of two
points of its polytope. What comes out depends on the number of threads, not on their timing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from structlearn.contract import Array
from structlearn.objective import Objective
from structlearn.solvers.totals import CACHED_GAP, COST, LAG_COST, STEPS

#: Sweeps of coordinate ascent on the shares, and the change at which they end.
MOST_SWEEPS = 1000
SETTLED = 1e-12

#: keeps a share of what blocks have moved; returns what the cost gains beyond that share
Keep = Callable[[float], float]
#: visits the blocks of an order, with a w and totals that it changes in place
Visit = Callable[[Array, Array, Array], Keep]


class Books(Protocol):
    """What a round changes, beside blocks: w, the scalars of `totals`, the lag of the average."""

    @property
    def w(self) -> Array: ...
    @property
    def totals(self) -> Array: ...
    @property
    def lag(self) -> Array: ...


class Trial(NamedTuple):
    """What one thread, or one machine, brings back."""

    #: d_k
    change: Array
    #: the scalars of `totals`, counted from zero
    totals: Array
    keep: Keep


def attempt(visit: Visit, order: Array, w: Array) -> Trial:
    """Visit the blocks of `order` on a copy of w; `visit(order, w, totals)` changes w and totals in place."""
    own, totals = w.copy(), np.zeros(4)
    keep = visit(order, own, totals)
    own -= w
    return Trial(own, totals, keep)


class Own(NamedTuple):
    """Books of a trial that several threads make together."""

    w: Array
    totals: Array
    lag: Array


def attempt_together(objective: Objective, visit: Visit, order: Array, w: Array) -> Trial:
    """One trial of all threads on copies of w, which stays: their shares are settled among them."""
    parts = np.array_split(order, max(min(objective.n_jobs, order.size), 1))
    if len(parts) == 1:
        return attempt(visit, order, w)
    trials = objective.team.together([partial(attempt, visit, part, w) for part in parts])
    own = Own(w.copy(), np.zeros(4), w[:0])
    combine(trials, own, objective.regularization)
    return Trial(own.w - w, own.totals, lambda share: sum(trial.keep(share) for trial in trials))


def best_shares(changes: list[Array], costs: Array, w: Array, regularization: float) -> Array:
    """The shares gamma, by coordinate ascent from gamma = 0."""
    slope = costs - regularization * np.array([change @ w for change in changes])
    steep = regularization * np.array([[one @ other for other in changes] for one in changes])
    shares = np.zeros(len(changes))
    for _ in range(MOST_SWEEPS):
        before = shares.copy()
        for k, row in enumerate(steep):
            left = slope[k] - row @ shares + row[k] * shares[k]
            shares[k] = 0.0 if left <= 0.0 else min(left, row[k]) / row[k] if row[k] > 0.0 else 1.0
        if np.abs(shares - before).max() <= SETTLED:
            break
    return shares


def play_round(objective: Objective, books: Books, order: Array, visit: Visit) -> None:
    """One visit for each block of `order`, which are distinct, shared out to the threads."""
    parts = np.array_split(order, min(objective.n_jobs, order.size))
    trials = objective.team.together([partial(attempt, visit, part, books.w) for part in parts])
    combine(trials, books, objective.regularization)


def combine(trials: list[Trial], books: Books, regularization: float) -> Array:
    """Keep the best share of each trial; the shares."""
    costs = np.array([trial.totals[COST] for trial in trials])
    shares = best_shares([trial.change for trial in trials], costs, books.w, regularization)
    moved, paid = np.zeros(books.w.size), float(shares @ costs)
    for share, trial in zip(shares, trials):
        paid += trial.keep(float(share))
        moved += share * trial.change
        books.totals[[STEPS, CACHED_GAP]] += trial.totals[[STEPS, CACHED_GAP]]
    w = books.w
    w += moved
    books.totals[COST] += paid
    if books.lag.size:  # as in `plain_pass`, with all steps of the round at its end
        age = books.totals[STEPS] * (books.totals[STEPS] - 1.0) / 2.0
        lag = books.lag
        lag += age * moved
        books.totals[LAG_COST] += age * paid
    return shares


def rounds_of(order: Array, size: int) -> Iterator[Array]:
    """`order` in pieces of at most `size` blocks, none of them twice in a piece: repetitions wait."""
    while order.size:
        now, later = order[:size], order[size:]
        _, first = np.unique(now, return_index=True)
        if first.size < now.size:
            again = np.ones(now.size, dtype=bool)
            again[first] = False
            now, later = now[~again], np.concatenate([later, now[again]])
        yield now
        order = later


def round_size(objective: Objective, rounds: int, least: int) -> int:
    """Blocks of a round: a pass has so many rounds, unless they would be too short to be worth it."""
    return max(-(-objective.n_active // rounds), least * objective.n_jobs)
