"""Solvers of smooth losses: their certificates bracket an independent convex solver's optimum."""

import cvxpy
import numpy as np
import pytest
from cvxpy.transforms import indicator

from brute import BOUNDED, STRUCTURES, Problem, build, entropic_optimum, quadratic_optimum
from structlearn.problem.objective import Objective
from structlearn.problem.penalties import ElasticNet, GroupNorm, NonNegative, SquaredL2
from structlearn.problem.regularizers import Shannon, SquaredNorm, Tsallis, Zero
from structlearn.scoring import PartScoring
from structlearn.solvers import (
    LBFGS,
    ActiveBlocks,
    BlockFrankWolfe,
    ConstantStep,
    CuttingPlane,
    ExactBlocks,
    GapSampling,
    GradientDescent,
    ProjectedGradient,
    Proximal,
    StochasticExtragradient,
    Stopping,
    Subgradient,
    solve,
)
from structlearn.solvers.bcfw.dense_point import DensePoint
from structlearn.structures.unshared import Whole

SOLVERS = {
    "sdca": BlockFrankWolfe(),
    "sdca, gap sampling": BlockFrankWolfe(order=GapSampling()),
    "sdca, averaged": BlockFrankWolfe(averaging=True),
    "stochastic extragradient": StochasticExtragradient(),
    "lbfgs": LBFGS(),
    "gradient": GradientDescent(),
    "gradient, constant": GradientDescent(ConstantStep(0.2)),
    "proximal": Proximal(),
    "cutting plane": CuttingPlane(),
    "subgradient": Subgradient(),
}
# Few of them: each is a compilation. `test_losses.py` has every structure.
ENTROPIC = ["simplex", "chain with start and end", "label tree"]
QUADRATIC = ["simplex", "chain", "matching", "own, plain Python"]
COMPILED = [(name, Shannon()) for name in ENTROPIC] + [(name, SquaredNorm()) for name in QUADRATIC]
# Around these passes run as Python.
TEXT = [("conditioned chain", Shannon()), ("projective tree", Shannon()), ("tree, several roots", Shannon())]
TEXT += [("conditioned chain", SquaredNorm()), ("tree", SquaredNorm())]
TEXT += [("segments", Shannon()), ("segments, whole, without gaps", Shannon()), ("segments", SquaredNorm())]
CASES = COMPILED + TEXT


def optimum_of(problem, regularizer):
    if isinstance(regularizer, Shannon):
        lam = problem.regularization
        return entropic_optimum(problem, lambda w: lam / 2 * cvxpy.sum_squares(w))
    return quadratic_optimum(problem)


@pytest.fixture(scope="module", params=CASES, ids=[f"{n}-{r}" for n, r in COMPILED + TEXT])
def known(request):
    """A smooth problem and its optimum."""
    name, regularizer = request.param
    problem = build(STRUCTURES[name], regularizer=regularizer)
    return problem, optimum_of(problem, regularizer)


GRADIENT = ("lbfgs", "gradient", "gradient, constant", "proximal")


def skip_without_gradient(problem, name):
    """The squared norm leaves transitions out, where the loss has vertices; see the refusals below."""
    entropic = isinstance(problem.objective.regularizer, Shannon)
    if name in GRADIENT and not entropic and problem.objective.structure.has_linear_parts:
        pytest.skip("no gradient")


@pytest.mark.parametrize("name", SOLVERS)
def test_certificates_bracket_the_optimum(known, name):
    problem, best = known
    skip_without_gradient(problem, name)
    solver = SOLVERS[name]
    solution = solve(problem.objective, solver, Stopping(tol=1e-6, max_passes=60), seed=0)
    history = solution.history
    assert (history.dual <= best + 1e-7).all()
    assert (history.primal >= best - 1e-7).all()
    assert solution.certificate.primal == pytest.approx(problem.objective.primal(solution.w), abs=1e-12)
    assert solution.certificate.gap >= -1e-10


@pytest.mark.parametrize("solver", ["sdca", "stochastic extragradient", "cutting plane", "subgradient"])
@pytest.mark.parametrize("name", BOUNDED)
def test_projections_with_bounds_are_certified_too(name, solver):
    problem = build(BOUNDED[name], regularizer=SquaredNorm())
    best = quadratic_optimum(problem)
    history = solve(problem.objective, SOLVERS[solver], Stopping(tol=1e-4, max_passes=60), seed=0).history
    assert (history.dual <= best + 1e-7).all()
    assert (history.primal >= best - 1e-7).all()
    assert history.gap[-1] < 0.2 * history.gap[0]


@pytest.mark.parametrize("name", ["sdca", "lbfgs", "proximal", "cutting plane"])
def test_unlike_solvers_reach_one_optimum(known, name):
    problem, best = known
    skip_without_gradient(problem, name)
    solution = solve(problem.objective, SOLVERS[name], Stopping(tol=1e-5, max_passes=2000), seed=0)
    assert solution.certificate.converged, solution.certificate.status
    assert solution.certificate.primal == pytest.approx(best, abs=2e-5)


