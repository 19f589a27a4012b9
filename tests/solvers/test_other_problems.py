"""Runs that start from a run on another problem: the certificate is that of the new one, whatever changed."""

import pickle

import numpy as np
import pytest

from brute import SOLVERS, STRUCTURES, build, problem
from structlearn import ChainClassifier, GraphClassifier, MatchingClassifier, StructuredPredictor, TreeParser
from structlearn.solvers import NSlack, Solution, Stopping, solve
from structlearn.solvers.bcfw.active_steps import PAIRWISE, Bench, VisitRules, step_within
from structlearn.solvers.bcfw.atoms import Atoms
from structlearn.solvers.solver import Candidate, Progress, SolverBase
from structlearn.structures import Chain

pytestmark = pytest.mark.filterwarnings("ignore:Stopped after max_passes")
CERTIFYING = {name: one.solver for name, one in SOLVERS.items() if one.solver.certifies}
HINGE = {"loss": "hinge", "random_state": 0, "tol": 1e-3, "regularization": 0.1}


class Top:
    """The k parts of the highest scores."""

    def __init__(self, k):
        self.k = k

    def maximize(self, theta):
        vertex = np.zeros(theta.size)
        vertex[np.argsort(-theta, kind="stable")[: self.k]] = 1.0
        return vertex


def assert_holds(warm, cold):
    """Bounds of one and the same optimum overlap, whichever way led to them."""
    allowed = 1e-9
    assert warm.dual <= cold.primal + allowed
    assert cold.dual <= warm.primal + allowed


def chain_data():
    X = [np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])]
    return X, [[0, 1], [1, 1]]


@pytest.mark.parametrize("solver", ["auto", "bcfw", "fw", "extragradient", "n-slack", "cutting-plane"])
def test_constraints_that_are_new(solver):
    X, y = chain_data()
    model = ChainClassifier(warm_start=True, solver=solver, **HINGE).fit(X, y)
    warm = model.set_params(constraints=[(0, 0), (1, 0)]).fit(X, y).certificate_
    assert_holds(warm, ChainClassifier(constraints=[(0, 0), (1, 0)], **HINGE).fit(X, y).certificate_)
    assert warm.converged or solver == "fw"  # which is slow


@pytest.mark.parametrize("changed", [{"single_root": False}, {"projective": False}])
def test_trees_of_another_kind(changed):
    rng = np.random.default_rng(0)
    X = [[(f"w{k}", "T", "T") for k in rng.integers(6, size=4)] for _ in range(6)]
    heads = [[0, 1, 2, 3], [2, 0, 2, 3], [0, 1, 1, 1], [4, 4, 4, 0], [2, 3, 4, 0], [0, 1, 2, 2]]
    y = [(one, ["x"] * 4) for one in heads]
    parameters = {**HINGE, "regularization": 0.01}
    model = TreeParser(warm_start=True, **{name: not one for name, one in changed.items()}, **parameters)
    model.fit(X, y)
    warm = model.set_params(**changed).fit(X, y).certificate_
    assert_holds(warm, TreeParser(**changed, **parameters).fit(X, y).certificate_)


@pytest.mark.parametrize("solver", ["auto", "fw", "n-slack", "projected-gradient"])
def test_capacities_that_are_smaller(solver):
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(3, 3, 2)) for _ in range(5)]
    y = [np.eye(3, dtype=int) for _ in X]
    model = MatchingClassifier(warm_start=True, solver=solver, capacities=(3, 3), **HINGE).fit(X, y)
    warm = model.set_params(capacities=(1, 1)).fit(X, y).certificate_
    assert_holds(warm, MatchingClassifier(capacities=(1, 1), **HINGE).fit(X, y).certificate_)


def test_another_structure_of_ones_own():
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(5, 2)) for _ in range(6)]
    y = [np.eye(5)[rng.integers(5)] for _ in X]
    model = StructuredPredictor(Top(3), warm_start=True, **HINGE)
    model.fit(X, [np.r_[np.ones(3), 0, 0]] * 6)
    warm = model.set_params(structure=Top(1)).fit(X, y).certificate_
    assert_holds(warm, StructuredPredictor(Top(1), **HINGE).fit(X, y).certificate_)


@pytest.mark.parametrize("changed", [{"cost": "count"}, {"cost": [0.001, 0.002]}, {"regularization": 0.3}])
@pytest.mark.parametrize("solver", ["n-slack", "cutting-plane", "fw", "subgradient", "extragradient", "bcfw"])
def test_costs_and_lambdas_that_are_new(solver, changed):
    """The state of a solver, such as its planes, is of the problem that it was found on."""
    X, y = chain_data()
    parameters = {**HINGE, "solver": solver, "max_passes": 5000}
    model = ChainClassifier(warm_start=True, **parameters).fit(X, y)
    warm = model.set_params(**changed).fit(X, y).certificate_
    assert_holds(warm, ChainClassifier(**{**parameters, **changed}).fit(X, y).certificate_)


