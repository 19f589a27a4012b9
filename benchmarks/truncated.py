"""Grids with truncated linear tables: labellings with whole tables, and with one weight per edge.

`python benchmarks/truncated.py`: 128 x 128 nodes of 16 states, noisy levels of rectangles and a ramp; CPU
seconds of one thread, scores, and bounds of `solve`.
"""

from __future__ import annotations

import time

import numpy as np
from common import note, recorded

from structlearn.structures import PairwiseGraph
from structlearn.structures.graphs import grid_graph

SIDE, K, LIMIT = 128, 16, 4


def levels(seed: int) -> np.ndarray:
    """Return scores of nodes, minus truncated distances to noisy levels."""
    rng = np.random.default_rng(seed)
    truth = np.zeros((SIDE, SIDE))
    for _ in range(30):
        (top, bottom), (left, right) = np.sort(rng.integers(0, SIDE, size=(2, 2)))
        truth[top : bottom + 1, left : right + 1] = rng.integers(K)
    truth[:, SIDE // 2 :] = (np.add.outer(np.arange(SIDE), np.arange(SIDE)) * K // (2 * SIDE))[:, SIDE // 2 :]
    noisy = truth + 2.0 * rng.normal(size=truth.shape)
    return -np.minimum(np.abs(noisy.ravel()[:, None] - np.arange(K)), 6.0)


def main() -> None:
    graph = grid_graph(SIDE, SIDE)
    m = len(graph.edges)
    apart = np.minimum(np.abs(np.subtract.outer(np.arange(K), np.arange(K))), LIMIT)
    whole = PairwiseGraph(*graph, K)
    shaped = PairwiseGraph(*graph, K, pairs="truncated-linear", truncation=float(LIMIT))
    for seed in range(3):
        node = levels(seed).ravel()
        full = np.concatenate([node, np.tile(-apart.ravel().astype(float), m)])
        noise = 1e-9 * np.random.default_rng(seed).normal(size=full.size - node.size)
        hidden = full.copy()  # from recognition
        hidden[node.size :] += noise
        one = np.concatenate([node, np.full(m, float(LIMIT))])
        for what, structure, theta in (
            ("whole tables, not recognised", whole, hidden),
            ("whole tables, recognised", whole, full),
            ("one weight per edge", shaped, one),
        ):
            if seed == 0:
                structure.maximize(theta)  # compiles
            begin = time.process_time()
            states = structure.decode(structure.maximize(theta))
            seconds = time.process_time() - begin
            score = float(full @ whole.encode(states))
            note(what=what, seed=seed, score=score, cpu_seconds=seconds)
            print(f"{what}, seed {seed}: {score:.4f} in {seconds:.3f} CPU s", flush=True)


if __name__ == "__main__":
    recorded(main)
