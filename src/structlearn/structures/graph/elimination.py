"""Variable elimination: exact answers where a graph's tree-width is small.

Nodes are eliminated one after the other. The *separator* S_v of a node v are its neighbours at that moment,
all eliminated later; they become neighbours of each other. What is known of v and of all that went before is
then a table over the states of S_v, its *message*, which goes to the member of S_v that is eliminated first,
v's *parent*. With n nodes of K states it takes n K^(w + 1) steps, where w is the largest separator: 1 on
forests, where this is the max-product (sum-product) algorithm.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.core.memory import Memory
from structlearn.core.vectors import argmax_of, log_sum, max_of
from structlearn.structures.graph.orders import EliminationOrder, elimination_order
from structlearn.structures.graph.pair_scores import add_given
from structlearn.structures.graphs import Graph


class EliminationRecord(NamedTuple):
    """Elimination orders of several graphs, end to end; steps are counted through, nodes within a graph."""

    exact: Array  # of each graph: whether its messages are small enough
    first: Array  # where its steps begin, one for each node; none where they are too large
    node: Array  # which node a step eliminates
    separator_first: Array
    separator: Array  # nodes of its separator, by the time of their elimination
    place: Array  # of each of them in the clique of the parent: 0 for the parent, then its separator
    message: Array  # where the step's message begins, within its graph
    child_first: Array
    child: Array  # the steps whose parent is this one
    edge_first: Array
    edge: Array  # edges to the separator, as numbers within the graph,
    edge_place: Array  # the other end's place in the separator,
    edge_ahead: Array  # and whether the eliminated node is the edge's first
    most_entries: int  # the most that all messages of a graph take
    widest: int  # the largest separator


def elimination_record(
    graphs: Sequence[Graph],
    n_states: int,
    most_entries: int,
    widest: int = 64,
    memory: Memory | None = None,
) -> EliminationRecord:
    """Order the graphs whose messages have at most `most_entries` entries in all, over `widest` nodes."""
    widest = min(widest, int(np.log(max(most_entries, 1)) / np.log(max(n_states, 2))))
    columns = {name: array("q") for name in EliminationRecord._fields[:-2]}
    largest = width = 0
    for graph in graphs:
        order = elimination_order(graph, widest)
        total = np.inf if order is None else sum(n_states ** len(one) for one in order.separators)
        fits = order is not None and total <= most_entries
        columns["exact"].append(fits)
        columns["first"].append(graph.n_nodes if fits else 0)
        if order is not None and fits:
            _append(columns, graph, order, n_states, len(columns["node"]))
            largest, width = max(largest, int(total)), max(width, order.width)
    room = memory or Memory()
    arrays = {name: _store_column(name, columns.pop(name), room) for name in tuple(columns)}
    return EliminationRecord(**arrays, most_entries=largest, widest=width)


def _store_column(name: str, values: array[int], memory: Memory) -> Array:
    """Store a column in its place; of lengths, store where the pieces of others begin."""
    lengths = name.endswith("first")
    kept = memory.empty(len(values) + lengths, np.int64)
    kept[:1] = 0
    kept[lengths:] = values
    return np.cumsum(kept, out=kept) if lengths else kept


def _append(
    columns: dict[str, array[int]], graph: Graph, order: EliminationOrder, n_states: int, offset: int
) -> None:
    time = {v: t for t, v in enumerate(order.nodes)}
    children: list[list[int]] = [[] for _ in order.nodes]
    own: list[list[tuple[int, int, bool]]] = [[] for _ in order.nodes]
    for t, separator in enumerate(order.separators):
        if separator:
            children[time[separator[0]]].append(offset + t)
    for e, (a, b) in enumerate(graph.edges.tolist()):
        ahead = time[a] < time[b]
        first, other = (a, b) if ahead else (b, a)
        t = time[first]
        if other in order.separators[t]:
            own[t].append((e, order.separators[t].index(other), ahead))
    begin = 0
    for t, (v, separator) in enumerate(zip(order.nodes, order.separators)):
        clique = [separator[0], *order.separators[time[separator[0]]]] if separator else []
        columns["node"].append(v)
        columns["separator_first"].append(len(separator))
        columns["separator"].extend(separator)
        columns["place"].extend(clique.index(u) for u in separator)
        columns["message"].append(begin)
        begin += n_states ** len(separator)
        columns["child_first"].append(len(children[t]))
        columns["child"].extend(children[t])
        columns["edge_first"].append(len(own[t]))
        for name, values in zip(("edge", "edge_place", "edge_ahead"), zip(*own[t])):
            columns[name].extend(values)


class SeparatorTables(NamedTuple):
    """Scratch memory: messages, probabilities of separators, states of one separator, scores of one node."""

    message: Array
    probability: Array
    digit: Array
    row: Array


@leaf
def fill_row(plan: EliminationRecord, t: int, node: Array, table: Array, work: SeparatorTables) -> None:
    """row[x] <- score of state x of step t's node, and of all before it, at the states `digit` around it."""
    v, row, digit = plan.node[t], work.row, work.digit
    n_states = row.size
    for x in range(n_states):
        row[x] = node[v, x]
    for p in range(plan.edge_first[t], plan.edge_first[t + 1]):
        add_given(table, plan.edge[p], plan.edge_ahead[p], digit[plan.edge_place[p]], row)
    for p in range(plan.child_first[t], plan.child_first[t + 1]):
        begin = child_entry(plan, plan.child[p], digit, n_states)
        for x in range(n_states):
            row[x] += work.message[begin + x]


