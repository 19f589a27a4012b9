"""The projection onto label sequences as a flow of quadratic cost, by an interior-point method.

    max_x  <u, mu> - 1/2 ||mu||^2 + sum_t <step_t, x_t>     over unit flows x >= 0 (see `network`)

mu_t[k] = sum_j x_t[j, k] = sum_j x_{t+1}[k, j]. With potentials p and q, optimal are x and

    mu_t[k] = u_t[k] + p_{t+1}[k] - q_t[k]       s_t[j, k] = p_t[j] - step_t[j, k] - q_t[k] >= 0       x s = 0

The first equation and the flow's own hold in every round, so that sum x s is the duality gap. Each round
takes Newton's step to x s = sigma with Mehrotra's sigma and second-order term (1992). It needs about as many
rounds for scores that tie or nearly tie as for others: there are no vertices to choose from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.structures.chain.network import (
    ResistorNetwork,
    eliminate_positions,
    n_nodes_before,
    potentials,
)

#: Rounds after which it gives up; usual are 10 to 30.
MOST_ROUNDS = 60
#: How much of the way to the nearest bound a round goes.
SHORT_OF_BOUND = 0.99
#: Least slack of the first edges: scores matter where they differ by about the weight of a label, 1 at most.
LEAST_SLACK = 0.05
#: The most that an edge conducts where flow is to be repaired.
MOST_CONDUCTANCE = 1e10
#: Slack of edges of -inf.
FORBIDDEN = 1e300


class Flow(NamedTuple):
    """A flow and all that a round needs. Edges (L, M, M), of which those of -inf have x = 0; nodes (L, M).

    label : (L, M) integers, which label a node stands for. unary, step : scores. mu : weights of nodes.
    x, slack : flow and its multipliers; dx, ds : their steps. g, h : currents; p, q : steps of potentials.
    """

    network: ResistorNetwork
    label: Array
    unary: Array
    step: Array
    mu: Array
    x: Array
    slack: Array
    dx: Array
    ds: Array
    g: Array
    h: Array
    p: Array
    q: Array


@leaf
def best_flow(flow: Flow, tolerance: float) -> int:
    """x, mu <- the best flow, with a duality gap of at most `tolerance`; returns the number of rounds.

    It may end earlier, where rounding errors let it go no further.
    """
    n_edges = _start(flow)
    gap = _gap(flow, 0.0)
    rounds = 0
    while gap > tolerance and rounds < MOST_ROUNDS:
        rounds += 1
        _conduct(flow, np.inf)
        length = min(_newton(flow, 0.0, False), 1.0)
        sigma = gap / n_edges * (_gap(flow, length) / gap) ** 3
        length = min(SHORT_OF_BOUND * _newton(flow, sigma, True), 1.0)
        last, gap = gap, _gap(flow, length)
        if not gap < last:
            break
        _move(flow, length)
    _conduct(flow, MOST_CONDUCTANCE)
    conserve(flow, 1.0, 2)
    return rounds


@leaf
def _start(flow: Flow) -> int:
    """Make every allowed step of a label equally likely, with positive slacks; return the number of edges."""
    count, step, x, mu = flow.network.sizes, flow.step, flow.x, flow.mu
    n_edges = 0
    for t in range(count.size):
        for k in range(count[t]):
            mu[t, k] = 0.0
        for j in range(n_nodes_before(count, t)):
            allowed = 0
            for k in range(count[t]):
                allowed += int(step[t, j, k] > -np.inf)
            share = (mu[t - 1, j] if t > 0 else 1.0) / max(allowed, 1)
            for k in range(count[t]):
                x[t, j, k] = share if step[t, j, k] > -np.inf else 0.0
                mu[t, k] += x[t, j, k]
            n_edges += allowed
    _set_slacks(flow)
    return n_edges


@leaf
def _set_slacks(flow: Flow) -> None:
    """slack <- that of potentials p a little above the least that are allowed, from the end to the start."""
    count, step, slack, p, q = flow.network.sizes, flow.step, flow.slack, flow.p, flow.q
    for t in range(count.size - 1, -1, -1):
        for k in range(count[t]):
            after = p[t + 1, k] if t < count.size - 1 else 0.0
            q[t, k] = flow.unary[t, k] + after - flow.mu[t, k]
        for j in range(n_nodes_before(count, t)):
            most, total, allowed = -np.inf, 0.0, 0
            for k in range(count[t]):
                if step[t, j, k] > -np.inf:
                    most = max(most, step[t, j, k] + q[t, k])
                    total += step[t, j, k] + q[t, k]
                    allowed += 1
            p[t, j] = most + max(most - total / max(allowed, 1), LEAST_SLACK)
            for k in range(count[t]):
                slack[t, j, k] = min(p[t, j] - step[t, j, k] - q[t, k], FORBIDDEN)


@leaf
def _gap(flow: Flow, length: float) -> float:
    """Return sum x s after a step of this length."""
    count, x, slack, dx, ds = flow.network.sizes, flow.x, flow.slack, flow.dx, flow.ds
    found = 0.0
    for t in range(count.size):
        for j in range(n_nodes_before(count, t)):
            row = 0.0
            for k in range(count[t]):
                if length > 0.0:
                    row += (x[t, j, k] + length * dx[t, j, k]) * (slack[t, j, k] + length * ds[t, j, k])
                else:
                    row += x[t, j, k] * slack[t, j, k]
            found += row
    return found


@leaf
def _conduct(flow: Flow, most: float) -> None:
    """Let an edge conduct x / s, less where potentials' rounding errors would be as large as the flow."""
    count, weight, x, slack = flow.network.sizes, flow.network.weight, flow.x, flow.slack
    for t in range(count.size):
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                weight[t, j, k] = min(x[t, j, k] / slack[t, j, k], most)
    eliminate_positions(flow.network)


