"""Programs in matrices: against enumeration and SciPy; bounds, early stops, what cannot be solved."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog, milp

from brute import STRUCTURES, build
from structlearn import DecisionPredictor, load
from structlearn.solvers import ActiveBlocks, Stopping, solve
from structlearn.structures import Program, ShortestPath
from structlearn.structures.decisions import highs
from structlearn.structures.decisions.program_oracle import ProgramOracle, SolutionPool

GRID = ShortestPath.grid(3, 3)


def flow_of(paths):
    """Paths as a linear program: what enters a node leaves it."""
    n_nodes, parts = int(paths.edges.max()) + 1, np.arange(len(paths.edges))
    A = np.zeros((n_nodes, parts.size))
    A[paths.edges[:, 0], parts] += 1
    A[paths.edges[:, 1], parts] -= 1
    b = np.zeros(n_nodes)
    b[paths.source], b[paths.target] = 1, -1
    return A, b


def random_program(seed, **options):
    """Rows, an equality and bounds around a random point, which so is feasible."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 9)), int(rng.integers(1, 6))
    lower = rng.integers(-3, 1, size=n)
    upper = lower + rng.integers(1, 5, size=n)
    inside = rng.integers(lower, upper + 1)
    A, equal = rng.integers(-3, 4, size=(m, n)), rng.integers(-2, 3, size=(1, n))
    b = A @ inside + rng.integers(0, 3, size=m)
    bounds = np.stack([lower, upper], axis=1)
    given = {"A_ub": A, "b_ub": b, "A_eq": equal, "b_eq": equal @ inside, "bounds": bounds}
    return Program(A, b, equal, equal @ inside, bounds.tolist(), **options), given, rng


@pytest.mark.parametrize("seed", range(20))
def test_linear_programs_are_solved_as_by_scipy(seed):
    program, given, rng = random_program(seed)
    for scale in (1e-6, 1.0, 1e6):
        theta = scale * rng.normal(size=program.n_parts)
        z = program.maximize(theta)
        assert program.instances[0].violation(z) <= 1e-9
        assert theta @ z == pytest.approx(
            -scale * linprog(-theta / scale, **given).fun, rel=1e-8, abs=1e-8 * scale
        )


@pytest.mark.parametrize("seed", range(8))
def test_whole_numbers_are_found_as_by_scipy(seed):
    program, given, rng = random_program(seed, integrality=True)
    for _ in range(4):
        theta = rng.normal(size=program.n_parts)
        z = program.maximize(theta)
        assert (z == np.rint(z)).all()
        assert program.instances[0].violation(z) <= 1e-9
        fresh = linprog(-theta, integrality=1, **given)
        assert theta @ z == pytest.approx(-fresh.fun, abs=1e-6)


@pytest.mark.parametrize("kind", ["KeptModel", "ScipySolver"])
@pytest.mark.parametrize("seed", range(6))
def test_both_solvers_bound_the_maximum_by_their_multipliers(kind, seed):
    program, given, rng = random_program(seed)
    polyhedron = program.instances[0]
    solver = getattr(highs, kind)(polyhedron)
    theta = rng.normal(size=program.n_parts)
    found = solver.relaxed(theta, polyhedron.lower, polyhedron.upper)
    assert found.bound == pytest.approx(-linprog(-theta, **given).fun, abs=1e-7)
    wrong = rng.normal(size=polyhedron.row_lower.size)  # any multipliers bound it
    assert polyhedron.bound(theta, wrong) >= -linprog(-theta, **given).fun - 1e-9


def test_without_highspy_scipy_answers(monkeypatch):
    monkeypatch.setattr(highs, "load_highspy", lambda: None)
    A, b = flow_of(GRID)
    program = Program(A_eq=sparse.coo_array(A), b_eq=b)
    thetas = np.random.default_rng(0).normal(size=(5, GRID.n_parts))
    np.testing.assert_array_equal(program.maximize(thetas), GRID.maximize(thetas))
    assert program.python.calls >= 5