@leaf
def child_entry(plan: EliminationRecord, c: int, digit: Array, n_states: int) -> int:
    """Return the entry of step c's message for state 0 of its parent, at states `digit` around the parent."""
    found, stride = plan.message[c], n_states
    for p in range(plan.separator_first[c] + 1, plan.separator_first[c + 1]):
        found += digit[plan.place[p] - 1] * stride
        stride *= n_states
    return found


@leaf
def next_digits(digit: Array, n_digits: int, n_states: int) -> None:
    """Step to the following states of a separator, the first changing fastest."""
    for j in range(n_digits):
        digit[j] += 1
        if digit[j] < n_states:
            return
        digit[j] = 0


@leaf
def eliminate(
    plan: EliminationRecord,
    first: int,
    last: int,
    node: Array,
    table: Array,
    work: SeparatorTables,
    soft: bool,
) -> float:
    """Compute all messages of the steps first .. last - 1; return the maximum or, `soft`, the log-sum."""
    n_states = work.row.size
    value = 0.0
    for t in range(first, last):
        n_digits = plan.separator_first[t + 1] - plan.separator_first[t]
        n_entries = 1
        for j in range(n_digits):
            work.digit[j] = 0
            n_entries *= n_states
        for a in range(n_entries):
            fill_row(plan, t, node, table, work)
            work.message[plan.message[t] + a] = log_sum(work.row) if soft else max_of(work.row)
            next_digits(work.digit, n_digits, n_states)
        if n_digits == 0:
            value += work.message[plan.message[t]]
    return value


@leaf
def read_back(
    plan: EliminationRecord,
    first: int,
    last: int,
    node: Array,
    table: Array,
    work: SeparatorTables,
    states: Array,
) -> None:
    """states[v] <- those of the maximum that `eliminate` has just found."""
    for t in range(last - 1, first - 1, -1):
        n_digits = plan.separator_first[t + 1] - plan.separator_first[t]
        for j in range(n_digits):
            work.digit[j] = states[plan.separator[plan.separator_first[t] + j]]
        fill_row(plan, t, node, table, work)
        states[plan.node[t]] = argmax_of(work.row)


@leaf
def write_marginals(
    plan: EliminationRecord,
    first: int,
    last: int,
    node: Array,
    table: Array,
    work: SeparatorTables,
    nodes: Array,
    pairs: Array,
) -> float:
    """nodes[v, x], pairs[e, x, y] <- marginals, after `eliminate(..., soft=True)`; returns the entropy.

    p(v, S_v) = p(v | S_v) p(S_v), from the last eliminated on: ratios only. The entropy is
    sum_v sum_s p(S_v = s) H(v | s), whose terms are not negative.
    """
    n_states = work.row.size
    nodes[:] = 0.0
    pairs[:] = 0.0
    for j in range(work.probability.size):
        work.probability[j] = 0.0
    found = 0.0
    for t in range(last - 1, first - 1, -1):
        n_digits = plan.separator_first[t + 1] - plan.separator_first[t]
        n_entries = 1
        for j in range(n_digits):
            work.digit[j] = 0
            n_entries *= n_states
        if n_digits == 0:
            work.probability[plan.message[t]] = 1.0
        for a in range(n_entries):
            p = work.probability[plan.message[t] + a]
            if p > 0.0:
                fill_row(plan, t, node, table, work)
                found += p * _spread_probability(plan, t, p, work, nodes, pairs)
            next_digits(work.digit, n_digits, n_states)
    return found


@leaf
def _spread_probability(
    plan: EliminationRecord, t: int, p: float, work: SeparatorTables, nodes: Array, pairs: Array
) -> float:
    """Deal out the probability p of the separator's states to those of the node; the entropy of these."""
    row, digit, v = work.row, work.digit, plan.node[t]
    n_states = row.size
    total = log_sum(row)
    found = 0.0
    for x in range(n_states):
        share = np.exp(row[x] - total)
        found += share * (total - row[x]) if share > 0.0 else 0.0
        row[x] = p * share
        nodes[v, x] += row[x]
    for q in range(plan.edge_first[t], plan.edge_first[t + 1]):
        e, other = plan.edge[q], digit[plan.edge_place[q]]
        for x in range(n_states):
            if plan.edge_ahead[q]:
                pairs[e, x, other] += row[x]
            else:
                pairs[e, other, x] += row[x]
    for q in range(plan.child_first[t], plan.child_first[t + 1]):
        begin = child_entry(plan, plan.child[q], digit, n_states)
        for x in range(n_states):
            work.probability[begin + x] += row[x]
    return max(found, 0.0)
