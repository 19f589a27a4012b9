"""Every solver on every structure: certificates against the enumerated quadratic program, and each algorithm
against a naive form of itself."""

import re
from dataclasses import replace

import numpy as np
import pytest

from brute import BOUNDED, SOLVERS, STRUCTURES, build, optimum, problem
from own_structures import ChooseTwo, PlainViterbi
from structlearn.problem.objective import Objective
from structlearn.scoring import RowScoring
from structlearn.solvers import (
    ActiveBlocks,
    BlockFrankWolfe,
    ConstantStep,
    CuttingPlane,
    Extragradient,
    FrankWolfe,
    GapSampling,
    NSlack,
    PegasosStep,
    Perceptron,
    Permutation,
    Row,
    Solution,
    StochasticSubgradient,
    Stopping,
    Subgradient,
    Uniform,
    solve,
)
from structlearn.structures import Simplex
from structlearn.structures.python_oracle import PythonOracle

each_solver = pytest.mark.parametrize("solver", [runner.solver for runner in SOLVERS.values()], ids=SOLVERS)
each_structure = pytest.mark.parametrize("name", list(STRUCTURES))
whatever_answers = pytest.mark.parametrize("name", [*STRUCTURES, *BOUNDED])
THOROUGH = {name: runner for name, runner in SOLVERS.items() if runner.passes}
EXACT_STEPS = {
    name: runner.solver for name, runner in SOLVERS.items() if name == "fw" or name.startswith("bcfw")
}
KEEP_Z = {name: solver for name, solver in EXACT_STEPS.items() if name != "fw"}


def run(objective, solver=None, *, passes=30, tol=-1.0, seed=0, **options):
    stopping = options.pop("stopping", Stopping(tol=tol, max_passes=passes))
    return solve(objective, solver or BlockFrankWolfe(), stopping, seed=seed, **options)


def steps(objective, solver, number, seed=0):
    """The states of a solver, driven by hand."""
    rng = np.random.default_rng(seed)
    state = solver.start(objective, rng, None)
    for _ in range(number):
        state = solver.step(objective, state, rng)
        yield state


# ---- certificates ---------------------------------------------------------------------------------------


@each_solver
@whatever_answers
def test_the_optimum_is_always_between_dual_and_primal(solver, name):
    history = run(problem(name).objective, solver).history
    assert (history.dual <= optimum(name) + 1e-8).all()
    assert (history.primal >= optimum(name) - 1e-8).all()
    np.testing.assert_allclose(history.gap, history.primal - history.dual)
    assert (np.diff(history.passes) >= 0).all()


@each_solver
@each_structure
def test_the_certificate_is_that_of_the_returned_weights(solver, name):
    solution = run(problem(name).objective, solver, passes=7)
    certificate = solution.certificate
    assert certificate.primal == pytest.approx(problem(name).objective.primal(solution.w), abs=1e-12)
    assert certificate.primal == pytest.approx(problem(name).primal(solution.w), abs=1e-12)
    assert certificate.primal == solution.history.primal.min()
    assert certificate.dual == solution.history.dual.max()
    assert certificate.gap == certificate.primal - certificate.dual
    assert 7 <= certificate.passes < 7 + 2  # a step that is refused is a pass, too
    assert certificate.oracle_calls == certificate.passes * len(problem(name).mu)


@pytest.mark.parametrize("runner", THOROUGH.values(), ids=THOROUGH)
@each_structure
def test_unlike_solvers_reach_the_optimum(runner, name):
    certificate = run(problem(name).objective, runner.solver, passes=runner.passes, tol=9e-5).certificate
    assert certificate.primal == pytest.approx(optimum(name), abs=1e-4)


@pytest.mark.parametrize("runner", THOROUGH.values(), ids=THOROUGH)
def test_unlike_solvers_come_near_the_optimum_of_the_local_polytope(runner):
    name = "local polytope"
    found = run(problem(name).objective, runner.solver, passes=min(runner.passes, 500), tol=1e-3).certificate
    assert found.primal == pytest.approx(optimum(name), abs=5e-3)
    assert not found.exact


@pytest.mark.parametrize("solver", EXACT_STEPS.values(), ids=EXACT_STEPS)
@whatever_answers
def test_exact_steps_never_lower_the_dual(solver, name):
    objective = problem(name).objective
    if isinstance(solver, BlockFrankWolfe):
        solver = replace(solver, examples_at_once=1)
    duals = [sum(solver.candidates(objective, state)[0].dual) for state in steps(objective, solver, 100)]
    assert (np.diff(duals) >= -1e-14).all()
    assert duals[-1] > 0


