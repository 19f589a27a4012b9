"""The dual extragradient against naive forms of itself, its bound, its two geometries and its two forms."""

import tracemalloc

import cvxpy
import numpy as np
import pytest
from sklearn.datasets import load_digits

from brute import STRUCTURES, build, problem
from structlearn import ChainClassifier, MatchingClassifier, MulticlassClassifier, StructuredPredictor
from structlearn.problem.objective import Objective
from structlearn.problem.penalties import Ball, ElasticNet
from structlearn.problem.regularizers import Shannon
from structlearn.scoring import RowScoring
from structlearn.solvers import (
    BlockFrankWolfe,
    EntropicGeometry,
    EuclideanGeometry,
    Extragradient,
    PlainExtragradient,
    Stopping,
    solve,
)
from structlearn.solvers.extragradient import extragradient
from structlearn.solvers.extragradient.plain import farthest
from structlearn.solvers.extragradient.saddle import Saddle, ScoreTarget
from structlearn.structures import Simplex

ENTROPIC, EUCLIDEAN = EntropicGeometry(), EuclideanGeometry()
each_geometry = pytest.mark.parametrize("geometry", [ENTROPIC, EUCLIDEAN], ids=["entropic", "euclidean"])
each_variant = pytest.mark.parametrize("variant", [Extragradient, PlainExtragradient])
WEIGHTS = [3.0, 0.0, 1.0, 1.0, 0.5, 2.0]


def run(objective, solver, passes=60, tol=-1.0):
    return solve(objective, solver, Stopping(tol=tol, max_passes=passes), seed=0)


def steps(objective, solver, number):
    rng = np.random.default_rng(0)
    state = solver.start(objective, rng, None)
    for _ in range(number):
        state = solver.step(objective, state, rng)
        yield state


# ---- the two forms --------------------------------------------------------------------------------------


