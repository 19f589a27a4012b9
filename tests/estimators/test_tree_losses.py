"""TreeParser with every loss, on trees with and without crossing arcs, against all trees of few words."""

from functools import cache

import cvxpy
import numpy as np
import pytest
from scipy.special import logsumexp

from brute import trees
from structlearn import TreeParser
from structlearn.structures import NonProjectiveTree, ProjectiveTree

LOSSES = ["hinge", "softmax", "sparsemax"]


def sentences(n=24, seed=0):
    """Up to five words: a verb, nouns on either side and their determiners, in random order where it is free.

    A noun is the object of the verb; a determiner leans on the next noun, an adverb on the word before it.
    """
    rng, X, y = np.random.default_rng(seed), [], []
    while len(X) < n:
        tags = [*(["D", "N"] * rng.integers(2)), *(["N"] * rng.integers(2)), "V"]
        tags += [*(["A"] * rng.integers(2)), *(["D", "N"] * rng.integers(2))]
        if not 3 <= len(tags) <= 5:
            continue
        verb = tags.index("V") + 1
        place = {"V": lambda k: 0, "D": lambda k: k + 2, "A": lambda k: k, "N": lambda k, verb=verb: verb}
        heads = np.array([place[tag](k) for k, tag in enumerate(tags)])
        X.append([(f"{tag.lower()}{rng.integers(3)}", tag, tag) for tag in tags])
        y.append((heads, np.where(np.isin(tags, ["D", "A"]), "modifier", "core")))
    return X, y


@cache
def vertices(projective, n):
    make = ProjectiveTree if projective else NonProjectiveTree
    return trees(make(), [n], projective=projective).vertices((n + 1, n))


def largest(loss, V, theta, mu):
    """max_z <theta + c, z> - Omega(z), over all trees or their mixtures."""
    if loss == "hinge":
        return (V @ (theta + 1 - mu)).max()
    if loss == "softmax":
        return logsumexp(V @ theta)
    shares = cvxpy.Variable(len(V), nonneg=True)
    mean = V.T @ shares
    value = theta @ mean - cvxpy.sum_squares(mean) / 2
    return cvxpy.Problem(cvxpy.Maximize(value), [cvxpy.sum(shares) == 1]).solve(solver=cvxpy.CLARABEL)


def primal(model, X, y):
    """lambda/2 ||w||^2 + the mean loss, by its formula."""
    losses = []
    for theta, (heads, _) in zip(model.decision_function(X), y):
        n = len(heads)
        mu = (np.arange(n + 1)[:, None] == heads).astype(float).ravel()
        omega = n / 2 if model.loss_ == "sparsemax" else 0.0
        best = largest(model.loss_, vertices(model.projective, n), theta.ravel(), mu)
        losses.append(best + omega - theta.ravel() @ mu)
    return model.regularization / 2 * model.weights_ @ model.weights_ + np.mean(losses)


@pytest.fixture(scope="module")
def fitted():
    """Parsers by loss and kind of trees, trained when they are first asked for."""

    @cache
    def fit(loss, projective):
        return TreeParser(
            loss=loss,
            projective=projective,
            regularization=0.01,
            tol=1e-3,
            label_regularization=1e-3,
            label_tol=1e-3,
            templates=("", "h.upos m.upos", "m.lower", "h.upos b.upos m.upos"),
            bits=10,
            label_bits=8,
            random_state=0,
        ).fit(*sentences())

    return fit


each_model = pytest.mark.parametrize(
    ("loss", "projective"), [(loss, projective) for loss in LOSSES for projective in (True, False)]
)


@each_model
def test_the_certificate_holds(fitted, loss, projective):
    model = fitted(loss, projective)
    assert model.certificate_.converged
    assert 0 <= model.certificate_.gap <= 1e-3
    assert model.certificate_.primal == pytest.approx(primal(model, *sentences()), abs=1e-6)
    assert model.label_certificate_["gap"] <= 1e-3


@each_model
def test_trees_are_learned(fitted, loss, projective):
    X, y = sentences(20, seed=1)
    to_the_left = np.mean(np.concatenate([heads == np.arange(len(heads)) for heads, _ in y]))
    assert fitted(loss, projective).score(X, y) > 0.95 > to_the_left + 0.3
    right = [found.labels == labels for found, (_, labels) in zip(fitted(loss, projective).predict(X), y)]
    assert np.concatenate(right).mean() > 0.95


@pytest.mark.parametrize("loss", ["softmax", "sparsemax"])
@pytest.mark.parametrize("projective", [True, False])
def test_marginals_are_mixtures_of_trees(fitted, loss, projective):
    model = fitted(loss, projective)
    X, _ = sentences(6, seed=2)
    for theta, table in zip(model.decision_function(X), model.predict_marginals(X)):
        V = vertices(projective, len(table) - 1)
        np.testing.assert_allclose(table.sum(axis=0), 1.0, atol=1e-9)
        assert table[0].sum() == pytest.approx(1.0)
        if loss == "softmax":
            scores = V @ theta.ravel()
            shares = np.exp(scores - logsumexp(scores))
            np.testing.assert_allclose(table.ravel(), shares @ V, atol=1e-9)
        else:
            z = table.ravel()
            assert ((V - z) @ (theta.ravel() - z)).max() <= 1e-8
            assert (table == 0).any()


@pytest.mark.parametrize("projective", [True, False])
def test_all_trees_have_probabilities_that_sum_to_one(fitted, projective):
    model = fitted("softmax", projective)
    X, _ = sentences(3, seed=3)
    for x, theta, ranked in zip(X, model.decision_function(X), model.predict_kbest(X, 1000)):
        V = vertices(projective, len(x))
        log_z = model.structure_.marginals(theta).log_partition
        assert len(ranked) == len({tuple(tree.heads.tolist()) for tree, _ in ranked}) == len(V)
        assert sum(np.exp(score - log_z) for _, score in ranked) == pytest.approx(1.0)
    for x, drawn, table in zip(X, model.sample(X, 400, random_state=0), model.predict_marginals(X)):
        seen = (drawn[:, None, :] == np.arange(len(x) + 1)[:, None]).mean(axis=0)
        assert (np.abs(seen - table) <= 5 * np.sqrt(table * (1 - table) / 400) + 1e-9).all()
