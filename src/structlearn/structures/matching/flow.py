"""Matching with capacities above 1, as a flow of least cost, compiled.

    max <theta, z>      over 0 <= z <= 1, row sums at most a, column sums at most b
                        (and at least 1 for every row, where staying unmatched is not allowed)

Every row sends a units; each goes to a column, at most one to each, or stays alone at score 0 (at most
a - 1 of them where one link is asked for). With duals u of the rows and p >= 0 of the columns, z is optimal
if

    theta_ij - u_i - p_j <= 0 where z_ij = 0,    >= 0 where z_ij = 1,    p_j = 0 at a column with room,
    u_i >= 0 where one more unit may stay alone,    u_i <= 0 where one does.

Where all pairs of positive score can be linked they are, and the duals are 0. So are they in every part of
the graph of these pairs, its connected components, where that is possible; the others are decided together.

Successive shortest paths: the units are sent one by one, each along the path that loses least, which keeps
these conditions (Ahuja, Magnanti and Orlin, 1993, "Network Flows", section 9.7; the duals are those of
Edmonds and Karp, 1972).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, kernel


class SendingWork(NamedTuple):
    """Scratch memory of `_send_all`; after it, `linked` is the answer and `dual` is its proof.

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


class FlowWork(NamedTuple):
    """Scratch memory of `flow`; after it, `linked` is the answer and `dual` is its proof, as above."""

    linked: Array
    dual: Array
    room: Array  # links a node could take beside those of positive score
    is_contested: Array
    contested: Array  # such nodes, the rows first
    scores: Array  # of contested rows and columns
    sending: SendingWork


@jitable
def flow_work(rows: int, columns: int) -> FlowWork:
    """Allocate scratch memory for every problem of at most `rows` rows and `columns` columns."""
    nodes = rows + columns
    return FlowWork(
        np.empty(rows * columns, np.bool_),
        np.empty(nodes),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.bool_),
        np.empty(nodes, np.int64),
        np.empty(rows * columns),
        SendingWork(
            np.empty(rows * columns, np.bool_),
            np.empty(nodes),
            np.empty(nodes, np.int64),
            np.empty(nodes),
            np.empty(nodes, np.int64),
            np.empty(nodes, np.int64),
            np.empty(nodes),
            np.empty(nodes),
        ),
    )


@kernel
def flow(
    theta: Array, m: int, n: int, row_capacity: int, column_capacity: int, unmatched: bool, work: FlowWork
) -> float:
    """Solve the problem above for the m * n scores `theta`; return the maximum (-inf: nothing allowed)."""
    linked = work.linked
    # 1. Link all pairs of positive score. If they are too many, something has to be decided.
    overfull = _link_positive(theta, m, n, row_capacity, column_capacity, work)
    value = 0.0
    if unmatched and not overfull:
        for e in range(m * n):
            value += max(theta[e], 0.0)
        return value
    # 2. Decide where they are too many.
    rows, columns = _find_contested(m, n, unmatched, work)
    for a in range(rows):
        for b in range(columns):
            work.scores[a * columns + b] = theta[work.contested[a] * n + work.contested[rows + b] - m]
    units = min(row_capacity, n)
    if not _send_all(work.scores, rows, columns, units, column_capacity, unmatched, work.sending):
        return -np.inf
    for a in range(rows + columns):
        work.dual[work.contested[a]] = work.sending.dual[a]
    for a in range(rows):
        for b in range(columns):
            e = work.contested[a] * n + work.contested[rows + b] - m
            linked[e] = work.sending.linked[a * columns + b]
    # 3. The value of the answer, where no rounding error links a pair for nothing.
    for e in range(m * n):
        linked[e] = linked[e] and (theta[e] > 0.0 or not unmatched)
        if linked[e]:
            value += theta[e]
    return value


@kernel
def _link_positive(
    theta: Array, m: int, n: int, row_capacity: int, column_capacity: int, work: FlowWork
) -> bool:
    """Link every pair with a positive score; whether that exceeds a capacity. If not, duals of 0 prove it."""
    linked, dual, room = work.linked, work.dual, work.room
    for v in range(m + n):
        dual[v], room[v] = 0.0, row_capacity if v < m else column_capacity
    overfull = False
    for i in range(m):
        for c in range(n):
            linked[i * n + c] = theta[i * n + c] > 0.0
            if linked[i * n + c]:
                room[i] -= 1
                room[m + c] -= 1
                overfull = overfull or room[i] < 0 or room[m + c] < 0
    return overfull


@kernel
def _find_contested(m: int, n: int, unmatched: bool, work: FlowWork) -> tuple[int, int]:
    """Find the nodes that links of positive score join with a node that has too many of them.

    Elsewhere these links stay. Where no node may stay alone, all nodes are contested. Returns how many rows
    and how many columns there are.
    """
    linked, room, is_contested, nodes = work.linked, work.room, work.is_contested, work.contested
    count = 0
    for v in range(m + n):
        is_contested[v] = room[v] < 0 or not unmatched
        if is_contested[v]:
            nodes[count] = v
            count += 1
    k = 0
    while k < count:
        v = nodes[k]
        k += 1
        for o in range(n if v < m else m):
            other, e = (m + o, v * n + o) if v < m else (o, o * n + v - m)
            if linked[e] and not is_contested[other]:
                is_contested[other] = True
                nodes[count] = other
                count += 1
    count = rows = 0
    for v in range(m + n):
        if is_contested[v]:
            nodes[count] = v
            count += 1
            rows += v < m
    return rows, count - rows


@kernel
def _send_all(
    theta: Array, m: int, n: int, units: int, column_capacity: int, unmatched: bool, work: SendingWork
) -> bool:
    """Solve a problem by sending `units` from each row; False if nothing is allowed."""
    linked, dual, room = work.linked, work.dual, work.room
    # 1. Nothing is linked; u_i is the best that row i could get.
    for e in range(m * n):
        linked[e] = False
    for i in range(m):
        room[i] = units if unmatched else units - 1
        dual[i] = 0.0 if room[i] > 0 else -np.inf
        for c in range(n):
            dual[i] = max(dual[i], theta[i * n + c])
        if dual[i] == -np.inf:
            return False
    for v in range(m, m + n):
        dual[v], room[v] = 0.0, column_capacity
    # 2. Send the units.
    for i in range(m):
        for _ in range(units):
            if not _send(theta, i, m, n, work):
                return False
    return True


@kernel
def _send(theta: Array, start: int, m: int, n: int, work: SendingWork) -> bool:
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