@pytest.mark.parametrize("solver", KEEP_Z.values(), ids=KEEP_Z)
@whatever_answers
def test_the_dual_value_kept_by_bcfw_is_that_of_its_point(solver, name):
    known = problem(name)
    solver = replace(solver, examples_at_once=1)
    ends = known.objective.point_start[1:-1]
    for state in steps(known.objective, solver, 25):
        kept = solver.candidates(known.objective, state)[0]
        z = np.split(np.asarray(state.blocks.point), ends)
        assert sum(kept.dual) == pytest.approx(known.dual(z), abs=1e-12)
        np.testing.assert_allclose(kept.w, known.weights(z), atol=1e-12)


@each_structure
def test_the_block_gaps_of_a_pass_without_steps_add_up_to_the_gap(name):
    """At the optimum of a pass nothing moves, so the gaps seen are the gap."""
    known = problem(name)
    solution = run(known.objective, passes=2000, tol=1e-7)
    state = BlockFrankWolfe(exact=False).start(known.objective, None, solution)
    w, moved = state.w.copy(), state.blocks.point.z
    z = moved.copy()
    for i in known.objective.active:
        state.blocks.run(known.objective, state, np.array([i]))
        state.w[:], moved[:] = w, z
    assert state.gaps.sum() == pytest.approx(
        known.gap(np.split(z, known.objective.point_start[1:-1])), abs=1e-12
    )


@pytest.mark.parametrize(
    "solver",
    [BlockFrankWolfe(), ActiveBlocks(), CuttingPlane(), NSlack(), StochasticSubgradient(), Extragradient()],
    ids=["bcfw", "active sets", "cutting plane", "n-slack", "stochastic subgradient", "extragradient"],
)
@pytest.mark.parametrize("name", ["simplex", "chain", "matching"])
def test_sample_weights_are_certified_too(solver, name):
    known = build(STRUCTURES[name], sample_weight=[3.0, 0.0, 1.0, 1.0, 0.5, 2.0])
    history = run(known.objective, solver, passes=50).history
    best = known.optimum()
    assert (history.dual <= best + 1e-8).all()
    assert (history.primal >= best - 1e-8).all()
    assert history.gap[-1] < 0.2 * history.gap[0]


@pytest.mark.parametrize("seed", range(10))
def test_uniformly_sampled_answers_never_certify_too_much(seed):
    solver = StochasticSubgradient(order=Uniform())
    history = run(problem("simplex").objective, solver, passes=5, seed=seed).history
    assert (history.dual <= optimum("simplex") + 1e-8).all()


# ---- averages -------------------------------------------------------------------------------------------


AVERAGED = {
    "permutation": BlockFrankWolfe(averaging=True),
    "uniform": BlockFrankWolfe(order=Uniform(), averaging=True),
    "active sets": ActiveBlocks(averaging=True, cached_passes=1),
}


@pytest.mark.parametrize("solver", AVERAGED.values(), ids=AVERAGED)
@pytest.mark.parametrize("name", ["simplex", "chain", "matching"])
def test_bcfw_averages_its_iterates_with_weights_1_2_3(solver, name):
    known = problem(name)
    solver = replace(solver, examples_at_once=1)
    w_sum, z_sum, total = 0.0, 0.0, 0.0
    for t, state in enumerate(steps(known.objective, solver, 40), start=1):
        w_sum, z_sum, total = w_sum + t * state.w, z_sum + t * np.asarray(state.blocks.point), total + t
        average = solver.candidates(known.objective, state)[1]
        np.testing.assert_allclose(average.w, w_sum / total, atol=1e-12)
        z = np.split(z_sum / total, known.objective.point_start[1:-1])
        assert sum(average.dual) == pytest.approx(known.dual(z), abs=1e-12)


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize(
    "rule", [PegasosStep(), ConstantStep(0.3), ConstantStep(1.0)], ids=["pegasos", "constant", "forgetting"]
)
def test_stochastic_subgradient_is_its_naive_form(rule, uniform):
    known = problem("chain")
    lam, n = known.regularization, len(known.mu)
    solver = StochasticSubgradient(rule, uniform_average=uniform, examples_at_once=1)
    rng, order = np.random.default_rng(0), []
    w = average = np.zeros(known.objective.n_weights)
    for t, state in enumerate(steps(known.objective, solver, 4 * n), start=1):
        order = order or rng.permutation(n).tolist()
        i = order.pop(0)
        eta = rule.schedule(known.objective).length(t)
        theta = known.Phi[i] @ w + known.cost[i]
        s = known.vertices[i][np.argmax(known.vertices[i] @ theta)]
        w = w - eta * (lam * w - n * known.weight[i] * known.Phi[i].T @ (known.mu[i] - s))
        average = average + (1 / t if uniform else 2 / (t + 1)) * (w - average)
        iterate, averaged = solver.candidates(known.objective, state)
        np.testing.assert_allclose(iterate.w, w, atol=1e-10)
        np.testing.assert_allclose(averaged.w, average, atol=1e-10)


