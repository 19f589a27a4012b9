"""Block-coordinate Frank-Wolfe on active sets: against the dense form, and the book-keeping of its atoms."""

from dataclasses import replace

import numpy as np
import pytest

from brute import STRUCTURES, build, optimum, problem
from structlearn import MultiLabelClassifier
from structlearn.core.contract import gram
from structlearn.core.kernels import _KERNELS
from structlearn.scoring import PartScoring
from structlearn.scoring.parts.parts import DenseParts
from structlearn.solvers import (
    ActiveBlocks,
    BlockFrankWolfe,
    GapSampling,
    Steps,
    Stopping,
    Uniform,
    solve,
)
from structlearn.solvers.bcfw.active_set import ActiveSet
from structlearn.solvers.bcfw.atoms import append, atoms_of, forget_unused_atoms, remove_atom
from structlearn.solvers.bcfw.dense_point import DensePoint

PLAIN = ActiveBlocks(steps=Steps.PLAIN, inner_steps=1, cached_passes=0)
SOME = ["chain with start and end", "label tree", "matching", "own, plain Python"]
each_kind = pytest.mark.parametrize("kind", list(Steps), ids=lambda kind: kind.name.lower())


def states(objective, solver, number, seed=0):
    rng = np.random.default_rng(seed)
    state = solver.start(objective, rng, None)
    for _ in range(number):
        state = solver.step(objective, state, rng)
        yield state


def check_saved(known, state):
    """Weights are a mixture, atoms are points of M, and costs and products are what they are called."""
    store = state.blocks.point.store
    for i, (_, Phi, V, _, c) in enumerate(known.examples):
        atoms, count = atoms_of(store, i), store.count[i]
        dense = np.zeros((count, Phi.shape[0]))
        for a in range(count):
            entries = slice(atoms.edge[a], atoms.edge[a + 1])
            dense[a, atoms.index[entries]] = atoms.value[entries]
        pulled = dense @ Phi
        assert (atoms.weight[:count] >= 0).all()
        assert atoms.weight[:count].sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(atoms.gram[:count, :count], pulled @ pulled.T, atol=1e-10)
        np.testing.assert_allclose(atoms.cost[:count], dense @ c, atol=1e-12)
        vertices = (dense[:, None] == V).all(axis=2).any(axis=1)
        assert vertices.all() or count <= 3  # only small sets mix their atoms


# ---- against the dense form -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [None, Uniform(), GapSampling()], ids=["permutation", "uniform", "gap"])
@pytest.mark.parametrize("name", SOME)
def test_plain_steps_are_those_of_the_dense_form(name, order):
    options = {} if order is None else {"order": order}
    objective, stopping = problem(name).objective, Stopping(tol=-1, max_passes=8)
    dense = solve(objective, BlockFrankWolfe(**options), stopping, seed=1)
    active = solve(objective, replace(PLAIN, **options), stopping, seed=1)
    np.testing.assert_allclose(active.w, dense.w, atol=1e-10)
    np.testing.assert_allclose(active.z, dense.z, atol=1e-10)
    np.testing.assert_allclose(active.history.dual, dense.history.dual, atol=1e-12)


def test_blocks_that_are_solved_exactly_stay_dense():
    objective = problem("simplex").objective
    exact, dense = (
        solve(objective, solver, Stopping(max_passes=3), seed=0)
        for solver in (ActiveBlocks(), BlockFrankWolfe())
    )
    np.testing.assert_array_equal(exact.w, dense.w)
    active = solve(objective, ActiveBlocks(exact=False), Stopping(tol=1e-6, max_passes=300), seed=0)
    assert isinstance(active.point, ActiveSet)
    assert active.certificate.primal == pytest.approx(optimum("simplex"), abs=1e-6)