def test_paths_by_a_program_train_to_the_optimum_of_the_compiled_structure():
    rng = np.random.default_rng(0)
    X, costs = rng.normal(size=(40, 3)), rng.uniform(1, 2, size=(40, GRID.n_parts))
    A, b = flow_of(GRID)
    options = {"regularization": 0.1, "tol": 1e-7, "random_state": 0, "max_passes": 5000}
    compiled = DecisionPredictor(GRID, **options).fit(X, costs).certificate_
    by_program = DecisionPredictor(Program(A_eq=A, b_eq=b), **options).fit(X, costs).certificate_
    assert by_program.primal == pytest.approx(compiled.primal, rel=1e-6)
    assert by_program.dual <= compiled.primal
    assert compiled.dual <= by_program.primal


def test_programs_that_stop_early_bracket_the_optimum():
    """P from bounds and D from solutions: the optimum of the exact program is between them."""
    weights = np.random.default_rng(1).integers(5, 60, size=(2, 12))
    capacity = weights.sum(axis=1) // 3
    rng = np.random.default_rng(0)
    X, values = rng.normal(size=(15, 2)), rng.uniform(1, 3, size=(15, 12))
    options = {"sense": "max", "regularization": 0.1, "random_state": 0, "max_passes": 30}
    exact, early = (Program(weights, capacity, integrality=True, mip_gap=gap) for gap in (0.0, 0.05))
    true = DecisionPredictor(exact, tol=1e-4, **options).fit(X, values).certificate_
    with pytest.warns(UserWarning, match="gap"):
        rough = DecisionPredictor(early, tol=1e-6, **options).fit(X, values).certificate_
    assert early.bounded
    assert not exact.bounded
    assert rough.dual <= true.primal
    assert true.dual <= rough.primal
    assert rough.primal - rough.dual > 1e-3  # it did stop early


def test_a_bound_is_above_every_solution():
    family = STRUCTURES["program"]
    program = Program([[2, 3, 1, 4]], [6], [[1, 0, 1, 1]], [2], integrality=True, mip_gap=0.5)
    oracle = ProgramOracle(program.instances, 0.5, None, bounded=True)
    rng = np.random.default_rng(0)
    for _ in range(20):
        theta = rng.normal(size=4)
        point, value, bound = oracle.answer(0, theta)
        best = (family.vertices((4, 0)) @ theta).max()
        assert value == pytest.approx(theta @ point)
        assert value <= best + 1e-9
        assert bound >= best - 1e-9


def test_programs_of_examples_may_differ():
    rng = np.random.default_rng(0)
    programs = [Program([[1, 2, 3]], [limit], integrality=True) for limit in (2, 3, 4, 5)] * 3
    X, values = rng.normal(size=(12, 2)), rng.uniform(0.5, 1, size=(12, 3))
    model = DecisionPredictor(programs[0], sense="max", random_state=0).fit(X, values, instances=programs)
    decided = model.predict(X, instances=programs)
    limits = [one.instances[0].row_upper[0] for one in programs]
    assert (decided @ [1, 2, 3] <= limits).all()


def test_solutions_need_not_be_zeros_and_ones():
    program = Program([[1, 1]], [5], bounds=[(0, None), (-1, 2)])
    np.testing.assert_allclose(program.maximize([1.0, 2.0]), [3, 2])
    np.testing.assert_allclose(program.maximize([1.0, -2.0]), [6, -1])
    assert program.largest_entry == pytest.approx(6, rel=1e-5)
    np.testing.assert_array_equal(program.encode([2.5, 2.0]), [2.5, 2.0])
    with pytest.raises(ValueError, match="breaks a constraint or a bound by 1"):
        program.encode([4.0, 2.0])
    with pytest.raises(ValueError, match=r"0 or 1; use DecisionPredictor with loss='spo\+'"):
        program.cost(np.array([3.0, 2.0]))