@whatever_answers
def test_pegasos_iterates_are_the_weights_of_the_mean_answer(name):
    """W_t = 1/(lambda t) sum of n p_i Phi_i^T (mu_i - s_i): after whole passes, w of the mean answer."""
    objective = problem(name).objective
    solver = StochasticSubgradient()
    total, before = 0.0, 0.0
    for t, state in enumerate(steps(objective, solver, 5), start=1):
        weighted = state.dual_average.dual_map * t * (t + 1) / 2  # passes count 1, 2, 3, ...
        total, before = total + (weighted - before) / t, weighted
        w = solver.candidates(objective, state)[0].w
        np.testing.assert_allclose(w, total / t / objective.regularization, atol=1e-10)


# ---- orders ---------------------------------------------------------------------------------------------


def test_a_permutation_visits_every_active_example_once():
    active = np.array([1, 4, 5])
    drawn = Permutation().draw(np.random.default_rng(0), active, np.zeros(6))
    assert sorted(drawn) == [1, 4, 5]


@pytest.mark.parametrize(
    ("order", "chances"),
    [
        (Uniform(), [1 / 3, 1 / 3, 1 / 3]),
        (GapSampling(), [0.2 / 3 + 0.8 * fraction for fraction in (0.1, 0.0, 0.9)]),
    ],
    ids=["uniform", "gap sampling"],
)
def test_examples_are_drawn_with_their_chances(order, chances):
    active, gaps = np.array([1, 2, 4]), np.array([9.0, 0.1, -1e-9, 9.0, 0.9])
    rng = np.random.default_rng(0)
    drawn = np.concatenate([order.draw(rng, active, gaps) for _ in range(10000)])
    fractions = [np.mean(drawn == i) for i in active]
    np.testing.assert_allclose(fractions, chances, atol=0.015)  # five standard deviations


@pytest.mark.parametrize("gaps", [np.array([np.inf, 1.0, 2.0]), np.zeros(3)])
def test_gap_sampling_permutes_while_gaps_are_unknown_or_zero(gaps):
    drawn = GapSampling().draw(np.random.default_rng(0), np.arange(3), gaps)
    assert sorted(drawn) == [0, 1, 2]


# ---- stopping -------------------------------------------------------------------------------------------


def test_training_stops_at_the_gap():
    certificate = run(problem("simplex").objective, tol=0.05, passes=1000).certificate
    assert certificate.gap <= 0.05
    assert certificate.converged
    assert certificate.status.startswith("Converged: the duality gap")
    assert certificate.passes < 1000


@pytest.mark.parametrize(
    ("stopping", "sentence"),
    [
        (Stopping(tol=-1, max_passes=3), "max_passes=3 with gap .* above tol=-1: raise"),
        (Stopping(tol=-1, max_passes=1e9, max_seconds=0.05), "max_seconds=0.05 with gap .* raise"),
        (Stopping(tol=-1, max_oracle_calls=12), "max_oracle_calls=12 with gap"),
    ],
    ids=["passes", "seconds", "oracle calls"],
)
@pytest.mark.parametrize(
    "solver", [BlockFrankWolfe(), FrankWolfe(), StochasticSubgradient()], ids=lambda s: type(s).__name__
)
def test_training_stops_when_a_budget_is_spent(stopping, sentence, solver):
    solution = run(problem("chain").objective, solver, stopping=stopping)
    assert not solution.certificate.converged
    assert re.match(f"Stopped after {sentence}", solution.certificate.status)