@pytest.mark.parametrize("solver", CERTIFYING.values(), ids=CERTIFYING)
def test_rows_that_were_changed_in_place(solver):
    one = build(STRUCTURES["simplex"])
    warm = solve(one.objective, solver, Stopping(1e-2, 500), seed=0)
    other = build(STRUCTURES["simplex"], seed=5)
    found = solve(other.objective, solver, Stopping(1e-2, 500), seed=0, warm=warm).certificate
    assert (
        found.dual <= solve(other.objective, NSlack(), Stopping(1e-6, 500), seed=0).certificate.primal + 1e-9
    )


def test_what_a_run_takes_over():
    objective = problem("chain").objective
    done = solve(objective, NSlack(), Stopping(1e-2), seed=0)
    assert done.start_for(objective).state is done.state
    assert done.start_for(objective).point is done.point
    looser = build(STRUCTURES["chain"], regularization=0.3).objective
    assert done.start_for(looser).state is None
    assert done.start_for(looser).point is done.point
    assert Solution(np.full(objective.n_weights, np.nan), None).start_for(objective) is None
    assert Solution(np.zeros(objective.n_weights + 1), None).start_for(objective) is None


def test_structures_have_the_same_polytopes_where_nothing_but_the_problem_differs():
    family = STRUCTURES["chain"]
    known = build(family).objective.polytopes
    assert build(family, regularization=0.7, seed=3, weights=[1.0, 2.0, 3.0]).objective.polytopes == known
    K = family.structure.n_labels
    for other in (Chain(K, forbidden=[(0, 1)]), Chain(K, forbidden=[(1, 0)])):
        assert build(family._replace(given=other)).objective.polytopes != known


@pytest.mark.parametrize("solver", ["auto", "bcfw", "extragradient", "n-slack", "fw", "cutting-plane"])
def test_a_model_that_goes_on_can_be_copied(solver):
    """Without the state of its solver, which may hold the data."""
    X, y = chain_data()
    model = ChainClassifier(warm_start=True, solver=solver, n_jobs=2, **HINGE).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert copied._solution.state is None
    again = copied.set_params(regularization=0.2).fit(X, y).certificate_
    assert_holds(again, ChainClassifier(**{**HINGE, "regularization": 0.2}).fit(X, y).certificate_)


# ---- numbers that are not finite -----------------------------------------------------------------------


def test_a_step_of_which_nothing_is_left_but_rounding():
    """Two atoms of equal features, the better one by rounding the worse: no 0 / 0."""
    atoms = Atoms(*(np.zeros((2, 2)) if name == "gram" else np.zeros(2) for name in Atoms._fields))
    bench = Bench(np.array([1.0, 1.0 - 1e-16]), np.array([1.0, 0.0]), np.zeros(2), np.zeros(2))
    step_within(VisitRules(PAIRWISE, 1, 0.1, 3), atoms, 2, 1.0, 1, 1.0, bench)
    np.testing.assert_array_equal(bench.alpha, [1.0, 0.0])


class Diverging(SolverBase):
    """Candidates of which every second one is not finite."""

    def start(self, objective, rng, warm):
        return Progress(0)

    def step(self, objective, state, rng):
        return Progress(state.oracle_calls + objective.n_active)

    def candidates(self, objective, state):
        w = np.full(objective.n_weights, 0.01)
        passes = state.oracle_calls // objective.n_active
        return [Candidate(w if passes % 2 else np.nan * w, None if passes % 2 else np.nan)]


def test_what_is_not_finite_never_becomes_the_best():
    solution = solve(problem("chain").objective, Diverging(), Stopping(-1.0, 8), seed=0)
    assert np.isfinite(solution.w).all()
    assert np.isfinite(solution.certificate.primal)
    assert solution.certificate.primal <= solution.history.primal[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_point_that_is_drawn_back_keeps_a_valid_bound(seed):
    """On graphs the squared norm leaves the pairs out: of the gold output's Omega, too."""
    rng = np.random.default_rng(seed)
    edges = [np.array([[0, 1]]), np.array([[2, 3], [3, 1]])]
    X = [
        (50 * rng.normal(size=(int(one.max()) + 1, 1)), one, rng.normal(size=(len(one), 2))) for one in edges
    ]
    y = [rng.permutation([0, 1]), np.array([1, 0, 1, 1])]
    options = {"loss": "sparsemax", "solver": "seg", "regularization": 2e-4, "random_state": 0, "n_jobs": 2}
    model = GraphClassifier(**options, pairs="antisymmetric", tol=1e-6, max_passes=20, warm_start=True)
    lowest = GraphClassifier(**options, pairs="antisymmetric", tol=1e-6, max_passes=3000).fit(X, y)
    for _ in range(8):
        assert model.fit(X, y).certificate_.dual <= lowest.certificate_.primal