@each_variant
@each_geometry
@pytest.mark.parametrize("name", ["simplex", "chain"])
def test_the_efficient_form_has_the_iterates_of_the_full_form(name, geometry, variant):
    objective = build(STRUCTURES[name], sample_weight=WEIGHTS).objective
    forms = [steps(objective, variant(geometry, full), 20) for full in (True, False)]
    for full, efficient in zip(*forms):
        assert efficient.v.z is None
        np.testing.assert_allclose(efficient.v.a, full.v.a, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(efficient.v.dual_map, full.v.dual_map, rtol=1e-8, atol=1e-9)
        assert efficient.v.value == pytest.approx(full.v.value, rel=1e-9)


@each_variant
@each_geometry
@pytest.mark.parametrize("name", ["simplex", "chain"])
def test_the_full_form_returns_the_dual_point_of_its_average(name, geometry, variant):
    known = build(STRUCTURES[name], sample_weight=WEIGHTS)
    solution = run(known.objective, variant(geometry, True), passes=14)
    z = np.split(solution.z, known.objective.point_start[1:-1])
    assert known.dual(z) <= solution.certificate.dual + 1e-10
    assert known.dual(z) == pytest.approx(solution.certificate.dual, abs=0.1)
    go_on = solve(known.objective, BlockFrankWolfe(), Stopping(tol=1e-3), seed=0, warm=solution)
    best = max(
        known.dual([mu + s * (z_i - mu) for z_i, mu in zip(z, known.mu)]) for s in np.linspace(0, 1, 1001)
    )
    assert best - 1e-9 <= go_on.history.dual[0] <= best + 1e-4


def test_the_full_euclidean_form_starts_from_a_dual_point():
    objective = problem("chain").objective
    first = solve(objective, BlockFrankWolfe(), Stopping(tol=1e-3), seed=0)
    history = solve(objective, Extragradient(EUCLIDEAN, True), Stopping(tol=1e-3), seed=0, warm=first).history
    assert history.gap[0] <= 1e-3 + 1e-8


def test_memory_does_not_grow_with_the_examples():
    def max_value(n):
        rng = np.random.default_rng(0)
        structure, scoring = Simplex(10), RowScoring(rng.normal(size=(n, 2)), np.ones(n, dtype=int), 10)
        gold = structure.encode_many(rng.integers(10, size=n), scoring.shapes)
        cost = structure.cost_many(gold, scoring.shapes)
        objective = Objective(structure, scoring, gold, cost, regularization=0.1)
        solver = Extragradient(ENTROPIC)
        state = solver.start(objective, rng, None)
        tracemalloc.start()
        solver.step(objective, state, rng)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert max_value(180_000) < 1.1 * max_value(60_000)  # z alone: 14.4 MB against 4.8 MB


# ---- maps by enumeration --------------------------------------------------------------------------------


def marginals(theta, V):
    """By enumeration."""
    q = np.exp(V @ theta - (V @ theta).max())
    return q @ V / q.sum()


def sparsemax(theta, V):
    """Onto the simplex, by bisection on the threshold."""
    low, high = theta.min() - 1, theta.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(theta - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(theta - low, 0)


each_map = pytest.mark.parametrize(
    ("name", "geometry", "T"),
    [
        ("simplex", ENTROPIC, marginals),
        ("chain", ENTROPIC, marginals),
        ("cube", ENTROPIC, marginals),
        ("simplex", EUCLIDEAN, sparsemax),
    ],
    ids=["simplex, entropic", "chain, entropic", "cube, entropic", "simplex, euclidean"],
)


# ---- the papers' form -----------------------------------------------------------------------------------


@each_map
def test_the_plain_variant_is_its_naive_form(name, geometry, T):
    known = problem(name)
    lam, n = known.regularization, len(known.mu)
    solver = PlainExtragradient(geometry)
    first = solver.start(known.objective, np.random.default_rng(0), None)
    eta, kappa = 1 / first.lipschitz, first.saddle.kappa
    start = known.mu
    if geometry is ENTROPIC:
        start = [kappa * saddle_start(known, i) for i in range(n)]
    s_w, s_z = np.zeros(known.objective.n_weights), [0 * mu for mu in known.mu]
    total = np.zeros_like(s_w)

    def dual_map(z):
        return sum(Phi.T @ (mu - z_i) for (_, Phi, _, mu, _), z_i in zip(known.examples, z)) / n

    def rise(w):
        return [(Phi @ w + c) / n for _, Phi, _, _, c in known.examples]

    for t, state in enumerate(steps(known.objective, solver, 25), start=1):
        v_w = eta * s_w
        v_scores = [a + eta * s for a, s in zip(start, s_z)]
        v = [T(theta, V) for theta, V in zip(v_scores, known.vertices)]
        u_w = v_w - eta * (lam * v_w - dual_map(v))
        base = v_scores if geometry is ENTROPIC else v
        u = [T(b + eta * g, V) for b, g, V in zip(base, rise(v_w), known.vertices)]
        s_w = s_w - (lam * u_w - dual_map(u))
        s_z = [s + g for s, g in zip(s_z, rise(u_w))]
        total += u_w
        np.testing.assert_allclose(state.average.w, total / t, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "geometry"),
    [
        ("simplex", ENTROPIC),
        ("simplex", EUCLIDEAN),
        ("chain", ENTROPIC),
        ("chain", EUCLIDEAN),
        ("matching", EUCLIDEAN),
    ],
)
@pytest.mark.parametrize("penalty", [None, Ball(0.7)], ids=["lambda", "radius"])
def test_the_restricted_gap_stays_below_the_papers_bound(name, geometry, penalty):
    options = {"regularization": 0.0, "penalty": penalty} if penalty else {}
    objective = build(STRUCTURES[name], sample_weight=WEIGHTS, **options).objective
    history = run(objective, PlainExtragradient(geometry), passes=200).history
    assert (history.restricted_gap <= history.bound).all()
    assert history.bound[0] == np.inf
    assert history.bound[-1] < history.bound[1] / 50


@pytest.mark.parametrize("radius", [0.05, 10.0])
@pytest.mark.parametrize("name", ["simplex", "chain", "matching"])
def test_the_restricted_gap_is_that_of_the_average(name, radius):
    known = problem(name)
    solver = PlainExtragradient()
    *_, state = steps(known.objective, solver, 5)
    state = state._replace(radius=radius)
    (found,) = solver.candidates(known.objective, state)
    w = cvxpy.Variable(known.objective.n_weights)
    pulled = known.regularization / 2 * cvxpy.sum_squares(w) - state.average.dual_map @ w
    lowest = cvxpy.Problem(cvxpy.Minimize(pulled), [cvxpy.norm(w) <= radius]).solve(solver=cvxpy.CLARABEL)
    expected = known.primal(state.average.w) - lowest - state.average.cost
    assert found.extra["restricted_gap"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["simplex", "chain", "chain with start and end", "matching", "label tree"])
def test_the_constants_of_the_bound_are_bounds(name):
    known = build(STRUCTURES[name], sample_weight=WEIGHTS)
    rng = np.random.default_rng(0)
    stacked = np.concatenate([np.sqrt(p) * Phi for p, Phi, *_ in known.examples])
    norm = np.linalg.norm(stacked, 2)
    assert norm <= EUCLIDEAN.coupling(known.objective, rng) <= 1.02 * norm
    rho = [max(np.linalg.norm(Phi.T @ v) for v in V) for _, Phi, V, *_ in known.examples]
    assert np.sqrt(known.weight @ np.square(rho)) <= ENTROPIC.coupling(known.objective, rng) * (1 + 1e-12)
    saddle = Saddle(known.objective, EUCLIDEAN, full=False)
    far = [max(np.sum((v - mu) ** 2) / 2 for v in V) for _, _, V, mu, _ in known.examples]
    assert known.weight @ far <= farthest(saddle, saddle.first_point()) + 1e-12
    if name == "matching":
        return
    saddle = Saddle(known.objective, ENTROPIC, full=False, kappa=2.0)
    far = [-min(log_probabilities(2.0 * saddle_start(known, i), V)) for i, V in enumerate(known.vertices)]
    assert known.weight @ far == pytest.approx(farthest(saddle, saddle.first_point()), abs=1e-10)


def saddle_start(known, i):
    """Mu - 1/2 over local parts."""
    n_local = np.diff(known.objective.scoring.start)[i]
    return np.where(np.arange(known.mu[i].size) < n_local, known.mu[i] - 0.5, 0.0)


def log_probabilities(theta, V):
    scores = V @ theta
    return scores - np.log(np.exp(scores - scores.max()).sum()) - scores.max()


# ---- the adaptive form ----------------------------------------------------------------------------------


@each_map
def test_the_adaptive_variant_is_its_naive_form(name, geometry, T):
    known = build(STRUCTURES[name], sample_weight=WEIGHTS)
    lam = known.regularization
    start = [np.array(mu) for mu in known.mu]
    solver = Extragradient(geometry)
    first = solver.start(known.objective, np.random.default_rng(0), None)
    if geometry is ENTROPIC:
        start = [first.saddle.kappa * saddle_start(known, i) for i in range(len(start))]
    w, scores = np.zeros(known.objective.n_weights), start
    eta, omega = first.eta, first.balance
    z = [T(theta, V) for theta, V in zip(scores, known.vertices)]
    calls = 0

    def dual_map(z):
        return sum(p * Phi.T @ (mu - z_i) for (p, Phi, _, mu, _), z_i in zip(known.examples, z))

    for state in steps(known.objective, solver, 40):
        tau = eta / omega
        w_next = (w + tau * dual_map(z)) / (1 + lam * tau)
        omega_next = np.sqrt(1 + lam * tau) * omega
        ahead = w_next + state.eta / omega_next / tau * (w_next - w)
        rise = [state.eta * omega_next * (Phi @ ahead + c) for _, Phi, _, _, c in known.examples]
        scores = [theta + g for theta, g in zip(scores, rise)]
        z_next = [T(theta, V) for theta, V in zip(scores, known.vertices)]
        np.testing.assert_allclose(state.w, w_next, atol=1e-9)
        np.testing.assert_allclose(state.v.dual_map, dual_map(z_next), atol=1e-9)
        assert state.omega == pytest.approx(omega_next if state.epoch.steps else first.balance)
        assert state.oracle_calls >= calls + known.objective.n_active
        w, z, eta, omega, calls = w_next, z_next, state.eta, state.omega, state.oracle_calls
    assert state.iterations == 40


@each_geometry
@pytest.mark.parametrize("name", ["simplex", "chain"])
def test_every_step_is_one_that_the_line_search_may_take(name, geometry):
    """Malitsky and Pock's conditions; in the Euclidean geometry a step of 1/||A|| always fulfils them."""
    known = build(STRUCTURES[name], sample_weight=WEIGHTS)
    norm = np.linalg.norm(np.concatenate([np.sqrt(p) * Phi for p, Phi, *_ in known.examples]), 2)
    solver, tested, longest = Extragradient(geometry, True), 0, 0.0
    before = solver.start(known.objective, np.random.default_rng(0), None)
    for state in steps(known.objective, solver, 60):
        distance = state.saddle.divergence(state.v, before.v)
        change = np.linalg.norm(state.v.dual_map - before.v.dual_map)
        if distance > 1e-10:  # above rounding errors
            assert state.eta * change <= np.sqrt(2 * distance)
            tested, longest = tested + 1, max(longest, state.eta)
        assert state.eta <= np.sqrt(1 + before.theta) * before.eta * (1 + 1e-12)
        assert geometry is ENTROPIC or state.eta * norm > 0.98 * (1 - 2**-0.3)
        before = state
    assert tested > 10
    assert longest * norm > 1.2  # no fixed step could be longer than 1/||A||


@each_geometry
def test_a_warm_start_makes_the_steps_of_one_run(geometry):
    objective, solver, rng = problem("chain").objective, Extragradient(geometry), np.random.default_rng(0)
    *_, straight = steps(objective, solver, 60)
    state = solver.start(objective, rng, run(objective, solver, passes=20))
    assert state.oracle_calls == 0 < state.iterations
    while state.iterations < straight.iterations:
        state = solver.step(objective, state, rng)
    np.testing.assert_array_equal(state.w, straight.w)
    assert state.epoch.steps == straight.epoch.steps


@each_geometry
def test_restarts_bring_a_smaller_gap(geometry, monkeypatch):
    objective = digits(300)
    restarted = run(objective, Extragradient(geometry), passes=400).certificate
    monkeypatch.setattr(extragradient, "_restart_if_due", lambda state: state)
    averaged = run(objective, Extragradient(geometry), passes=400).certificate
    assert restarted.gap < 0.25 * averaged.gap


# ---- geometries -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["simplex", "chain"])
def test_distances_are_the_divergences_of_the_geometry(name):
    known = build(STRUCTURES[name], sample_weight=WEIGHTS)
    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=known.objective.n_weights) for _ in range(2))
    saddle = Saddle(known.objective, ENTROPIC, full=False)
    x, y = saddle.move(saddle.first_point(), [ScoreTarget(a, 0.3), ScoreTarget(b, 1.0)])
    expected = 0.0
    for i, (p, Phi, V, _, c) in enumerate(known.examples):
        start = saddle_start(known, i)
        one, two = log_probabilities(start + Phi @ a + 0.3 * c, V), log_probabilities(start + Phi @ b + c, V)
        expected += p * np.exp(one) @ (one - two)
    assert saddle.divergence(x, y) == pytest.approx(expected, abs=1e-10)
    saddle = Saddle(known.objective, EUCLIDEAN, full=True)
    x, y = saddle.move(saddle.first_point(), [ScoreTarget(a, 0.3), ScoreTarget(b, 1.0)])
    p = np.repeat(known.weight, [mu.size for mu in known.mu])
    square = p @ (x.z - y.z) ** 2 / 2
    bregman = p @ ((x.z**2 - y.z**2) / 2 - y.scores * (x.z - y.z))
    assert saddle.divergence(x, y) == pytest.approx(bregman, abs=1e-10)
    assert square <= bregman + 1e-12


