"""The compiled form of a factor graph, and scratch memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable

#: What a factor is that is no table: limits of counts; and of `cycles`, an edge with its nodes, and a cycle.
LIMIT, LINK, CYCLE = -1, -2, -3


class FactorRecord(NamedTuple):
    """Variables, and factors over some of them: tables of scores, or limits of what their states count.

    An *edge* joins a factor and a variable; the edges of factor f are first[f] .. first[f + 1] - 1, in the
    order of its variables. A message has an entry for each state of an edge's variable.

    state : (n + 1,) where the states of each variable begin, among all states and among the parts
    first : (F + 1,)
    variable, factor : (E,) the ends of edges
    message : (E + 1,) where the messages of each edge begin
    cost : what each state counts, laid out as messages; 0 in tables
        (in a cycle, for each edge whether it is turned around)
    table : (F,) the part at which a table begins, in C order; LIMIT, LINK or CYCLE for others
    low, cap : (F,) the least and the largest count (of a cycle, cap is the number of states)
    open : (F,) whether more than `cap` is as good
    own_first, own_edge : (n + 1,) and (E,) the edges of each variable
    room : the largest numbers of states of a variable, of a factor's variables, of entries of its messages,
        and of counts for all of them
    most_branches : subproblems of branch and bound
    most_read : entries of tables that it reads, about
    """

    state: Array
    first: Array
    variable: Array
    factor: Array
    message: Array
    cost: Array
    table: Array
    low: Array
    cap: Array
    open: Array
    own_first: Array
    own_edge: Array
    room: tuple[int, int, int, int]
    n_parts: int
    most_branches: int
    most_read: int


class FactorWork(NamedTuple):
    """Scratch memory.

    score : of all parts; belief, gone : of all states, the score with all messages, and whether excluded
    cavity, found : of one factor's messages, beliefs without its own message, and max-marginals
    ahead, behind : best scores by position and count; place, prefix : of one entry of a table
    states, best, order, margin : labellings, and in which order they are made
    total, least, most : counts of limits while a labelling is made
    branch : (3, S) the variable, the state and the phase of decisions; kept : (S, K) what was excluded before
    """

    score: Array
    message: Array
    belief: Array
    gone: Array
    cavity: Array
    found: Array
    ahead: Array
    behind: Array
    place: Array
    prefix: Array
    states: Array
    best: Array
    margin: Array
    total: Array
    least: Array
    most: Array
    branch: Array
    kept: Array


@jitable
def factor_work(record: FactorRecord) -> FactorWork:
    """Allocate scratch memory."""
    sizes = (record.state[-1], record.state.size - 1, record.table.size, record.message[-1], record.n_parts)
    return work_of_sizes(sizes, record.room)


@jitable
def work_of_sizes(sizes: tuple[int, int, int, int, int], room: tuple[int, int, int, int]) -> FactorWork:
    """Allocate scratch memory for numbers of states, variables, factors, entries of messages and parts."""
    n_states, n, n_factors, n_messages, n_parts = sizes
    most_states, most_variables, most_entries, most_cells = room
    return FactorWork(
        np.empty(n_parts),
        np.empty(n_messages),
        np.empty(n_states),
        np.zeros(n_states, dtype=np.uint8),
        np.empty(most_entries),
        np.empty(most_entries),
        np.empty(most_cells),
        np.empty(most_cells),
        np.empty(most_variables + 1, dtype=np.int64),
        np.empty(most_variables + 2),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.empty(n),
        np.zeros(n_factors, dtype=np.int64),
        np.zeros(n_factors, dtype=np.int64),
        np.zeros(n_factors, dtype=np.int64),
        np.zeros((3, n_states + 1), dtype=np.int64),
        np.zeros((n_states + 1, most_states), dtype=np.uint8),
    )
