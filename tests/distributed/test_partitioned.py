"""Training on partitions, with workers in this process: the optimum, certificates, protocol, recovery."""

import numpy as np
import pytest
from in_process import Here
from problems import PROBLEMS, TOL, assert_brackets, chains, data, estimator, optimum

import structlearn.distributed.spread as spread
from structlearn import ChainClassifier, MulticlassClassifier
from structlearn.data import DataError, open_packed
from structlearn.distributed import (
    JoinedBlocks,
    JoinedExtragradient,
    WorkerSpec,
    open_partitions,
    split,
    spread_out,
)
from structlearn.distributed.driver import COST
from structlearn.distributed.worker import Piece
from structlearn.estimators.training.cluster import LayOut
from structlearn.solvers import ActiveBlocks, Checkpoint
from structlearn.solvers.bcfw.lead import Pace
from structlearn.solvers.bcfw.totals import COST as TOTAL_COST
from structlearn.structures import Chain

#: of Frank-Wolfe, for the chains below
PACE = Pace.of_frank_wolfe(1.0)


def spread_chains(folder, engine, solver=None, seconds=1e9, aggregation=1.0):
    """The chains on the workers of an engine."""
    X, y = chains()
    parts = split(folder / "parts", "chain", X, y, parts=engine.size)
    lay_out = LayOut(ChainClassifier, {"loss": "hinge", "regularization": 1.0, "random_state": 0})
    posts = [
        WorkerSpec(k, str(path), lay_out, None, solver or ActiveBlocks(), 0, kept, TOL, aggregation)
        for k, path in enumerate(parts.paths)
        for kept in [Checkpoint(folder / f"worker{k}", seconds=seconds, resume=True)]
    ]
    return spread_out(engine, posts, Chain(3), 1.0)


def run(solver, objective, state, rounds):
    for _ in range(rounds):
        state = solver.step(objective, state, np.random.default_rng(0))
    return state


def whole_pass(again=False):
    return Piece(again, 0, 1)