@pytest.mark.parametrize("name", ["cube", "label tree"])
def test_a_start_where_most_parts_are_off_is_found(name):
    """With little regularisation D is very low at the uniform point: kappa must switch parts off, too."""
    objective = build(STRUCTURES[name], regularization=1e-4).objective
    state = Extragradient(ENTROPIC).start(objective, np.random.default_rng(0), None)
    zero = np.zeros(objective.n_weights)
    assert 0 < state.saddle.kappa < 40
    assert objective.dual_of_map(state.v.dual_map, state.v.cost).value >= -objective.primal(zero)


def digits(n):
    X, y = load_digits(return_X_y=True)
    structure, scoring = Simplex(10), RowScoring(X[:n] / 16, np.ones(n, dtype=int), 10)
    gold = structure.encode_many(y[:n], scoring.shapes)
    cost = structure.cost_many(gold, scoring.shapes)
    return Objective(structure, scoring, gold, cost, regularization=0.01)


@each_geometry
def test_digits_reach_a_hundredth_in_100_passes(geometry):
    assert run(digits(1000), Extragradient(geometry), passes=100, tol=0.01).certificate.converged


# ---- within a ball --------------------------------------------------------------------------------------


@each_geometry
@pytest.mark.parametrize("name", ["simplex", "chain"])
def test_training_within_a_ball_is_certified_for_that_problem(name, geometry):
    known = build(STRUCTURES[name], regularization=0.0, penalty=Ball(0.7))
    w, slack = cvxpy.Variable(known.objective.n_weights), cvxpy.Variable(len(known.mu))
    limits = [
        ((V - mu) @ Phi) @ w + (V - mu) @ c <= slack[i] for i, (_, Phi, V, mu, c) in enumerate(known.examples)
    ]
    best = cvxpy.Problem(cvxpy.Minimize(known.weight @ slack), [*limits, cvxpy.norm(w) <= 0.7]).solve(
        solver=cvxpy.CLARABEL
    )
    solution = run(known.objective, Extragradient(geometry), passes=2000, tol=1e-3)
    assert solution.certificate.converged
    assert (solution.history.dual <= best + 1e-6).all()
    assert (solution.history.primal >= best - 1e-6).all()
    assert np.linalg.norm(solution.w) <= 0.7 + 1e-9


