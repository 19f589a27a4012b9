"""Checkpoints: a run that goes on from one is, bit for bit, the run that was never interrupted."""

import copy
import errno
import json
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from itertools import count

import numba
import numpy as np
import pytest

from brute import SOLVERS, STRUCTURES, build, problem
from own_structures import choose_two
from structlearn.core.memory import Memory
from structlearn.solvers import BlockFrankWolfe, Checkpoint, Perceptron, Stopping, Uniform, checkpoint, solve
from structlearn.solvers.checkpoint import NAME, digest
from structlearn.solvers.states import flatten, load_state, open_state, save_state, unflatten
from structlearn.storage import locks, tensors
from structlearn.storage.locks import FolderLock
from structlearn.structures import Simplex

each_solver = pytest.mark.parametrize("solver", [runner.solver for runner in SOLVERS.values()], ids=SOLVERS)
SMALL_CALLS = {"examples_at_once": 2}


@pytest.fixture(autouse=True)
def _write_after_every_step(monkeypatch):
    monkeypatch.setattr(checkpoint, "BUSY", np.inf)


class Killed(Exception):
    pass


def run(objective, solver, passes, folder=None, *, resume=False, kill_at=None, seconds=0.0, seed=3, tol=-1.0):
    """Train; with `kill_at`, die at that evaluation."""
    rows = count()

    def die(row):
        if next(rows) == kill_at:
            raise Killed

    kept = None if folder is None else Checkpoint(folder, seconds, resume)
    stopping = Stopping(tol=tol, max_passes=passes)
    return solve(objective, solver, stopping, seed=seed, checkpoint=kept, callback=die)


def assert_same(one, other):
    assert one.w.tobytes() == other.w.tobytes()
    assert replace(one.certificate, seconds=0.0) == replace(other.certificate, seconds=0.0)
    for name in set(one.history.columns) - {"seconds"}:
        np.testing.assert_array_equal(one.history[name], other.history[name])
    if one.point is not None:
        assert np.asarray(one.point).tobytes() == np.asarray(other.point).tobytes()


@each_solver
def test_a_killed_run_goes_on_bit_for_bit(solver, tmp_path):
    if hasattr(solver, "examples_at_once"):
        solver = replace(solver, **SMALL_CALLS)
    objective = problem("chain").objective
    whole = run(objective, solver, 12)
    with pytest.raises(Killed):
        run(objective, solver, 12, tmp_path, kill_at=4)
    # the seed is the checkpoint's, not this run's
    assert_same(run(objective, solver, 12, tmp_path, resume=True, seed=99), whole)


@pytest.mark.parametrize("solver", [Perceptron(), BlockFrankWolfe(order=Uniform(), averaging=True)], ids=str)
def test_so_do_further_solvers_after_every_evaluation(solver, tmp_path):
    objective = problem("simplex").objective
    solver = replace(solver, **SMALL_CALLS)
    whole = run(objective, solver, 6)
    for k in range(1, 5):
        folder = tmp_path / str(k)
        with pytest.raises(Killed):
            run(objective, solver, 6, folder, kill_at=k)
        assert_same(run(objective, solver, 6, folder, resume=True), whole)


def test_a_finished_run_ends_at_once_and_goes_on_with_a_larger_budget(tmp_path):
    objective, solver = problem("chain").objective, SOLVERS["bcfw"].solver
    first = run(objective, solver, 5, tmp_path)
    assert_same(run(objective, solver, 5, tmp_path, resume=True), first)
    assert_same(run(objective, solver, 9, tmp_path, resume=True), run(objective, solver, 9))


def test_without_a_checkpoint_resume_begins_afresh(tmp_path):
    objective, solver = problem("simplex").objective, BlockFrankWolfe()
    assert_same(run(objective, solver, 3, tmp_path / "new", resume=True), run(objective, solver, 3))


