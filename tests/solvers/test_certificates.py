"""Certificates on data and oracles that would make them false: recomputed in extended precision."""

from itertools import pairwise, product

import numpy as np
import pytest
from numba.core import event

from brute import STRUCTURES, build, problem
from structlearn import ChainClassifier, MulticlassClassifier, OracleError, StructuredPredictor
from structlearn.problem.regularizers import Shannon
from structlearn.solvers import LBFGS, ActiveBlocks, BlockFrankWolfe, FrankWolfe, Stopping, clock, solve
from structlearn.solvers.clock import GETTING_READY, Stopwatch

SCALES = [1.0, 1e2, 1e4, 1e6, 1e8]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def log_loss(scores, gold):
    """log sum exp of rows less the gold entry, in extended precision."""
    scores = scores.astype(np.longdouble)
    top = scores.max()
    return np.log(np.exp(scores - top).sum()) + top - scores[gold]


def multiclass_value(X, y, coef, lam):
    losses = [log_loss(coef.astype(np.longdouble) @ x, k) for x, k in zip(X.astype(np.longdouble), y)]
    return lam / 2 * (coef.astype(np.longdouble) ** 2).sum() + np.mean(losses)


def chain_value(sequences, labels, coef, steps, lam):
    """P of a chain CRF by all label sequences."""
    coef, steps = coef.astype(np.longdouble), steps.astype(np.longdouble)
    losses = []
    for X, y in zip(sequences, labels):
        unary = X.astype(np.longdouble) @ coef.T
        outputs = list(product(range(len(coef)), repeat=len(X)))
        scores = np.array(
            [
                sum(unary[t, k] for t, k in enumerate(out)) + sum(steps[pair] for pair in pairwise(out))
                for out in outputs
            ]
        )
        losses.append(log_loss(scores, outputs.index(tuple(y))))
    return lam / 2 * ((coef**2).sum() + (steps**2).sum()) + np.mean(losses)


def is_honest(certificate, value, others):
    """P is that of the weights, D is below every value of P; the gap is their difference and not negative."""
    assert certificate.gap == certificate.primal - certificate.dual
    assert certificate.gap >= 0
    assert abs(certificate.primal - value) <= certificate.rounding
    assert certificate.dual <= min(value, *others)


@pytest.mark.parametrize("lam", [1e-6, 1e-2])
@pytest.mark.parametrize("scale", SCALES)
def test_softmax_of_large_features_is_honest(scale, lam):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3)) * scale
    y = (X @ rng.normal(size=(3, 3))).argmax(1)
    options = {"loss": "softmax", "regularization": lam, "random_state": 0, "fit_intercept": False}
    best = MulticlassClassifier(solver="lbfgs", **options).fit(X, y)
    classes = np.searchsorted(best.classes_, y)
    others = [multiclass_value(X, classes, coef, lam) for coef in (best.coef_, 0 * best.coef_)]
    for passes in (1, 3, 1000):
        model = MulticlassClassifier(solver="sdca", max_passes=passes, **options).fit(X, y)
        value = multiclass_value(X, classes, model.coef_, lam)
        is_honest(model.certificate_, value, others)
        assert model.certificate_.primal <= others[1] + model.certificate_.rounding


@pytest.mark.parametrize("lam", [1e-6, 1e-2])
@pytest.mark.parametrize("scale", SCALES)
def test_chain_fields_of_large_features_are_honest(scale, lam):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 3)) * scale
    y = (X @ rng.normal(size=(3, 3))).argmax(1)
    sequences, labels = [X[:3], X[3:]], [y[:3], y[3:]]
    options = {"loss": "softmax", "regularization": lam, "random_state": 0, "fit_intercept": False}
    for passes in (1, 5, 1000):
        model = ChainClassifier(max_passes=passes, **options).fit(sequences, labels)
        known = [np.searchsorted(model.classes_, one) for one in labels]
        coef, steps = model.coef_, model.transition_coef_
        zero = chain_value(sequences, known, 0 * coef, 0 * steps, lam)
        value = chain_value(sequences, known, coef, steps, lam)
        is_honest(model.certificate_, value, [zero])
        assert model.certificate_.primal <= zero + model.certificate_.rounding


# ---- oracles that are not maximal ----------------------------------------------------------------------


class NeverTheLast:
    """Says that it maximises over all 0/1 vectors, but never takes the last part."""

    def maximize(self, theta):
        vertex = (theta > 0).astype(float)
        vertex[-1] = 0
        return vertex


class OftenLazy:
    """Maximal for some scores, and otherwise content with any vector: only points seen before tell."""

    def maximize(self, theta):
        vertex = (theta > 0).astype(float)
        return vertex if theta[0] > 0.05 else 1 - vertex


@pytest.mark.parametrize("solver", ["bcfw", "fw", "cutting-plane", "subgradient", "stochastic-subgradient"])
@pytest.mark.parametrize("oracle", [NeverTheLast(), OftenLazy()])
def test_an_answer_that_is_not_maximal_is_named(oracle, solver):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(12)]
    y = [(x @ [1.0, -1.0, 0.5] > 0).astype(int) for x in X]
    model = StructuredPredictor(oracle, solver=solver, regularization=0.1, random_state=0)
    with pytest.raises(OracleError, match=r"example \d+ is not maximal"):
        model.fit(X, y)
    assert issubclass(OracleError, ValueError)