# ---- through the estimators -----------------------------------------------------------------------------


@pytest.fixture
def flat():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 3)), rng.integers(3, size=30)


def classifier(**options):
    return MulticlassClassifier(solver="extragradient", random_state=0, solver_options=options)


def test_estimators_take_the_options_by_name(flat):
    scores = {}
    for geometry in ("entropic", "euclidean", "auto"):
        for memory in ("full", "efficient"):
            model = classifier(geometry=geometry, memory=memory).fit(*flat)
            assert model.certificate_.converged
            scores[geometry, memory] = model.certificate_.primal
    assert max(scores.values()) - min(scores.values()) <= 1e-3
    assert scores["auto", "full"] == scores["entropic", "full"]


def test_estimators_train_within_a_radius(flat):
    model = classifier(radius=0.05).set_params(regularization=0.0).fit(*flat)
    assert model.certificate_.converged
    assert np.linalg.norm(model.weights_) <= 0.05 + 1e-9
    free = classifier(radius=5.0).fit(*flat)
    assert free.certificate_.primal < model.certificate_.dual


def test_the_history_has_the_papers_columns_after_its_own(flat, tmp_path):
    history = classifier(variant="plain").set_params(max_passes=100, tol=0.7).fit(*flat).history_
    history.to_csv(tmp_path / "history.csv")
    lines = (tmp_path / "history.csv").read_text().splitlines()
    assert lines[0].endswith(",gap,restricted_gap,bound")
    assert float(lines[-1].split(",")[-1]) == history.bound[-1]
    assert all(len(line.split(",")) == 9 for line in lines)
    assert "bound" not in MulticlassClassifier(random_state=0).fit(*flat).history_.columns


