"""Concatenated vectors as features: what they cannot tell, and two oracles that take the same steps."""

from itertools import permutations

import numpy as np
import pytest

from structlearn.alignment.gold.concatenated import (
    ProgramMatching,
    UntiedMatching,
    WordMatcher,
    WordPairs,
    matching_by_program,
)
from structlearn.alignment.gold.nearest import nearest_problem
from structlearn.alignment.gold.vectors import WordVectors
from structlearn.apps.recipes import RECIPES
from structlearn.data import DataError
from structlearn.structures import Matching


@pytest.fixture(scope="module")
def problem():
    train, test, _ = nearest_problem(None, 12)
    return train, test


def test_all_complete_matchings_have_one_score(problem):
    train, _ = problem
    model = WordMatcher(structure=Matching(), cost="count", tol=1.0, random_state=0).fit(*train)
    square = model.decision_function(train.X)[0][:3, :3]
    scores = [square[range(3), order].sum() for order in permutations(range(3))]
    assert scores[0] != 0
    np.testing.assert_allclose(scores, scores[0])


def test_unknown_words_have_the_zero_vector():
    vectors = WordVectors(["le"], np.ones((1, 3), dtype=np.float32))
    pairs = WordPairs.of([(["?!?"], ["le"])], (vectors, vectors))
    np.testing.assert_array_equal(pairs.rows.vectors[pairs.rows.index], np.zeros((1, 3)))
    np.testing.assert_array_equal(pairs.columns.vectors[pairs.columns.index], np.ones((1, 3)))


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (6, 1)])
def test_the_program_finds_the_best_matching(shape):
    theta = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_array_equal(matching_by_program(theta), Matching().maximize(theta))
    assert not matching_by_program(-np.abs(theta)).any()


def test_costs_differ_a_little():
    mu = np.eye(3)
    plain, untied = (one.cost(mu, normalized=False) for one in (Matching(), UntiedMatching()))
    np.testing.assert_allclose(untied, plain, rtol=1e-3)
    assert np.unique(np.abs(untied)).size == 9


def test_both_oracles_take_the_same_steps(problem):
    train, _ = problem
    recipe = RECIPES["alignment"]
    parameters = {**recipe.parameters, "tol": 0.05, "max_seconds": None, "random_state": 0}
    found = [
        recipe.estimator(**parameters).set_params(**recipe.variants[name]).fit(*train)
        for name in ("bcfw", "bcfw-lp")
    ]
    assert isinstance(found[1].structure_, ProgramMatching)
    assert len(found[0].history_) > 4
    curves = [[(row.primal, row.dual) for row in one.history_] for one in found]
    np.testing.assert_allclose(*curves, rtol=1e-9)
    np.testing.assert_allclose(found[0].weights_, found[1].weights_, atol=1e-9)


def test_there_are_only_so_many_pairs():
    with pytest.raises(DataError, match="212 pairs"):
        nearest_problem(None, 10_000)
