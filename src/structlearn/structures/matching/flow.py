"""Matching with capacities above 1, as a flow of least cost, compiled.

    max <theta, z>      over 0 <= z <= 1, row sums at most a, column sums at most b
                        (and at least 1 for every row, where staying unmatched is not allowed)

Every row sends a units; each goes to a column, at most one to each, or stays alone at score 0 (at most
a - 1 of them where one link is asked for). With duals u of the rows and p >= 0 of the columns, z is optimal
if

    theta_ij - u_i - p_j <= 0 where z_ij = 0,    >= 0 where z_ij = 1,    p_j = 0 at a column with room,
    u_i >= 0 where one more unit may stay alone,    u_i <= 0 where one does.

Successive shortest paths: the units are sent one by one, each along the path that loses least, which keeps
these conditions (Ahuja, Magnanti and Orlin, 1993, "Network Flows", section 9.7; the duals are those of
Edmonds and Karp, 1972).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, kernel


class FlowWork(NamedTuple):
    """Scratch memory of `flow`; after it, `linked` is the answer and `dual` is its proof.

    Nodes are the m rows, then the n columns.
    """

    linked: Array  # of each pair, whether it is in the matching
    dual: Array  # u of the rows, then p of the columns
    room: Array  # units a row may still keep alone; links a column may still take
    distance: Array  # of each node from the row that sends
    previous: Array  # node before it on its shortest path
    closed: Array  # nodes whose shortest path is known, in this order,
    level: Array  # with this distance
    dual_before: Array  # and this dual


@jitable
def flow_work(rows: Any, columns: Any) -> Any:
    """Scratch memory for every problem of at most `rows` rows and `columns` columns."""
    nodes = rows + columns
    return FlowWork(
        np.empty(rows * columns, np.bool_),
        np.empty(nodes),
        np.empty(nodes, np.int64),
        np.empty(nodes),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes),
        np.empty(nodes),
    )


@kernel
def flow(
    theta: Any, m: Any, n: Any, row_capacity: Any, column_capacity: Any, unmatched: Any, work: Any
) -> Any:
    """Solve the problem above for the m * n scores `theta`; returns the maximum (-inf: nothing allowed)."""
    linked, dual, room = work.linked, work.dual, work.room
    if unmatched and _all_fit(theta, m, n, row_capacity, column_capacity, work):
        value = 0.0
        for e in range(m * n):
            value += max(theta[e], 0.0)
        return value
    # 1. Nothing is linked; u_i is the best that row i could get.
    for e in range(m * n):
        linked[e] = False
    units = min(row_capacity, n)
    for i in range(m):
        room[i] = units if unmatched else units - 1
        dual[i] = 0.0 if room[i] > 0 else -np.inf
        for c in range(n):
            dual[i] = max(dual[i], theta[i * n + c])
        if dual[i] == -np.inf:
            return -np.inf
    for v in range(m, m + n):
        dual[v], room[v] = 0.0, column_capacity
    # 2. Send the units.
    for i in range(m):
        for _ in range(units):
            if not _send(theta, i, m, n, work):
                return -np.inf
    # 3. The value of the answer, where no rounding error links a pair for nothing.
    value = 0.0
    for e in range(m * n):
        linked[e] = linked[e] and (theta[e] > 0.0 or not unmatched)
        if linked[e]:
            value += theta[e]
    return value


@kernel
def _all_fit(theta: Any, m: Any, n: Any, row_capacity: Any, column_capacity: Any, work: Any) -> Any:
    """Link every pair with a positive score; whether that keeps to the capacities. Its proof: duals of 0."""
    linked, dual, room = work.linked, work.dual, work.room
    for i in range(m):
        dual[i], room[i] = 0.0, row_capacity
    for v in range(m, m + n):
        dual[v], room[v] = 0.0, column_capacity
    for i in range(m):
        for c in range(n):
            linked[i * n + c] = theta[i * n + c] > 0.0
            if linked[i * n + c]:
                room[i] -= 1
                room[m + c] -= 1
                if room[i] < 0 or room[m + c] < 0:
                    return False
    return True


@kernel
def _send(theta: Any, start: Any, m: Any, n: Any, work: Any) -> Any:
    """Send one unit from row `start` along the path that loses least; False if there is none."""
    linked, dual, room, distance, previous = work.linked, work.dual, work.room, work.distance, work.previous
    closed, level, dual_before = work.closed, work.level, work.dual_before
    for v in range(m + n):
        distance[v] = np.inf
    distance[start] = 0.0
    n_closed, end, last = 0, np.inf, start
    while True:
        # 1. The nearest open node, among ties one with room, unless the best path ends before.
        project, node = np.inf, start
        for v in range(m + n):
            project = min(project, distance[v])
        if project >= end:
            break
        for v in range(m + n):
            if distance[v] == project:
                node = v
                if room[v] > 0:
                    break
        # 2. Close it. For now its dual is infinite, so that it is never reached again.
        closed[n_closed], level[n_closed], dual_before[n_closed] = node, project, dual[node]
        distance[node] = np.inf
        # 3. The path may end here if there is room: alone for a row, for one more link at a column.
        if room[node] > 0 and project + dual[node] < end:
            end, last = project + dual[node], node
        # 4. A row goes on to columns it is not linked with; a column, by giving up a link, to that row.
        if node < m:
            base, dual[node] = project + dual[node], -np.inf
            for c in range(n):
                through = base + (dual[m + c] - theta[node * n + c])
                shorter = through < distance[m + c] and not linked[node * n + c]
                distance[m + c] = through if shorter else distance[m + c]
                previous[m + c] = node if shorter else previous[m + c]
        else:
            base, dual[node] = project - dual[node], np.inf
            for i in range(m):
                if linked[i * n + node - m] and base + (theta[i * n + node - m] - dual[i]) < distance[i]:
                    distance[i] = base + (theta[i * n + node - m] - dual[i])
                    previous[i] = node
        n_closed += 1
    # 5. Duals move until the path loses nothing.
    for k in range(n_closed):
        node, rise = closed[k], max(0.0, end - level[k])
        dual[node] = dual_before[k] - rise if node < m else dual_before[k] + rise
    if end == np.inf:
        return False
    # 6. Links change along the path.
    room[last] -= 1
    while last != start:
        node, last = last, previous[last]
        if node >= m:
            linked[last * n + node - m] = True
        else:
            linked[node * n + last - m] = False
    return True
