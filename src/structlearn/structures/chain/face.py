"""How the projection onto label sequences moves with its scores, where it is a flow.

    J v = argmax_{d} <v, d> - 1/2 ||d_mu||^2       over the moves d of the flow within its face

A move adds flow, or takes it away, on edges that have some; potentials p and q as in `flow` then satisfy
p_t[j] - q_t[k] = v_t[j, k] on those. Where the flow has circles, v may contradict itself around them: the
scores tie, and the answer is not unique. So of each step a spanning forest of the heaviest edges is kept;
along it potentials add up v, and what is left is to keep the balance of nodes.
"""

from __future__ import annotations

from structlearn.core.kernels import leaf
from structlearn.structures.chain.flow import MOST_CONDUCTANCE, Flow, conserve
from structlearn.structures.chain.network import eliminate_positions, n_nodes_before


@leaf
def move_along_face(flow: Flow) -> None:
    """x, mu <- their derivatives for scores that move by `step` and `unary`, at the best flow x, slack."""
    count, unary, mu, p, q = flow.network.sizes, flow.unary, flow.mu, flow.p, flow.q
    for t in range(count.size):
        keep_forest(flow, t)
    for t in range(count.size):
        for k in range(count[t]):
            after = p[t + 1, k] if t < count.size - 1 else 0.0
            mu[t, k] = unary[t, k] + after - q[t, k] if flow.g[t, k] > 0.0 else 0.0
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                flow.x[t, j, k] = 0.0
    eliminate_positions(flow.network)
    conserve(flow, 0.0, 3)


@leaf
def keep_forest(flow: Flow, t: int) -> None:
    """Conduct along a forest of the edges with flow; p_t - q_t = step_t on them. g > 0 for nodes that it has.

    Prim's algorithm: the heaviest edge from a node that it has (h, g = 1) to one that it has not.
    """
    count, weight, h, g, p, q = flow.network.sizes, flow.network.weight, flow.h, flow.g, flow.p, flow.q
    rows, columns = n_nodes_before(count, t), count[t]
    for j in range(rows):
        h[t, j] = 0.0
        for k in range(columns):
            weight[t, j, k] = 0.0
    for k in range(columns):
        g[t, k] = q[t, k] = 0.0
    for root in range(rows):
        if h[t, root] == 0.0:
            h[t, root] = 1.0
            p[t, root] = 0.0
            j, k = _heaviest(flow, t)
            while j >= 0:
                weight[t, j, k] = MOST_CONDUCTANCE
                if g[t, k] == 0.0:
                    g[t, k] = 1.0
                    q[t, k] = p[t, j] - flow.step[t, j, k]
                else:
                    h[t, j] = 1.0
                    p[t, j] = q[t, k] + flow.step[t, j, k]
                j, k = _heaviest(flow, t)


@leaf
def _heaviest(flow: Flow, t: int) -> tuple[int, int]:
    """Return the edge of most flow that has one end in the forest, -1 if there is none."""
    x, slack, h, g = flow.x, flow.slack, flow.h, flow.g
    most, before_, after = 0.0, -1, -1
    for j in range(n_nodes_before(flow.network.sizes, t)):
        for k in range(flow.network.sizes[t]):
            if h[t, j] != g[t, k] and x[t, j, k] > max(most, slack[t, j, k]):
                most, before_, after = x[t, j, k], j, k
    return before_, after
