"""Bounds of pairwise graphs that cycles tighten: distributions of edges agree around triangles and squares.

The local polytope lets the distributions of edges contradict each other around a cycle. Here they are
variables of a factor graph, whose states are pairs of states of nodes. A *link* makes an edge agree with its
nodes, and a *cycle* is a factor over its edges that allows what labels of its nodes can make (Sontag,
Meltzer, Globerson, Weiss and Jaakkola 2008, "Tightening LP relaxations for MAP using message passing"). The
dual is descended on as that of any factor graph (see `dual`).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.structures.factors.dual import lift_forbidden, start_messages, sweep_factors
from structlearn.structures.factors.records import CYCLE, LINK, FactorRecord, factor_work
from structlearn.structures.graphs import Graph

#: Operations of a sweep over all cycles, and of all sweeps, at most: about half a second, and some seconds.
_A_SWEEP, ALL_SWEEPS = 1 << 28, 1 << 32
#: Sweeps, at most; they end where one lowers the bound by less than this share of it.
_MOST_SWEEPS, _PAYS = 300, 1e-5
#: Cycles of three that pass through one edge are not looked for where there are more of them in all.
_MOST_CYCLES = 1 << 20


class CycleAnswer(NamedTuple):
    """A bound on the score of any labelling, and the state of each node that beliefs speak for."""

    bound: float
    states: Array


def cycle_bound(graph: Graph, node: Array, table: Array, most: int = ALL_SWEEPS) -> CycleAnswer | None:
    """Return a bound that cycles tighten; None for graphs without short cycles.

    node : (n, K) scores; table : (E, K, K). most : operations of all sweeps
    """
    cycles = find_cycles(graph, table) if len(table) else []
    if not cycles:
        return None
    record = cycle_record(graph, node.shape[1], cycles)
    cost = sum(3 * len(one) for one in cycles) * node.shape[1] ** 3 + table.size
    score = np.concatenate([node.ravel(), table.ravel()])
    sweeps = int(min(_MOST_SWEEPS, max(most // (2 * cost), 1)))
    work = factor_work(record)
    bound = float(_bound(record, score, sweeps, work))
    return CycleAnswer(bound, work.belief[: node.size].reshape(node.shape).argmax(axis=1))


@kernel
def _bound(record: FactorRecord, score: Array, most_sweeps: int, work: Any) -> float:
    """Sweep until that no longer pays; return the least bound."""
    for j in range(score.size):
        work.score[j] = score[j]
    least = lift_forbidden(work.score, record.state.size)
    start_messages(record, work)
    bound = np.inf
    for _ in range(most_sweeps):
        before = bound
        sweep_factors(record, True, 3.0 * least, work)
        bound = min(bound, sweep_factors(record, False, 3.0 * least, work))
        if before - bound <= _PAYS * abs(bound):
            break
    return bound


# ---- which cycles ----------------------------------------------------------------------------------------


def find_cycles(graph: Graph, table: Array) -> list[list[int]]:
    """Return triangles, and squares without chords, as lists of edges in their order around the cycle.

    Where they would take too long, those whose weakest edge matters most.
    """
    n, edges = graph
    of_pair: dict[tuple[int, int], int] = {}
    for e, (a, b) in enumerate(edges.tolist()):
        of_pair.setdefault((min(a, b), max(a, b)), e)
    near: list[set[int]] = [set() for _ in range(n)]
    for a, b in of_pair:
        near[a].add(b)
        near[b].add(a)
    if sum(len(one) ** 2 for one in near) > _MOST_CYCLES:
        found = _few_triangles(of_pair, near, table)
    else:
        found = [*_triangles(of_pair, near), *_squares(of_pair, near)]
    strength = table.max(axis=(1, 2), initial=-np.inf) - table.min(axis=(1, 2), initial=np.inf)
    worth = np.array([min(strength[e] for e in one) for one in found])
    room = max(_A_SWEEP // (12 * table.shape[1] ** 3), 1)
    return [found[k] for k in np.argsort(-worth, kind="stable")[:room]]


def _few_triangles(
    of_pair: dict[tuple[int, int], int], near: list[set[int]], table: Array
) -> list[list[int]]:
    """Return triangles of the strongest edges of each node, where there are too many of all."""
    strength = table.max(axis=(1, 2)) - table.min(axis=(1, 2))
    each = int(max((_MOST_CYCLES / len(near)) ** 0.5, 3))
    kept: list[set[int]] = []
    for v, own in enumerate(near):
        ranked = sorted(own, key=lambda u: -strength[of_pair[min(u, v), max(u, v)]])
        kept.append(set(ranked[:each]))
    both = [{u for u in own if v in kept[u]} for v, own in enumerate(kept)]
    return _triangles(of_pair, both)


def _edge(of_pair: dict[tuple[int, int], int], a: int, b: int) -> int:
    return of_pair[min(a, b), max(a, b)]


def _triangles(of_pair: dict[tuple[int, int], int], near: list[set[int]]) -> list[list[int]]:
    found = []
    for a, own in enumerate(near):
        later = sorted(b for b in own if b > a)
        for b, c in combinations(later, 2):
            if c in near[b]:
                found.append([_edge(of_pair, a, b), _edge(of_pair, b, c), _edge(of_pair, c, a)])
    return found


def _squares(of_pair: dict[tuple[int, int], int], near: list[set[int]]) -> list[list[int]]:
    """Return squares a - b - c - d without chords, of which a is the first node, and b before d."""
    found = []
    for a, own in enumerate(near):
        for b, d in combinations(sorted(x for x in own if x > a), 2):
            if d in near[b]:
                continue
            for c in near[b] & near[d]:
                if c > a and c not in own:
                    pairs = ((a, b), (b, c), (c, d), (d, a))
                    found.append([_edge(of_pair, *pair) for pair in pairs])
    return found


# ---- the factor graph ------------------------------------------------------------------------------------


def cycle_record(graph: Graph, k: int, cycles: list[list[int]]) -> FactorRecord:
    """Return nodes and edges as variables, with a link for each edge, and cycles."""
    n, edges = graph
    n_edges = len(edges)
    sizes = np.array([k] * n + [k * k] * n_edges)
    members = [[a, b, n + e] for e, (a, b) in enumerate(edges.tolist())]
    members += [[n + e for e in one] for one in cycles]
    turned = [[0, 0, 0]] * n_edges + [_turns(edges, one) for one in cycles]
    variable = np.array([v for one in members for v in one], dtype=np.int64)
    arity = np.array([len(one) for one in members], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(arity)])
    message = np.concatenate([[0], np.cumsum(sizes[variable])])
    n_factors = len(members)
    kind = np.full(n_factors, CYCLE, dtype=np.int64)
    kind[:n_edges] = LINK
    none = np.zeros(n_factors, dtype=np.int64)
    own_edge = np.argsort(variable, kind="stable")
    own_first = np.searchsorted(variable[own_edge], np.arange(len(sizes) + 1))
    longest = int(arity.max(initial=1))
    room = (k * k, longest, int(np.diff(message[first]).max(initial=1)), 2 * (longest + 1) * k * k)
    start, factor = np.concatenate([[0], np.cumsum(sizes)]), np.repeat(np.arange(n_factors), arity)
    cost = np.array([turn for one in turned for turn in one], dtype=np.int64)  # one per edge, not per state
    return FactorRecord(
        *(
            start,
            first,
            variable,
            factor,
            message,
            cost,
            kind,
            none,
            np.full(n_factors, k),
            none.astype(np.uint8),
        ),
        *(own_first, own_edge, room, int(start[-1]), 0, 0),
    )


def _turns(edges: Array, cycle: list[int]) -> list[int]:
    """Return for each edge of a cycle whether it is passed from its second node to its first."""
    ends = [edges[e].tolist() for e in cycle]
    at = next(v for v in ends[0] if v in ends[-1] and (len(cycle) > 2 or v == ends[0][0]))
    turns = []
    for a, b in ends:
        turns.append(int(a != at))
        at = b if a == at else a
    return turns