def test_larger_entries_raise_the_bound_of_rounding_errors():
    small, large = (
        build(STRUCTURES["program"]._replace(given=Program([[1, 1]], [most], bounds=(0, most)),
              shapes=[(2, 0)], outputs=lambda shape: [np.zeros(2)])).objective.magnitude
        for most in (1, 1000)
    )  # fmt: skip
    assert large.mass == pytest.approx(1000 * small.mass)


def test_parts_may_be_forbidden():
    A, b = flow_of(GRID)
    program = Program(A_eq=A, b_eq=b)
    paths, parts = GRID.without([0]), program.without([0])
    theta = np.random.default_rng(0).normal(size=GRID.n_parts)
    np.testing.assert_array_equal(parts.maximize(theta), paths.maximize(theta))
    with pytest.raises(ValueError, match="is infeasible"):
        program.without(range(GRID.n_parts))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([[1, 1]], [-1]), r"is infeasible \(HiGHS says: .*nfeasible\).*relax some"),
        (([[0.4]], [0.3], [[1]], [0.5], (0, 1), True), r"is infeasible \(HiGHS says"),
        (([[1, -1]], [1], None, None, (0, None)), r"does not bound part 0 above \(HiGHS says: Unbounded"),
        (([[1, -1]], None), "A and b must be given together"),
        (([[1, -1]], [1, 2]), "one number per row"),
        (([[1, np.inf]], [1]), "must be finite"),
        (([[1, 1]], [1], [[1]], [1]), "one column per part"),
        (([[1, 1]], [1], None, None, [(0, 1)] * 3), r"one per part \(2\)"),
        (([[1, 1]], [1], None, None, [(0, 1), (2, 1)]), "bounds of part 1 leave nothing"),
        (([[1, 1]], [1], None, None, (0, 1), [2, 0]), "0 or 1 for each of the 2 parts"),
    ],
)
def test_programs_that_make_no_sense_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Program(*arguments)


def test_limits_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="mip_gap must be at least 0"):
        Program([[1]], [1], mip_gap=-0.1)
    with pytest.raises(ValueError, match="time_limit must be a positive number"):
        Program([[1]], [1], time_limit=0)


def test_programs_are_stored_and_copied(tmp_path):
    program, _, rng = random_program(3)
    theta = rng.normal(size=program.n_parts)
    copied = pickle.loads(pickle.dumps(program))  # noqa: S301
    again = Program.from_arguments(program.arguments())
    for other in (copied, again):
        np.testing.assert_allclose(other.maximize(theta), program.maximize(theta), atol=1e-12)
        assert len(other.content) == len(program.content)
    X, costs = rng.normal(size=(10, 2)), rng.normal(size=(10, program.n_parts))
    model = DecisionPredictor(program, random_state=0).fit(X, costs)
    model.save(tmp_path / "model.slearn")
    loaded = load(tmp_path / "model.slearn")
    np.testing.assert_allclose(loaded.predict(X), model.predict(X))


def test_the_pool_keeps_the_last_solutions():
    pool = SolutionPool(2)
    for k in range(600):
        pool.add(np.array([k, -k], dtype=float))
    pool.add(np.array([599.0, -599.0]))
    assert pool.count == 256
    far = np.full(2, 1e9)
    np.testing.assert_array_equal(pool.best(np.array([1.0, 0.0]), -far, far), [599, -599])
    np.testing.assert_array_equal(pool.best(np.array([-1.0, 0.0]), -far, far), [344, -344])


def test_certificates_of_programs_hold():
    known = build(STRUCTURES["program"])
    found = solve(known.objective, ActiveBlocks(), Stopping(tol=1e-6), seed=0).certificate
    assert found.dual - 1e-7 <= known.optimum() <= found.primal + 1e-7
    assert milp(np.ones(1)).success  # SciPy's own is there
