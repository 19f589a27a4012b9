"""What a checkpoint says of blocks and atoms is checked before compiled code gets it."""

import tracemalloc

import numpy as np
import pytest

from brute import STRUCTURES, build, problem
from structlearn.core.memory import Memory
from structlearn.problem.regularizers import Shannon, SquaredNorm, Zero
from structlearn.solvers import LBFGS, ActiveBlocks, BlockFrankWolfe, Checkpoint, Stopping, solve
from structlearn.solvers.bcfw import saved_blocks
from structlearn.solvers.bcfw.active_set import empty_store
from structlearn.solvers.states import load_state, open_state, refuse_misfits, save_state

WHOLE = ("count", "atom_first", "entry_first", "gram_first")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """An objective, and the state of block steps in a checkpoint of its training."""
    objective = problem("chain").objective
    checkpoint = Checkpoint(tmp_path_factory.mktemp("kept"))
    solve(objective, ActiveBlocks(), Stopping(tol=-1.0, max_passes=4), seed=0, checkpoint=checkpoint)
    return objective, load_state(open_state(checkpoint.path))["state"]


def changed(state, name, at, number):
    array = getattr(state.blocks, name).copy()
    array[at] = number
    return state._replace(blocks=state.blocks._replace(**{name: array}))


def test_what_was_kept_fits(kept):
    ActiveBlocks().restored(*kept)


@pytest.mark.parametrize("at_once", [1, 7, 1 << 16])
def test_a_part_that_is_none_is_refused_in_any_group(kept, monkeypatch, at_once):
    monkeypatch.setattr(saved_blocks, "ENTRIES_AT_ONCE", at_once)
    objective, state = kept
    ActiveBlocks().restored(objective, state)
    store, n_parts = state.blocks, np.diff(objective.point_start)
    for i, size in enumerate(n_parts):
        used = store.edge[store.atom_first[i] + i + store.count[i]]
        for at, number in ((0, -1), (used - 1, size)):
            with pytest.raises(ValueError, match="its parts differ"):
                ActiveBlocks().restored(objective, changed(state, "index", store.entry_first[i] + at, number))


def test_checks_take_little_memory():
    """Of a million entries, less than two bytes each."""
    blocks, entries = np.full(2000, 2), np.full(2000, 500)
    store = empty_store(blocks, entries, Memory())
    store.count[:] = 1
    store.edge[1::3] = 500
    tracemalloc.start()
    try:
        saved_blocks.check_store(store, np.full(2000, 9))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2 * store.index.size


@pytest.mark.parametrize("number", [-1, 10**6, 2**62, -(2**63)])
@pytest.mark.parametrize("name", WHOLE)
def test_a_region_elsewhere_is_refused(kept, name, number):
    objective, state = kept
    for at in range(getattr(state.blocks, name).size):
        with pytest.raises(ValueError, match="does not fit this training"):
            ActiveBlocks().restored(objective, changed(state, name, at, number))


def test_entries_elsewhere_are_refused(kept):
    objective, state = kept
    store = state.blocks
    for block, count in enumerate(store.count.tolist()):
        first = store.atom_first[block] + block
        for name, at in [("edge", first + a) for a in range(count + 1)]:
            with pytest.raises(ValueError, match="does not fit"):
                ActiveBlocks().restored(objective, changed(state, name, at, 10**6))
        begin, used = store.entry_first[block], store.edge[first + count]
        for at in range(begin, begin + used):
            for number in (-1, objective.point_start[block + 1] - objective.point_start[block]):
                with pytest.raises(ValueError, match="its parts differ"):
                    ActiveBlocks().restored(objective, changed(state, "index", at, number))


@pytest.mark.parametrize("name", ["w", "gaps", "totals", "order", "lag"])
def test_arrays_of_other_sizes_are_refused(kept, name):
    objective, state = kept
    for odd in (np.zeros(3), np.zeros((2, 2)), np.array([99]), [1.0], None, np.zeros(1, dtype=complex)):
        with pytest.raises(ValueError, match="does not fit"):
            ActiveBlocks().restored(objective, state._replace(**{name: odd}))


@pytest.mark.parametrize("regularizer", [Zero(), SquaredNorm()], ids=str)
@pytest.mark.parametrize("solver", [BlockFrankWolfe(), BlockFrankWolfe(exact=False)], ids=["exact", "dense"])
def test_dense_blocks_of_other_sizes_are_refused(solver, regularizer):
    objective = build(STRUCTURES["simplex"], regularizer=regularizer).objective
    state = solver.saved(objective, solver.start(objective, np.random.default_rng(0), None))
    solver.restored(objective, state)
    for name in ("z", "h"):
        for odd in (
            np.zeros(3),
            np.zeros((2, 2)),
            None,
            np.zeros(getattr(state.blocks, name).size, dtype=int),
        ):
            with pytest.raises(ValueError, match="does not fit"):
                solver.restored(objective, state._replace(blocks=state.blocks._replace(**{name: odd})))