def test_budgets_of_oracle_calls_end_within_a_pass():
    solver = BlockFrankWolfe(examples_at_once=1)
    certificate = run(
        problem("chain").objective, solver, stopping=Stopping(tol=-1, max_oracle_calls=4)
    ).certificate
    assert certificate.oracle_calls == 4
    assert certificate.passes == pytest.approx(4 / 6)
    assert certificate.dual <= optimum("chain") <= certificate.primal


@each_solver
def test_a_callback_sees_every_row_and_can_end_training(solver):
    seen = []

    def callback(row):
        seen.append(row)
        return row.passes >= 2

    solution = run(problem("simplex").objective, solver, callback=callback)
    assert [row.passes for row in seen] == solution.history.passes.tolist()
    assert all(isinstance(row, Row) for row in seen)
    assert solution.certificate.passes == 2
    assert solution.certificate.status.startswith("Stopped by the callback")


def test_the_history_has_a_row_for_each_evaluation_and_none_twice():
    history = run(problem("simplex").objective, tol=0.05, passes=1000).history
    assert (history.iteration == np.arange(len(history))).all()
    assert (np.diff(history.passes) > 0).all()


# ---- interruptions --------------------------------------------------------------------------------------


def run_interrupted(objective, solver, **options):
    try:
        return run(objective, solver, **options)
    except KeyboardInterrupt:
        pytest.fail("The interruption left the loop, and the model is lost.")


@each_solver
def test_ctrl_c_in_a_callback_keeps_the_best_model(solver):
    def interrupt(row):
        if row.passes >= 3:
            raise KeyboardInterrupt

    known = problem("simplex")
    solution = run_interrupted(known.objective, solver, callback=interrupt)
    assert_sound_after_interruption(known, solution, optimum("simplex"))


class Interrupted(ChooseTwo):
    """Raises once, at its call number `at`."""

    def __init__(self, at):
        self.calls, self.at = 0, at

    def maximize(self, theta):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return super().maximize(theta)


@pytest.mark.parametrize("at", [15, 32, 33, 50])
@each_solver
def test_ctrl_c_inside_an_own_oracle_keeps_the_best_model(solver, at):
    """Call 15 is in the first pass or evaluation, 32 and 33 are around the middle of a pass."""
    own = STRUCTURES["own, plain Python"]
    known = build(own._replace(given=Interrupted(at)))
    solution = run_interrupted(known.objective, solver)
    assert_sound_after_interruption(known, solution, optimum("own, plain Python"))


@pytest.mark.parametrize("at", range(2, 80, 3))
def test_no_step_is_made_towards_what_was_not_answered(at, monkeypatch):
    """What the vertex held before is no answer: a step towards it would leave the polytope."""
    ask = PythonOracle.__call__

    def ask_of_a_full_vertex(oracle, shape, theta, shared, vertex):
        vertex[:] = 100.0 * np.sign(theta)
        return ask(oracle, shape, theta, shared, vertex)

    monkeypatch.setattr(PythonOracle, "__call__", ask_of_a_full_vertex)
    own = STRUCTURES["own, plain Python"]
    known = build(own._replace(given=Interrupted(at)))
    solution = run_interrupted(known.objective, BlockFrankWolfe(averaging=True))
    assert_sound_after_interruption(known, solution, optimum("own, plain Python"))


def assert_sound_after_interruption(known, solution, best):
    certificate = solution.certificate
    assert certificate.status.startswith("Interrupted with gap")
    assert not certificate.converged
    assert certificate.primal == pytest.approx(known.primal(solution.w), abs=1e-12)
    assert certificate.primal == solution.history.primal.min()
    assert certificate.dual - 1e-8 <= best <= certificate.primal + 1e-8


# ---- warm starts, seeds ---------------------------------------------------------------------------------

WARM = {
    k: SOLVERS[k].solver
    for k in (
        "bcfw",
        "bcfw, gap sampling",
        "bcfw, active sets",
        "extragradient",
        "fw",
        "cutting plane",
        "n-slack",
        "subgradient",
        "stochastic subgradient",
    )
}


@pytest.mark.parametrize("solver", WARM.values(), ids=WARM)
@pytest.mark.parametrize("name", ["simplex", "chain"])
def test_a_warm_start_goes_on_where_the_last_run_stopped(solver, name):
    objective = problem(name).objective
    cold = run(objective, solver, tol=0.005, passes=3000)
    first = run(objective, solver, tol=0.02, passes=3000)
    second = run(objective, solver, tol=0.005, passes=3000, warm=first)
    assert second.history.primal[0] == pytest.approx(first.certificate.primal, abs=0.02)
    assert second.certificate.converged
    assert second.history.gap[0] < cold.history.gap[0] / 5
    if not isinstance(solver, StochasticSubgradient):  # whose passes to a gap depend on the draw
        assert second.certificate.passes < cold.certificate.passes
    assert second.certificate.primal == pytest.approx(optimum(name), abs=0.005 + 1e-8)


