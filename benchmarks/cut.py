"""Minimum cuts of images: time of one maximum flow, of one projection, and of training.

    python benchmarks/cut.py

Images are noisy ellipses on a 4-connected grid; an edge costs a random share of `smoothing`, whose unit is
the noise of a pixel. Maximum flows run in one compiled loop, as a pass does. Beside them scipy's
`maximum_flow`, which takes integers: scores are scaled by 10^5 and rounded, and both the flow alone and the
whole call with its conversion are timed; `networkx` too, where installed, on the smallest image. Optimality
of a projection is max_v <theta - z, v - z> over all vertices v, by our own `maximize`: at most 0 if exact.
Processor time, best of several.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from common import machine, note, recorded
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from structlearn import CutSegmenter
from structlearn.core.contract import maximize, project, project_workspace, workspace
from structlearn.data import make_segmentations
from structlearn.structures import Cut

QUICK = [[]]

Scores = NDArray[np.float64]

SIDES = [20, 50, 100, 200]
PROJECTED = [20, 50, 100]
TRAINED = [20, 50, 100]
SMOOTHINGS = [0.3, 1.0, 3.0]
SCALE = 1e5


@numba.njit
def maximize_all(record: Any, shape: Any, theta: Any, vertices: Any) -> None:
    work, shared = workspace(record, shape), np.empty(0)
    for i in range(len(theta)):
        maximize(record, shape, theta[i], shared, work, vertices[i])


@numba.njit
def project_all(record: Any, shape: Any, theta: Any, points: Any) -> None:
    work, shared = project_workspace(record, shape), np.empty(0)
    for i in range(len(theta)):
        project(record, shape, theta[i], shared, work, points[i])


def processor_time(function: Callable[[], Any], repeats: int = 5) -> float:
    function()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)


def problems(cut: Cut, side: int, smoothing: float, count: int = 3) -> Scores:
    rng = np.random.default_rng(0)
    X, _ = make_segmentations(count, side, side, random_state=rng)
    edges = -smoothing * rng.random((count, len(cut.edges)))
    return np.column_stack([np.reshape([x[..., 0] - 0.5 for x in X], (count, -1)), edges])


def network(cut: Cut, theta: Scores) -> csr_array:
    """Capacities as scipy wants them: integers, the source and the sink as the last two nodes."""
    n = cut.n_nodes
    nodes, edges = np.rint(SCALE * theta[:n]), np.rint(SCALE * np.maximum(-theta[n:], 0.0))
    every, source, sink = np.arange(n), np.full(n, n), np.full(n, n + 1)
    tails = np.concatenate([cut.edges[:, 0], cut.edges[:, 1], source, every])
    heads = np.concatenate([cut.edges[:, 1], cut.edges[:, 0], every, sink])
    values = np.concatenate([edges, edges, np.maximum(nodes, 0), np.maximum(-nodes, 0)])
    return csr_array((values.astype(np.int32), (tails, heads)), shape=(n + 2, n + 2))


def by_networkx(cut: Cut, theta: Scores) -> float:
    import networkx

    graph = networkx.from_scipy_sparse_array(
        network(cut, theta), create_using=networkx.DiGraph, edge_attribute="capacity"
    )
    return networkx.minimum_cut_value(graph, cut.n_nodes, cut.n_nodes + 1)


def time_flows(side: int, smoothing: float) -> None:
    cut = Cut.grid(side, side)
    theta = problems(cut, side, smoothing)
    vertices, shape, n = np.empty_like(theta), cut.shape(theta[0]), cut.n_nodes
    ours = processor_time(lambda: maximize_all(cut.record, shape, theta, vertices)) / len(theta)
    networks = [network(cut, one) for one in theta]
    flow = processor_time(lambda: [maximum_flow(one, n, n + 1) for one in networks], 2) / len(theta)
    whole = processor_time(lambda: [maximum_flow(network(cut, one), n, n + 1) for one in theta], 2) / len(
        theta
    )
    value = np.maximum(theta[0, :n], 0).sum() - maximum_flow(networks[0], n, n + 1).flow_value / SCALE
    apart = abs(vertices[0] @ theta[0] - value)
    what = f"flow, {side} x {side}, smoothing {smoothing}"
    note(what=what, ms=1e3 * ours, scipy_ms=1e3 * flow, scipy_whole_ms=1e3 * whole)
    print(
        f"{side}x{side} smoothing {smoothing}: {1e3 * ours:.2f} ms; scipy {1e3 * flow:.1f} ms "
        f"({flow / ours:.1f}x), with conversion {1e3 * whole:.1f} ms ({whole / ours:.1f}x); "
        f"differ by {apart:.0e}"
    )
    if side == SIDES[0] and importlib.util.find_spec("networkx"):
        theirs = processor_time(lambda: by_networkx(cut, theta[0]), 2)
        print(f"    networkx {1e3 * theirs:.0f} ms ({theirs / ours:.0f}x)")


def time_projections(side: int, smoothing: float) -> None:
    cut = Cut.grid(side, side)
    theta = problems(cut, side, smoothing)
    points, shape = np.empty_like(theta), cut.shape(theta[0])
    ours = processor_time(lambda: project_all(cut.record, shape, theta, points), 2) / len(theta)
    gradients = theta - points
    worst = max(g @ (cut.maximize(g) - z) for g, z in zip(gradients, points))
    inside = np.mean((points[:, : cut.n_nodes] > 1e-9) & (points[:, : cut.n_nodes] < 1 - 1e-9))
    note(what=f"projection, {side} x {side}, smoothing {smoothing}", ms=1e3 * ours, optimality=worst)
    print(
        f"projection {side}x{side} smoothing {smoothing}: {1e3 * ours:.1f} ms, optimality {worst:.0e}, "
        f"{inside:.0%} of the nodes inside"
    )


def train(side: int) -> None:
    X, y = make_segmentations(40, side, side, random_state=0)
    CutSegmenter(regularization=side**2 / 4, tol=0.1, random_state=0).fit(X[:5], y[:5])  # compiles
    begin = time.process_time()
    model = CutSegmenter(regularization=side**2 / 4, tol=0.01, random_state=0).fit(X[:20], y[:20])
    seconds = time.process_time() - begin
    alone = np.mean([(s > 0) == one for s, one in zip(model.decision_function(X[20:]), y[20:])])
    found, right = model.certificate_, model.score(X[20:], y[20:])
    note(
        what=f"training, {side} x {side}",
        cpu_seconds=seconds,
        gap=found.gap,
        passes=found.passes,
        right=right,
    )
    print(
        f"training, 20 images {side}x{side}, lambda {side**2 / 4:g}: gap {model.certificate_.gap:.4f} after "
        f"{model.certificate_.passes:.0f} passes, {seconds:.2f} s; test pixels right "
        f"{model.score(X[20:], y[20:]):.2%} (each alone {alone:.2%})"
    )


def main() -> None:
    print(machine())
    for side in SIDES:
        for smoothing in SMOOTHINGS:
            time_flows(side, smoothing)
    for side in PROJECTED:
        for smoothing in SMOOTHINGS:
            time_projections(side, smoothing)
    for side in TRAINED:
        train(side)


if __name__ == "__main__":
    recorded(main)
