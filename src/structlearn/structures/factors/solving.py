"""The best labelling of a factor graph and a bound on all others, compiled: descent, branch and bound."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import (
    Array,
    Shape,
    max_value,
    maximize,
    project,
    project_workspace,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.core.vectors import assign
from structlearn.structures.factors.dual import lift_forbidden, start_messages, sweep_factors
from structlearn.structures.factors.labelling import fill_margins, round_beliefs, table_entry
from structlearn.structures.factors.records import FactorRecord, FactorWork, factor_work
from structlearn.structures.graph.projection import project_with_bound
from structlearn.structures.sparsemap import SparseMAPScratch, sparsemap_scratch

#: Sweeps at the root, and how much of what is missing the last half of them must have gained to go on.
_MOST_SWEEPS, _PAYS = 200, 0.02
#: Pairs of sweeps at a subproblem.
_SWEEPS_EACH = 2
#: What is missing, over both, where nothing is.
_CLOSED = 1e-11


@implements(workspace, FactorRecord)
@jitable
def factor_workspace(structure: FactorRecord, shape: Shape) -> FactorWork:
    return factor_work(structure)


@leaf
def _is_closed(value: float, bound: float) -> bool:
    return value > -np.inf and bound - value <= _CLOSED * (abs(bound) + abs(value))


@kernel
def _try_rounding(record: FactorRecord, value: float, work: FactorWork) -> float:
    """best <- the rounded labelling, where it is better than `value`; return the better value."""
    found = round_beliefs(record, work)
    if found > value:
        assign(work.best, work.states)
    return max(found, value)


@kernel
def _descend(record: FactorRecord, worst: float, work: FactorWork) -> tuple[float, float]:
    """Lower the bound until sweeps no longer pay; return the best value met and the bound."""
    value, bound, before, next_look = -np.inf, np.inf, np.inf, 2
    for t in range(1, _MOST_SWEEPS + 1):
        sweep_factors(record, True, worst, work)
        bound = min(bound, sweep_factors(record, False, worst, work))
        if bound == -np.inf:
            return -np.inf, bound
        if t in (1, next_look, _MOST_SWEEPS):
            value = _try_rounding(record, value, work)
            if _is_closed(value, bound):
                break
        if t == next_look:
            if before - bound < _PAYS * (bound - value):
                break
            next_look, before = 2 * t, bound
    return value, max(bound, value)


@leaf
def _exclude_others(record: FactorRecord, v: int, s: int, depth: int, work: FactorWork) -> None:
    """Note a decision: v has state s alone; what was excluded before is kept."""
    work.branch[0, depth], work.branch[1, depth], work.branch[2, depth] = v, s, 0
    first = record.state[v]
    for x in range(record.state[v + 1] - first):
        work.kept[depth, x] = work.gone[first + x]
        if x != s:
            work.gone[first + x] = 1


@leaf
def _next_decision(record: FactorRecord, depth: int, work: FactorWork) -> int:
    """Take back decisions until one can be turned around, and turn it; return the depth, 0 at the end."""
    while depth > 0:
        d = depth - 1
        v, s = work.branch[0, d], work.branch[1, d]
        first, left = record.state[v], 0
        for x in range(record.state[v + 1] - first):
            work.gone[first + x] = work.kept[d, x]
            left += work.gone[first + x] == 0
        if work.branch[2, d] == 0 and left > 1:
            work.branch[2, d] = 1
            work.gone[first + s] = 1
            return depth
        depth = d
    return 0


@leaf
def _surest(record: FactorRecord, work: FactorWork) -> int:
    """Return the variable of several states that is surest, and in many factors; -1 where there is none.

    Its other states are excluded at once, most often. Taking the least sure one instead closed one of six
    random graphs under constraints within the same budget, and this five.
    """
    fill_margins(record, work)
    v, most = -1, -1.0
    for u in range(work.margin.size):
        sure = work.margin[u] * (record.own_first[u + 1] - record.own_first[u])
        if work.margin[u] < np.inf and sure > most:
            v, most = u, sure
    return v


@leaf
def _best_state(record: FactorRecord, v: int, work: FactorWork) -> int:
    best, top = 0, -np.inf
    for s in range(record.state[v], record.state[v + 1]):
        if work.gone[s] == 0 and work.belief[s] > top:
            best, top = s - record.state[v], work.belief[s]
    return best


@kernel
def _branch(
    record: FactorRecord, value: float, bound: float, worst: float, work: FactorWork
) -> tuple[float, float]:
    """Close the gap by depth-first branch and bound, within the budget; return value and bound."""
    sweep_reads = 0
    for f in range(record.table.size):
        entries = 1
        for e in range(record.first[f], record.first[f + 1]):
            entries = min(entries * (record.message[e + 1] - record.message[e]), 1 << 40)
        sweep_reads += (
            entries
            if record.table[f] >= 0
            else (record.cap[f] + 1)
            * 2
            * (record.message[record.first[f + 1]] - record.message[record.first[f]])
        )
    most = min(record.most_branches, record.most_read // max(2 * _SWEEPS_EACH * sweep_reads, 1))
    depth = 0
    for _ in range(most):
        here = bound
        if depth > 0:
            here = np.inf
            for _ in range(_SWEEPS_EACH):
                sweep_factors(record, True, worst, work)
                here = min(here, sweep_factors(record, False, worst, work))
                if here <= value or here == -np.inf:
                    break
        v = -1
        if here > value and not _is_closed(value, here):
            value = _try_rounding(record, value, work)
            if not _is_closed(value, here):
                v = _surest(record, work)
        if v >= 0:
            _exclude_others(record, v, _best_state(record, v, work), depth, work)
            depth += 1
        else:
            depth = _next_decision(record, depth, work)
            if depth == 0:
                return value, value
    return value, bound


@kernel
def solve_factors(record: FactorRecord, theta: Array, shared: Array, work: FactorWork) -> tuple[float, float]:
    """best <- the best labelling found; return its score (-inf if none is), and a bound on any."""
    for j in range(record.n_parts):
        work.score[j] = theta[j] if j < theta.size else shared[j - theta.size]
    least = lift_forbidden(work.score, record.state.size - 1 + record.table.size)
    start_messages(record, work)
    value, bound = _descend(record, 3.0 * least, work)
    if bound > -np.inf and not _is_closed(value, bound):
        value, bound = _branch(record, value, bound, 3.0 * least, work)
    if value < least:
        return -np.inf, bound if bound >= least else -np.inf
    return value, max(bound, value)


@kernel
def write_labelling(record: FactorRecord, states: Array, vertex: Array) -> None:
    """Write the part vector of a labelling."""
    vertex[:] = 0.0
    for v in range(states.size):
        vertex[record.state[v] + states[v]] = 1.0
    for f in range(record.table.size):
        if record.table[f] >= 0:
            vertex[table_entry(record, f, states)] = 1.0


@implements(maximize, FactorRecord)
@kernel
def factor_maximize(
    structure: FactorRecord, shape: Shape, theta: Array, shared: Array, work: FactorWork, vertex: Array
) -> float:
    value, _ = solve_factors(structure, theta, shared, work)
    if value == -np.inf:
        vertex[:] = 0.0
    else:
        write_labelling(structure, work.best, vertex)
    return value


@implements(max_value, FactorRecord)
@kernel
def factor_max_value(
    structure: FactorRecord, shape: Shape, theta: Array, shared: Array, work: FactorWork, vertex: Array
) -> float:
    """Return an upper bound of the maximum."""
    return solve_factors(structure, theta, shared, work)[1]


# ---- projections: the squared norm covers states, as it does in graphs ---------------------------------


@implements(project_workspace, FactorRecord)
@jitable
def factor_project_workspace(structure: FactorRecord, shape: Shape) -> SparseMAPScratch[object]:
    return sparsemap_scratch(structure.state[-1], shape[0], workspace(structure, shape))


@implements(project, FactorRecord)
@kernel
def factor_project(
    structure: FactorRecord, shape: Shape, theta: Array, shared: Array, work: SparseMAPScratch, point: Array
) -> float:
    return project_with_bound(structure, structure.state[-1], shape, theta, work, point)