@leaf
def _newton(flow: Flow, sigma: float, again: bool) -> float:
    """dx, ds <- Newton's step to x s = sigma, less the product of the steps before if `again`.

    Returns its length to the nearest bound.
    """
    count, x, slack, dx, ds = flow.network.sizes, flow.x, flow.slack, flow.dx, flow.ds
    for t in range(count.size):
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                product = dx[t, j, k] * ds[t, j, k] if again else 0.0
                wanted = (sigma - product) / slack[t, j, k] - x[t, j, k]
                dx[t, j, k] = wanted if x[t, j, k] > 0.0 else 0.0
    _solve(flow, 1.0)
    steepest = 0.0
    for t in range(count.size):
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                fall = max(-dx[t, j, k] / x[t, j, k], -ds[t, j, k] / slack[t, j, k])
                steepest = max(steepest, fall if x[t, j, k] > 0.0 else 0.0)
    return 1.0 / steepest


@leaf
def _solve(flow: Flow, total: float) -> None:
    """dx <- dx - w ds with the ds for which x + dx is a flow of this total, through nodes of mu + dmu."""
    network, x, dx, ds = flow.network, flow.x, flow.dx, flow.ds
    count, g, h, p, q = network.sizes, flow.g, flow.h, flow.p, flow.q
    for t in range(count.size):
        for k in range(count[t]):
            g[t, k] = flow.mu[t, k]
        for j in range(n_nodes_before(count, t)):
            current = -(flow.mu[t - 1, j] if t > 0 else total)
            for k in range(count[t]):
                wanted = x[t, j, k] + dx[t, j, k]
                current += wanted
                g[t, k] -= wanted
            h[t, j] = current
    potentials(network, g, h, p, q)
    for t in range(count.size):
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                ds[t, j, k] = p[t, j] - q[t, k]
                dx[t, j, k] -= network.weight[t, j, k] * ds[t, j, k]


@leaf
def _move(flow: Flow, length: float) -> None:
    count, p, q = flow.network.sizes, flow.p, flow.q
    for t in range(count.size):
        for k in range(count[t]):
            after = p[t + 1, k] if t < count.size - 1 else 0.0
            flow.mu[t, k] += length * (after - q[t, k])
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                flow.x[t, j, k] += length * flow.dx[t, j, k]
                flow.slack[t, j, k] += length * flow.ds[t, j, k]


@leaf
def conserve(flow: Flow, total: float, times: int) -> None:
    """Repair the balance of nodes for a flow of this total; errors that are left are for the next time."""
    count, dx = flow.network.sizes, flow.dx
    for _ in range(times):
        for t in range(count.size):
            for j in range(n_nodes_before(count, t)):
                for k in range(count[t]):
                    dx[t, j, k] = 0.0
        _solve(flow, total)
        _move(flow, 1.0)