def test_the_blocks_of_another_representation_are_refused(kept):
    objective, state = kept
    dense = BlockFrankWolfe()
    other = dense.saved(objective, dense.start(objective, np.random.default_rng(0), None))
    with pytest.raises(ValueError, match="does not fit"):
        ActiveBlocks().restored(objective, state._replace(blocks=other.blocks))
    with pytest.raises(ValueError, match="does not fit"), refuse_misfits():
        dense.restored(objective, state)


@pytest.mark.parametrize(
    "books",
    [
        {"best": "x"},
        {"seconds": None},
        {"seconds": float("nan")},
        {"next_check": "1"},
        {"rows": ((1, 2, 3),)},
        {"columns": {"x": "abc"}},
        {"extra": [1]},
        {"random": {}},
        {"random": {"bit_generator": "PCG64"}},
        {"state": None},
    ],
)
def test_books_of_other_kinds_are_refused(kept, tmp_path, books):
    objective, _ = kept
    checkpoint = Checkpoint(tmp_path, resume=True)
    stopping = Stopping(tol=-1.0, max_passes=2)
    solve(objective, ActiveBlocks(), stopping, seed=0, checkpoint=checkpoint)
    file = open_state(checkpoint.path)
    whole = load_state(file)
    notes = {name: value for name, value in file.notes.items() if name != "tree"}
    save_state(checkpoint.path, {**whole, **books}, **notes)
    with pytest.raises(ValueError, match=r"does not fit this training|state must be|begin without it"):
        solve(objective, ActiveBlocks(), stopping, seed=0, checkpoint=checkpoint)


def test_fields_of_other_kinds_are_refused(kept, tmp_path):
    _, state = kept
    for name, odd in (("w", 3.0), ("oracle_calls", "x"), ("oracle_calls", True), ("order", ())):
        save_state(tmp_path / "odd", state._replace(**{name: odd}))
        with pytest.raises(ValueError, match="another version"):
            load_state(open_state(tmp_path / "odd"))


def with_number(record, number):
    """The record with a number, in turn, in each field where it must not be."""
    for name, value in record._asdict().items():
        if isinstance(value, int) and number == -1:
            yield record._replace(**{name: -1})
        elif number != -1 and isinstance(value, np.ndarray) and value.dtype == float and value.size:
            may_be_unseen = name in ("gaps", "totals") and np.isinf(number)
            if not may_be_unseen:
                yield record._replace(**{name: np.append(value[:-1], number)})


@pytest.mark.parametrize("number", [np.nan, np.inf, -1])
@pytest.mark.parametrize("kind", ["simplex", "chain"])
def test_what_is_no_number_or_no_count_is_refused(tmp_path, kind, number):
    """A NaN in z let the search for a projection's threshold run for ever."""
    objective, stopping = problem(kind).objective, Stopping(tol=-1.0, max_passes=2)
    checkpoint = Checkpoint(tmp_path, resume=True)
    solve(objective, ActiveBlocks(), stopping, seed=0, checkpoint=checkpoint)
    file = open_state(checkpoint.path)
    whole = load_state(file)
    notes = {name: value for name, value in file.notes.items() if name != "tree"}
    state = whole["state"]
    forged = [*with_number(state, number)]
    forged += [state._replace(blocks=blocks) for blocks in with_number(state.blocks, number)]
    assert forged
    for one in forged:
        save_state(checkpoint.path, {**whole, "state": one}, **notes)
        with pytest.raises(ValueError, match="does not fit this training"):
            solve(objective, ActiveBlocks(), stopping, seed=0, checkpoint=checkpoint)


def test_pairs_of_quasi_newton_steps_without_curvature_are_refused(tmp_path):
    objective = build(STRUCTURES["simplex"], regularizer=Shannon()).objective
    stopping = Stopping(tol=-1.0, max_passes=6)
    checkpoint = Checkpoint(tmp_path, resume=True)
    solve(objective, LBFGS(), stopping, seed=0, checkpoint=checkpoint)
    file = open_state(checkpoint.path)
    whole = load_state(file)
    notes = {name: value for name, value in file.notes.items() if name != "tree"}
    state = whole["state"]
    first, *rest = state.steps
    for steps in ((0.0 * first, *rest), (-first, *rest), tuple(rest), (first[1:], *rest)):
        save_state(checkpoint.path, {**whole, "state": state._replace(steps=steps)}, **notes)
        with pytest.raises(ValueError, match="does not fit this training"):
            solve(objective, LBFGS(), stopping, seed=0, checkpoint=checkpoint)
