"""The assignment problem, rows at most as many as columns, compiled.

    max sum_i theta[i, column_i]      over rows i with distinct columns, or alone at the score `alone`
    min sum_i u_i + sum_j p_j         u_i >= theta[i, j] - p_j,  u_i >= alone,  p_j >= 0

`alone` is 0 where a row may stay unmatched (a private dummy column of score 0 for each row) and -inf where
every row needs a column. The prices p prove the answer: every row holds what it likes best at these
prices (u_i), and every column that nobody holds is free of charge (p_j = 0), so the two values agree.

Jonker and Volgenant (1987), "A shortest augmenting path algorithm for dense and sparse linear assignment
problems", Computing 38, in the maximising language of Bertsekas' auctions. Their column reduction is left
out: it needs every column to be matched in the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, kernel

_BIDS = 3  # bids a row, on average; a contest of tiny rises is cheaper to settle by a shortest path


class AssignmentWork(NamedTuple):
    """Scratch memory of `solve_assignment`; after it, `column` is the answer and `prices` are its proof."""

    column: Array  # of each row; -1: alone
    waiting: Array  # rows that have lost their bids
    prices: Array
    owner: Array  # row of each column; -1: nobody
    distance: Array  # of each column from the row that searches
    previous: Array  # row before each column on its shortest path
    closed: Array  # columns whose shortest path is known, in this order,
    level: Array  # with this distance
    price_before: Array  # and this price


@jitable
def assignment_work(rows: int, columns: int) -> AssignmentWork:
    """Allocate scratch memory for every problem of at most `rows` rows and `columns` columns."""
    return AssignmentWork(
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty(columns),
        np.empty(columns, np.int64),
        np.empty(columns),
        np.empty(columns, np.int64),
        np.empty(columns, np.int64),
        np.empty(columns),
        np.empty(columns),
    )


@kernel
def solve_assignment(theta: Array, m: int, n: int, alone: float, work: AssignmentWork) -> float:
    """Solve the problem above for the m * n scores `theta`, m <= n; return the maximum.

    -inf is returned, and `work.column` means nothing, where some row finds no column of finite score.
    """
    # 1. Nobody holds anything, everything is free of charge.
    for c in range(n):
        work.prices[c] = 0.0
        work.owner[c] = -1
    for i in range(m):
        work.column[i] = -1
    # 2. Cheap bids settle most rows ("augmenting row reduction").
    n_waiting = _bid(theta, m, n, alone, work)
    # 3. Each remaining row gets its column by a shortest augmenting path.
    for k in range(n_waiting):
        if not _augment(theta, work.waiting[k], n, alone, work):
            return -np.inf
    # 4. The value of the answer, where no rounding error links a pair for nothing.
    value = 0.0
    for i in range(m):
        j = work.column[i]
        if j >= 0 and theta[i * n + j] > alone:
            value += theta[i * n + j]
        else:
            work.column[i] = -1
            value += alone
    return value


@kernel
def _bid(theta: Array, m: int, n: int, alone: float, work: AssignmentWork) -> int:
    """Let rows take their best column and raise its price to where they like the second best as much.

    A row that loses its column bids again at once. Returns how many rows are left, in `work.waiting`.
    """
    column, prices, owner, profit = work.column, work.prices, work.owner, work.distance
    n_waiting, bids_left = 0, _BIDS * m
    for first in range(m):
        i = first
        while i >= 0:
            # 1. The two best offers to row i, one of which may be to stay alone.
            row = theta[i * n : (i + 1) * n]
            for c in range(n):
                profit[c] = row[c] - prices[c]
            best = second = -np.inf
            for c in range(n):  # without branches: where the best are cannot be predicted
                worse = min(best, profit[c])
                best = max(best, profit[c])
                second = max(second, worse)
            if best <= alone:
                break
            # 2. The new price. Without a rise (a tie, or nothing else is allowed) nobody is outbid.
            j = _where(profit, best, owner, n)
            second = max(second, alone)
            price = prices[j] + (best - second) if second > -np.inf else prices[j]
            loser = owner[j]
            if loser >= 0 and (price == prices[j] or bids_left <= 0):
                work.waiting[n_waiting] = i
                n_waiting += 1
                break
            # 3. Row i takes column j; whoever held it bids next.
            bids_left -= 1
            prices[j], owner[j], column[i] = price, i, j
            if loser >= 0:
                column[loser] = -1
            i = loser
    return n_waiting


@kernel
def _augment(theta: Array, start: int, n: int, alone: float, work: AssignmentWork) -> bool:
    """Match row `start` along the alternating path that loses least; False if there is none.

    The distance of column j is what the exchanges lose that end with somebody new on j. Dijkstra's
    algorithm; a path ends on a column without owner, or with a row that gives up its column to stay alone.
    """
    column, prices, owner, distance = work.column, work.prices, work.owner, work.distance
    previous, closed, level = work.previous, work.closed, work.level
    for c in range(n):
        distance[c] = np.inf
    i, base, n_closed = start, 0.0, 0
    leave, leaver = -alone, start
    while True:
        # 1. Distances through row i. Closed columns cost inf for now, and so are never reached again.
        row = theta[i * n : (i + 1) * n]
        for c in range(n):
            through = base + (prices[c] - row[c])
            shorter = through < distance[c]
            distance[c] = through if shorter else distance[c]
            previous[c] = i if shorter else previous[c]
        # 2. The nearest open column, unless leaving is at least as near.
        project = np.inf
        for c in range(n):
            project = min(project, distance[c])
        j = _where(distance, project, owner, n)
        if project >= leave or owner[j] < 0:
            break
        # 3. Close it. Its owner looks elsewhere; what it would lose is counted from its present profit.
        i = owner[j]
        closed[n_closed], level[n_closed], work.price_before[n_closed] = j, project, prices[j]
        n_closed += 1
        base = project + (theta[i * n + j] - prices[j])
        distance[j] = prices[j] = np.inf
        if base - alone < leave:
            leave, leaver = base - alone, i
    # 4. Prices rise until nobody on the path regrets the exchange.
    end = min(project, leave)
    for k in range(n_closed):
        prices[closed[k]] = work.price_before[k] + (end - level[k])
    # 5. Exchange columns along the path, back to `start`, which had none.
    if project >= leave:
        j, column[leaver] = column[leaver], -1
    while j >= 0:
        i = previous[j]
        owner[j] = i
        j, column[i] = column[i], j
    return end < np.inf


@kernel
def _where(values: Array, value: float, owner: Array, n: int) -> int:
    """Return a column with this value, among ties one without owner."""
    found = 0
    for c in range(n):
        if values[c] == value:
            found = c
            if owner[c] < 0:
                break
    return found
