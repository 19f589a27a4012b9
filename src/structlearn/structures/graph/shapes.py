"""Tables of pairs of states that depend on how far apart these are: truncated linear and truncated quadratic.

    t(a, b) = offset + scale min(|a - b|^p, limit),    p = 1 or 2

A row of `table[e]` has offset, scale, limit and p in the place of K * K numbers. Where the scale is negative,
so that neighbours attract, a message takes K steps: max_x sent[x] + scale |x - y|^p is a distance transform
(Felzenszwalb and Huttenlocher 2006, "Efficient belief propagation for early vision").
"""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import inline, leaf
from structlearn.core.vectors import max_of

#: The columns of a row, and how many there are.
OFFSET, SCALE, LIMIT, POWER = range(4)
ROW = 4
#: With fewer states whole tables are as fast.
_LEAST_STATES = 5
#: The largest difference, as a share of the numbers, that still is rounding.
_ROUNDING = 1e-13
#: Parabolas that are flatter have no intersections in floating point.
_FLAT = 1e-200


@inline
def distance(power: float, a: int, b: int) -> float:
    """Return |a - b|^p."""
    apart = float(abs(a - b))
    return apart * apart if power == 2.0 else apart


@inline
def shaped_score(row: Array, a: int, b: int) -> float:
    """Return t(a, b)."""
    return row[OFFSET] + row[SCALE] * min(distance(row[POWER], a, b), row[LIMIT])


@leaf
def largest_shaped(row: Array) -> float:
    """Return a number that |t(a, b)| does not exceed."""
    return abs(row[OFFSET]) + abs(row[SCALE]) * row[LIMIT]


@inline
def transform(sent: Array, row: Array, hull: Array, found: Array) -> None:
    """found[y] <- max_x sent[x] + t(x, y) - offset."""
    n, slope = sent.size, -row[SCALE]
    if slope < _FLAT:
        for y in range(n):
            top = -np.inf
            for x in range(n):
                top = max(top, sent[x] + shaped_score(row, x, y) - row[OFFSET])
            found[y] = top
        return
    if row[POWER] == 2.0:
        _parabolas(sent, slope, hull, found)
    else:
        found[0] = sent[0]
        for y in range(1, n):
            found[y] = max(sent[y], found[y - 1] - slope)
        for y in range(n - 2, -1, -1):
            found[y] = max(found[y], found[y + 1] - slope)
    least = max_of(sent) - slope * row[LIMIT]
    for y in range(n):
        found[y] = max(found[y], least)


@inline
def _parabolas(sent: Array, slope: float, hull: Array, found: Array) -> None:
    """found[y] <- max_x sent[x] - slope (x - y)^2, by the upper envelope of these parabolas.

    hull : (2, K + 1), which parabolas it has, from left to right, and where each begins
    """
    n, last = sent.size, 0
    hull[0, 0], hull[1, 0] = 0.0, -np.inf
    for x in range(1, n):
        while True:
            u = int(hull[0, last])
            begin = 0.5 * ((sent[u] - sent[x]) / (slope * (x - u)) + (x + u))
            if begin > hull[1, last] or last == 0:
                break
            last -= 1
        if begin > hull[1, last]:
            last += 1
        hull[0, last], hull[1, last] = float(x), begin
        if last == 0:
            hull[1, 0] = -np.inf
    k = 0
    for y in range(n):
        while k < last and hull[1, k + 1] <= y:
            k += 1
        u = int(hull[0, k])
        found[y] = sent[u] - slope * (u - y) * (u - y)


# ---- recognition -----------------------------------------------------------------------------------------


@leaf
def recognise(table: Array, n_edges: int, n_states: int, rows: Array) -> bool:
    """Write all tables as rows, where they have such a shape and neighbours attract; return whether."""
    if table.shape[1] != n_states or n_states < _LEAST_STATES:
        return False
    for e in range(n_edges):
        if not (_read_row(table[e], 1.0, rows[e, 0]) or _read_row(table[e], 2.0, rows[e, 0])):
            return False
    return n_edges > 0


@leaf
def _read_row(table: Array, power: float, row: Array) -> bool:
    """Write one table as a row with this power; return whether it is one."""
    n = table.shape[0]
    offset, scale = table[0, 0], table[0, 1] - table[0, 0]
    if not scale <= 0.0:
        return False
    limit = 1.0
    if scale < 0.0:
        for x in range(2, n):
            reached = (table[0, x] - offset) / scale
            if reached < distance(power, 0, x) * (1.0 - 1e-9):
                limit = max(limit, reached)
                break
            limit = distance(power, 0, x)
    row[OFFSET], row[SCALE], row[LIMIT], row[POWER] = offset, scale, limit, power
    tolerance = _ROUNDING * largest_shaped(row)
    for a in range(n):
        for b in range(n):
            if not abs(table[a, b] - shaped_score(row, a, b)) <= tolerance:
                return False
    return True
