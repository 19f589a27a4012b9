"""A share of the random fits of `make torture`, and proofs that its checks can fail."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import cvxpy
import numpy as np
import pytest

from torture import (
    chain_problems,
    decisions,
    fits,
    latent_problems,
    part_problems,
    problems,
    segment_problems,
)
from torture.decision_structures import DRAWS
from torture.kinds import KINDS, draw_problem, draw_settings, generator
from torture.optimum import best_weights
from torture.reference import Example, Written, best_mixture

#: Solvers around plain Python compile nothing; of the others, those whose kernels other tests need as well.
PLAIN = (part_problems.LocalCopy, part_problems.WrongOracle)
COMPILED = {
    problems.Binary: ("hinge / auto", "logistic / sdca", "logistic / lbfgs"),
    problems.Multiclass: ("hinge / auto", "hinge / subgradient", "softmax / sdca", "softmax / lbfgs"),
    chain_problems.Chains: ("hinge / auto", "softmax / sdca", "softmax / lbfgs"),
    segment_problems.Segmentations: ("hinge / auto", "softmax / seg"),
    segment_problems.Graphs: ("hinge / auto", "softmax / seg"),
    latent_problems.LatentGraphs: ("hinge / auto", "softmax / seg"),
    chain_problems.CandidateChains: ("hinge / auto", "softmax / seg"),
}


def share():
    """Seeds of the kinds above: two each, and more of the compiled ones."""
    for number, kind in enumerate(KINDS):
        wanted = any(f"/ {one} / float64 / l2" in str(kind) for one in COMPILED.get(kind.problem, ()))
        wanted |= kind.penalty == "elasticnet" and kind.problem is chain_problems.Chains
        wanted |= kind.penalty == "nonnegative" and kind.problem is part_problems.LocalCopy
        for turn in range(4 if wanted else 2 if kind.problem in PLAIN else 0):
            yield pytest.param(number + turn * len(KINDS), id=f"{kind}, {turn}")
    yield pytest.param(174, id="a projection whose sums are right to 1e-12, at scores of 1e6")


@pytest.mark.parametrize("seed", list(share()))
def test_the_certificate_of_a_random_fit_is_true(seed):
    assert fits.run(seed).failure is None


@pytest.fixture
def trained():
    """A problem of two of some parts, its model and its objective."""
    kind = next(kind for kind in KINDS if kind.problem is part_problems.LocalCopy)
    problem = draw_problem(generator(1), kind)
    model = problem.model(loss="hinge", regularization=0.1, tol=1e-6, random_state=0)
    fits.train(model, problem)
    return problem, model, fits.written_out(model, problem, kind), kind


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: {"dual": c.primal + 1e-5}, "above the optimum"),
        (lambda c: {"primal": c.primal * (1 + 1e-6)}, "but P(weights_)"),
        (lambda c: {"primal": c.primal * (1 - 1e-6)}, "but P(weights_)"),
        (lambda c: {"gap": c.gap + 1e-9}, "not primal - dual"),
        (lambda c: {"dual": c.primal + 1e-3, "gap": -1e-3}, "below zero"),
        (lambda c: {"converged": False}, "converged is False"),
        (lambda c: {"dual": np.nan}, "not finite"),
        (lambda c: {"status": "nan."}, "status"),
    ],
)
def test_a_false_certificate_is_caught(trained, change, sentence):
    problem, model, _, kind = trained
    assert fits.complaints(model, problem, kind) == []
    model.certificate_ = replace(model.certificate_, **change(model.certificate_))
    assert any(sentence in one for one in fits.complaints(model, problem, kind))


def test_a_negative_weight_is_caught_where_none_may_be(trained):
    _, model, written, _ = trained
    assert model.weights_.min() < 0
    bound = written._replace(penalty="nonnegative")
    assert bound.regularizer(model.weights_) == np.inf
    assert min(best.min() for best in best_weights(bound)) >= 0
    found = min(float(bound.value(best).above) for best in best_weights(bound))
    assert written.value(model.weights_).below <= found <= bound.at_zero()


def test_other_weights_than_those_certified_are_caught(trained):
    problem, model, _, kind = trained
    model.weights_ = model.weights_ * 1.001
    assert any("but P(weights_)" in one for one in fits.complaints(model, problem, kind))


def completed_anew(seed, kind):
    """Train the first problem from a seed on whose completions change; machines differ in which it is."""
    for one in range(seed, seed + 60):
        rng = generator(one)
        problem = draw_problem(rng, kind)
        model = problem.model(**draw_settings(rng, kind))
        fits.train(model, problem)
        if len(getattr(model, "outer_history_", ())) < 2:
            continue
        last, rounds = len(model.outer_history_) - 1, list(problem.rounds)
        problem.rounds[last] = rounds[last]._replace(gold=rounds[0].gold)
        changes = any("is completed wrongly" in one for one in fits.complaints(model, problem, kind))
        problem.rounds[last] = rounds[last]
        if changes:
            return problem, model
    raise AssertionError("no completion changes")


@pytest.mark.parametrize(("seed", "loss"), [(8264, "hinge"), (1878, "softmax")])
def test_false_completions_are_caught(seed, loss):
    kind = next(one for one in KINDS if one.problem is latent_problems.LatentGraphs and one.loss == loss)
    problem, model = completed_anew(seed, kind)
    assert fits.complaints(model, problem, kind) == []
    values = model.outer_history_
    for wrong, sentence in ((values + 1e-6, "outer_history_ ends with"), (values[::-1], "rises")):
        model.outer_history_ = wrong
        assert any(sentence in one for one in fits.complaints(model, problem, kind))
    model.outer_history_ = values
    last = len(values) - 1
    problem.rounds[last] = problem.rounds[last]._replace(gold=problem.rounds[0].gold)
    found = fits.complaints(model, problem, kind)
    assert any("is completed wrongly" in one for one in found)
    assert any("but P(weights_)" in one for one in found)


# ---- decisions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed",
    [
        *range(2 * len(DRAWS) + 2),
        pytest.param(7702390, id="a program whose small scores are below the accuracy of the solver"),
        pytest.param(7702667, id="projections by approximate answers at scores of 1e16"),
    ],
)
def test_the_certificate_of_random_decisions_is_true(seed):
    _, failure, refused = decisions.run(seed)
    assert failure is None
    assert not refused


def test_false_certificates_of_bounded_answers_are_caught():
    told = SimpleNamespace(primal=1.0, dual=0.0, rounding=0.0)
    written = tables(0, "hinge")
    here = float(written.value(np.ones(3)).above)
    right = {"written": written, "w": np.ones(3), "loose": 0.5, "highest": 0.0}
    told.primal = here + 0.4
    assert decisions.of_bounds(told, **right) == []
    for change, sentence in (
        ({"primal": here + 0.6}, "loose by"),
        ({"primal": here - 1e-6}, "loose by"),
        ({"dual": here}, "above the optimum"),
    ):
        wrong = SimpleNamespace(**{**vars(told), **change})
        assert any(sentence in one for one in decisions.of_bounds(wrong, **right))


# ---- the references, against a second one ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_best_mixture_is_a_projection(seed):
    rng = np.random.default_rng(seed)
    bent = rng.integers(2, size=(12, 4)).astype(float)
    t = rng.normal(size=12) * 2 if seed % 2 else bent @ rng.normal(size=4)
    q = best_mixture(t, bent)
    slope = t - bent @ (bent.T @ q)
    assert q.min() >= 0
    assert q.sum() == pytest.approx(1)
    assert slope.max() - q @ slope <= 1e-13


def tables(seed, loss):
    """A small objective of random tables."""
    rng = np.random.default_rng(seed)
    examples = []
    for weight in (0.3, 0.7):
        table = rng.normal(size=(4, 3))
        cost = np.r_[0.0, rng.uniform(size=3)]
        examples.append(Example(weight, table - table[0], cost, np.eye(4), 0))
    return Written(examples, loss, strength=0.05)


def as_cone_program(written):
    """The optimum as cvxpy finds it, from the definitions of the losses over the simplex."""
    w, value = cvxpy.Variable(3), 0
    for one in written.examples:
        t = one.features @ w
        if written.loss == "hinge":
            loss = cvxpy.max(t + one.cost)
        elif written.loss == "softmax":
            loss = cvxpy.log_sum_exp(t)
        else:
            tau = cvxpy.Variable()
            power = {"sparsemax": 2, "entmax15": 3}[written.loss]
            inside = t - tau if power == 2 else (t - tau) / 2 + 2 / 3
            loss = tau + {2: 1 / 2, 3: 2 / 3}[power] * cvxpy.sum(cvxpy.power(cvxpy.pos(inside), power))
            loss = loss + (0.5 if power == 2 else 0.0)
        value = value + one.weight * loss
    return cvxpy.Problem(cvxpy.Minimize(value + 0.05 / 2 * cvxpy.sum_squares(w))).solve(solver=cvxpy.CLARABEL)


@pytest.mark.parametrize("loss", ["hinge", "softmax", "sparsemax", "entmax15"])
@pytest.mark.parametrize("seed", range(3))
def test_the_reference_finds_the_optimum(loss, seed):
    written = tables(seed, loss)
    best = min(float(written.value(w).above) for w in best_weights(written))
    assert best == pytest.approx(as_cone_program(written), abs=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "softmax", "sparsemax", "entmax15"])
def test_bounds_of_the_objective_are_tight(loss):
    bounds = tables(0, loss).value(np.array([3.0, -1.0, 0.5]))
    assert 0 <= bounds.above - bounds.below <= 1e-13


def test_tests_that_are_left_to_torture_exist():
    folder = Path(__file__).parent
    names = [one for one in (folder / "long_tests.txt").read_text().splitlines() if not one.startswith("#")]
    assert len(names) == len(set(names)) > 20
    for name in names:
        path, function = name.split("[")[0].split("::")
        assert f"def {function}(" in (folder / path).read_text()
