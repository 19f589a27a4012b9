"""Graphs with cycles: snakes by `GraphClassifier`, bounds and labellings against HiGHS's linear program.

`python benchmarks/graphs.py [snakes] [potts] [large] [complete] [exact] [scene] [many] [local] [packed]`: all
of them, or those named. `benchmarks/graph_peers.py` has other libraries.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from common import DATA, machine, note, recorded, scene
from scipy import sparse
from scipy.optimize import linprog

from structlearn import GraphClassifier, MultiLabelClassifier
from structlearn.core.contract import max_value, maximize, workspace
from structlearn.core.memory import anonymous_bytes
from structlearn.data import open_packed, pack
from structlearn.structures import LabelGraph
from structlearn.structures.graph.bounded import best_labelling
from structlearn.structures.graph.inference import fill_tables
from structlearn.structures.graph.pairwise import PairwiseGraphs
from structlearn.structures.graphs import Graph, grid_graph, make_graph

#: Those of snakes; the first is background.
COLOURS = np.array([[0, 0, 255], [0, 255, 0], [0, 255, 255], [255, 0, 0], [255, 255, 0]])
LAMBDAS = (1e-2, 1e-3)
#: Noise is drawn from these seeds. Constants of the code were chosen on others (0 to 3, 101 to 110).
HELD_OUT = (901, 902, 903)
GraphExample = tuple[np.ndarray, np.ndarray, np.ndarray]


# ---- snakes ----------------------------------------------------------------------------------------


def snakes(part: str) -> tuple[list[GraphExample], list[np.ndarray]]:
    """The 3 x 3 windows of cells, one-hot; edges see their direction times both windows, and it alone."""
    with np.load(DATA / "snakes" / "snakes.npz") as file:
        images, labels = (
            [file[name] for name in sorted(file.files) if name.startswith(f"{kind}_{part}")] for kind in "XY"
        )
    return [snake_graph(image) for image in images], [one.ravel() for one in labels]


def snake_graph(image: np.ndarray) -> GraphExample:
    rows, columns = image.shape[:2]
    cells, edges = windows(image), grid_graph(rows, columns).edges
    both = np.hstack([cells[edges[:, 0]], cells[edges[:, 1]], np.ones((len(edges), 1))])
    right = (edges[:, 1] - edges[:, 0] == 1)[:, None]
    return cells, edges, np.hstack([both * right, both * ~right])


def windows(image: np.ndarray) -> np.ndarray:
    """One-hot colours of the nine cells around each, of shape (cells, 45)."""
    rows, columns = image.shape[:2]
    distance = np.abs(image[:, :, None, :].astype(int) - COLOURS).sum(axis=3)
    code = np.pad(distance.argmin(axis=2), 1)  # outside lies background
    around = [code[i : i + rows, j : j + columns].ravel() for i in range(3) for j in range(3)]
    return np.eye(len(COLOURS))[np.stack(around, axis=1)].reshape(rows * columns, -1)


def fitted(
    X: list[GraphExample], y: list[np.ndarray], regularization: float, polytope: str, tol: float = 0.01
) -> GraphClassifier:
    """Until the gap is `tol` of P(0), the mean normalised Hamming cost 1, or after 12 or 60 passes."""
    most = 12 if polytope == "marginal" else 60
    options = {"regularization": regularization, "tol": tol, "max_passes": most, "random_state": 0}
    return GraphClassifier(polytope=polytope, **options).fit(X, y)


def time_snakes() -> None:
    for polytope in ("local", "marginal"):
        time_snakes_over(polytope)


def time_snakes_over(polytope: str) -> None:
    X, y = snakes("train")
    fitted(X[:20], y[:20], 0.1, polytope)  # compiles
    held = {one: fitted(X[:160], y[:160], one, polytope).score(X[160:], y[160:]) for one in LAMBDAS}
    print(f"snakes, {polytope} polytope, 40 of 200 images held out:", held)
    for tol in (0.01, 0.001) if polytope == "local" else (0.01,):
        begin = time.process_time()
        model = fitted(X, y, max(held, key=lambda one: held[one]), polytope, tol)
        seconds, certificate = time.process_time() - begin, model.certificate_
        right, what = model.score(*snakes("test")), f"snakes, {polytope}, tol {tol:g}"
        note(what=what, right=right, gap=certificate.gap, passes=certificate.passes, cpu_seconds=seconds)
        print(
            f"    lambda {model.regularization:g}: {right:.4f} of cells right; "
            f"gap {certificate.gap:.4f} of P(0) = 1 after {certificate.passes:.0f} passes, {seconds:.1f} s"
        )
    print(f"    {model.inference_}")


# ---- bounds and labellings -------------------------------------------------------------------------


class Answer(NamedTuple):
    """A labelling's value, a bound on that of any, and CPU seconds for both."""

    value: float
    bound: float
    seconds: float


