"""Small problems of each kind, and estimators that fit them."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from own_structures import ChooseTwo
from structlearn import (
    ChainClassifier,
    CutSegmenter,
    GridClassifier,
    MatchingClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
    StructuredPredictor,
)

#: Strong enough a regulariser for every solver to converge soon on a few examples.
EASY = {"regularization": 0.1, "tol": 0.01, "random_state": 0}


class Fitting(NamedTuple):
    """An estimator that is not fitted yet, and data that it can be fitted to."""

    estimator: Any
    X: Any
    y: Any


def multiclass():
    rng = np.random.default_rng(0)
    names = np.array(["cat", "dog", "owl"])
    codes = np.arange(30) % 3
    return Fitting(
        MulticlassClassifier(**EASY), np.eye(3)[codes] + 0.5 * rng.normal(size=(30, 3)), names[codes]
    )


def multilabel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    return Fitting(
        MultiLabelClassifier(**EASY), X, (X[:, :3] + 0.3 * rng.normal(size=(30, 3)) > 0).astype(int)
    )


def chains():
    rng = np.random.default_rng(0)
    names = np.array(["B", "I", "O"])
    codes = [rng.integers(3, size=rng.integers(1, 6)) for _ in range(15)]
    X = [np.eye(3)[one] + 0.5 * rng.normal(size=(len(one), 3)) for one in codes]
    return Fitting(ChainClassifier(**EASY), X, [names[one] for one in codes])


def matchings():
    rng = np.random.default_rng(0)
    y = [rng.permutation(n)[:m] for m, n in [(2, 3), (3, 3), (1, 4)] * 4]
    tables = [np.eye(n)[one] for one, (_, n) in zip(y, [(2, 3), (3, 3), (1, 4)] * 4)]
    X = [
        np.stack([table, np.ones_like(table)], axis=2) + 0.3 * rng.normal(size=(*table.shape, 2))
        for table in tables
    ]
    return Fitting(MatchingClassifier(**EASY), X, y)


def images():
    """Half-planes in images of two sizes."""
    rng = np.random.default_rng(0)
    names = np.array(["land", "sea"])
    codes = [np.add.outer(np.arange(m), rng.choice([-1, 1]) * np.arange(n)) for m, n in [(3, 4), (4, 2)] * 6]
    codes = [(one > np.median(one)).astype(int) for one in codes]
    X = [
        np.stack([one, 0.5 * np.ones_like(one)], axis=2) + 0.2 * rng.normal(size=(*one.shape, 2))
        for one in codes
    ]
    return Fitting(CutSegmenter(**{**EASY, "regularization": 0.3}), X, [names[one] for one in codes])


def grids():
    """Stripes of three labels."""
    rng = np.random.default_rng(0)
    names = np.array(["a", "b", "c"])
    codes = [
        np.add.outer(np.arange(m) + rng.integers(3), np.zeros(n, int)) % 3 for m, n in [(3, 2), (2, 2)] * 6
    ]
    X = [np.eye(3)[one] + 0.5 * rng.normal(size=(*one.shape, 3)) for one in codes]
    return Fitting(GridClassifier(**EASY), X, [names[one] for one in codes])


def choices():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 2)) for _ in range(12)]
    y = [ChooseTwo().maximize(x @ [1.0, -1.0]).astype(int) for x in X]
    return Fitting(StructuredPredictor(ChooseTwo(), **EASY), X, y)


FITTINGS = {
    "multiclass": multiclass,
    "multilabel": multilabel,
    "chain": chains,
    "matching": matchings,
    "segmentation": images,
    "grid": grids,
    "structured": choices,
}


@pytest.fixture(params=FITTINGS)
def fitting(request):
    """Every estimator in turn."""
    return FITTINGS[request.param]()


@pytest.fixture
def make():
    """One estimator's problem by its name, with parameters changed."""

    def make_fitting(name, **parameters):
        found = FITTINGS[name]()
        found.estimator.set_params(**parameters)
        return found

    return make_fitting