def test_scorings_without_products_stay_dense(monkeypatch):
    monkeypatch.delitem(_KERNELS, (gram.__name__, DenseParts))
    objective = problem("matching").objective
    assert isinstance(objective.scoring, PartScoring)
    assert isinstance(solve(objective, ActiveBlocks(), Stopping(max_passes=1)).point, DensePoint)


@each_kind
@pytest.mark.parametrize("name", ["chain", "matching"])
def test_each_kind_of_step_reaches_the_optimum(kind, name):
    solver = ActiveBlocks(steps=kind)
    certificate = solve(
        problem(name).objective, solver, Stopping(tol=1e-4, max_passes=500), seed=0
    ).certificate
    assert certificate.converged
    assert certificate.primal == pytest.approx(optimum(name), abs=1e-4)


def test_inner_steps_and_cached_passes_save_oracle_calls():
    def passes(solver):
        return solve(
            problem("chain").objective, solver, Stopping(tol=1e-4, max_passes=3000), seed=0
        ).certificate.passes

    pairwise = passes(ActiveBlocks(inner_steps=1, cached_passes=0))
    assert pairwise < passes(PLAIN) / 5
    assert passes(ActiveBlocks()) < pairwise


# ---- books ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most_atoms", [2, 3, 256])
@each_kind
@pytest.mark.parametrize("name", ["chain with start and end", "matching"])
def test_the_books_of_the_atoms_are_right(name, kind, most_atoms):
    known = build(STRUCTURES[name], sample_weight=[3.0, 0.0, 1.0, 1.0, 0.5, 2.0])
    solver = ActiveBlocks(
        steps=kind,
        most_atoms=most_atoms,
        forget_after=1,
        cached_passes=2,
        examples_at_once=2,
        order=Uniform(),
    )
    for state in states(known.objective, solver, 60):
        assert state.blocks.point.store.count.max() <= most_atoms
    check_saved(known, state)
    w, cost = known.objective.weights_of(np.asarray(state.blocks.point))
    np.testing.assert_allclose(state.w, w, atol=1e-10)
    assert state.totals[0] == pytest.approx(cost, abs=1e-12)


def test_full_sets_still_reach_the_optimum():
    solver = ActiveBlocks(most_atoms=2)
    history = solve(problem("chain").objective, solver, Stopping(tol=1e-3, max_passes=3000), seed=0).history
    assert history.gap[-1] <= 1e-3


def test_unused_corners_are_forgotten_and_used_ones_kept():
    objective = problem("chain").objective
    solver = ActiveBlocks(forget_after=2, examples_at_once=objective.n_active, cached_passes=0)
    seen = 0
    for state in states(objective, solver, 40):
        store, now = state.blocks.point.store, state.oracle_calls // objective.n_active - 1
        for i in range(objective.n_active):
            atoms, count = atoms_of(store, i), store.count[i]
            unused = atoms.weight[:count] == 0
            assert (atoms.last[:count][unused] >= now - 2).all()
            seen += unused.sum()
    assert seen


def atoms_of_one_block(vertices):
    objective = problem("chain").objective
    point = ActiveSet.of_points(objective, *objective.gold)
    objective.most_entries = np.full(objective.n_active, 50)  # whatever the vertices
    point.make_room(objective, np.zeros(len(vertices), dtype=int), 256)
    store = point.store
    atoms = atoms_of(store, 0)
    for now, vertex in enumerate(vertices, start=1):
        append(store, 0, atoms, vertex, 0.0, now)
    return store, atoms


def dense_atoms(store, atoms, size):
    out = np.zeros((store.count[0], size))
    for a in range(store.count[0]):
        entries = slice(atoms.edge[a], atoms.edge[a + 1])
        out[a, atoms.index[entries]] = atoms.value[entries]
    return out


