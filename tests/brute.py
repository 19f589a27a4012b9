"""Everything by enumeration: the references that structures, objectives and solvers are tested against.

A newcomer adds one line to `STRUCTURES` (its outputs and part vectors written out, independently of its
`maximize` and `encode`) or to `SOLVERS`, and every property is tested for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import cvxpy
import numpy as np
from scipy.linalg import block_diag

from own_structures import ChooseTwo, CompiledChooseTwo, choose_two
from structlearn.constraints import AtMost, Implies
from structlearn.problem.objective import Objective
from structlearn.scoring import JointScoring, PartScoring, RowScoring, SelectedScoring
from structlearn.solvers import (
    ActiveBlocks,
    BlockFrankWolfe,
    CuttingPlane,
    DiminishingStep,
    EuclideanGeometry,
    Extragradient,
    FrankWolfe,
    GapSampling,
    NSlack,
    Steps,
    StochasticExtragradient,
    StochasticSubgradient,
    Subgradient,
    Uniform,
)
from structlearn.structures import (
    Assignment,
    Chain,
    ConditionedChain,
    ConstituencyTree,
    Cube,
    Cut,
    FactorGraph,
    Knapsack,
    LabelGraph,
    Matching,
    MonotoneAlignment,
    NonProjectiveTree,
    Program,
    ProjectiveTree,
    Segments,
    ShortestPath,
    Simplex,
    SpanningTree,
    SparseChain,
    Subset,
    Tour,
    as_structure,
)
from structlearn.structures.chain.candidates import CandidateChain, Candidates
from structlearn.structures.cut.cut import Cuts
from structlearn.structures.graph.pairwise import PairwiseGraphs
from structlearn.structures.graphs import grid_graph, make_graph

# ---- outputs, and their part vectors --------------------------------------------------------------------


@cache
def made(given):
    """One structure of what a user would pass, which lives as long as its record may be asked."""
    return as_structure(given)


class Family(NamedTuple):
    """All outputs of a structure, in a few small shapes."""

    #: as a user would pass it
    given: Any
    #: (rows, columns) of the local parts
    shapes: list[tuple[int, int]]
    #: all outputs of a shape
    outputs: Callable[[tuple[int, int]], list[Any]]
    #: the part vector of an output, written by hand
    write: Callable[[Any, tuple[int, int]], np.ndarray]
    #: features come for each row (and score every column), or for each part
    rowwise: bool
    #: all vertices of a shape, where some are no outputs
    all_vertices: Callable[[tuple[int, int]], np.ndarray] | None = None
    #: how many of the columns are pairs of labels, scored by features of their own
    n_pairs: int = 0
    #: labels of each position of each instance, where features come for each position
    candidates: list[list[list[int]]] | None = None

    @property
    def structure(self):
        return made(self.given)

    def vertices(self, shape):
        """All vertices, as rows of a matrix over flat part vectors."""
        if self.all_vertices is not None:
            return self.all_vertices(shape)
        return np.array([self.write(y, shape).ravel() for y in self.outputs(shape)])

    def part_shape(self, shape):
        """Shape of a part vector as `maximize` takes it."""
        n_parts = self.structure.n_local(shape) + self.structure.n_shared
        return shape if self.structure.part_ndim == 2 else (n_parts,)


def score_of(theta, vertices):
    """<theta, z> of each vertex; a forbidden part that is not used does not count (-inf * 0 is NaN)."""
    theta = np.asarray(theta).ravel()
    finite = np.where(np.isfinite(theta), theta, 0.0)
    forbidden = (vertices[:, ~np.isfinite(theta)] > 0).any(axis=1)
    return np.where(forbidden, -np.inf, vertices @ finite)


def simplex(n_labels):
    return Family(Simplex(n_labels), [(1, n_labels)], lambda shape: list(range(shape[1])), _unit_vector, True)


def _unit_vector(y, shape):
    return np.array([float(k == y) for k in range(shape[1])])


def _switches(shape):
    return [np.array(y) for y in product((0, 1), repeat=shape[1])]


def cube(n_labels):
    return Family(Cube(n_labels), [(1, n_labels)], _switches, lambda y, shape: y.astype(float), True)


def label_graph(n_labels, edges):
    structure = LabelGraph(n_labels, edges)

    def write(y, shape):
        tables = [
            float((y[a], y[b]) == state) for a, b in structure.edges for state in product((0, 1), (0, 1))
        ]
        return np.array([*y, *tables], dtype=float)

    return Family(structure, [(1, n_labels)], _switches, write, True)


def sequences(n_labels, length, forbidden):
    """All label sequences that make no forbidden step; None is the start or the end."""
    every = product(range(n_labels), repeat=length)
    return [np.array(y) for y in every if not {*pairwise([None, *y, None])} & {*forbidden}]


def chain(n_labels, lengths, *, start=False, end=False, forbidden=()):
    def outputs(shape):
        return sequences(n_labels, shape[0], forbidden)

    def write(y, shape):
        labels = range(n_labels)
        unary = [float(label == k) for label in y for k in labels]
        pairs = list(pairwise(y))
        transitions = [float(sum(pair == (j, k) for pair in pairs)) for j in labels for k in labels]
        first = [float(y[0] == k) for k in labels] if start else []
        last = [float(y[-1] == k) for k in labels] if end else []
        return np.array([*unary, *transitions, *first, *last])

    structure = Chain(n_labels, start=start, end=end, forbidden=forbidden)
    return Family(structure, [(length, n_labels) for length in lengths], outputs, write, True)


def sparse_chain(n_labels, steps, lengths, *, free=True):
    other = set(product(range(n_labels), repeat=2)) - set(steps)

    def outputs(shape):
        return sequences(n_labels, shape[0], () if free else other)

    def write(y, shape):
        unary = [float(label == k) for label in y for k in range(n_labels)]
        return np.array([*unary, *(float(list(pairwise(y)).count(step)) for step in sorted(steps))])

    structure = SparseChain(n_labels, steps, free=free)
    return Family(structure, [(length, n_labels) for length in lengths], outputs, write, True)


def candidate_chain(chain, steps, candidates):
    """Sequences of candidates: per sequence a list of candidate labels per position."""
    labels = [k for sequence in candidates for here in sequence for k in here]
    sizes = [len(here) for sequence in candidates for here in sequence]
    lengths = np.array([len(sequence) for sequence in candidates])
    structure = CandidateChain(chain, Candidates(lengths, np.cumsum([0, *sizes]), np.array(labels)))

    def outputs(shape):
        found = [np.array(y) for y in product(*candidates[shape[1]])]
        free = isinstance(chain, SparseChain) and chain.free
        return [y for y in found if free or {*pairwise(y.tolist())} <= {*steps}]

    def write(y, shape):
        own = [float(label == k) for label, here in zip(y, candidates[shape[1]]) for k in here]
        return np.array([*own, *(float(list(pairwise(y.tolist())).count(step)) for step in sorted(steps))])

    shapes = [tuple(one) for one in structure.shapes.tolist()]
    return Family(structure, shapes, outputs, write, False, candidates=candidates)


def conditioned_chain(n_labels, lengths, *, forbidden=()):
    def outputs(shape):
        return sequences(n_labels, shape[0], forbidden)

    def write(y, shape):
        labels = range(n_labels)
        unary = [float(label == k) for label in y for k in labels]
        pairs = [(None, None), *pairwise(y)]
        return np.array([*unary, *(float(pair == (j, k)) for pair in pairs for j in labels for k in labels)])

    structure = ConditionedChain(n_labels, forbidden=forbidden)
    shapes = [(n, structure.n_columns) for n in lengths]
    return Family(structure, shapes, outputs, write, True, n_pairs=n_labels**2)


def segments(n_labels, max_length, lengths, *, gaps=True, **options):
    """All ways to cut off a first segment, or a token of a gap, and to go on behind it."""

    def cut(first, length):
        if first == length:
            return [[]]
        kinds = [(end, k) for end in range(first + 1, length + 1) for k in range(n_labels)]
        tiles = [(end, k) for end, k in kinds if end - first <= max_length]
        tiles += [(first + 1, n_labels)] if gaps else []
        return [[(first, end, k), *rest] for end, k in tiles for rest in cut(end, length)]

    def outputs(shape):
        spans = [[one for one in tiles if one[2] < n_labels] for tiles in cut(0, shape[0])]
        return [np.array(one, dtype=int).reshape(-1, 3) for one in spans]

    def write(y, shape):
        spans = [tuple(one) for one in y.tolist()]
        states, tokens, labels = range(n_labels + gaps), range(shape[0]), range(n_labels)
        covered = {t for a, b, _ in spans for t in range(a, b)}
        tiles = sorted([*spans, *((t, t + 1, n_labels) for t in tokens if t not in covered)])
        rows = [
            [any(a <= t < b and k == kind for a, b, kind in tiles) for k in states]
            + [(t, k) in {(a, kind) for a, _, kind in spans} for k in labels]
            + [(t + 1, k) in {(b, kind) for _, b, kind in spans} for k in labels]
            for t in tokens
        ]
        sizes = range(1, max_length + 1)
        whole = [(t, t + m, k) in spans for t in tokens for m in sizes for k in labels]
        pairs = [(one[2], other[2]) for one, other in pairwise(tiles)]
        steps = [pairs.count((j, k)) for j in states for k in states]
        counts = [sum((b - a, kind) == (m, k) for a, b, kind in spans) for m in sizes for k in labels]
        first = [tiles[0][2] == k for k in states] if options.get("start") else []
        last = [tiles[-1][2] == k for k in states] if options.get("end") else []
        local = [*(part for row in rows for part in row), *(whole if options.get("whole") else [])]
        return np.array([*local, *steps, *counts, *first, *last], dtype=float)

    structure = Segments(n_labels, max_length, gaps=gaps, **options)
    shapes = [(length, structure.n_columns) for length in lengths]
    n_pairs = max_length * n_labels if options.get("whole") else 0
    return Family(structure, shapes, outputs, write, True, n_pairs=n_pairs)


def matching(shapes, *, unmatched=True, capacities=(1, 1)):
    def allowed(table):
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        linked = unmatched or (rows if len(rows) <= len(columns) else columns).min() >= 1
        return linked and rows.max() <= capacities[0] and columns.max() <= capacities[1]

    def outputs(shape):
        tables = (np.reshape(bits, shape) for bits in product((0, 1), repeat=shape[0] * shape[1]))
        return [table for table in tables if allowed(table)]

    structure = Matching(unmatched=unmatched, capacities=capacities)
    return Family(structure, shapes, outputs, lambda y, shape: y.astype(float), False)


def cuts(graphs):
    """Vertices are all labels of the nodes, with every edge between unlike ones cut, and others or not."""

    def edges(shape):
        return graphs[shape[1]].edges.tolist()

    def outputs(shape):
        return [np.array(y) for y in product((0, 1), repeat=graphs[shape[1]].n_nodes)]

    def write(y, shape):
        return np.array([*y, *(y[i] != y[j] for i, j in edges(shape))], dtype=float)

    def vertices(shape):
        choices = ([(1,) if y[i] != y[j] else (0, 1) for i, j in edges(shape)] for y in outputs(shape))
        return np.array(
            [[*y, *cut] for y, all in zip(outputs(shape), choices) for cut in product(*all)], float
        )

    structure = Cut(*graphs[0]) if len(graphs) == 1 else Cuts(graphs)
    shapes = [(graph.n_nodes + len(graph.edges), g) for g, graph in enumerate(graphs)]
    return Family(structure, shapes, outputs, write, False, vertices)


def pairwise_graphs(graphs, n_states, kind="full", **options):
    states = range(n_states)
    tables = {
        "full": lambda a, b: [float((a, b) == pair) for pair in product(states, states)],
        "symmetric": lambda a, b: [float(sorted((a, b)) == [j, k]) for j in states for k in states if j <= k],
        "antisymmetric": lambda a, b: [
            float((a, b) == (j, k)) - float((b, a) == (j, k)) for j in states for k in states if j < k
        ],
        "potts": lambda a, b: [float(a == b)],
    }

    def outputs(shape):
        return [np.array(y) for y in product(states, repeat=graphs[shape[1]].n_nodes)]

    def write(y, shape):
        nodes = [float(label == k) for label in y for k in states]
        edges = [tables[kind](y[a], y[b]) for a, b in graphs[shape[1]].edges.tolist()]
        return np.array([*nodes, *(entry for one in edges for entry in one)])

    structure = PairwiseGraphs(graphs, n_states, pairs=kind, **options)
    return Family(structure, structure.shapes, outputs, write, False)


def factor_graph(n_states, factors, keeps):
    """Labellings of variables that keep all constraints, as `keeps` says; tuples of variables are tables."""
    tables = [one for one in factors if isinstance(one, tuple)]

    def outputs(shape):
        return [np.array(y) for y in product(*map(range, n_states)) if keeps(y)]

    def write(y, shape):
        own = [float(state == k) for state, size in zip(y, n_states) for k in range(size)]
        for table in tables:
            entries = product(*(range(n_states[v]) for v in table))
            own += [float(tuple(y[v] for v in table) == entry) for entry in entries]
        return np.array(own)

    structure = FactorGraph(n_states, factors)
    return Family(structure, [(structure.n_parts, 1)], outputs, write, False)


def local_graphs(graphs):
    """Two states: coordinates of vertices are 0, 1/2 and 1, and ends that are halves agree or disagree."""

    def ends(node):
        return np.array([1.0 - node, node])

    def edge(a, b):
        if (a, b) == (0.5, 0.5):
            return [np.eye(2) / 2, np.eye(2)[::-1] / 2]
        return [np.outer(ends(a), ends(b))]

    def vertices(shape):
        graph = graphs[shape[1]]
        found = []
        for nodes in product((0, 0.5, 1), repeat=graph.n_nodes):
            choices = [edge(nodes[a], nodes[b]) for a, b in graph.edges.tolist()]
            found += [np.concatenate([*map(ends, nodes), *map(np.ravel, one)]) for one in product(*choices)]
        return np.array(found)

    return pairwise_graphs(graphs, 2, polytope="local")._replace(all_vertices=vertices)


def trees(structure, sizes, *, projective):
    """Heads of all trees, by following every word upwards; arcs cross where one end of each is inside."""

    def reaches_root(heads, word):
        for _ in heads:
            word = word and heads[word - 1]
        return word == 0

    def crosses(heads):
        arcs = [sorted((h, m)) for m, h in enumerate(heads, 1)]
        return any(a < c < b < d for (a, b), (c, d) in product(arcs, arcs))

    def allowed(heads):
        tree = all(reaches_root(heads, m) for m in range(1, len(heads) + 1))
        roots = heads.count(0) == 1 or not structure.single_root
        return tree and roots and not (projective and crosses(heads))

    def outputs(shape):
        heads = product(range(shape[0]), repeat=shape[1])
        return [np.array(y) for y in heads if allowed(y)]

    def write(y, shape):
        return np.array([[float(y[m] == h) for m in range(shape[1])] for h in range(shape[0])])

    return Family(structure, [(n + 1, n) for n in sizes], outputs, write, False)


def constituency_trees(n_labels, sizes):
    """Spans of all binary trees: the labels of a span, and where it is split."""

    def below(begin, end):
        own = [[(begin, end, k)] for k in range(n_labels)]
        if end - begin == 1:
            return own
        splits = [
            [*one, *other]
            for m in range(begin + 1, end)
            for one, other in product(below(begin, m), below(m, end))
        ]
        return [[*label, *rest] for label, rest in product(own, splits)]

    def write(y, shape):
        n, spans = round(shape[0] ** 0.5), {tuple(one) for one in y.tolist()}
        cells = product(range(n), range(n), range(n_labels))
        return np.array([float((i, j + 1, k) in spans) for i, j, k in cells])

    def outputs(shape):
        return [np.array(sorted(y, key=lambda s: (s[0], -s[1]))) for y in below(0, round(shape[0] ** 0.5))]

    shapes = [(n * n, n_labels) for n in sizes]
    return Family(ConstituencyTree(n_labels), shapes, outputs, write, True)


def alignments(shapes, **moves):
    """All paths, by their last cell and what may come before it."""
    steps = {"down": (1, 0), "right": (0, 1), "diagonal": (1, 1)}
    allowed = [step for name, step in steps.items() if moves.get(name, True)]

    def to(i, j):
        if (i, j) == (0, 0):
            return [[(0, 0)]]
        return [[*path, (i, j)] for a, b in allowed if a <= i and b <= j for path in to(i - a, j - b)]

    def outputs(shape):
        cells = list(product(range(shape[0]), range(shape[1])))
        paths = to(shape[0] - 1, shape[1] - 1)
        return [np.array([int(cell in path) for cell in cells]).reshape(shape) for path in paths]

    structure = MonotoneAlignment(**moves)
    return Family(structure, shapes, outputs, lambda y, shape: y.astype(float), False)


def two_of(given, sizes):
    def outputs(shape):
        return [np.isin(np.arange(shape[0]), pair).astype(int) for pair in combinations(range(shape[0]), 2)]

    return Family(given, [(size, 1) for size in sizes], outputs, lambda y, shape: y.astype(float), False)


def decisions(structures, feasible):
    """All 0/1 vectors for which `feasible(structure, z)` holds, of several instances."""
    sizes = [one.n_parts for one in structures]

    def outputs(shape):
        every = (np.array(z) for z in product((0, 1), repeat=shape[0]))
        return [z for z in every if feasible(structures[shape[1]], z)]

    structure = structures[0] if len(structures) == 1 else type(structures[0]).together(structures)
    shapes = [(size, g) for g, size in enumerate(sizes)]
    return Family(structure, shapes, outputs, lambda z, shape: z.astype(float), False)


def is_path(structure, z):
    """Whether the edges of z, followed from the source, end at the target, and no edge is left."""
    used = {a: (a, b) for a, b in structure.edges[z == 1].tolist()}
    node, count = structure.source, 0
    while node in used and node != structure.target:
        node, count = used.pop(node)[1], count + 1
    return node == structure.target and count == z.sum()


def is_spanning_tree(structure, z):
    """Whether n - 1 edges join all nodes: the nodes reached from node 0 are all."""
    edges, n_nodes = structure.edges[z == 1].tolist(), structure.edges.max() + 1
    reached = {0}
    for _ in range(n_nodes):
        reached |= {b for a, b in edges if a in reached} | {a for a, b in edges if b in reached}
    return len(edges) == n_nodes - 1 and len(reached) == n_nodes


def is_assignment(structure, z):
    table = z.reshape(structure.n_rows, structure.n_columns)
    both = table.sum(axis=0), table.sum(axis=1)
    return max(map(np.max, both)) <= 1 and z.sum() == min(table.shape)


def is_tour(structure, z):
    """Whether every node has two edges, and all are reached from node 0."""
    edges, n_nodes = structure.edges[z == 1].tolist(), structure.n_nodes
    ends = [node for edge in edges for node in edge]
    reached = {0}
    for _ in range(n_nodes):
        reached |= {b for a, b in edges if a in reached} | {a for a, b in edges if b in reached}
    return all(ends.count(node) == 2 for node in range(n_nodes)) and len(reached) == n_nodes


STRUCTURES = {
    "simplex": simplex(4),
    "cube": cube(3),
    "chain": chain(3, [3, 1, 2]),
    "chain with start and end": chain(2, [4, 1, 3], start=True, end=True),
    "chain with forbidden steps": chain(3, [3, 1, 4], forbidden=[(None, 1), (0, 1), (2, 2), (2, None)]),
    "chain with start and forbidden steps": chain(3, [2, 4], start=True, forbidden=[(1, 2), (0, None)]),
    "label tree": label_graph(4, "tree"),
    "label graph": label_graph(3, "all"),
    "matching": matching([(2, 3), (3, 3), (3, 1)]),
    "full matching": matching([(2, 3), (3, 2), (2, 2)], unmatched=False),
    "many-to-one": matching([(2, 3), (3, 2)], capacities=(1, 2)),
    "full many-to-many": matching([(3, 3), (2, 3)], unmatched=False, capacities=(2, 2)),
    "cut": cuts([make_graph(4, [(0, 1), (2, 1), (2, 0), (3, 2), (0, 1)])]),
    "cuts": cuts([grid_graph(2, 2), grid_graph(2, 3), make_graph(2, []), make_graph(3, [(2, 0)])]),
    "graphs": pairwise_graphs([make_graph(3, [(0, 1), (2, 1), (0, 2)]), make_graph(2, [(1, 0)])], 2),
    "Potts graph": pairwise_graphs([make_graph(4, [(0, 1), (1, 2), (3, 2), (0, 3)])], 3, "potts"),
    "sparse chain": sparse_chain(3, [(0, 1), (0, 2), (1, 1), (2, 1)], [3, 1, 2]),
    "sparse chain of listed steps": sparse_chain(3, [(0, 1), (1, 1), (1, 2), (2, 0)], [3, 1, 2], free=False),
    "chain of candidates": candidate_chain(
        Chain(3), list(product(range(3), repeat=2)), [[[0, 2], [1], [0, 1, 2]], [[0, 1]], [[1], [0, 1]]]
    ),
    "sparse chain of candidates": candidate_chain(
        SparseChain(4, [(0, 1), (0, 2), (1, 1), (2, 1), (3, 0)]),
        [(0, 1), (0, 2), (1, 1), (2, 1), (3, 0)],
        [[[0, 1, 3], [0, 1, 2], [0]], [[3]], [[0, 1, 2, 3], [1, 2]], [[1], [0, 3]]],
    ),
    "chain of candidates and listed steps": candidate_chain(
        SparseChain(3, [(0, 1), (1, 1), (1, 2), (2, 0)], free=False),
        [(0, 1), (1, 1), (1, 2), (2, 0)],
        [[[0, 1], [0, 1, 2], [0, 2]], [[0, 1]], [[1], [1, 2]]],
    ),
    "conditioned chain": conditioned_chain(2, [3, 1, 2]),
    "conditioned chain with forbidden steps": conditioned_chain(2, [3, 1, 2], forbidden=[(None, 1), (1, 1)]),
    "segments": segments(2, 2, [3, 1, 2]),
    "segments, whole, without gaps": segments(2, 2, [2, 1, 3], gaps=False, start=True, end=True, whole=True),
    "projective tree": trees(ProjectiveTree(), [4, 1, 2], projective=True),
    "projective tree, several roots": trees(ProjectiveTree(single_root=False), [3, 1, 2], projective=True),
    "tree": trees(NonProjectiveTree(), [4, 1, 2], projective=False),
    "tree, several roots": trees(NonProjectiveTree(single_root=False), [3, 1, 2], projective=False),
    "constituency tree": constituency_trees(2, [3, 1, 2]),
    "alignment": alignments([(2, 3), (3, 3), (1, 2)]),
    "forced alignment": alignments([(4, 2), (3, 3), (2, 1)], right=False),
    "paths": decisions(
        [ShortestPath.grid(2, 3), ShortestPath([(2, 0), (0, 1), (2, 1), (2, 1), (1, 3), (4, 1)], 2, 1)],
        is_path,
    ),
    "knapsacks": decisions(
        [Knapsack([[3, 2, 4, 1], [1, 5, 2, 2]], [6, 6]), Knapsack([[2, 3, 1], [1, 1, 9]], [4, 8])],
        lambda structure, z: (structure.weights @ z <= structure.capacity).all(),
    ),
    "knapsack": decisions(
        [Knapsack([3, 2, 4, 1, 2], 6)], lambda structure, z: structure.weights[0] @ z <= structure.capacity[0]
    ),
    "subset": decisions([Subset(5, 1, 3)], lambda structure, z: 1 <= z.sum() <= 3),
    "spanning tree": decisions(
        [SpanningTree([(0, 1), (2, 1), (2, 0), (3, 2), (0, 3)]), SpanningTree([(1, 0), (0, 1)])],
        is_spanning_tree,
    ),
    "assignment": decisions([Assignment(2, 3), Assignment(2)], is_assignment),
    "paths without an edge": decisions(
        [ShortestPath.grid(2, 3).without([1])], lambda structure, z: is_path(structure, z) and not z[1]
    ),
    "tour": decisions([Tour(4), Tour(3)], is_tour),
    "program": decisions(
        [Program([[2, 3, 1, 4]], [6], [[1, 0, 1, 1]], [2], integrality=True), Program([[1, 1]], [1])],
        lambda structure, z: structure.instances[0].violation(z) == 0,
    ),
    "own, plain Python": two_of(ChooseTwo(), [4, 3]),
    "own, compiled": two_of(CompiledChooseTwo(), [4, 3]),
    "own, a function": two_of(choose_two, [4, 3]),
}

#: Structures whose `maximize` may miss the maximum, of which `max_value` is a bound: certificates hold.
BOUNDED = {
    "wide graphs": pairwise_graphs(
        [grid_graph(2, 2), make_graph(3, [(0, 1), (2, 1), (0, 2)])], 2, most_entries=0
    ),
    "factor graph": factor_graph(
        [2, 3, 2],
        [(0, 1, 2), (1,), AtMost(1, 0, (1, 2)), Implies(2, (1, 2))],
        lambda y: y[0] + (y[1] == 2) <= 1 and (not y[2] or y[1] == 2),
    ),
    "local polytope": local_graphs([make_graph(3, [(0, 1), (2, 1), (0, 2)]), make_graph(2, [(1, 0)])]),
}

# ---- training problems, written out ---------------------------------------------------------------------


class Problem(NamedTuple):
    """A small objective, and all that it is made of as dense matrices."""

    objective: Objective
    #: (n_parts_i, n_weights) for each example
    Phi: list[np.ndarray]
    #: (n_vertices_i, n_parts_i) for each example
    vertices: list[np.ndarray]
    mu: list[np.ndarray]
    #: with zeros on the shared parts
    cost: list[np.ndarray]
    weight: np.ndarray

    @property
    def examples(self):
        return zip(self.weight, self.Phi, self.vertices, self.mu, self.cost)

    @property
    def regularization(self):
        return self.objective.regularization

    def primal(self, w):
        losses = [p * ((V - mu) @ (Phi @ w + c)).max() for p, Phi, V, mu, c in self.examples]
        return self.regularization / 2 * w @ w + sum(losses)

    def weights(self, z):
        dual_maps = [p * Phi.T @ (mu - z_i) for (p, Phi, _, mu, _), z_i in zip(self.examples, z)]
        return sum(dual_maps) / self.regularization

    def dual(self, z):
        w = self.weights(z)
        costs = [p * c @ (z_i - mu) for (p, _, _, mu, c), z_i in zip(self.examples, z)]
        return sum(costs) - self.regularization / 2 * w @ w

    def gap(self, z):
        """The formula of the design: only at w = w(z)."""
        w = self.weights(z)
        return sum(p * ((V - z_i) @ (Phi @ w + c)).max() for (p, Phi, V, _, c), z_i in zip(self.examples, z))

    def random_point(self, rng):
        """A mixture of vertices for each example."""
        return [rng.dirichlet(np.full(len(V), 0.3)) @ V for V in self.vertices]

    def optimum(self, penalty=None):
        """min P, by an interior-point method with a constraint for each vertex.

        `penalty` makes a cvxpy expression of w, in place of the squared norm.
        """
        w = cvxpy.Variable(self.objective.n_weights)
        slack = cvxpy.Variable(len(self.mu))
        limits = [
            ((V - mu) @ Phi) @ w + (V - mu) @ c <= slack[i]
            for i, (_, Phi, V, mu, c) in enumerate(self.examples)
        ]
        squared = self.regularization / 2 * cvxpy.sum_squares(w)
        value = (squared if penalty is None else penalty(w)) + self.weight @ slack
        problem = cvxpy.Problem(cvxpy.Minimize(value), limits)
        return problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


def build(
    family,
    *,
    n=6,
    d=3,
    regularization=0.5,
    intercept=True,
    sample_weight=None,
    seed=0,
    regularizer=None,
    penalty=None,
    **cost,
):
    """A random problem over a family, its examples going through the family's shapes.

    With a regulariser the costs are zero, as for all smooth losses.
    """
    rng = np.random.default_rng(seed)
    shapes = [family.shapes[i % len(family.shapes)] for i in range(n)]
    outputs = [all_outputs[rng.integers(len(all_outputs))] for all_outputs in map(family.outputs, shapes)]
    structure = family.structure
    sizes = [shape[0] if family.rowwise else structure.n_local(shape) for shape in shapes]
    if family.candidates is not None:
        sizes = [len(family.candidates[shape[1]]) for shape in shapes]
    rows = [0.8 * rng.normal(size=(size, d)) for size in sizes]
    if family.rowwise:
        scoring = row_scoring(family, rows, shapes, intercept)
    elif family.candidates is not None:
        scoring = selected_scoring(family, rows, shapes, intercept)
    else:
        scoring = PartScoring(np.concatenate(rows), np.array(shapes), sizes=sizes, intercept=intercept)
    gold = structure.encode_many(outputs, scoring.shapes)
    costs = structure.cost_many(gold, scoring.shapes, **cost)
    objective = Objective(
        structure,
        scoring,
        gold,
        costs if regularizer is None else np.zeros_like(costs),
        regularization=regularization,
        regularizer=regularizer,
        penalty=penalty,
        sample_weight=sample_weight,
    )
    Phi = [dense_map(family, x, shape, intercept) for x, shape in zip(rows, shapes)]
    vertices = [family.vertices(shape) for shape in shapes]
    mu = [family.write(y, shape).ravel() for y, shape in zip(outputs, shapes)]
    costs = np.split(objective.cost, scoring.start[1:-1])
    padded = [np.concatenate([c, np.zeros(structure.n_shared)]) for c in costs]
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return Problem(objective, Phi, vertices, mu, padded, weight / weight.sum())


def row_scoring(family, rows, shapes, intercept):
    """Rows score labels; all their features but the first score pairs of labels, where there are any."""
    X, lengths = np.concatenate(rows), np.array([m for m, _ in shapes])
    n_labels, n_shared = shapes[0][1] - family.n_pairs, family.structure.n_shared
    if not family.n_pairs:
        return RowScoring(X, lengths, n_labels, n_shared=n_shared, intercept=intercept)
    local = RowScoring(X, lengths, n_labels, intercept=intercept)
    pairs = RowScoring(X[:, 1:].copy(), lengths, family.n_pairs, n_shared=n_shared, intercept=intercept)
    return JointScoring(local, pairs)


def selected_scoring(family, rows, shapes, intercept):
    """Rows score their candidates."""
    structure, here = family.structure, [own for shape in shapes for own in family.candidates[shape[1]]]
    options = {"n_shared": structure.n_shared, "intercept": intercept}
    whole = RowScoring(np.concatenate(rows), np.array([*map(len, rows)]), structure.n_labels, **options)
    first, label = np.cumsum([0, *map(len, here)]), np.array([k for own in here for k in own])
    return SelectedScoring(whole, first, label, shapes=np.array(shapes))


def dense_map(family, x, shape, intercept):
    """Phi_i: feature j of row t scores label k by the weight (j, k); shared parts are weights themselves."""
    if intercept:
        x = np.column_stack([x, np.ones(len(x))])
    if family.candidates is not None:
        k, here = family.structure.n_labels, family.candidates[shape[1]]
        chosen = [t * k + label for t, own in enumerate(here) for label in own]
        return block_diag(np.kron(x, np.eye(k))[chosen], np.eye(family.structure.n_shared))
    if not family.rowwise:
        return x
    local = np.kron(x, np.eye(shape[1] - family.n_pairs))
    pairs = np.kron(x[:, 1:], np.eye(family.n_pairs))
    return block_diag(local, pairs, np.eye(family.structure.n_shared))


def log_likelihood(problem, w):
    """sum_i p_i { log sum_y exp <Phi_i w, y> - <Phi_i w, mu_i> }, as a cvxpy expression or a number."""
    terms = [p * (cvxpy.log_sum_exp((V @ Phi) @ w) - (mu @ Phi) @ w) for p, Phi, V, mu, _ in problem.examples]
    return sum(terms)


def entropic_optimum(problem, penalty):
    """min_w R(w) + mean log loss; `penalty` makes a cvxpy expression of w."""
    w = cvxpy.Variable(problem.objective.n_weights)
    return cvxpy.Problem(cvxpy.Minimize(penalty(w) + log_likelihood(problem, w))).solve(solver=cvxpy.CLARABEL)


def quadratic_optimum(problem, conjugate=None):
    """The same for Omega = 1/2 ||z||^2, through its dual over mixtures of all vertices.

    `conjugate` makes a cvxpy expression of the dual map, R*, in place of that of the squared norm.
    """
    shares = [cvxpy.Variable(len(V), nonneg=True) for V in problem.vertices]
    dual_map, value = 0, 0
    structure, shapes = problem.objective.structure, problem.objective.scoring.shapes
    for share, shape, (p, Phi, V, mu, _) in zip(shares, shapes, problem.examples):
        n_local = structure.n_curved(shape)
        dual_map = dual_map + p * Phi.T @ (mu - V.T @ share)
        square = cvxpy.sum_squares(V[:, :n_local].T @ share)
        value = value + p * (mu[:n_local] @ mu[:n_local] - square) / 2
    squared = cvxpy.sum_squares(dual_map) / (2 * problem.regularization)
    value = value - (squared if conjugate is None else conjugate(dual_map))
    limits = [cvxpy.sum(share) == 1 for share in shares]
    return cvxpy.Problem(cvxpy.Maximize(value), limits).solve(solver=cvxpy.CLARABEL)


@cache
def problem(name):
    """The problem of a registered structure that all solvers are tested on."""
    return build((STRUCTURES | BOUNDED)[name])


@cache
def optimum(name):
    return problem(name).optimum()


# ---- solvers --------------------------------------------------------------------------------------------


class Runner(NamedTuple):
    """A solver, and the passes that bring it within 1e-4 of the optimum of a `problem` (None: too many)."""

    solver: Any
    passes: int | None = None


SOLVERS = {
    "bcfw": Runner(BlockFrankWolfe(), 5000),
    "bcfw, averaged": Runner(BlockFrankWolfe(averaging=True)),
    "bcfw, uniform": Runner(BlockFrankWolfe(order=Uniform())),
    "bcfw, gap sampling": Runner(BlockFrankWolfe(order=GapSampling())),
    "bcfw, active sets": Runner(ActiveBlocks(), 500),
    "bcfw, active sets, away steps": Runner(ActiveBlocks(steps=Steps.AWAY, order=GapSampling()), 500),
    "bcfw, small active sets, averaged": Runner(ActiveBlocks(averaging=True, most_atoms=3, forget_after=1)),
    "stochastic extragradient": Runner(StochasticExtragradient(), 500),
    "stochastic extragradient, dense": Runner(StochasticExtragradient(steps=Steps.PLAIN, most_atoms=3)),
    "extragradient": Runner(Extragradient(), 4000),
    "extragradient, Euclidean": Runner(Extragradient(EuclideanGeometry()), 4000),
    "fw": Runner(FrankWolfe()),
    "fw, 2/(k + 2)": Runner(FrankWolfe(line_search=False), 10000),
    "cutting plane": Runner(CuttingPlane(), 300),
    "n-slack": Runner(NSlack(), 50),
    "n-slack, in batches": Runner(NSlack(examples_at_once=2)),
    "subgradient": Runner(Subgradient()),
    "subgradient, diminishing": Runner(Subgradient(DiminishingStep(1.0))),
    "stochastic subgradient": Runner(StochasticSubgradient(), 10000),
    "stochastic subgradient, uniform": Runner(StochasticSubgradient(order=Uniform())),
}