def seconds_of(run: Callable[[], object]) -> float:
    """CPU seconds of a run, of as many as take a quarter of a second: the clock may tick every 4 ms."""
    run()
    begin, n = time.process_time(), 0
    while n == 0 or time.process_time() - begin < 0.25:
        run()
        n += 1
    return (time.process_time() - begin) / n


def answer(
    graph: Graph, node: np.ndarray, table: np.ndarray, pairs: str = "full", *, tight: bool = True
) -> Answer:
    """By the kernel of the bounds that the primal value is made of, or by that of `maximize`."""
    structure = PairwiseGraphs([graph], node.shape[1], pairs=pairs, most_entries=1 << 12)
    theta = np.concatenate([node.ravel(), table.ravel()])
    record = structure.record
    work = workspace(record, structure.shapes[0])

    def run() -> tuple[float, float]:
        fill_tables(record.scores, 0, theta, np.empty(0), work.labels)
        value, bound, _ = best_labelling(record, 0, tight, work)
        return value, bound

    value, bound = run()
    return Answer(value, bound, seconds_of(run))


def local_polytope(graph: Graph, k: int) -> tuple[sparse.csc_array, np.ndarray]:
    """A, b of A z = b: states of nodes sum to one, tables of edges (E, K, K) have their margins."""
    n, m = graph.n_nodes, len(graph.edges)
    pair = np.arange(m * k * k).reshape(m, k, k)
    edge, a, b = np.unravel_index(pair.ravel(), pair.shape)
    blocks = [[sparse.kron(sparse.eye_array(n), np.ones((1, k))), None]]
    for side, state in enumerate((a, b)):
        sums = sparse.csr_array(
            (np.ones(pair.size), (edge * k + state, pair.ravel())), shape=(m * k, pair.size)
        )
        which = (graph.edges[:, side, None] * k + np.arange(k)).ravel()
        blocks.append([-sparse.eye_array(n * k).tocsr()[which], sums])
    return sparse.block_array(blocks).tocsc(), np.concatenate([np.ones(n), np.zeros(2 * m * k)])


def linear_program(graph: Graph, node: np.ndarray, table: np.ndarray) -> tuple[float, float]:
    """The maximum over the local polytope by HiGHS, tables (E, K, K), and its CPU seconds."""
    margins, right = local_polytope(graph, node.shape[1])
    begin = time.process_time()
    found = linprog(
        -np.concatenate([node.ravel(), table.ravel()]), A_eq=margins, b_eq=right, bounds=(0, None)
    )
    return -found.fun, time.process_time() - begin


def missing(found: Answer) -> float:
    return (found.bound - found.value) / abs(found.bound)


def report(name: str, found: Answer, best: float, seconds: float) -> None:
    above = (found.bound - best) / abs(best)
    note(what=name, above=above, missing=missing(found), ms=1e3 * found.seconds, highs_ms=1e3 * seconds)
    print(
        f"{name}: bound {(found.bound - best) / abs(best):.1e} above the linear program's, labelling "
        f"{missing(found):.1e} below the bound; {1e3 * found.seconds:.1f} ms, HiGHS {1e3 * seconds:.0f} ms "
        f"({seconds / found.seconds:.0f}x)"
    )


def potts_noise(seed: int, side: int, n_states: int, strength: float) -> tuple[Graph, np.ndarray, np.ndarray]:
    """A grid, scores of its nodes by chance, and the score of like neighbours."""
    graph = grid_graph(side, side)
    node = np.random.default_rng(seed).normal(size=(side * side, n_states))
    return graph, node, np.full(len(graph.edges), strength)