@pytest.mark.parametrize("solver", WARM.values(), ids=WARM)
def test_a_converged_solution_needs_nothing_more(solver):
    objective = problem("simplex").objective
    done = run(objective, solver, tol=0.1, passes=3000)
    again = run(objective, solver, tol=0.1, passes=3000, warm=done)
    assert done.certificate.converged
    assert again.certificate.passes == 0


def test_a_dual_point_of_another_size_is_not_used():
    objective = problem("simplex").objective
    other = Solution(np.zeros(3), None, point=np.zeros(2))
    np.testing.assert_array_equal(run(objective, passes=3, warm=other).w, run(objective, passes=3).w)


@pytest.mark.parametrize("solver", [ActiveBlocks(), BlockFrankWolfe()], ids=["active", "dense"])
def test_a_dual_point_of_other_blocks_is_not_used(solver):
    """Equal sizes are not enough: the blocks of the other problem are its own."""
    family = STRUCTURES["chain"]
    one, other = (build(family._replace(shapes=family.shapes[::step])).objective for step in (1, -1))
    assert one.point_start[-1] == other.point_start[-1]
    warm = run(one, solver, passes=3)
    np.testing.assert_array_equal(run(other, solver, passes=3, warm=warm).w, run(other, solver, passes=3).w)


@pytest.mark.parametrize(
    "second", [ActiveBlocks(), BlockFrankWolfe(), FrankWolfe()], ids=["active", "dense", "fw"]
)
@pytest.mark.parametrize("first", [ActiveBlocks(), BlockFrankWolfe()], ids=["active", "dense"])
def test_solvers_go_on_from_each_others_dual_point(first, second):
    objective = problem("chain").objective
    before = run(objective, first, passes=3)
    after = run(objective, second, passes=3, warm=before)
    assert after.history.dual[0] == pytest.approx(before.certificate.dual, abs=1e-12)
    assert after.certificate.dual >= before.certificate.dual


@pytest.mark.parametrize("regularization", [0.4, 0.02])
@pytest.mark.parametrize(
    "solver", [ActiveBlocks(), BlockFrankWolfe(), FrankWolfe()], ids=["active", "dense", "fw"]
)
def test_a_dual_point_serves_another_lambda(solver, regularization):
    before = run(problem("chain").objective, ActiveBlocks(), tol=1e-6, passes=3000)
    known = build(STRUCTURES["chain"], regularization=regularization)
    start = run(known.objective, solver, passes=1, warm=before).history[0]
    z = np.split(before.z, known.objective.point_start[1:-1])
    best = max(
        known.dual([mu + s * (z_i - mu) for z_i, mu in zip(z, known.mu)]) for s in np.linspace(0, 1, 1001)
    )
    assert start.dual == pytest.approx(best, abs=1e-6)
    assert start.dual >= best - 1e-10
    assert (
        start.gap
        < (0.1 if regularization == 0.4 else 1.0) * run(known.objective, solver, passes=0).history.gap[0]
    )


@pytest.mark.parametrize("solver", [ActiveBlocks(), BlockFrankWolfe()], ids=["active", "dense"])
def test_what_is_started_at_another_lambda_is_a_dual_point_and_its_weights(solver):
    before = run(problem("chain").objective, solver, passes=20)
    known = build(STRUCTURES["chain"], regularization=0.02)
    state = solver.start(known.objective, np.random.default_rng(0), before)
    z = np.split(np.asarray(state.blocks.point), known.objective.point_start[1:-1])
    np.testing.assert_allclose(state.w, known.weights(z), atol=1e-11)
    assert sum(solver.candidates(known.objective, state)[0].dual) == pytest.approx(known.dual(z), abs=1e-12)
    for z_i, V, length in zip(z, known.vertices, known.objective.scoring.shapes[:, 0]):
        assert (z_i >= 0).all()
        assert z_i.sum() == pytest.approx(V[0].sum())
        assert z_i[: 3 * length].sum() == pytest.approx(length)