def test_a_folder_with_a_checkpoint_is_not_overwritten(tmp_path):
    objective = problem("simplex").objective
    run(objective, BlockFrankWolfe(), 3, tmp_path)
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(FileExistsError, match="holds a checkpoint: resume from it"):
        run(objective, BlockFrankWolfe(), 3, tmp_path)
    assert (tmp_path / NAME).read_bytes() == before


def test_other_data_and_other_parameters_are_refused(tmp_path):
    objective = problem("simplex").objective
    run(objective, BlockFrankWolfe(), 2, tmp_path)
    other = build(STRUCTURES["simplex"], seed=1).objective
    for changed in (
        lambda: run(other, BlockFrankWolfe(), 2, tmp_path, resume=True),
        lambda: run(objective, BlockFrankWolfe(averaging=True), 2, tmp_path, resume=True),
        lambda: run(objective, BlockFrankWolfe(), 2, tmp_path, resume=True, tol=0.5),
    ):
        with pytest.raises(ValueError, match="other data or other parameters"):
            changed()


def test_a_damaged_checkpoint_is_refused_by_name(tmp_path):
    objective, solver = problem("simplex").objective, BlockFrankWolfe()
    run(objective, solver, 2, tmp_path)
    path = tmp_path / NAME
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[-3] ^= 1
    for content, why in (
        (whole[:-8], "not as long"),
        (bytes(flipped), "hash of 'array"),
        (whole[: len(whole) // 9], NAME),
        (b"", NAME),
        (b"\xff" * 64, NAME),
        (whole.replace(b"blocks:BlockState", b"blocks:FocusState"), "header hash does not match"),
        (whole.replace(b"seconds", b"secomds", 1), "header hash does not match"),
        (len(whole).to_bytes(8, "little") + whole[8:], "header is not as long"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=why):
            run(objective, solver, 2, tmp_path, resume=True)


@pytest.mark.parametrize("name", ["Representation", "COST", "nowhere", "os:system"])
def test_a_checkpoint_of_another_version_is_refused(tmp_path, name):
    objective, solver = problem("simplex").objective, BlockFrankWolfe()
    run(objective, solver, 2, tmp_path)
    rename_in(tmp_path / NAME, "blocks:BlockState", f"blocks:{name}")
    with pytest.raises(ValueError, match="another version"):
        run(objective, solver, 2, tmp_path, resume=True)


def rename_in(path, old, new):
    file = open_state(path)
    text = json.dumps(file.notes)
    assert old in text
    arrays = {one: file.load(one) for one in file.entries}
    tensors.write_tensors(path, arrays, json.loads(text.replace(old, new)))


@each_solver
def test_a_checkpoint_in_which_states_had_one_name_is_read(solver, tmp_path):
    objective = problem("simplex").objective
    run(objective, solver, 2, tmp_path)
    kind = type(load_state(open_state(tmp_path / NAME))["state"])
    rename_in(tmp_path / NAME, f"{kind.__module__}:{kind.__name__}", f"{kind.__module__}:State")
    assert_same(run(objective, solver, 4, tmp_path, resume=True), run(objective, solver, 4))


# ---- a folder is one run's ------------------------------------------------------------------------------


def test_a_second_run_in_the_same_folder_is_refused_at_its_start(tmp_path):
    objective, solver = problem("simplex").objective, BlockFrankWolfe()
    refused, fragment = [], tmp_path / f".{NAME}.mine.part"

    def start_another(row):
        fragment.write_bytes(b"being written")
        for resume in (False, True):
            with pytest.raises(BlockingIOError, match="Another run writes its checkpoints into") as caught:
                run(objective, solver, 3, tmp_path, resume=resume)
            refused.append(str(caught.value))
        with pytest.raises(BlockingIOError):
            Checkpoint(tmp_path, 0.0, True).check()
        assert fragment.exists()

    kept = Checkpoint(tmp_path, 0.0, False)
    stopping = Stopping(tol=-1.0, max_passes=3)
    found = solve(objective, solver, stopping, seed=3, checkpoint=kept, callback=start_another)
    assert refused
    assert_same(found, run(objective, solver, 3))
    run(objective, solver, 5, tmp_path, resume=True)  # the first has ended, and what it left is removed
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_run_that_failed_leaves_the_folder_to_others(tmp_path):
    objective, solver = problem("simplex").objective, BlockFrankWolfe()
    with pytest.raises(Killed):
        run(objective, solver, 5, tmp_path, kill_at=2)
    with pytest.raises(ValueError, match="other data"):
        run(build(STRUCTURES["simplex"], seed=1).objective, solver, 2, tmp_path, resume=True)
    run(objective, solver, 5, tmp_path, resume=True)


WAITING = """
import sys, time
from structlearn.storage.locks import FolderLock
lock = FolderLock(sys.argv[1])
print("locked", flush=True)
time.sleep(600)
"""


def test_the_lock_ends_with_its_holder_however_it_ends(tmp_path):
    objective, solver = problem("simplex").objective, BlockFrankWolfe()
    code = [sys.executable, "-c", WAITING, str(tmp_path)]
    with subprocess.Popen(code, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(BlockingIOError, match="Another run"):
            run(objective, solver, 2, tmp_path)
        process.kill()
    run(objective, solver, 2, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_only_one_of_many_takes_a_lock(tmp_path):
    """Whoever removes the file while others wait for it must not let two of them in."""
    inside, most = [], []

    def enter():
        for _ in range(50):
            try:
                lock = FolderLock(tmp_path)
            except BlockingIOError:
                continue
            inside.append(1)
            most.append(len(inside))
            inside.pop()
            lock.release()

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert list(tmp_path.iterdir()) == []


def test_without_locks_training_goes_on_and_removes_nothing(tmp_path, monkeypatch):
    def no_lock(file):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "_lock", no_lock)
    fragment = tmp_path / f".{NAME}.abc.part"
    fragment.write_bytes(b"perhaps another's")
    run(problem("simplex").objective, BlockFrankWolfe(), 2, tmp_path)
    assert fragment.exists()


def test_a_full_disk_ends_the_run_and_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    objective, solver = problem("simplex").objective, BlockFrankWolfe()
    whole = run(objective, solver, 8)
    written = count()

    def full(array):
        if next(written) > 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pieces(array)

    pieces = tensors.pieces
    with monkeypatch.context() as patch:
        patch.setattr(tensors, "pieces", full)
        with pytest.raises(OSError, match="the last good one is kept") as caught:
            run(objective, solver, 8, tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert_same(run(objective, solver, 8, tmp_path, resume=True), whole)


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from structlearn import MulticlassClassifier
from structlearn.storage import tensors
from structlearn.solvers import Checkpoint, checkpoint
import numpy as np

checkpoint.BUSY = np.inf
pieces, left = tensors.pieces, [int(sys.argv[2])]

def dying(array):
    left[0] -= 1
    if left[0] < 0 and any(Path(sys.argv[1]).glob(".*.part")):
        os.kill(os.getpid(), signal.SIGKILL)
    return pieces(array)

tensors.pieces = dying
X = np.random.default_rng(0).normal(size=(40, 3))
model = MulticlassClassifier(
    tol=0, max_passes=9, random_state=0, checkpoint=Checkpoint(sys.argv[1], 0.0, True),
    solver_options={"examples_at_once": 10},
)
import warnings; warnings.simplefilter("ignore")
sys.stdout.buffer.write(model.fit(X, np.arange(40) % 3).weights_.tobytes())
"""


def test_kill_9_while_writing_loses_nothing_but_time(tmp_path):
    def start(folder, pieces):
        code = [sys.executable, "-c", KILLED_WHILE_WRITING, str(tmp_path / folder), str(pieces)]
        return subprocess.run(code, capture_output=True, check=False)

    whole = start("a", 10**9)
    assert whole.returncode == 0, whole.stderr
    assert start("b", 70).returncode == -signal.SIGKILL
    left = {path.name for path in (tmp_path / "b").iterdir()}
    assert {NAME, locks.NAME} < left  # and what was being written
    assert len(left) == 3
    assert start("b", 10**9).stdout == whole.stdout
    assert len(whole.stdout) == 8 * 4 * 3


def test_what_a_killed_writer_left_is_removed(tmp_path):
    fragment = tmp_path / f".{NAME}.abc.part"
    fragment.write_bytes(b"half")
    run(problem("simplex").objective, BlockFrankWolfe(), 2, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_the_file_is_a_safetensors_file(tmp_path):
    from safetensors.numpy import load_file

    solution = run(problem("simplex").objective, BlockFrankWolfe(), 3, tmp_path)
    assert any(np.array_equal(array, solution.w) for array in load_file(tmp_path / NAME).values())


def test_states_come_back_as_they_were(tmp_path):
    shared = np.arange(6, dtype=np.int32).reshape(2, 3)
    value = {
        "a": (shared, shared, np.zeros((0, 2)), np.float64(0.1), None, "x", True),
        "b": np.array([np.nan]),
    }
    save_state(tmp_path / "s", value, other=1)
    file = open_state(tmp_path / "s", Memory())
    assert file.notes["other"] == 1
    back = load_state(file)
    assert back["a"][0] is back["a"][1]
    np.testing.assert_array_equal(back["a"][0], shared)
    assert back["a"][0].dtype == np.int32
    assert back["a"][2].shape == (0, 2)
    assert back["a"][3:] == (0.1, None, "x", True)
    assert np.isnan(back["b"]).all()


def test_only_records_are_made_from_a_file():
    with pytest.raises(TypeError, match="cannot hold a Simplex"):
        flatten(Simplex(3), {})
    with pytest.raises(TypeError, match="os:system"):
        unflatten({"record": "os:system", "fields": {"command": "true"}}, dict.__getitem__)


@pytest.mark.parametrize("name", ["own, plain Python", "own, compiled"])
def test_the_digest_does_not_depend_on_addresses(name):
    """A record may hold the address of a function, which is another one in the next process."""
    family = STRUCTURES[name]
    pair = copy.copy(family.given), copy.copy(family.given)
    if name == "own, compiled":
        for given in pair:
            given.oracle = numba.njit(choose_two.py_func)
    one, other = (build(family._replace(given=given)).objective for given in pair)
    assert one.structure.record.address != other.structure.record.address
    assert digest(one, Perceptron(), 1e-3) == digest(other, Perceptron(), 1e-3)
    assert digest(one, Perceptron(), 1e-3) != digest(one, Perceptron(), 1e-2)


class Top:
    """The k parts of the highest scores."""

    def __init__(self, k, lock=None):
        self.k, self.lock = k, lock

    def maximize(self, theta):
        return np.isin(np.arange(theta.size), np.argsort(-theta, kind="stable")[: self.k]).astype(float)


def own(structure):
    return build(STRUCTURES["own, plain Python"]._replace(given=structure)).objective


def test_a_structure_of_ones_own_is_known_by_its_state(tmp_path):
    """A run with two parts does not go on with one."""
    with pytest.raises(Killed):
        run(own(Top(2)), BlockFrankWolfe(), 12, tmp_path, kill_at=4)
    with pytest.raises(ValueError, match="is of other data or other parameters"):
        run(own(Top(1)), BlockFrankWolfe(), 12, tmp_path, resume=True)
    whole = run(own(Top(2)), BlockFrankWolfe(), 12)
    assert_same(run(own(Top(2)), BlockFrankWolfe(), 12, tmp_path, resume=True), whole)


def test_a_structure_without_a_state_has_no_checkpoints(tmp_path):
    with pytest.raises(ValueError, match=r"could not be recognised again.*__getstate__"):
        run(own(Top(2, threading.Lock())), BlockFrankWolfe(), 12, tmp_path)
    run(own(Top(2, threading.Lock())), BlockFrankWolfe(), 2)
