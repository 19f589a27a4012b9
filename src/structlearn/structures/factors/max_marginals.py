"""Max-marginals of one factor, compiled: for each state of its variables, the best score that has it.

    found_i(s) = max { theta_f(x) + sum_j cavity_j(x_j) : x_i = s }

Of tables over all entries; of limits over counts, from the first variable to the last and back; of cycles by
the best way around the rest of the cycle.
"""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.structures.factors.records import LIMIT, LINK, FactorRecord, FactorWork


@leaf
def max_marginals(record: FactorRecord, f: int, work: FactorWork) -> None:
    """Fill in `found` from `cavity`, in which -inf excludes a state."""
    size = record.message[record.first[f + 1]] - record.message[record.first[f]]
    for j in range(size):
        work.found[j] = -np.inf
    if record.table[f] >= 0:
        _of_table(record, f, work)
    elif record.table[f] == LIMIT:
        _of_limit(record, f, work)
    elif record.table[f] == LINK:
        _of_link(record, f, work)
    else:
        _of_cycle(record, f, work)


@leaf
def _of_table(record: FactorRecord, f: int, work: FactorWork) -> None:
    a, b = record.first[f], record.first[f + 1]
    last, origin, part = b - a - 1, record.message[a], record.table[f]
    place, prefix, cavity, found = work.place, work.prefix, work.cavity, work.found
    inner = record.message[b - 1] - origin
    n_inner = record.message[b] - record.message[b - 1]
    prefix[0] = 0.0
    for j in range(last):
        place[j] = 0
        prefix[j + 1] = prefix[j] + cavity[record.message[a + j] - origin]
    more = True
    while more:
        top = -np.inf
        for s in range(n_inner):
            here = prefix[last] + work.score[part + s] + cavity[inner + s]
            found[inner + s] = max(found[inner + s], here)
            top = max(top, here)
        part += n_inner
        for j in range(last):
            at = record.message[a + j] - origin + place[j]
            found[at] = max(found[at], top)
        j = last - 1
        while j >= 0:
            place[j] += 1
            if place[j] < record.message[a + j + 1] - record.message[a + j]:
                break
            place[j] = 0
            j -= 1
        more = j >= 0
        for i in range(max(j, 0), last):
            prefix[i + 1] = prefix[i] + cavity[record.message[a + i] - origin + place[i]]


@leaf
def _of_limit(record: FactorRecord, f: int, work: FactorWork) -> None:
    a, b = record.first[f], record.first[f + 1]
    n, cap, low, is_open = b - a, record.cap[f], record.low[f], record.open[f] != 0
    width, origin = cap + 1, record.message[a]
    ahead, behind, cavity, found = work.ahead, work.behind, work.cavity, work.found
    for c in range((n + 1) * width):
        ahead[c], behind[c] = -np.inf, -np.inf
    ahead[0] = 0.0
    for c in range(low, width):
        behind[n * width + c] = 0.0
    for i in range(n):
        for m in range(record.message[a + i], record.message[a + i + 1]):
            for c in range(width):
                now = c + record.cost[m]
                if now > cap and not is_open:
                    break
                at = (i + 1) * width + min(now, cap)
                ahead[at] = max(ahead[at], ahead[i * width + c] + cavity[m - origin])
    for i in range(n - 1, -1, -1):
        for m in range(record.message[a + i], record.message[a + i + 1]):
            for c in range(width):
                now = c + record.cost[m]
                if now > cap and not is_open:
                    break
                after = behind[(i + 1) * width + min(now, cap)]
                behind[i * width + c] = max(behind[i * width + c], after + cavity[m - origin])
                whole = ahead[i * width + c] + cavity[m - origin] + after
                found[m - origin] = max(found[m - origin], whole)


@leaf
def _of_link(record: FactorRecord, f: int, work: FactorWork) -> None:
    """Of two nodes and their edge: x_e = (x_u, x_v)."""
    k, cavity, found = record.cap[f], work.cavity, work.found
    for a in range(k):
        for b in range(k):
            at = 2 * k + a * k + b
            whole = cavity[a] + cavity[k + b] + cavity[at]
            found[at] = whole
            found[a] = max(found[a], whole)
            found[k + b] = max(found[k + b], whole)


@leaf
def _multiply(first: Array, i: int, second: Array, j: int, k: int, out: Array, o: int) -> None:
    """out[a, c] <- max_b first[a, b] + second[b, c], tables of K x K at i, j and o."""
    for a in range(k):
        for c in range(k):
            out[o + a * k + c] = -np.inf
        for b in range(k):
            here = first[i + a * k + b]
            for c in range(k):
                out[o + a * k + c] = max(out[o + a * k + c], here + second[j + b * k + c])


@leaf
def _of_cycle(record: FactorRecord, f: int, work: FactorWork) -> None:
    """Of edges around a cycle: ahead[i] is the way through edges 0 .. i - 1, behind[i] from i to the end."""
    e0, e1 = record.first[f], record.first[f + 1]
    n, k = e1 - e0, record.cap[f]
    size, ahead, behind = k * k, work.ahead, work.behind
    turned = behind.size // 2  # the tables as they are passed
    for i in range(n):
        for a in range(k):
            for b in range(k):
                at = b * k + a if record.cost[e0 + i] != 0 else a * k + b
                behind[turned + i * size + a * k + b] = work.cavity[i * size + at]
    for j in range(size):
        ahead[size + j] = behind[turned + j]
        behind[(n - 1) * size + j] = behind[turned + (n - 1) * size + j]
    for i in range(2, n):
        _multiply(ahead, (i - 1) * size, behind, turned + (i - 1) * size, k, ahead, i * size)
        back = n - i
        _multiply(behind, turned + back * size, behind, (back + 1) * size, k, behind, back * size)
    rest = ahead.size - size
    for i in range(n):
        if i == 0:
            for j in range(size):
                ahead[rest + j] = behind[size + j]
        elif i == n - 1:
            for j in range(size):
                ahead[rest + j] = ahead[i * size + j]
        else:
            _multiply(behind, (i + 1) * size, ahead, i * size, k, ahead, rest)
        for a in range(k):
            for b in range(k):
                at = b * k + a if record.cost[e0 + i] != 0 else a * k + b
                whole = behind[turned + i * size + a * k + b] + ahead[rest + b * k + a]
                work.found[i * size + at] = whole