def time_potts() -> None:
    for strength in (0.5, 1.0, 2.0):
        for seed in HELD_OUT:
            graph, node, edge = potts_noise(seed, 20, 5, strength)
            found = answer(graph, node, edge, "potts")
            best, seconds = linear_program(graph, node, edge[:, None, None] * np.eye(5))
            report(f"Potts 20 x 20, 5 states, strength {strength}, seed {seed}", found, best, seconds)


def time_large() -> None:
    for strength in (0.5, 1.0, 1.5, 2.0):
        for seed in HELD_OUT:
            found = answer(*potts_noise(seed, 200, 10, strength), "potts", tight=False)
            what = f"Potts 200 x 200, 10 states, strength {strength}, seed {seed}"
            note(what=what, missing=missing(found), cpu_seconds=found.seconds)
            print(
                f"Potts 200 x 200, 10 states, strength {strength}, seed {seed}: labelling "
                f"{missing(found):.2%} below the bound; {found.seconds:.2f} CPU s"
            )


def label_sets(labels: LabelGraph, local: np.ndarray, shared: np.ndarray) -> Answer:
    """Bound and label set, in compiled code, after a first call that compiles it."""
    record, shape = labels.labellings.record, (1, labels.n_labels)
    work, vertex = workspace(record, shape), np.empty(local.size + shared.size)

    def run() -> tuple[float, float]:
        value = maximize(record, shape, local, shared, work, vertex)
        return value, max_value(record, shape, local, shared, work, vertex)

    return Answer(*run(), seconds_of(run))


def time_complete() -> None:
    rng = np.random.default_rng(0)
    for size in (53, 159):
        labels = LabelGraph(size)
        local, shared = rng.normal(size=size), rng.normal(size=labels.n_shared)
        node = np.stack([np.zeros(size), local], axis=1)
        best = linear_program(make_graph(size, labels.edges), node, shared.reshape(-1, 2, 2))
        report(f"label sets, all pairs of {size} labels", label_sets(labels, local, shared), *best)