def test_a_gap_below_zero_names_an_example_that_a_known_point_beats():
    """Gold is never beaten here, so that only the active set can tell."""
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(3, 2)) for _ in range(6)]
    y = [np.zeros(3, dtype=int) for _ in X]
    calls = []

    class TurnsLazy:
        def maximize(self, theta):
            calls.append(theta)
            return np.zeros(3) if len(calls) > 60 else (theta > 0).astype(float)

    with pytest.raises(OracleError, match=r"example \d+ is not maximal.*seen before"):
        StructuredPredictor(TurnsLazy(), regularization=0.01, tol=1e-6, random_state=0).fit(X, y)


# ---- rounding ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [ActiveBlocks(), FrankWolfe()], ids=["bcfw", "fw"])
def test_what_float64_cannot_certify_is_said_and_scaling_is_named(solver):
    known = problem("simplex")
    found = solve(known.objective, solver, Stopping(tol=1e-15, max_passes=3000), seed=0).certificate
    assert not found.converged
    assert found.gap >= found.rounding > 1e-15
    if solver == ActiveBlocks():
        assert "scale the features" in found.status


def test_values_are_within_their_rounding_bound_however_large_the_weights():
    """P and D of random points, against the formulas in extended precision."""
    rng = np.random.default_rng(0)
    for name in ("simplex", "chain", "matching", "projective tree"):
        known = build(STRUCTURES[name], regularization=1e-3)
        exact = known._replace(
            **{
                field: [np.asarray(one, dtype=np.longdouble) for one in getattr(known, field)]
                for field in ("Phi", "vertices", "mu", "cost")
            },
            weight=known.weight.astype(np.longdouble),
        )
        for size in (1.0, 1e5, 1e10, 1e15):
            w = size * rng.normal(size=known.objective.n_weights)
            primal = known.objective.primal(w)
            assert abs(primal - exact.primal(w.astype(np.longdouble))) <= known.objective.primal_rounding(
                w, primal
            )
        z = known.random_point(rng)
        bound = known.objective.dual(*known.objective.weights_of(np.concatenate(z)))
        assert bound.value <= exact.dual(z) <= bound.value + 2 * bound.rounding


# ---- where training starts -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["simplex", "cube", "chain", "label graph"])
def test_fields_start_at_the_best_share_of_the_way_to_uniform(name):
    known = build(STRUCTURES[name], regularizer=Shannon(), regularization=0.02)
    objective = known.objective
    state = BlockFrankWolfe(exact=False).start(objective, np.random.default_rng(0), None)
    uniform = [V.mean(axis=0) for V in known.vertices]
    entropy = sum(p * np.log(len(V)) for p, _, V, _, _ in known.examples)
    w = known.weights(uniform)
    fraction = min(1.0, entropy / (objective.regularization * w @ w))
    expected = [mu + fraction * (z - mu) for mu, z in zip(known.mu, uniform)]
    np.testing.assert_allclose(state.blocks.point, np.concatenate(expected), atol=1e-12)
    np.testing.assert_allclose(
        state.blocks.point.h, [fraction * np.log(len(V)) for V in known.vertices], atol=1e-12
    )
    dual = BlockFrankWolfe().candidates(objective, state)[0].dual
    assert sum(dual) == pytest.approx(fraction * entropy - fraction**2 * objective.regularization / 2 * w @ w)
    assert dual.value > 0


@pytest.mark.parametrize(
    "solver", [BlockFrankWolfe(exact=False, smoothing=1.0), LBFGS()], ids=["sdca", "lbfgs"]
)
def test_no_weights_worse_than_zero_are_returned(solver):
    known = build(STRUCTURES["simplex"], regularizer=Shannon(), regularization=1e-7)
    zero = known.objective.primal(np.zeros(known.objective.n_weights))
    found = solve(known.objective, solver, Stopping(max_passes=1), seed=0)
    assert found.certificate.primal <= zero
    assert found.certificate.primal == pytest.approx(known.objective.primal(found.w))


# ---- clocks --------------------------------------------------------------------------------------------


@pytest.fixture
def time(monkeypatch):
    """A clock that goes only where it is told to."""
    now = [0.0]
    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])

    def go(seconds):
        now[0] += seconds

    return go


@pytest.mark.parametrize("kind", ["numba:compile", GETTING_READY])
def test_compilation_does_not_count(kind, time):
    watch = Stopwatch()
    time(1.0)
    with event.trigger_event(kind):
        time(10.0)
        with event.trigger_event("numba:compile"):  # one compilation starts another
            time(5.0)
        assert watch.seconds == pytest.approx(1.0)
    time(2.0)
    assert watch.seconds == pytest.approx(3.0)
    watch.set_back(1.0)
    assert watch.seconds == pytest.approx(1.0)


@pytest.mark.parametrize(
    "solver", [ActiveBlocks(), FrankWolfe(), BlockFrankWolfe()], ids=["bcfw", "fw", "dense"]
)
def test_the_first_evaluation_counts_as_all_others_do(solver, time, monkeypatch):
    objective = build(STRUCTURES["simplex"], seed=3).objective
    for name in ("primal", "predictions"):
        asked = getattr(objective, name)
        monkeypatch.setattr(objective, name, lambda w, asked=asked: (time(10.0), asked(w))[1])
    found = solve(objective, solver, Stopping(tol=1e-9, max_seconds=3.0), seed=0).certificate
    assert found.passes == 0
    assert found.seconds >= 10.0
    assert "max_seconds=3" in found.status
