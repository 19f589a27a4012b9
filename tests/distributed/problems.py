"""Small problems, with the optimum that one machine finds."""

from functools import cache

import numpy as np

from structlearn import ChainClassifier, MatchingClassifier, MulticlassClassifier
from structlearn.data import make_chains, make_matchings

TOL = 2e-7


def chains():
    return make_chains(24, (2, 5), 3, 4, random_state=0)


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, np.array(["c", "a", "b"])[np.argmax(X[:, :3] + rng.normal(size=(60, 3)), axis=1)]


def matchings():
    return make_matchings(16, (2, 4), (2, 4), 5, random_state=0, noise=0.8)


PROBLEMS = {
    "chain": (ChainClassifier, chains, {}),
    "chain, softmax": (ChainClassifier, chains, {"loss": "softmax"}),
    "multiclass": (MulticlassClassifier, rows, {}),
    "multiclass, sparsemax": (MulticlassClassifier, rows, {"loss": "sparsemax"}),
    "matching": (MatchingClassifier, matchings, {}),
}


def estimator(name, **parameters):
    kind, _, own = PROBLEMS[name]
    regular = {"loss": "hinge", "regularization": 1.0, "tol": TOL, "random_state": 0, "max_passes": 5000}
    return kind(**{**regular, **own, **parameters})


def data(name):
    return PROBLEMS[name][1]()


@cache
def optimum(name):
    """A value between the dual and the primal of one machine, which are 2e-7 apart."""
    found = estimator(name, max_passes=20000).fit(*data(name)).certificate_
    assert found.gap <= TOL
    return (found.primal + found.dual) / 2


def assert_brackets(history, value):
    """Every certificate on the way holds: no dual above the optimum, no primal below it."""
    assert (history["dual"] <= value + TOL).all()
    assert (history["primal"] >= value - TOL).all()
