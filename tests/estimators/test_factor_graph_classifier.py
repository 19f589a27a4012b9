"""Factor graphs with learned weights: by enumeration, against GraphClassifier; files; what is refused."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

import structlearn
from structlearn import FactorGraphClassifier, GraphClassifier
from structlearn.constraints import AtMost, Budget, Implies

TINY = {"regularization": 0.05, "tol": 1e-3, "random_state": 0}


def random_examples(rng, n=8):
    """Graphs of three to five variables, the first of three states, under factors of one to three."""
    X, y = [], []
    for i in range(n):
        size = int(rng.integers(3, 6))
        states = rng.integers([3] + [2] * (size - 1))
        if i % 2 and states[1:].sum() > 1:
            states[1:] = 0
        factors = [("dial", (0,), np.eye(3)[states[0]] + 0.5 * rng.normal(size=3))]
        factors += [("switch", (v,), states[v] + rng.normal(size=1)) for v in range(1, size)]
        factors += [("both", (0, v)) for v in range(1, size)]
        factors += [("three", (size - 1, 0, 1), rng.normal(size=2))]
        factors += [AtMost(1, *range(1, size))] if i % 2 else []
        X.append(([3] + [2] * (size - 1), factors))
        y.append(states)
    return X, y


def labellings(example):
    """All that keep the constraints."""
    n_states, factors = example
    limits = [one for one in factors if isinstance(one, AtMost)]
    every = map(np.array, itertools.product(*map(range, n_states)))
    return [y for y in every if all(sum(y[v] for v in one.members) <= one.k for one in limits)]


def score_of(model, example, y):
    """From the definition, by the tables of weights."""
    value = 0.0
    for factor in example[1]:
        if not isinstance(factor, AtMost):
            given = [float(x) for x in (factor[2] if len(factor) == 3 else [])]
            tables = model.factor_coef_[factor[0]]
            features = given + [1.0] * (len(tables) - len(given))
            value += sum(f * table[tuple(y[list(factor[1])])] for f, table in zip(features, tables))
    return value


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_losses_and_answers_by_enumeration(fit_intercept):
    X, y = random_examples(np.random.default_rng(0))
    model = FactorGraphClassifier(fit_intercept=fit_intercept, **TINY).fit(X, y)
    losses = []
    for example, gold, found in zip(X, y, model.predict_with_bounds(X)):
        every = labellings(example)
        scores = [score_of(model, example, one) for one in every]
        assert found.value == pytest.approx(max(scores))
        assert found.bound == pytest.approx(max(scores))
        np.testing.assert_array_equal(found.states, every[int(np.argmax(scores))])
        augmented = max(s + np.mean(one != gold) for s, one in zip(scores, every))
        losses.append(augmented - score_of(model, example, gold))
    primal = 0.025 * model.weights_ @ model.weights_ + np.mean(losses)
    certificate = model.certificate_
    assert certificate.converged
    assert certificate.exact
    assert certificate.primal == pytest.approx(primal, abs=1e-9)
    assert certificate.dual <= primal + 1e-12
    assert model.score(X, y) > 0.8


def test_pairwise_graphs_are_learned_as_by_the_graph_classifier():
    rng = np.random.default_rng(1)
    ring = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    y = [rng.integers(3, size=4) for _ in range(15)]
    nodes = [np.eye(3)[one] + rng.normal(size=(4, 3)) for one in y]
    edges = [rng.normal(size=(5, 2)) for _ in y]
    graphs = [(a, ring, b) for a, b in zip(nodes, edges)]
    factors = [
        (
            [3] * 4,
            [("node", (v,), row) for v, row in enumerate(a)] + [("edge", e, f) for e, f in zip(ring, b)],
        )
        for a, b in zip(nodes, edges)
    ]
    pairwise = GraphClassifier(fit_intercept=False, **{**TINY, "tol": 1e-4}).fit(graphs, y)
    model = FactorGraphClassifier(fit_intercept=False, **{**TINY, "tol": 1e-4}).fit(factors, y)
    assert model.certificate_.primal == pytest.approx(pairwise.certificate_.primal, abs=2e-4)
    np.testing.assert_allclose(model.factor_coef_["node"], pairwise.coef_.T, atol=0.05)
    np.testing.assert_allclose(model.factor_coef_["edge"], pairwise.edge_coef_, atol=0.05)
    for mine, theirs in zip(model.predict(factors), pairwise.predict(graphs)):
        np.testing.assert_array_equal(mine, theirs)


def test_bounds_that_stay_open_are_certified():
    """Without branch and bound P has bounds: it is never below the true value, nor D above it."""
    rng = np.random.default_rng(2)
    pairs = list(itertools.combinations(range(5), 2))
    y = [rng.integers(2, size=5) for _ in range(4)]
    signs = [[float(one[a] == one[b]) + rng.normal() for a, b in pairs] for one in y]
    X = [([2] * 5, [("pair", p, [x]) for p, x in zip(pairs, own)]) for own in signs]
    options = {"regularization": 0.1, "tol": 1e-2, "random_state": 0}
    hasty = FactorGraphClassifier(most_branches=0, **options).fit(X, y)
    exact = FactorGraphClassifier(**options).fit(X, y)
    assert exact.certificate_.converged
    assert hasty.certificate_.primal >= exact.certificate_.dual
    assert hasty.certificate_.dual <= exact.certificate_.primal
    assert all(one.bound >= one.value for one in hasty.predict_with_bounds(X))


def test_exact_inference_leaves_no_gap_open():
    """Scoring weights run ahead of w(z) for long where examples disagree: that is no looseness."""
    (example, *_), (y, *_) = random_examples(np.random.default_rng(3))
    options = {"loss": "sparsemax", "regularization": 0.05, "max_passes": 20, "random_state": 0}
    with pytest.warns(UserWarning, match="max_passes"):
        model = FactorGraphClassifier(**options).fit([example] * 3, [y, y * 0, y * 0 + 1])
    assert model.certificate_.gap > 1e-3
    assert model.certificate_.inference_gap < 0.05 * model.certificate_.gap


def test_sparsemax_has_probabilities():
    X, y = random_examples(np.random.default_rng(3))
    model = FactorGraphClassifier(loss="sparsemax", regularization=1.0, tol=1e-3, random_state=0).fit(X, y)
    assert model.certificate_.converged
    for (n_states, _), found in zip(X, model.predict_marginals(X)):
        assert [one.size for one in found] == n_states
        np.testing.assert_allclose([one.sum() for one in found], 1.0)


def test_files_and_parameters(tmp_path):
    X, y = random_examples(np.random.default_rng(4))
    model = FactorGraphClassifier(regularization=0.05, tol=0.01, random_state=0).fit(X, y)
    model.save(tmp_path / "factors.safetensors")
    again = structlearn.load(tmp_path / "factors.safetensors")
    for one, other in zip(model.predict(X), again.predict(X)):
        np.testing.assert_array_equal(one, other)
    assert again.factor_types_.tolist() == ["both", "dial", "switch", "three"]
    assert clone(model).most_branches == model.most_branches
    assert again.predict([]) == []
    weights = model.factor_coef_
    model.set_params(fit_intercept=False)  # of a later fit
    np.testing.assert_array_equal(model.factor_coef_["dial"], weights["dial"])


REFUSED = [
    ([[2, 2]], r"Example 0: A factor graph is a tuple"),
    ([([2, 0], [])], r"at least one state; got \"0\""),
    ([([2, 2], [])], r"No example has a factor with scores"),
    ([([2, 2], [(0, 1)])], r"Factor 0 is a tuple \(type, scope\)"),
    ([([2, 2], [("a", (0, 2))])], r"Factor 0 has the scope .*numbers from 0 to 1"),
    ([([2, 2], [("a", 0)])], r"Factor 0 has the scope \"0\""),
    ([([2, 2], [("a", (1, 1))])], r"names a variable twice"),
    ([([2, 2], [("a", (0,), [np.nan])])], r"features of factor 0 are not a row of finite"),
    ([([2, 2], [("a", (0,), [1.0]), ("a", (1,), [1.0, 2.0])])], r"Factor 1 has 2 features, but others"),
    ([([2, 3], [("a", (0,)), ("a", (1,))])], r"Factor 1 has variables of \(3,\) states"),
    ([([2, 2], [("a", (0,)), Implies(0, 2)])], r"Example 0: Factor 1 names 2"),
]


@pytest.mark.parametrize(("X", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        FactorGraphClassifier().fit(X, [[0, 1]])


def test_what_a_fitted_model_refuses():
    X = [([2, 2], [("a", (0,), [1.0]), ("a", (1,), [-1.0]), ("b", (0, 1))])]
    with pytest.raises(TypeError, match="no marginals over cycles"):
        FactorGraphClassifier(loss="softmax").fit(X, [[1, 0]])
    with pytest.raises(ValueError, match="Example 0: The labelling breaks"):
        FactorGraphClassifier().fit([([2, 2], [*X[0][1], Budget(0, {0: 1})])], [[1, 0]])
    with pytest.raises(ValueError, match="Example 0: Variable 1 has 2 states"):
        FactorGraphClassifier().fit(X, [[1, 2]])
    model = FactorGraphClassifier(random_state=0).fit(X, [[1, 0]])
    with pytest.raises(ValueError, match="Example 0: Factor 0 has the type 'c'"):
        model.predict([([2], [("c", (0,))])])
    with pytest.raises(ValueError, match=r"Example 0: AtMost\(0, 0, \(0, 0\)\) excludes every labelling"):
        model.predict([([2], [("a", (0,), [1.0]), AtMost(0, 0, (0, 0))])])