def test_removing_an_atom_leaves_the_others_as_they_were():
    V = problem("chain").vertices[0][:4]
    store, atoms = atoms_of_one_block(V)
    rng = np.random.default_rng(0)
    products = rng.normal(size=(5, 5))
    atoms.gram[:5, :5], atoms.cost[:5] = products, rng.normal(size=5)
    cost, before = atoms.cost[:5].copy(), dense_atoms(store, atoms, V.shape[1])
    remove_atom(store, 0, atoms, 2)
    kept = [0, 1, 3, 4]
    np.testing.assert_array_equal(dense_atoms(store, atoms, V.shape[1]), before[kept])
    np.testing.assert_array_equal(atoms.gram[:4, :4], products[np.ix_(kept, kept)])
    np.testing.assert_array_equal(atoms.cost[:4], cost[kept])
    np.testing.assert_array_equal(atoms.last[:4], [0, 1, 3, 4])


def test_only_old_atoms_without_weight_are_forgotten():
    store, atoms = atoms_of_one_block(problem("chain").vertices[0][:4])
    atoms.weight[2] = 0.5
    forget_unused_atoms(store, 0, atoms, 4)
    np.testing.assert_array_equal(atoms.last[: store.count[0]], [0, 2, 4])  # gold, the weighted, the new


def test_regions_grow_and_keep_their_atoms():
    known = problem("chain with start and end")
    *_, state = states(known.objective, ActiveBlocks(), 30)
    before = np.asarray(state.blocks.point)
    state.blocks.point.make_room(known.objective, np.repeat(known.objective.active, 9), 256)
    assert (np.diff(state.blocks.point.store.atom_first) >= state.blocks.point.store.count + 9).all()
    np.testing.assert_array_equal(np.asarray(state.blocks.point), before)
    check_saved(known, state)


@pytest.mark.parametrize(("gap", "grows"), [(0.0, False), (0.01, False), (0.5, True), (np.inf, True)])
def test_a_block_gets_room_once_it_holds_some_of_the_gap(gap, grows):
    objective = problem("chain").objective
    point, _, _ = ActiveSet.start(objective, None)
    point.make_room(objective, objective.active[1:], 256)
    store, gaps = point.store, np.ones(objective.scoring.n_examples)
    gaps[0] = gap
    point.make_room(objective, objective.active, 256, gaps)
    assert (point.store is not store) == grows
    assert (np.diff(point.store.atom_first)[0] > 1) == grows


@pytest.mark.parametrize("seed", [9, 10, 17])
def test_blocks_of_long_mixtures_do_not_stand_still(seed):
    X = np.random.default_rng(seed).normal(size=(50, 2))
    first = X[:, 0] > 0
    model = MultiLabelClassifier(max_passes=100, random_state=seed).fit(X, np.column_stack([first, ~first]))
    assert model.certificate_.gap <= 1e-3


def test_corners_have_no_more_entries_than_their_structure_says():
    for family in STRUCTURES.values():
        for shape in family.shapes:
            assert (family.vertices(shape) != 0).sum(axis=1).max() <= family.structure.most_entries(shape)


# ---- cached passes --------------------------------------------------------------------------------------


def test_cached_passes_ask_no_oracle_and_evaluations_wait_for_them():
    objective = problem("matching").objective
    solver = ActiveBlocks(cached_passes=3, cached_accuracy=0.0)
    answers = [(state.oracle_calls, state.again) for state in states(objective, solver, 8)]
    assert answers == [(6, 1), (6, 2), (6, 3), (6, 0), (12, 1), (12, 2), (12, 3), (12, 0)]
    state = next(states(objective, solver, 1))
    assert solver.progress(state).pending
    dual = {
        row.passes: row.dual
        for row in solve(objective, solver, Stopping(tol=-1, max_passes=2), seed=0).history
    }
    *_, after = states(objective, solver, 4)
    assert dual[1] == pytest.approx(sum(solver.candidates(objective, after)[0].dual), abs=1e-10)


def test_a_full_set_needs_at_least_two_atoms():
    with pytest.raises(ValueError, match="most_atoms must be at least 2"):
        solve(problem("chain").objective, ActiveBlocks(most_atoms=1))
