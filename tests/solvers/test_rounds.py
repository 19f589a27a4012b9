"""Several threads: the same optimum, a dual that never decreases, and the same run every time."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from numba import njit

from brute import STRUCTURES, build
from structlearn import ChainClassifier, MulticlassClassifier
from structlearn.core.barrier import GONE, make_cells, meet
from structlearn.core.threads import Team, in_order
from structlearn.data import make_chains
from structlearn.problem.objective import Objective
from structlearn.problem.regularizers import Shannon, SquaredNorm, Zero
from structlearn.solvers import (
    ActiveBlocks,
    BlockFrankWolfe,
    Checkpoint,
    GapSampling,
    Stopping,
    Uniform,
    checkpoint,
    solve,
)
from structlearn.solvers.bcfw import active, rounds
from structlearn.solvers.bcfw.dense import DenseBlocks
from structlearn.solvers.bcfw.exact import ExactDenseBlocks
from structlearn.solvers.bcfw.lead import Pace
from structlearn.solvers.bcfw.rounds import WEIGHTS_AT_ONCE, best_fractions, combine, rounds_of
from structlearn.solvers.bcfw.totals import COST, STEPS

SOLVERS = {
    "active sets": (Zero(), "chain", ActiveBlocks()),
    "active sets, small": (Zero(), "chain", ActiveBlocks(most_atoms=3, forget_after=0, averaging=True)),
    "active sets, gap sampling": (Zero(), "chain", ActiveBlocks(order=GapSampling())),
    "dense": (Zero(), "chain", BlockFrankWolfe(averaging=True)),
    "exact": (Zero(), "simplex", BlockFrankWolfe(order=Uniform())),
    "exact, active blocks": (Zero(), "simplex", BlockFrankWolfe(focus=5.0)),
    "entropy": (Shannon(), "chain", BlockFrankWolfe()),
    "squared norm": (SquaredNorm(), "simplex", BlockFrankWolfe(exact=False)),
    "squared norm, exact": (SquaredNorm(), "simplex", BlockFrankWolfe()),
}
each = pytest.mark.parametrize(("regularizer", "family", "solver"), SOLVERS.values(), ids=SOLVERS)


@pytest.fixture(autouse=True)
def _short_rounds(monkeypatch):
    """Rounds of one visit a thread: as little like one thread as can be."""
    for blocks in (DenseBlocks, ExactDenseBlocks, active.ActiveSetBlocks):
        monkeypatch.setattr(blocks, "least_visits", 1)


@pytest.fixture(params=[False, True], ids=["rounds", "batches"])
def _ways(request, monkeypatch):
    """Active sets in rounds, and with questions asked together in batches of four."""
    if request.param:
        monkeypatch.setattr(active, "PARTS_OF_A_QUESTION", 0)
        monkeypatch.setattr(active, "BATCH", 0.5)


def threaded(regularizer, family, n_jobs, **options):
    """A problem of 9 examples for so many threads."""
    smooth = {"regularizer": regularizer} if regularizer.smooth else {}
    known = build(STRUCTURES[family], n=9, regularization=0.01, **smooth, **options).objective
    return Objective(
        known.structure,
        known.scoring,
        known.gold,
        known.cost,
        regularization=known.regularization,
        regularizer=known.regularizer,
        n_jobs=n_jobs,
    )


def run(objective, solver, *, tol=5e-3, passes=4000, seed=0, **options):
    return solve(objective, solver, Stopping(tol, passes), seed=seed, **options)


@each
@pytest.mark.usefixtures("_ways")
def test_every_number_of_threads_has_the_same_optimum(regularizer, family, solver):
    alone = run(threaded(regularizer, family, 1), solver)
    for n_jobs in (2, 3):
        objective = threaded(regularizer, family, n_jobs)
        together = run(objective, replace(solver, rounds=4))
        assert together.certificate.converged, together.certificate.status
        assert together.certificate.primal == pytest.approx(alone.certificate.primal, abs=5e-3)
        assert together.certificate.primal == pytest.approx(objective.primal(together.w), abs=1e-12)


@each
@pytest.mark.usefixtures("_ways")
def test_the_dual_never_decreases_and_is_that_of_the_point(regularizer, family, solver):
    objective = threaded(regularizer, family, 3)
    solver = replace(solver, examples_at_once=6, rounds=8)
    rng = np.random.default_rng(0)
    state, before = solver.start(objective, rng, None), -np.inf
    for _ in range(40):
        state = solver.step(objective, state, rng)
        w, kept = state.w.copy(), state.totals[COST]
        dual = sum(solver.candidates(objective, state)[0].dual)
        assert dual >= before - 1e-13
        before = dual
        fresh, _ = solver.settle(objective, state)
        np.testing.assert_allclose(w, fresh.w, atol=1e-12)
        assert kept == pytest.approx(fresh.totals[COST], abs=1e-12)
        state = state._replace(w=w)


@each
@pytest.mark.usefixtures("_ways")
def test_timing_does_not_matter(regularizer, family, solver, monkeypatch):
    objective = threaded(regularizer, family, 3)
    first = run(objective, solver, tol=-1, passes=12)
    together = Team.together

    def delayed(team, calls, **options):
        rng = np.random.default_rng()
        pauses = rng.random(len(calls)) * 1e-3
        slow = [lambda c=c, p=p: (time.sleep(p), c())[1] for c, p in zip(calls, pauses)]
        return together(team, slow, **options)

    monkeypatch.setattr(Team, "together", delayed)
    again = run(objective, solver, tol=-1, passes=12)
    assert first.w.tobytes() == again.w.tobytes()
    np.testing.assert_array_equal(first.history.gap, again.history.gap)


@pytest.mark.usefixtures("_ways")
def test_a_checkpoint_of_several_threads_goes_on_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "BUSY", np.inf)
    objective, solver = threaded(*SOLVERS["active sets"][:2], 2), ActiveBlocks(examples_at_once=5)
    whole = run(objective, solver, tol=-1, passes=9)
    run(objective, solver, tol=-1, passes=4, checkpoint=Checkpoint(tmp_path, 0.0))
    rest = run(objective, solver, tol=-1, passes=9, checkpoint=Checkpoint(tmp_path, 0.0, resume=True))
    assert whole.w.tobytes() == rest.w.tobytes()
    other = threaded(*SOLVERS["active sets"][:2], 3)
    with pytest.raises(ValueError, match="other data or other parameters"):
        run(other, solver, tol=-1, passes=9, checkpoint=Checkpoint(tmp_path, 0.0, resume=True))


@pytest.mark.parametrize("metric", [0.7, 0.5])
def test_shares_maximise_the_dual_over_the_box(metric):
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    for _ in range(20):
        changes, costs, w = rng.normal(size=(3, 5)), rng.normal(size=3) + 1, rng.normal(size=5)
        gamma, pace = cvxpy.Variable(3), Pace(0.7, metric)
        value = costs @ gamma - 0.7 * (changes @ w) @ gamma
        value -= 0.7**2 / (2 * metric) * cvxpy.sum_squares(changes.T @ gamma)
        cvxpy.Problem(cvxpy.Maximize(value), [gamma >= 0, gamma <= 1]).solve(solver="CLARABEL")
        np.testing.assert_allclose(best_fractions(changes, costs, w, pace), gamma.value, atol=1e-5)
    np.testing.assert_array_equal(best_fractions(np.zeros((2, 5)), np.array([1.0, -1e-9]), w, pace), [1, 0])


def test_changes_are_added_up_over_all_weights():
    """More weights than are read at once, and not a multiple of them."""
    rng = np.random.default_rng(0)
    d = 2 * WEIGHTS_AT_ONCE + 17
    changes, w, lag = 1e-2 * rng.standard_normal((3, d)), rng.standard_normal(d), rng.standard_normal(d)
    scalars, totals = np.zeros((3, 4)), np.zeros(4)
    scalars[:, COST], scalars[:, STEPS] = [2.0, 1.5, 1.0], 2.0
    pace = Pace(0.5, 0.5)
    before, lag_before = w.copy(), lag.copy()
    fractions = combine(changes, scalars, pace, w, totals, lag)
    np.testing.assert_allclose(w, before + fractions @ changes)
    np.testing.assert_allclose(lag, lag_before + 6 * 5 / 2 * (fractions @ changes))
    slope = scalars[:, COST] - 0.5 * changes @ (before + fractions @ changes)
    assert ((slope > -1e-9) | (fractions == 0)).all()
    assert ((slope < 1e-9) | (fractions == 1)).all()


def test_rounds_have_no_block_twice():
    order = np.random.default_rng(0).integers(6, size=40)
    rounds = list(rounds_of(order, 5))
    assert all(len(set(one.tolist())) == one.size <= 5 for one in rounds)
    np.testing.assert_array_equal(np.sort(np.concatenate(rounds)), np.sort(order))


def test_evaluation_and_prediction_do_not_depend_on_the_threads():
    X, y = make_chains(300, (1, 40), 4, 6, random_state=0)
    model = ChainClassifier(tol=0.5, random_state=0).fit(X, y)
    alone = model.predict(X)
    together = model.set_params(n_jobs=3).predict(X)
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


def test_interrupted_calls_have_all_ended():
    done = []

    def slow():
        time.sleep(0.05)
        done.append(1)

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Team(3).together([interrupted, slow, slow])
    assert done == [1, 1]


def test_after_a_failure_no_further_item_is_begun():
    failed, begun = threading.Event(), []

    def work(k):
        begun.append(k)
        if k == 0:
            failed.set()
            raise KeyboardInterrupt
        failed.wait()
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        Team(2).deal(work, range(1000))
    assert len(begun) < 1000  # they would take ten seconds


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("name", ["run_rounds", "run_batches"])
def test_no_thread_waits_for_one_that_has_failed(name, failing, monkeypatch):
    """Nor does an interruption before the threads are at work leave them waiting."""
    kernel = getattr(active, name)
    if name == "run_batches":
        monkeypatch.setattr(active, "PARTS_OF_A_QUESTION", 0)

    def fails(k, threads, *rest):
        if k == failing and threads.order.size:
            raise KeyboardInterrupt
        kernel(k, threads, *rest)

    fails.__wrapped__ = kernel.py_func
    objective = threaded(*SOLVERS["active sets"][:2], 3)
    run(objective, ActiveBlocks(), passes=1)
    monkeypatch.setattr(active, name, fails)
    solution = run(objective, ActiveBlocks(), tol=-1, passes=3)
    assert solution.certificate.status.startswith("Interrupted")
    assert solution.certificate.primal == pytest.approx(objective.primal(solution.w), abs=1e-12)


def test_who_asks_does_not_matter(monkeypatch):
    """Two threads and three take the same way where questions are asked together, in batches of one size."""
    monkeypatch.setattr(active, "PARTS_OF_A_QUESTION", 0)
    monkeypatch.setattr(active, "BATCH", 0.5)
    solver = ActiveBlocks(cached_passes=0)
    two, three = (run(threaded(Zero(), "chain", n), solver, tol=-1, passes=8).w for n in (2, 3))
    assert two.tobytes() == three.tobytes()


def test_a_batch_of_one_block_is_a_visit(monkeypatch):
    """One step a visit: after several, atoms may tie, and rounding chooses among them."""
    solver = ActiveBlocks(cached_passes=0, inner_steps=1, examples_at_once=1)
    alone, together = (threaded(Zero(), "chain", n) for n in (1, 2))
    draws = [np.random.default_rng(0) for _ in range(2)]
    one = solver.start(alone, draws[0], None)
    monkeypatch.setattr(active, "PARTS_OF_A_QUESTION", 0)
    other = solver.start(together, draws[1], None)
    for _ in range(60):
        one, other = solver.step(alone, one, draws[0]), solver.step(together, other, draws[1])
        np.testing.assert_allclose(other.w, one.w, atol=1e-11)
        np.testing.assert_allclose(other.gaps, one.gaps, atol=1e-11)
    np.testing.assert_allclose(other.totals[[COST, STEPS]], one.totals[[COST, STEPS]])


def test_threads_that_meet_have_seen_what_the_others_wrote():
    cells, written = make_cells(3), np.zeros((3, 2000), dtype=np.int64)
    assert sum(Team(3).together([lambda k=k: _sum_after_meetings(cells, k, written) for k in range(3)])) == 0


@pytest.mark.parametrize(("late", "complete"), [(1, True), (GONE, False)], ids=["comes", "never comes"])
def test_threads_that_sleep_wake_up_for_the_one_that_is_late(late, complete):
    cells = make_cells(3)

    def come(k):
        if k < 2:
            return _meet_at(cells, k, 1)
        time.sleep(0.05)  # far longer than others look without sleep
        cells[k, 0] = late
        return complete

    assert Team(3).together([lambda k=k: come(k) for k in range(3)]) == [complete] * 3


@njit(nogil=True)
def _meet_at(cells, k, number):
    return meet(cells, k, number)


@njit(nogil=True)
def _sum_after_meetings(cells, k, written):
    """How often thread k did not see what another had written before they met."""
    missed = 0
    for r in range(written.shape[1]):
        written[k, r] = 1
        meet(cells, k, r + 1)
        missed += written.shape[0] - written[:, r].sum()
    return missed


def test_large_blocks_of_a_batch_are_asked_for_first():
    order, edges, sizes = np.array([4, 0, 2, 1, 3]), np.array([0, 3, 5]), np.array([5, 2, 9, 2, 1])
    assert active._longest_first(order, edges, sizes).tolist() == [2, 0, 4, 1, 3]


@pytest.mark.parametrize("name", ["dense", "exact, active blocks"])
def test_where_rounds_are_mostly_sums_one_thread_makes_all_visits(name, monkeypatch):
    regularizer, family, solver = SOLVERS[name]
    monkeypatch.setattr(rounds, "WEIGHTS_A_VISIT", 0)
    one, two = (run(threaded(regularizer, family, n), solver, tol=-1, passes=12).w for n in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_sums_over_examples_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr("structlearn.scoring.base.PARTS_AT_ONCE", 5)
    found = []
    for n in (1, 2, 3):
        objective = threaded(Zero(), "chain", n)
        assert len(objective.scoring.chunks()) > 3
        z = np.random.default_rng(0).random(objective.point_start[-1])
        w, cost = objective.weights_of(z)
        found.append((objective.gold_map.tobytes(), objective.gold_cost, w.tobytes(), cost))
    assert found[0] == found[1] == found[2]


def test_ranges_that_are_shared_out_are_the_whole():
    for n, jobs, least in ((10, 3, 1), (2, 3, 1), (0, 2, 1), (10, 3, 6), (100, 2, 7)):
        seen = []
        Team(jobs).share_out(n, lambda first, last, seen=seen: seen.append((first, last)), least)
        assert sorted(i for first, last in seen for i in range(first, last)) == list(range(n))
        assert len(seen) <= jobs
        assert len(seen) == 1 or all(last - first >= least for first, last in seen) or n < jobs


def test_results_of_threads_come_in_order():
    with in_order(3) as run_map:
        assert list(run_map(lambda k: (time.sleep((7 - k) * 1e-3), k)[1], range(7))) == list(range(7))


def test_estimators_train_on_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.argmax(X[:, :3], axis=1)
    fits = [MulticlassClassifier(tol=1e-6, random_state=0, n_jobs=n).fit(X, y).certificate_ for n in (1, 2)]
    assert fits[0].primal == pytest.approx(fits[1].primal, abs=2e-6)
