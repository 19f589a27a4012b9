"""P, D, w(z) and the gap against their formulas, written out over all vertices."""

import numpy as np
import pytest

from brute import STRUCTURES, build, problem
from structlearn.problem.objective import Objective

each_structure = pytest.mark.parametrize("name", STRUCTURES)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def flat(z):
    return np.concatenate(z)


def random_weights(rng, objective):
    return rng.normal(size=objective.n_weights)


def dual_at(objective, z):
    return computed(objective, objective.dual(*objective.weights_of(flat(z))))


def computed(objective, bound):
    """A dual value before it was lowered by a bound of its rounding errors, and of those of an oracle."""
    assert 0.0 <= bound.rounding < 1e-10 + 100 * objective.structure.accuracy
    return bound.value + bound.rounding


@each_structure
def test_what_compiled_passes_see_is_contiguous(name):
    blocks = problem(name).objective.blocks
    assert all(array.flags.c_contiguous for array in blocks if isinstance(array, np.ndarray))


def test_gold_vertices_may_come_strided():
    known = problem("cube").objective
    strided = [np.repeat(array, 2)[::2] for array in known.gold]
    again = Objective(
        known.structure,
        known.scoring,
        type(known.gold)(*strided),
        known.cost,
        regularization=known.regularization,
    )
    assert all(array.flags.c_contiguous for array in again.gold)
    w = np.ones(known.n_weights)
    assert again.primal(w) == known.primal(w)


@each_structure
def test_primal_is_its_formula(name, rng):
    known = problem(name)
    for scale in (0.0, 1.0, 100.0):
        w = scale * random_weights(rng, known.objective)
        assert known.objective.primal(w) == pytest.approx(known.primal(w), rel=1e-12)


@each_structure
def test_dual_and_its_weights_are_their_formulas(name, rng):
    known = problem(name)
    z = known.random_point(rng)
    w, cost = known.objective.weights_of(flat(z))
    np.testing.assert_allclose(w, known.weights(z), atol=1e-12)
    assert computed(known.objective, known.objective.dual(w, cost)) == pytest.approx(known.dual(z), abs=1e-12)
    dual_map = known.regularization * w
    found = computed(known.objective, known.objective.dual_of_map(dual_map, cost))
    assert found == pytest.approx(known.dual(z), abs=1e-12)


@each_structure
def test_the_gap_at_the_weights_of_z_is_primal_minus_dual(name, rng):
    known = problem(name)
    z = known.random_point(rng)
    w, cost = known.objective.weights_of(flat(z))
    gap = known.objective.primal(w) - computed(known.objective, known.objective.dual(w, cost))
    assert gap == pytest.approx(known.gap(z), abs=1e-12)


@each_structure
def test_the_gold_point_has_dual_zero(name):
    known = problem(name)
    z = known.objective.gold_point()
    np.testing.assert_array_equal(z, flat(known.mu))
    w, cost = known.objective.weights_of(z)
    np.testing.assert_allclose(w, 0, atol=1e-14)
    assert computed(known.objective, known.objective.dual(w, cost)) == pytest.approx(0, abs=1e-14)


@each_structure
def test_no_dual_value_exceeds_any_primal_value(name, rng):
    known = problem(name)
    lowest = min(known.objective.primal(s * random_weights(rng, known.objective)) for s in (0, 0.01, 0.1, 1))
    highest = max(dual_at(known.objective, known.random_point(rng)) for _ in range(20))
    assert highest <= lowest


@each_structure
def test_answers_are_the_subgradient_and_a_dual_point(name, rng):
    """Pull and cost are those of the vertices s(w): D(s) <= P, and the slope of P is lambda w - pull."""
    objective = problem(name).objective
    w = random_weights(rng, objective)
    answers = objective.predictions(w)
    assert answers.primal == pytest.approx(objective.primal(w), rel=1e-12)
    assert objective.dual_of_map(answers.dual_map, answers.cost).value <= answers.primal
    direction = random_weights(rng, objective)
    ahead, behind = (objective.primal(w + step * direction) for step in (1e-6, -1e-6))
    slope = direction @ (objective.regularization * w - answers.dual_map)
    assert (ahead - behind) / 2e-6 == pytest.approx(slope, rel=1e-5, abs=1e-5)


WEIGHTED = ["simplex", "chain", "matching"]


def reweighted(objective, **changes):
    options = {"regularization": objective.regularization, **changes}
    return Objective(objective.structure, objective.scoring, objective.gold, objective.cost, **options)


@pytest.mark.parametrize("name", WEIGHTED)
def test_sample_weights_enter_as_shares(name, rng):
    weight = np.array([2.0, 0.0, 1.0, 0.5, 3.0, 1.0])
    known = build(STRUCTURES[name], sample_weight=weight)
    w, z = random_weights(rng, known.objective), known.random_point(rng)
    assert known.objective.primal(w) == pytest.approx(known.primal(w), rel=1e-12)
    assert dual_at(known.objective, z) == pytest.approx(known.dual(z), abs=1e-12)
    assert 1 not in known.objective.active
    thrice = reweighted(known.objective, sample_weight=3 * weight)
    assert thrice.primal(w) == pytest.approx(known.primal(w), rel=1e-12)


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weight_of_two_is_an_example_given_twice_and_of_zero_one_left_out(name, rng):
    objective = problem(name).objective
    w = random_weights(rng, objective)
    n = objective.scoring.n_examples
    alone = [reweighted(objective, active=np.array([i])).primal(w) for i in range(n)]
    counts = np.array([2, 0, 1, 1, 1, 1])
    by_hand = np.average(alone, weights=counts)
    assert reweighted(objective, sample_weight=counts).primal(w) == pytest.approx(by_hand, rel=1e-12)


def test_threads_change_nothing(monkeypatch, rng):
    objective = problem("chain").objective
    chunks = objective.scoring.chunks(4)
    assert len(chunks) > 2
    monkeypatch.setattr(objective.scoring, "chunks", lambda *_: chunks)
    single, threaded = reweighted(objective, n_jobs=1), reweighted(objective, n_jobs=2)
    w = random_weights(rng, objective)
    assert threaded.primal(w) == single.primal(w)
    one, other = single.predictions(w), threaded.predictions(w)
    np.testing.assert_array_equal(one.dual_map, other.dual_map)
    assert one[1:] == other[1:]


@pytest.mark.parametrize("change", [{"index": 10**6}, {"index": -1}, {"value": None}, {"start": None}])
def test_gold_beyond_the_parts_of_its_example_is_refused(change):
    objective = problem("chain").objective
    (field, entry), gold = *change.items(), objective.gold
    array = getattr(gold, field).copy()
    array = array[:-1] if entry is None else np.r_[array[:-1], entry]
    with pytest.raises(ValueError, match="Gold vertices and costs"):
        Objective(
            objective.structure,
            objective.scoring,
            gold._replace(**{field: array}),
            objective.cost,
            regularization=1.0,
        )


def test_costs_of_other_parts_are_refused():
    objective = problem("chain").objective
    with pytest.raises(ValueError, match="Gold vertices and costs"):
        Objective(
            objective.structure, objective.scoring, objective.gold, objective.cost[:-1], regularization=1.0
        )
