"""Graphs beside other libraries, where they are installed: PyMaxflow's alpha-expansion, pgmpy's elimination.

`python benchmarks/graph_peers.py`. Neither is needed by the package.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from itertools import product

import numpy as np
from common import machine, note, recorded
from graphs import HELD_OUT, answer, missing, potts_noise, seconds_of

from structlearn.structures import PairwiseGraph
from structlearn.structures.graphs import grid_graph


def against_maxflow() -> None:
    """Its loop of expansions until none helps, on Potts noise; ours is `maximize`, with a bound."""
    from maxflow.fastmin import aexpansion_grid

    for strength, seed in product((0.5, 1.0, 1.5, 2.0), HELD_OUT):
        graph, node, edge = potts_noise(seed, 200, 10, strength)
        begin = time.process_time()
        labels = aexpansion_grid(-node.reshape(200, 200, 10), strength * (1.0 - np.eye(10))).ravel()
        seconds = time.process_time() - begin
        likes = (labels[graph.edges[:, 0]] == labels[graph.edges[:, 1]]) @ edge
        value = node[np.arange(40000), labels].sum() + likes
        found = answer(graph, node, edge, "potts", tight=False)
        note(
            what=f"Potts 200 x 200, strength {strength}, seed {seed}",
            value=found.value,
            cpu_seconds=found.seconds,
            maxflow_value=value,
            maxflow_cpu_seconds=seconds,
        )
        print(
            f"Potts 200 x 200, 10 states, strength {strength}, seed {seed}: ours {found.value:.1f} "
            f"({missing(found):.2%} below our bound) in {found.seconds:.2f} CPU s, PyMaxflow {value:.1f} in "
            f"{seconds:.2f}"
        )


def against_pgmpy() -> None:
    """The best states of a small grid: pgmpy makes a table of all states of all nodes."""
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteMarkovNetwork

    rng, graph = np.random.default_rng(0), grid_graph(3, 4)
    node, table = rng.normal(size=(12, 3)), rng.normal(size=(len(graph.edges), 3, 3))
    structure = PairwiseGraph(12, graph.edges, 3)
    theta = np.concatenate([node.ravel(), table.ravel()])
    ours, seconds = structure.solve(theta), seconds_of(lambda: structure.solve(theta))
    begin = time.process_time()
    names = [f"v{v}" for v in range(12)]
    network = DiscreteMarkovNetwork([(names[a], names[b]) for a, b in graph.edges.tolist()])
    single = [DiscreteFactor([names[v]], [3], np.exp(node[v])) for v in range(12)]
    pairs = [
        DiscreteFactor([names[a], names[b]], [3, 3], np.exp(table[e]))
        for e, (a, b) in enumerate(graph.edges.tolist())
    ]
    network.add_factors(*single, *pairs)
    found = VariableElimination(network).map_query(names, show_progress=False)
    end = time.process_time()
    states = np.array([found[name] for name in names])
    print(
        f"grid 3 x 4, 3 states: ours {ours.value:.6f} in {1e3 * seconds:.1f} ms, pgmpy "
        f"{theta @ structure.encode(states):.6f} in {1e3 * (end - begin):.0f} ms"
    )


#: Modules, and what is compared.
PEERS = {"maxflow": against_maxflow, "pgmpy": against_pgmpy}


def main() -> None:
    print(machine())
    for name, compare in PEERS.items():  # ad3 did not build (2026-11-17)
        if find_spec(name) is None:
            print(f"{name} is not installed: left out")
        else:
            compare()


if __name__ == "__main__":
    recorded(main, peers=("PyMaxflow", "pgmpy"))