def integer_program(graph: Graph, node: np.ndarray, table: np.ndarray) -> tuple[float, float, float]:
    """Labelling, bound and CPU seconds of HiGHS's branch and bound, of at most a minute."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    margins, right = local_polytope(graph, node.shape[1])
    scores = np.concatenate([node.ravel(), table.ravel()])
    integer = (np.arange(scores.size) < node.size).astype(int)
    begin = time.process_time()
    found = milp(
        -scores,
        constraints=LinearConstraint(margins, right, right),
        integrality=integer,
        bounds=Bounds(0, 1),
        options={"time_limit": 60},
    )
    return -found.fun, -found.mip_dual_bound, time.process_time() - begin


def time_exact() -> None:
    """`inference="exact"` on scores by chance, whose relaxation is not tight."""
    rng = np.random.default_rng(1)
    graphs = {
        "grid 10 x 10, 4 states": (grid_graph(10, 10), 4, 1.0),
        "grid 20 x 20, 5 states, weak tables": (grid_graph(20, 20), 5, 0.4),
        "50 nodes, 100 edges, 5 states, weak tables": (make_graph(50, random_graph(rng, 50, 100)), 5, 0.5),
        "50 nodes, 100 edges, 5 states": (make_graph(50, random_graph(rng, 50, 100)), 5, 1.0),
    }
    for name, (graph, k, strength) in graphs.items():
        node = rng.normal(size=(graph.n_nodes, k))
        table = strength * rng.normal(size=(len(graph.edges), k, k))
        structure = PairwiseGraphs([graph], k, most_entries=0, inference="exact")
        theta = np.concatenate([node.ravel(), table.ravel()])
        found = structure.solve(theta)
        ours = seconds_of(partial(structure.solve, theta))
        value, bound, seconds = integer_program(graph, node, table)
        note(what=name, value=found.value, ms=1e3 * ours, highs_value=value, highs_ms=1e3 * seconds)
        print(
            f"{name}: {found.method}, {found.value:.6f} (bound {found.bound:.6f}) in {1e3 * ours:.0f} ms; "
            f"HiGHS {value:.6f} (bound {bound:.6f}) in {1e3 * seconds:.0f} ms"
        )


# ---- many graphs -----------------------------------------------------------------------------------


def random_graph(rng: np.random.Generator, n_nodes: int, n_edges: int) -> np.ndarray:
    """Different edges, drawn evenly."""
    pairs = np.stack(np.triu_indices(n_nodes, 1), axis=1)
    return pairs[rng.choice(len(pairs), n_edges, replace=False)]


def smooth_labels(rng: np.random.Generator, n_nodes: int, edges: np.ndarray) -> np.ndarray:
    """Labels by chance, of which one end of every second edge takes that of the other."""
    labels = rng.integers(5, size=n_nodes)
    for a, b in edges[::2]:
        labels[b] = labels[a]
    return labels


def many_graphs(n_graphs: int = 10_000) -> tuple[list[tuple[np.ndarray, ...]], list[np.ndarray]]:
    """Graphs of 50 nodes and 100 edges with 5 states."""
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, 50, 100) for _ in range(n_graphs)]
    y = [smooth_labels(rng, 50, edges) for edges in graphs]
    return [(np.eye(5)[one] + rng.normal(size=(50, 5)), edges) for one, edges in zip(y, graphs)], y


def time_many(polytope: str = "marginal", *, packed: bool = False) -> None:
    """Two passes over 10,000 graphs; packed, from a folder, within 300 MB more than the process has."""
    X: Any
    X, y = many_graphs()
    model = GraphClassifier(polytope=polytope, regularization=0.01, tol=0.0, max_passes=2, random_state=0)
    clock: list[float] = []
    taken: list[int] = []

    def watch(_: object) -> None:
        clock.append(time.process_time())
        taken.append(anonymous_bytes())

    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # two passes do not converge
        model.fit(X[:20], y[:20])  # compiles
        if packed:
            pack(f"{folder}/packed", "graph", X, y)
            opened = open_packed(f"{folder}/packed")
            X, y, model.memory = opened.X, opened.y, anonymous_bytes() + 300_000_000
        before, begin = anonymous_bytes(), time.process_time()
        model.set_params(callback=watch).fit(X, y)
    passes = ", ".join(f"{one:.1f}" for one in np.diff(clock))
    print(
        f"10,000 graphs of 50 nodes, 100 edges, 5 states, {polytope} polytope{', packed' if packed else ''}: "
        f"{passes} s a pass with evaluations of P with bounds; `fit`, with what comes before, "
        f"{time.process_time() - begin:.1f}; {max(taken) / 1e6:.0f} MB that are no files, before "
        f"{before / 1e6:.0f}; with files at most "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} ({model.inference_})"
    )


# ---- label sets as graphs --------------------------------------------------------------------------


def time_scene() -> None:
    """All of scene: node k sees x / sqrt 2 in the k-th block of its features, edge e the e-th unit vector."""
    X, Y = scene("train")
    pairs = np.stack(np.triu_indices(6, 1), axis=1)
    graphs = [(np.kron(np.eye(6), x / np.sqrt(2)), pairs, np.eye(len(pairs))) for x in X]
    options = {
        "regularization": 0.1,
        "tol": 5e-7,
        "max_passes": 5000,
        "fit_intercept": False,
        "random_state": 0,
    }
    fits = [
        MultiLabelClassifier(edges="all", **options).fit(X, Y),
        GraphClassifier(**options).fit(graphs, list(Y)),
    ]
    for model in fits:
        found = model.certificate_
        note(what=type(model).__name__, primal=found.primal, dual=found.dual, passes=found.passes)
        print(
            f"{type(model).__name__}, {len(X)} images of scene: P {found.primal:.9f}, D {found.dual:.9f} "
            f"after {found.passes:.0f} passes, {found.seconds:.0f} s"
        )
    print(f"    primal values differ by {abs(fits[0].certificate_.primal - fits[1].certificate_.primal):.1e}")


TIMES: dict[str, Callable[[], None]] = {
    "snakes": time_snakes,
    "potts": time_potts,
    "large": time_large,
    "complete": time_complete,
    "exact": time_exact,
    "scene": time_scene,
    "many": time_many,
    "local": partial(time_many, "local"),
    "packed": partial(time_many, packed=True),
}


def main() -> None:
    print(machine())
    for name in sys.argv[1:] or TIMES:
        TIMES[name]()


if __name__ == "__main__":
    recorded(main)
