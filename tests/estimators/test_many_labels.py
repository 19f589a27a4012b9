"""Label sets with all pairs of more labels than are enumerated: the relaxed problem, and real label sets."""

import numpy as np
import pytest

from structlearn import MultiLabelClassifier
from structlearn.problem.objective import Objective
from structlearn.scoring import RowScoring
from structlearn.solvers import BlockFrankWolfe, StochasticExtragradient, Stopping, solve
from structlearn.structures.labels.enumeration import enumeration_record
from structlearn.structures.labels.label_graph import LabelGraph, LabelSearch

K = 16


def label_sets(n_examples=30):
    """Labels that go in pairs, and exclude the pair after it."""
    rng = np.random.default_rng(0)
    first = rng.random((n_examples, K // 4)) < 0.5
    Y = np.repeat(np.concatenate([first, ~first], axis=1), 2, axis=1).astype(int)
    X = np.concatenate([Y + 0.5 * rng.normal(size=Y.shape), np.ones((n_examples, 1))], axis=1)
    return X, Y


def objective(structure):
    X, Y = label_sets()
    scoring = RowScoring(X, np.ones(len(X), dtype=int), K, n_shared=structure.n_shared)
    shapes = np.tile([1, K], (len(X), 1))
    gold = structure.encode_many(Y, shapes)
    return Objective(structure, scoring, gold, structure.cost_many(gold, shapes), regularization=0.05)


class Enumerated(LabelGraph):
    """The same with all 2^16 label sets, which takes its time."""

    @property
    def record(self):
        return enumeration_record(self.n_labels, self.edges)


def test_the_relaxed_problem_is_solved_and_label_sets_come_back():
    X, Y = label_sets()
    model = MultiLabelClassifier(regularization=0.05, tol=1e-2, random_state=0).fit(X[:20], Y[:20])
    assert model.certificate_.converged
    assert not model.certificate_.exact
    found = model.predict(X[20:])
    assert (found == Y[20:]).mean() > 0.8
    theta = np.concatenate([model.decision_function(X[20:21])[0], model.pair_coef_.ravel()])
    exact = Enumerated(K).maximize(theta)
    assert theta @ model.structure_.labellings.maximize(theta) == pytest.approx(theta @ exact)


@pytest.mark.parametrize("solver", [BlockFrankWolfe(), StochasticExtragradient()])
def test_certificates_of_searched_label_sets_contain_the_optimum(solver):
    relaxed = solve(objective(LabelGraph(K)), BlockFrankWolfe(), Stopping(tol=1e-3, max_passes=200), seed=0)
    found = solve(objective(LabelSearch(K)), solver, Stopping(tol=1e-3, max_passes=40), seed=0).certificate
    assert found.exact
    assert found.gap >= 0
    # The exact optimum is at most that of the relaxed problem, whose maxima are over more.
    assert found.dual <= relaxed.certificate.primal + 1e-9
    exact = objective(Enumerated(K))
    assert found.dual <= exact.primal(relaxed.w) + 1e-9
    assert objective(LabelSearch(K)).primal(relaxed.w) >= exact.primal(relaxed.w) - 1e-9
