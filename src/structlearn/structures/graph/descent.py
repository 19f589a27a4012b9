"""Descent on the bound of message passing: until sweeps no longer pay, then by the way down from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.kernels import leaf
from structlearn.core.vectors import assign
from structlearn.structures.graph.messages import (
    NodeArcs,
    fill_powers,
    improve,
    round_messages,
    sweep,
    sweep_soft,
    value_of,
)

if TYPE_CHECKING:
    from structlearn.structures.graph.bounded import BoundedWork

#: Sweeps go on while the last half of them has lowered the bound by this share of what is missing: as many
#: again would do no better. For a labelling alone, also by this share of all that they have lowered it by.
_PAYS, _PAYS_LABELLING = 0.03, 0.03
#: A sweep that lowers the bound by less than this share of it leaves it where a labelling may reach it: until
#: then a tight bound needs no labelling.
_STILL = 1e-9
#: One that lowers it by less than this share of what is missing leaves it where it is: of two states, for
#: which that is the optimum, and of more.
_RESTS, _NEARLY_RESTS = 1e-6, 1e-3
#: Temperatures of `tighten`, the sweeps at each, and how they fall: to 0.01 of the first.
_TEMPERATURES, _SWEEPS_EACH, _COOLING = 12, 10, 0.68


@leaf
def is_closed(value: float, bound: float) -> bool:
    """Return whether nothing but rounding is missing."""
    return bound - value <= 1e-12 * (abs(bound) + abs(value))


@leaf
def _best_constant(arcs: NodeArcs, work: BoundedWork) -> float:
    """best <- one state everywhere, which is hard to beat where neighbours attract; returns its value."""
    labels, n = work.labels, arcs.middle.size
    value, found = -np.inf, 0
    for x in range(labels.node.shape[1]):
        labels.states[:n] = x
        one = value_of(arcs, labels.node, labels.table, labels.states)
        if one > value:
            value, found = one, x
    work.best[:n] = found
    return value


@leaf
def find_labelling(arcs: NodeArcs, most_sweeps: int, tight: bool, work: BoundedWork) -> tuple[float, float]:
    """states <- the best labelling met; returns its value, and a bound on that of any, or a `tight` one."""
    labels, messages = work.labels, work.messages
    node, table = labels.node, labels.table
    for e in range(arcs.ends.shape[0]):
        for x in range(node.shape[1]):
            messages.message[e, x] = 0.0
    value, bound, before, first = _best_constant(arcs, work), np.inf, np.inf, np.inf
    next_rounding, next_look = 1, 2
    for t in range(1, most_sweeps + 1):
        sweep(arcs, True, node, table, messages)
        now = min(bound, sweep(arcs, False, node, table, messages))
        rests = bound - now <= _STILL * abs(now)
        bound = now
        if t in (next_look, most_sweeps) or (t >= next_rounding and (rests or not tight)):
            next_rounding = t + 1 + t // 4
            value = round_best(arcs, value, work)
            if is_closed(value, bound):
                break
        first = bound if t == 1 else first
        if t == next_look:
            least = max(_PAYS * (bound - value), 0.0 if tight else _PAYS_LABELLING * (first - bound))
            if before - bound < least:
                break
            next_look, before = 2 * t, bound
    assign(labels.states[: arcs.middle.size], work.best[: arcs.middle.size])
    return value, max(bound, value)


@leaf
def round_best(arcs: NodeArcs, value: float, work: BoundedWork) -> float:
    """best <- the labelling that messages speak for, after local search, where it is better than `value`."""
    labels, n, settled = work.labels, arcs.middle.size, work.branches.state
    round_messages(arcs, labels.node, labels.table, work.messages, settled, labels.states)
    improve(arcs, labels.node, labels.table, work.messages, settled, labels.states)
    found = value_of(arcs, labels.node, labels.table, labels.states)
    if found > value:
        assign(work.best[:n], labels.states[:n])
    return max(found, value)


@leaf
def sweep_on(arcs: NodeArcs, value: float, bound: float, most_sweeps: int, work: BoundedWork) -> float:
    """Lower a bound by sweeps until they rest.

    For two states that is the optimum of the linear program (Kolmogorov and Wainwright 2005, "On the
    optimality of tree-reweighted max-product message-passing"), so that no temperature is needed.
    """
    labels, messages = work.labels, work.messages
    least = _RESTS if labels.node.shape[1] == 2 else _NEARLY_RESTS
    for _ in range(most_sweeps):
        before = bound
        sweep(arcs, True, labels.node, labels.table, messages)
        bound = min(bound, sweep(arcs, False, labels.node, labels.table, messages))
        if before - bound <= least * (bound - value):
            break
    return max(bound, value)


@leaf
def tighten(arcs: NodeArcs, value: float, bound: float, work: BoundedWork) -> float:
    """Lower the bound that no labelling exceeds, by sweeps at falling temperatures.

    At the temperature t the smooth dual is within t n log K of the other: t begins where this is what is
    missing, and falls until it is a hundredth of it.
    """
    labels, messages = work.labels, work.messages
    node, table = labels.node, labels.table
    n, k = arcs.middle.size, node.shape[1]
    temperature = (bound - value) / (n * np.log(k))
    for _ in range(_TEMPERATURES):
        fill_powers(table, arcs.ends.shape[0], temperature, messages.power)
        for _ in range(_SWEEPS_EACH):
            sweep_soft(arcs, True, node, table, temperature, messages)
            sweep_soft(arcs, False, node, table, temperature, messages)
        for e in range(arcs.ends.shape[0]):
            assign(messages.kept[e], messages.message[e])
        sweep(arcs, True, node, table, messages)
        bound = min(bound, sweep(arcs, False, node, table, messages))
        for e in range(arcs.ends.shape[0]):
            assign(messages.message[e], messages.kept[e])
        temperature *= _COOLING
        if is_closed(value, bound):
            break
    return max(bound, value)