def test_the_dual_of_sdca_never_decreases(known):
    problem, _ = known
    objective, solver, rng = problem.objective, BlockFrankWolfe(examples_at_once=1), np.random.default_rng(0)
    state = solver.start(objective, rng, None)
    before = -np.inf
    for _ in range(60):
        state = solver.step(objective, state, rng)
        now = sum(solver.candidates(objective, state)[0].dual)
        assert now >= before - 1e-12
        before = now


def test_sdca_goes_on_where_it_stopped(known):
    problem, _ = known
    before = solve(problem.objective, BlockFrankWolfe(), Stopping(tol=-1, max_passes=3), seed=0)
    after = solve(problem.objective, BlockFrankWolfe(), Stopping(tol=-1, max_passes=2), seed=1, warm=before)
    assert after.history.dual[0] == pytest.approx(before.certificate.dual, abs=1e-12)
    assert after.certificate.dual >= before.certificate.dual
    assert before.history.dual[0] < after.history.dual[0]


def test_sdca_stays_at_the_optimum(known):
    """There gaps are rounding errors, and the way to an answer is no way up."""
    problem, best = known
    stopping = Stopping(tol=-1, max_passes=150)
    history = solve(problem.objective, BlockFrankWolfe(), stopping, seed=0).history
    assert (history.dual <= best + 1e-7).all()
    assert (np.diff(history.dual) >= -1e-12).all()
    assert history.gap[-1] <= 1e-4


def minus_omega(objective, z):
    """-Omega(z_i) of every example."""
    blocks = np.split(z, objective.point_start[1:-1])
    shapes = [(m, n) if objective.structure.part_ndim == 2 else (-1,) for m, n in objective.scoring.shapes]
    value = objective.regularizer.value
    return np.array([-value(objective.structure, one.reshape(shape)) for one, shape in zip(blocks, shapes)])


@pytest.mark.parametrize(
    ("name", "regularizer"),
    [
        ("simplex", Shannon()),
        ("simplex", Tsallis(1.5)),
        ("cube", Shannon()),
        ("matching", SquaredNorm()),
        ("chain", SquaredNorm()),
    ],
    ids=str,
)
def test_sdca_starts_from_the_dual_point_of_another_loss_where_omega_can_be_told(name, regularizer):
    objective = build(STRUCTURES[name], regularizer=regularizer).objective
    hinge = solve(
        build(STRUCTURES[name]).objective, BlockFrankWolfe(), Stopping(tol=-1, max_passes=3), seed=0
    )
    solver = BlockFrankWolfe(exact=False)
    point = DensePoint.of_run(objective, hinge)
    point.weights(objective)
    np.testing.assert_allclose(point.h, minus_omega(objective, hinge.z), atol=1e-12)
    state = solver.start(objective, np.random.default_rng(0), hinge)
    point = state.blocks.point
    way, start = hinge.z - objective.gold_point(), point.z - objective.gold_point()
    np.testing.assert_allclose(
        start, way * (start @ way) / (way @ way), atol=1e-12
    )  # part of the way from mu
    assert start @ way > 0
    assert (point.h <= minus_omega(objective, point.z) + 1e-12).all()
    assert sum(solver.candidates(objective, state)[0].dual) >= 0


def test_sdca_starts_afresh_where_omega_cannot_be_told():
    objective = build(STRUCTURES["chain with start and end"], regularizer=Shannon()).objective
    hinge = build(STRUCTURES["chain with start and end"]).objective
    warm = solve(hinge, ActiveBlocks(), Stopping(tol=-1, max_passes=3), seed=0)
    rng = np.random.default_rng(0)
    started, fresh = (BlockFrankWolfe().start(objective, rng, before) for before in (warm, None))
    np.testing.assert_array_equal(started.blocks.point, fresh.blocks.point)
    np.testing.assert_array_equal(started.blocks.point.h, fresh.blocks.point.h)


@pytest.mark.parametrize("regularizer", [Zero(), SquaredNorm()], ids=str)
@pytest.mark.parametrize("name", ["simplex", "cube"])
def test_exact_blocks_leave_nothing_to_gain_in_their_block(name, regularizer):
    smooth = None if isinstance(regularizer, Zero) else regularizer
    problem = build(STRUCTURES[name], regularizer=smooth, n=1)
    objective = problem.objective
    assert objective.has_exact_blocks
    exact = solve(objective, ExactBlocks(), Stopping(tol=1e-9, max_passes=3), seed=0)
    assert exact.certificate.converged  # one block: one step is enough
    best = problem.optimum() if smooth is None else quadratic_optimum(problem)
    assert exact.certificate.primal == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("name", ["simplex", "cube", "matching"])