# ---- refusals -------------------------------------------------------------------------------------------


def test_the_entropic_geometry_needs_marginals():
    X = [np.random.default_rng(0).normal(size=(2, 2, 3))]
    model = MatchingClassifier(solver="extragradient", solver_options={"geometry": "entropic"})
    with pytest.raises(
        ValueError, match="Matching has no marginals for geometry='entropic'; use 'euclidean'"
    ):
        model.fit(X, [np.eye(2, dtype=int)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"geometry": "round"}, "Unknown geometry 'round'; valid are 'auto', 'entropic', 'euclidean'"),
        ({"variant": "fast"}, "Unknown variant 'fast'"),
        ({"memory": "small"}, "Unknown memory 'small'"),
        ({"radius": 0.0}, "radius must be above 0"),
    ],
)
def test_options_that_are_not_there_are_refused(flat, options, message):
    with pytest.raises(ValueError, match=message):
        classifier(**options).fit(*flat)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularizer": Shannon()}, "is for loss='hinge'"),
        ({"penalty": ElasticNet(0.1)}, "takes the penalty 'l2' or a radius"),
    ],
)
def test_other_problems_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        run(build(STRUCTURES["simplex"], **options).objective, Extragradient())


def test_chains_train_by_name():
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(4, 3)) for _ in range(8)], [rng.integers(3, size=4) for _ in range(8)]
    model = ChainClassifier(solver="extragradient", regularization=0.1, tol=0.01, random_state=0).fit(X, y)
    assert model.certificate_.converged


class OnlyOne:
    """A structure with a single output: nothing is any distance away from it."""

    def maximize(self, theta):
        return np.ones(len(theta))


@pytest.mark.parametrize("variant", ["adaptive", "plain"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_single_output(variant):
    """Its distance from itself may be computed as less than zero."""
    rng = np.random.default_rng(0)
    X, y = list(rng.normal(size=(2, 2, 4))), [np.ones(2), np.ones(2)]
    for weight in rng.uniform(0.5, 1.5, size=(20, 2)):
        model = StructuredPredictor(OnlyOne(), loss="hinge", solver="extragradient", max_passes=3, tol=1e-6)
        model.set_params(cost="count", solver_options={"variant": variant}, random_state=0)
        assert model.fit(X, y, weight).certificate_.primal == pytest.approx(0.0, abs=1e-12)
