"""Potts messages against those of whole tables; moves of many nodes against all of them."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from structlearn.core.contract import workspace
from structlearn.structures.graph.bounded import best_labelling, node_arcs
from structlearn.structures.graph.expansion import expand, fuse
from structlearn.structures.graph.inference import fill_tables
from structlearn.structures.graph.messages import value_of
from structlearn.structures.graph.pairwise import PairwiseGraphs
from structlearn.structures.graphs import grid_graph, make_graph


def loaded(structure, theta):
    """Record and scratch memory, the scores filled in."""
    record = structure.record
    work = workspace(record, structure.shapes[0])
    fill_tables(record.scores, 0, theta, np.empty(0), work.labels)
    return record, work


def answer(structure, theta, *, tight):
    record, work = loaded(structure, theta)
    return best_labelling(record, 0, tight, work)[:2]


@pytest.mark.parametrize("tight", [False, True])
def test_potts_messages_are_those_of_whole_tables(tight):
    rng = np.random.default_rng(0)
    graph = grid_graph(5, 5)
    potts, full = (PairwiseGraphs([graph], 3, pairs=kind, most_entries=0) for kind in ("potts", "full"))
    for _ in range(4):
        node, strength = rng.normal(size=75), 2 * rng.normal(size=40)
        tables = strength[:, None, None] * np.eye(3)
        one = answer(potts, np.concatenate([node, strength]), tight=tight)
        other = answer(full, np.concatenate([node, tables.ravel()]), tight=tight)
        assert_allclose(one, other, rtol=1e-9)


def metric_tables(rng, n_edges, n_states):
    """-|place_a - place_b|^(1/2): distances of states, different for each edge."""
    place = rng.normal(size=(n_edges, n_states))
    return -np.sqrt(np.abs(place[:, :, None] - place[:, None, :]))


@pytest.mark.parametrize("kind", ["metric", "any"])
def test_fusion_is_the_best_of_all_moves(kind):
    """To one state, where tables are metric; never worse than to stay, where they are not."""
    rng = np.random.default_rng(1)
    graph = make_graph(7, [(a, b) for a in range(7) for b in range(a) if rng.random() < 0.6])
    structure = PairwiseGraphs([graph], 3, most_entries=0)
    for x in range(9):
        tables = (
            metric_tables(rng, len(graph.edges), 3)
            if kind == "metric"
            else rng.normal(size=(len(graph.edges), 3, 3))
        )
        theta = np.concatenate([rng.normal(size=21), tables.ravel()])
        record, work = loaded(structure, theta)
        arcs, labels = node_arcs(record, 0), work.labels
        states, proposal = rng.integers(3, size=7), np.full(7, x % 3)
        message = rng.normal(size=(len(graph.edges), 3))  # a start of the flow, whatever it is
        values = [
            value_of(arcs, labels.node, labels.table, np.where(move, proposal, states))
            for move in product((False, True), repeat=7)
        ]
        fuse(arcs, labels, states, proposal, message, work.flow)
        found = value_of(arcs, labels.node, labels.table, proposal)
        assert found >= values[0] - 1e-12
        if kind == "metric":
            assert_allclose(found, max(values), rtol=1e-12)


def test_expansions_end_where_none_helps():
    """With a bound that is reached, rounds go on while they gain anything: no move to any state is better."""
    rng = np.random.default_rng(3)
    graph = make_graph(7, [(a, b) for a in range(7) for b in range(a) if rng.random() < 0.6])
    structure = PairwiseGraphs([graph], 4, most_entries=0)
    for _ in range(8):
        theta = np.concatenate([rng.normal(size=28), metric_tables(rng, len(graph.edges), 4).ravel()])
        record, work = loaded(structure, theta)
        arcs, labels = node_arcs(record, 0), work.labels
        labels.states[:7] = rng.integers(4, size=7)
        work.messages.message[:] = 0.0
        first = value_of(arcs, labels.node, labels.table, labels.states)
        found = expand(arcs, first, first, work)
        states = labels.states[:7].copy()
        assert_allclose(found, value_of(arcs, labels.node, labels.table, states), rtol=1e-12)
        for x, move in product(range(4), product((False, True), repeat=7)):
            moved = np.where(move, x, states)
            assert value_of(arcs, labels.node, labels.table, moved) <= found + 1e-9


def test_expansion_helps_where_rounding_stops_short():
    """Noise that is smoothed strongly: at most 1% below the bound."""
    rng = np.random.default_rng(2)
    graph = grid_graph(30, 30)
    structure = PairwiseGraphs([graph], 6, pairs="potts", most_entries=0)
    theta = np.concatenate([rng.normal(size=900 * 6), np.full(len(graph.edges), 1.2)])
    value, bound = answer(structure, theta, tight=False)
    assert bound * 0.99 <= value <= bound
    assert_allclose(theta @ structure.maximize(theta), value, rtol=1e-12)
