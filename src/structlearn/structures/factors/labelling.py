"""Labellings of a factor graph, compiled: rounded from beliefs within the limits, and improved one by one."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel, leaf
from structlearn.structures.factors.records import FactorRecord, FactorWork

#: Rounds over all variables that improve a labelling.
_MOST_ROUNDS = 8


@leaf
def table_entry(record: FactorRecord, f: int, states: Array) -> int:
    """Return the part of the entry of table f that a labelling has."""
    at = 0
    for e in range(record.first[f], record.first[f + 1]):
        at = at * (record.message[e + 1] - record.message[e]) + states[record.variable[e]]
    return record.table[f] + at


@leaf
def score_of(record: FactorRecord, states: Array, work: FactorWork) -> float:
    """Return the score of a labelling; -inf where it breaks a limit."""
    value = 0.0
    for v in range(states.size):
        value += work.score[record.state[v] + states[v]]
    for f in range(record.table.size):
        if record.table[f] >= 0:
            value += work.score[table_entry(record, f, states)]
            continue
        count = 0
        for e in range(record.first[f], record.first[f + 1]):
            count += record.cost[record.message[e] + states[record.variable[e]]]
        if count < record.low[f] or (count > record.cap[f] and record.open[f] == 0):
            return -np.inf
    return value


@leaf
def _range_of(record: FactorRecord, e: int, work: FactorWork) -> tuple[int, int]:
    """Return the least and the largest count of an edge's variable, among the states it may have."""
    least, most = 1 << 62, 0
    s = record.state[record.variable[e]] - record.message[e]
    for m in range(record.message[e], record.message[e + 1]):
        if work.gone[s + m] == 0:
            least, most = min(least, record.cost[m]), max(most, record.cost[m])
    return least, most


@leaf
def _keeps_limits(record: FactorRecord, v: int, s: int, work: FactorWork) -> bool:
    """Return whether state s of variable v leaves all limits within reach of what comes later."""
    for p in range(record.own_first[v], record.own_first[v + 1]):
        e = record.own_edge[p]
        f = record.factor[e]
        if record.table[f] >= 0:
            continue
        least, most = _range_of(record, e, work)
        count = work.total[f] + record.cost[record.message[e] + s]
        if count + work.most[f] - most < record.low[f]:
            return False
        if record.open[f] == 0 and count + work.least[f] - least > record.cap[f]:
            return False
    return True


@leaf
def _take(record: FactorRecord, v: int, s: int, work: FactorWork) -> None:
    """Let variable v have state s in the counts."""
    work.states[v] = s
    for p in range(record.own_first[v], record.own_first[v + 1]):
        e = record.own_edge[p]
        f = record.factor[e]
        if record.table[f] < 0:
            least, most = _range_of(record, e, work)
            work.total[f] += record.cost[record.message[e] + s]
            work.least[f] -= least
            work.most[f] -= most


@leaf
def fill_margins(record: FactorRecord, work: FactorWork) -> None:
    """margin[v] <- how much better the best state of v is than the second; infinite where it has one."""
    for v in range(work.margin.size):
        first, second = -np.inf, -np.inf
        for s in range(record.state[v], record.state[v + 1]):
            if work.gone[s] == 0:
                if work.belief[s] > first:
                    first, second = work.belief[s], first
                else:
                    second = max(second, work.belief[s])
        work.margin[v] = first - second if second > -np.inf else np.inf


@kernel
def round_beliefs(record: FactorRecord, work: FactorWork) -> float:
    """states <- the labelling that beliefs speak for, surest variables first, improved; return its score."""
    fill_margins(record, work)
    work.total[:], work.least[:], work.most[:] = 0, 0, 0
    for e in range(record.variable.size):
        if record.table[record.factor[e]] < 0:
            least, most = _range_of(record, e, work)
            work.least[record.factor[e]] += least
            work.most[record.factor[e]] += most
    for v in np.argsort(-work.margin):
        chosen, kept, top = -1, False, -np.inf
        for s in range(record.state[v + 1] - record.state[v]):
            at = record.state[v] + s
            if work.gone[at] != 0:
                continue
            keeps = _keeps_limits(record, v, s, work)
            if chosen < 0 or (keeps and not kept) or (keeps == kept and work.belief[at] > top):
                chosen, kept, top = s, keeps, work.belief[at]
        _take(record, v, chosen, work)
    _improve(record, work)
    return score_of(record, work.states, work)


@leaf
def _gain(record: FactorRecord, v: int, work: FactorWork) -> float:
    """Return the score of the state of v, given all others; -inf where a limit is broken."""
    value = work.score[record.state[v] + work.states[v]]
    for p in range(record.own_first[v], record.own_first[v + 1]):
        e = record.own_edge[p]
        f = record.factor[e]
        if record.table[f] >= 0:
            value += work.score[table_entry(record, f, work.states)]
            continue
        count = work.total[f] + record.cost[record.message[e] + work.states[v]]
        if count < record.low[f] or (count > record.cap[f] and record.open[f] == 0):
            return -np.inf
    return value


@leaf
def _count_without(record: FactorRecord, v: int, sign: int, work: FactorWork) -> None:
    """Take the state of v off the counts, or add it."""
    for p in range(record.own_first[v], record.own_first[v + 1]):
        e = record.own_edge[p]
        work.total[record.factor[e]] += sign * record.cost[record.message[e] + work.states[v]]


@leaf
def _improve(record: FactorRecord, work: FactorWork) -> None:
    """Let variables in turn take their best allowed state, given all others."""
    for _ in range(_MOST_ROUNDS):
        changed = False
        for v in range(work.states.size):
            _count_without(record, v, -1, work)
            before = work.states[v]
            best, top = before, _gain(record, v, work)
            for s in range(record.state[v + 1] - record.state[v]):
                if s != before and work.gone[record.state[v] + s] == 0:
                    work.states[v] = s
                    value = _gain(record, v, work)
                    if value > top:
                        best, top = s, value
            work.states[v] = best
            changed |= best != before
            _count_without(record, v, 1, work)
        if not changed:
            break