@each_solver
def test_equal_seeds_give_equal_runs(solver):
    one, two = (run(problem("chain").objective, solver, seed=5) for _ in range(2))
    np.testing.assert_array_equal(one.w, two.w)
    np.testing.assert_array_equal(one.history.gap, two.history.gap)


def test_different_seeds_visit_in_different_orders():
    one, two = (run(problem("chain").objective, seed=seed, passes=2) for seed in (1, 2))
    assert not np.array_equal(one.w, two.w)


# ---- compiled or not ------------------------------------------------------------------------------------


@each_solver
@pytest.mark.parametrize("name", ["matching", "simplex"])
def test_plain_python_gives_the_weights_of_compiled_code(solver, name):
    family = STRUCTURES[name]._replace(rowwise=False)
    compiled = build(family, intercept=False)
    plain = build(family._replace(given=PlainViterbi(family.structure)), intercept=False)
    assert compiled.objective.structure.compiled
    assert not plain.objective.structure.compiled
    np.testing.assert_allclose(
        run(plain.objective, solver, passes=5).w,
        run(compiled.objective, solver, passes=5).w,
        rtol=1e-9,
        atol=1e-12,
    )


@each_solver
def test_the_three_forms_of_an_own_structure_train_alike(solver):
    weights = [
        run(problem(f"own, {form}").objective, solver).w
        for form in ("plain Python", "compiled", "a function")
    ]
    np.testing.assert_allclose(weights[1], weights[0], atol=1e-12)
    np.testing.assert_array_equal(weights[2], weights[1])


# ---- the perceptron -------------------------------------------------------------------------------------


def perceptron_problem(X, y, n_labels):
    structure = Simplex(n_labels)
    scoring = RowScoring(X, np.ones(len(X), dtype=np.int64), n_labels)
    gold = structure.encode_many(y, scoring.shapes)
    return Objective(structure, scoring, gold, np.zeros(X.shape[0] * n_labels), regularization=0.0)


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 10)
    return 4 * np.eye(3)[y] + rng.normal(size=(30, 3)) * 0.5, y


def test_the_perceptron_separates_separable_data(blobs):
    X, y = blobs
    solution = run(perceptron_problem(X, y, 3), Perceptron(), passes=100)
    assert solution.certificate.status == "Converged: a whole pass made no mistake."
    assert solution.certificate.converged
    np.testing.assert_array_equal(np.argmax(X @ solution.w.reshape(3, 3), axis=1), y)


def test_the_perceptron_is_the_naive_averaged_perceptron(blobs):
    X, y = blobs
    y = np.roll(y, 3)  # with mistakes
    objective = perceptron_problem(X, y, 3)
    rng = np.random.default_rng(0)
    W, total, t = np.zeros((3, 3)), np.zeros((3, 3)), 0
    for _ in range(4):
        for i in rng.permutation(len(y)):
            guess = np.argmax(X[i] @ W)
            W[:, y[i]] += X[i]
            W[:, guess] -= X[i]
            total, t = total + W, t + 1
    solution = run(objective, Perceptron(), passes=4)
    np.testing.assert_allclose(solution.w, (total / t).ravel(), atol=1e-10)
    assert "with mistakes left" in solution.certificate.status


def test_the_perceptron_gives_up_when_mistakes_do_not_become_fewer():
    X, y = np.ones((4, 2)), np.array([0, 1, 0, 1])
    certificate = run(perceptron_problem(X, y, 2), Perceptron(patience=3), passes=100).certificate
    assert "3 passes brought no fewer mistakes" in certificate.status
    assert certificate.passes < 100


# ---- refusals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [Subgradient(), StochasticSubgradient()], ids=["batch", "stochastic"])
def test_pegasos_steps_need_a_regulariser(solver):
    with pytest.raises(ValueError, match="need regularization > 0"):
        run(build(STRUCTURES["simplex"], regularization=0.0).objective, solver)


@pytest.mark.parametrize(
    "solver",
    [Subgradient(ConstantStep(0.1)), StochasticSubgradient(ConstantStep(0.1))],
    ids=["batch", "stochastic"],
)
def test_without_regulariser_other_steps_still_descend(solver):
    history = run(build(STRUCTURES["simplex"], regularization=0.0).objective, solver, passes=100).history
    assert history.primal[-1] < 0.7 * history.primal[0]
    np.testing.assert_allclose(history.dual, 0, atol=1e-10)  # there is none but P >= 0, less rounding errors