@pytest.mark.parametrize("solver", ["auto", "bcfw", "seg"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_that_of_one_machine(name, solver):
    if solver == "bcfw" and PROBLEMS[name][2]:
        solver = "sdca"
    found = estimator(name, solver=solver).fit(*data(name), client=Here(3))
    assert found.certificate_.converged
    assert abs(found.certificate_.dual - optimum(name)) <= 1e-6
    assert_brackets(found.history_, optimum(name))
    alone = estimator(name, solver=solver).fit(*data(name))
    assert found.get_params() == alone.get_params()
    np.testing.assert_allclose(found.weights_, alone.weights_, atol=5e-3)
    X, y = data(name)
    assert found.score(X, y) == pytest.approx(alone.score(X, y), abs=0.05)


@pytest.mark.parametrize("aggregation", [1.0, 3.0])
def test_the_dual_never_decreases_and_is_that_of_the_blocks(aggregation, tmp_path):
    objective = spread_chains(tmp_path, Here(3), aggregation=aggregation)
    solver = JoinedBlocks(3, 4, adapt=False)
    state, last = solver.start(objective, np.random.default_rng(0), None), 0.0
    for _ in range(60):
        state = run(solver, objective, state, 1)
        dual = objective.dual(state.w, state.values[COST]).value
        assert dual >= last - 1e-12
        last = dual
    w, cost = state.w.copy(), state.values[COST]
    solver.settle(objective, state)
    np.testing.assert_allclose(state.w, w, atol=1e-12)
    assert state.values[COST] == pytest.approx(cost, abs=1e-12)
    assert last == pytest.approx(optimum("chain"), rel=0.1)


def test_weights_that_lead_follow_the_sum_of_the_workers(tmp_path):
    engine = Here(3)
    objective = spread_chains(tmp_path, engine, aggregation=1.5)
    solver = JoinedExtragradient(3, 2, adapt=False)
    state = solver.start(objective, np.random.default_rng(0), None)
    for _ in range(60):
        state = run(solver, objective, state, 1)
        values = objective.values(int(state.counts[0]), state.fractions, state.w)  # commits
        v = sum(one.state.w for one in engine.objects.values())
        np.testing.assert_allclose(solver._w_of_z(objective, state), v, atol=1e-11)
        assert state.values[COST] == pytest.approx(sum(one.cost for one in values), abs=1e-12)
    assert np.abs(state.w - v).max() > 1e-6
    assert solver._dual(objective, state)[0].value == pytest.approx(optimum("chain"), rel=0.05)


def test_the_steps_of_a_cautious_worker_are_shorter(tmp_path):
    """From mu, the step to a first vertex is slope / (k p ||Phi^T delta||^2 / lambda) (Ma et al. 2015)."""
    proposals = []
    for aggregation in (1e3, 3e3):  # so that no step ends at the vertex
        engine = Here(1)
        spread_chains(tmp_path / f"{aggregation:g}", engine, aggregation=aggregation)
        worker = engine.objects[0]
        proposals.append(worker._propose(np.array([4]), worker.state.w, PACE))
    less, more = proposals
    assert less.change.any()
    np.testing.assert_allclose(less.change, 3.0 * more.change, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(less.totals[TOTAL_COST], 3.0 * more.totals[TOTAL_COST], rtol=1e-9)


def test_workers_share_the_visits_evenly(tmp_path):
    engine = Here(2)
    objective, solver = spread_chains(tmp_path, engine), JoinedBlocks(5, 4, adapt=False)
    visits = np.zeros(2)
    ask = objective.round

    def counted(*args):
        answers = ask(*args)
        visits[:] += [one.oracle_calls for one in answers]
        return answers

    objective.round = counted
    state = run(solver, objective, solver.start(objective, np.random.default_rng(0), None), 30)
    assert visits.sum() == state.oracle_calls > 0
    assert abs(visits[0] - visits[1]) <= 1e-9 + 0.05 * visits.sum()


def test_a_run_without_adaptation_is_deterministic(tmp_path):
    found = []
    for k in range(2):
        objective, solver = spread_chains(tmp_path / str(k), Here(2)), JoinedBlocks(5, 4, adapt=False)
        found.append(run(solver, objective, solver.start(objective, np.random.default_rng(0), None), 30).w)
    np.testing.assert_array_equal(*found)


def test_example_weights_reach_the_workers():
    X, y = chains()
    weight = np.random.default_rng(1).uniform(0.0, 3.0, size=len(X))
    alone = estimator("chain").fit(X, y, weight).certificate_
    found = estimator("chain").fit(X, y, weight, client=Here(3)).certificate_
    assert abs(found.dual - alone.dual) <= 1e-6


def test_repeated_rows_are_merged_on_the_workers():
    X, y = data("multiclass")
    twice = np.concatenate([X, X]), np.concatenate([y, y])
    assert (
        abs(estimator("multiclass").fit(*twice, client=Here(2)).certificate_.dual - optimum("multiclass"))
        <= 1e-6
    )


# ---- protocol ------------------------------------------------------------------------------------------


def test_a_worker_refuses_a_round_out_of_turn_and_repeats_an_answer(tmp_path):
    objective = spread_chains(tmp_path, Here(2))
    worker = objective.engine.objects[0]
    w = np.zeros(objective.n_weights)
    first = worker.round(1, w, 0.0, whole_pass(), PACE)
    again = worker.round(1, w, 0.0, whole_pass(), PACE)
    assert again is first
    assert worker.state.oracle_calls == worker.objective.n_active
    for t in (0, 3):
        refused = worker.round(t, w, 1.0, whole_pass(), PACE)
        assert isinstance(refused, RuntimeError)
        assert "stands at round 1" in str(refused)
    assert worker.proposal is not None  # a refusal commits nothing
    worker.round(2, first.change, 1.0, whole_pass(), PACE)
    np.testing.assert_array_equal(worker.state.w, first.change)


def test_a_dropped_round_leaves_no_trace(tmp_path):
    worker = spread_chains(tmp_path, Here(2)).engine.objects[0]
    w = np.zeros(worker.objective.n_weights)
    first = worker.round(1, w, 0.0, whole_pass(), PACE)
    worker.round(2, first.change, 0.5, whole_pass(again=True), PACE)
    found = worker.agree(2, 0.5)
    np.testing.assert_allclose(found.w, first.change / 2, atol=1e-14)
    assert found.cost == pytest.approx(first.gain / 2)
    np.testing.assert_array_equal(worker.agree(2, 0.5).w, found.w)


def test_what_goes_wrong_in_a_worker_goes_wrong_here(tmp_path):
    engine = Here(2)
    spread_chains(tmp_path, engine)
    path = engine.objects[1].post.path
    with pytest.raises(DataError, match="does not see the partition"):
        spread_out(engine, [engine.objects[0].post._replace(path=path + "x")], Chain(3), 1.0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="it has no header"):
        spread_out(engine, [engine.make[0]().post._replace(path=str(tmp_path / "empty"))], Chain(3), 1.0)


# ---- recovery ------------------------------------------------------------------------------------------


def losing(rate, names, seed=0):
    """Loses every so many calls of some kinds."""
    rng = np.random.default_rng(seed)
    return lambda number, name: name in names and rng.random() < rate


@pytest.mark.parametrize("solver", ["bcfw", "seg"])
@pytest.mark.parametrize(
    ("names", "seconds"),
    [
        (("round",), 0.0),
        (("round",), 1e9),
        (("values", "agree", "travelled"), 0.0),
        (("load", "begin", "round"), 1e9),
    ],
)
def test_lost_workers_come_back_and_certificates_hold(names, seconds, solver, tmp_path):
    engine = Here(3)
    checkpoint = Checkpoint(tmp_path / "run", seconds=seconds)
    begin_losing(engine, losing(0.1, names))
    found = estimator("chain", solver=solver, checkpoint=checkpoint, tol=1e-5, max_passes=3000).fit(
        *data("chain"), client=engine
    )
    assert engine.revived
    assert_brackets(found.history_, optimum("chain"))
    assert found.certificate_.gap <= 1e-5


def begin_losing(engine, lose, after=12):
    """Let training begin first; stop in the end, so that it can converge."""
    calls = iter(range(10**9))
    engine.lose = lambda number, name: after <= next(calls) < 400 and lose(number, name)


def test_a_driver_that_goes_on_with_an_old_w_does_not_report_a_false_certificate(tmp_path):
    engine = Here(2)
    objective, solver = spread_chains(tmp_path, engine), JoinedBlocks(3, 4, adapt=False)
    state = solver.start(objective, np.random.default_rng(0), None)
    state = run(solver, objective, state, 60)
    t, value = int(state.counts[0]), optimum("chain")
    objective.values(t, state.fractions, state.w)
    # What one gets who keeps w where blocks have moved on (or came back from elsewhere).
    stale = np.zeros_like(state.w)
    values = objective.values(t, state.fractions, stale)
    assert objective.dual(stale, sum(one.cost for one in values)).value > value + 1e-3
    state.w[:] = stale
    (candidate,) = solver.candidates(objective, state)
    assert candidate.dual.value <= value <= candidate.primal
    assert np.abs(state.w).max() > 0.1


def test_a_worker_that_was_replaced_unseen_is_found_out(tmp_path):
    engine = Here(2)
    objective, solver = spread_chains(tmp_path, engine), JoinedBlocks(3, 4, adapt=False)
    state = run(solver, objective, solver.start(objective, np.random.default_rng(0), None), 30)
    solver.candidates(objective, state)
    before = state.w.copy()
    engine.revive(1)
    spread.load_partitions(engine, [1], objective.total)
    engine.objects[1].at = int(state.counts[0])  # it claims to stand where the others do
    (candidate,) = solver.candidates(objective, state)
    assert candidate.dual.value <= optimum("chain") <= candidate.primal
    np.testing.assert_allclose(state.w, sum(one.state.w for one in engine.objects.values()), atol=1e-12)
    assert np.abs(state.w - before).max() > 1e-3


def test_training_gives_up_where_workers_are_always_lost():
    engine = Here(2)
    begin_losing(engine, lambda number, name: True)
    with pytest.raises(OSError, match="times in succession"):
        estimator("chain").fit(*data("chain"), client=engine)


def test_a_worker_goes_on_from_its_checkpoint(tmp_path):
    engine = Here(2)
    objective, solver = spread_chains(tmp_path, engine, seconds=0.0), JoinedBlocks(3, 4, adapt=False)
    state = run(solver, objective, solver.start(objective, np.random.default_rng(0), None), 30)
    solver.settle(objective, state)
    old = engine.objects[0]
    old.keep()
    engine.revive(0)
    spread.load_partitions(engine, [0], objective.total)
    new = engine.objects[0]
    assert new.at == old.at
    np.testing.assert_allclose(new.agree(new.at, 0.0).w, old.state.w, atol=1e-12)
    assert new.rng.bit_generator.state == old.rng.bit_generator.state


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    first = estimator("chain", checkpoint=Checkpoint(tmp_path, 0.0), max_passes=8, tol=1e-9)
    with pytest.warns(UserWarning, match="max_passes"):
        first.fit(*data("chain"), client=Here(3))
    with pytest.raises(FileExistsError, match="holds a checkpoint"):
        estimator("chain", checkpoint=tmp_path).fit(*data("chain"), client=Here(3))
    again = Checkpoint(tmp_path, 0.0, resume=True)
    with pytest.raises(ValueError, match="other data or other parameters"):
        estimator("chain", checkpoint=again, regularization=0.2).fit(*data("chain"), client=Here(3))
    with pytest.raises(ValueError, match="other data or other parameters"):
        estimator("chain", checkpoint=again, tol=1e-9).fit(*make_other(), client=Here(3))
    second = estimator("chain", checkpoint=again, max_passes=5000, tol=1e-9)
    second.fit(*data("chain"), client=Here(2))  # on fewer machines
    assert second.history_.rows[: len(first.history_) - 1] == first.history_.rows[:-1]
    assert abs(second.certificate_.dual - optimum("chain")) <= 1e-6
    assert_brackets(second.history_, optimum("chain"))


def make_other():
    X, y = chains()
    return X[::-1], y[::-1]


# ---- partitions ----------------------------------------------------------------------------------------


def test_a_split_is_every_example_once_with_all_classes(tmp_path):
    X, y = data("multiclass")
    y = np.where(np.arange(60) == 7, "rare", y)
    parts = split(tmp_path / "p", "classes", X, y, parts=4, seed=3)
    opened = [open_packed(path) for path in open_partitions(tmp_path / "p").paths]
    assert sorted(len(one) for one in opened) == [15] * 4
    assert all(one.classes.tolist() == ["a", "b", "c", "rare"] for one in opened)
    for one, some in zip(opened, parts.examples):
        np.testing.assert_array_equal(one.X, X[some])
        np.testing.assert_array_equal(one.y, y[some])
    model = MulticlassClassifier(tol=1e-6, random_state=0, max_passes=5000)
    found = model.fit(open_partitions(tmp_path / "p"), None, client=Here(2)).certificate_
    alone = MulticlassClassifier(tol=1e-6, random_state=0, max_passes=5000).fit(X, y).certificate_
    assert abs(found.dual - alone.dual) <= 1e-5
    with pytest.raises(ValueError, match="sample_weight goes with data"):
        model.fit(open_partitions(tmp_path / "p"), None, np.ones(60), client=Here(2))


def test_partitions_that_are_missing_are_named(tmp_path):
    with pytest.raises(DataError, match="holds no partitions"):
        open_partitions(tmp_path)
    split(tmp_path, "chain", *chains(), parts=3)
    (tmp_path / "part-0001-of-0003").rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="2 partitions of 3"):
        open_partitions(tmp_path)
    with pytest.raises(ValueError, match="1 to 24 parts"):
        split(tmp_path / "more", "chain", *chains(), parts=25)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"solver": "fw"}, "A cluster trains with solver='seg'"),
        ({"class_weight": "balanced"}, "class_weight is not known"),
        ({"warm_start": True}, "warm_start does not work"),
        ({"solver_options": {"averaging": True}}, "averaging"),
    ],
)
def test_refusals(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        ChainClassifier(**parameters).fit(*chains(), client=Here(2))