def test_projected_gradient_reaches_the_optimum_of_the_hinge(name):
    problem = build(STRUCTURES[name])
    solution = solve(problem.objective, ProjectedGradient(), Stopping(tol=1e-5, max_passes=3000), seed=0)
    assert solution.certificate.converged
    assert solution.certificate.primal == pytest.approx(problem.optimum(), abs=2e-5)
    assert np.diff(solution.history.dual).min() >= -1e-12


@pytest.mark.parametrize("name", GRADIENT)
def test_losses_without_a_gradient_are_refused(name):
    problem = build(STRUCTURES["chain"], regularizer=SquaredNorm())
    with pytest.raises(ValueError, match="use solver='sdca'"):
        solve(problem.objective, SOLVERS[name])


def test_solvers_that_cannot_say_so():
    with pytest.raises(ValueError, match="without shared parts"):
        solve(build(STRUCTURES["chain"]).objective, ProjectedGradient())
    with pytest.raises(ValueError, match="use solver='bcfw'"):
        solve(build(STRUCTURES["chain"]).objective, ExactBlocks())


GROUPS = np.arange(16) // 4
PENALTIES = {
    "l1": (ElasticNet(0.05), lambda w: 0.05 * cvxpy.norm1(w)),
    "elastic net": (
        ElasticNet(0.05, 0.4),
        lambda w: 0.05 * (0.4 * cvxpy.norm1(w) + 0.3 * cvxpy.sum_squares(w)),
    ),
    "group": (
        GroupNorm(0.08, GROUPS),
        lambda w: 0.08 * sum(cvxpy.norm(w[g == GROUPS], 2) for g in range(4)),
    ),
    "l2": (SquaredL2(0.05), lambda w: 0.025 * cvxpy.sum_squares(w)),
    "nonnegative": (
        NonNegative(0.05),
        lambda w: 0.025 * cvxpy.sum_squares(w) + indicator([w >= 0]),
    ),
}


@pytest.mark.parametrize("name", PENALTIES)
def test_proximal_gradient_with_every_penalty(name):
    penalty, expression = PENALTIES[name]
    problem = build(STRUCTURES["simplex"], regularizer=Shannon(), penalty=penalty, n=12)
    best = entropic_optimum(problem, expression)
    solution = solve(problem.objective, Proximal(), Stopping(tol=1e-6, max_passes=4000), seed=0)
    assert solution.certificate.converged
    assert solution.certificate.dual - 1e-6 <= best <= solution.certificate.primal + 1e-6
    assert (solution.history.dual <= best + 1e-6).all()


@pytest.mark.parametrize("name", PENALTIES)
def test_penalties_are_what_their_proximal_maps_and_conjugates_say(name):
    penalty, expression = PENALTIES[name]
    rng = np.random.default_rng(0)
    v, step = rng.normal(size=16), 3.0
    w = cvxpy.Variable(16)
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(w - v) / 2 + step * expression(w))).solve(
        solver=cvxpy.CLARABEL
    )
    np.testing.assert_allclose(penalty.prox(v, step), w.value, atol=1e-5)
    u = 0.1 * rng.normal(size=16)
    inside = penalty.shrink(u) * u
    points = rng.normal(size=(200, 16)) * rng.exponential(size=(200, 1))
    reached = max(float(p @ inside) - penalty.value(p) for p in points)
    assert reached <= penalty.conjugate(inside) + 1e-12
    assert penalty.shrink(u) == 1 or penalty.shrink(1.01 * inside) < 1


def test_transitions_enter_linearly_where_all_parts_have_features_of_their_own():
    """The squared norm covers the unary parts only, in the objective as in the projection."""
    chain = STRUCTURES["chain"]
    family = chain._replace(given=Whole(chain.structure), shapes=[(2, 3), (1, 3)], rowwise=False)
    sizes = [2 * 3 + 9, 3 + 9]
    rng = np.random.default_rng(0)
    rows = [0.8 * rng.normal(size=(size, 3)) for size in sizes]
    outputs = [np.array([0, 2]), np.array([1])]
    structure, shapes = family.given, np.array(family.shapes)
    scoring = PartScoring(np.concatenate(rows), shapes, sizes=np.array(sizes))
    gold = structure.encode_many(outputs, shapes)
    objective = Objective(
        structure, scoring, gold, np.zeros(sum(sizes)), regularization=0.5, regularizer=SquaredNorm()
    )
    certificate = solve(objective, BlockFrankWolfe(), Stopping(tol=1e-7, max_passes=3000), seed=0).certificate
    assert certificate.converged
    mus = [chain.write(y, shape) for y, shape in zip(outputs, family.shapes)]
    vertices = [chain.vertices(shape) for shape in family.shapes]
    known = Problem(objective, rows, vertices, mus, [np.zeros(size) for size in sizes], np.full(2, 0.5))
    assert certificate.primal == pytest.approx(quadratic_optimum(known), abs=1e-6)
