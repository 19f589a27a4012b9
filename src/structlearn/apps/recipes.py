"""The experiments of the method's papers, ready to run: data, estimator and parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structlearn import metrics
from structlearn.data import (
    DataError,
    digit_triplets,
    located,
    pair_features,
    read_letters,
    read_libsvm,
    read_triplets,
)
from structlearn.data.registry import file_of
from structlearn.estimators import ChainClassifier, MultiLabelClassifier, StructuredPredictor
from structlearn.structures import Simplex

#: Parameters of all recipes: lambda, the gap at which to stop, and budgets for the slow solvers.
SHARED: dict[str, Any] = {"regularization": 0.01, "tol": 1e-3, "max_passes": 1000, "max_seconds": 60.0}


class Problem(NamedTuple):
    """Data of a recipe: what to train on, and how to judge."""

    X: Any
    y: Any
    #: from an estimator to its test error
    error: Callable[[Any], float]
    summary: str


@dataclass(frozen=True)
class Recipe:
    """An experiment.

    what : a sentence
    data : name of its data set
    estimator : makes it, from parameters
    parameters : those that differ from the estimator's own
    error_name : what its test error is
    load : from the folder of its data set, or None, and whether all of it is asked for, to the problem
    flags : what the command line may change, and the parameters that each stands for
    needed : whether there is no data without that folder
    """

    what: str
    data: str
    estimator: Callable[..., Any]
    parameters: dict[str, Any]
    error_name: str
    load: Callable[[Path | None, bool], Problem]
    flags: Mapping[str, tuple[str, ...]]
    needed: bool = True

    def problem(self, folder: str | Path | None = None, *, full: bool = False) -> Problem:
        """The problem, from the data set's folder or, unless it is needed, from data that is embedded.

        Parameters
        ----------
        folder : path, optional
            Where the data set is (see `structlearn.data.located`).
        full : bool
            Whether to train on more of the data.

        """
        if folder is not None and not Path(folder).is_dir():
            raise DataError(f"The data folder {folder} does not exist.")
        found = located(self.data, folder)
        if found is None and (self.needed or folder is not None):
            where = f"not in {folder}" if folder is not None else "not on this machine"
            raise DataError(
                f"The data set {self.data} is {where}: run `structlearn data fetch {self.data}`, or name its "
                "folder with --data DIR."
            )
        return self.load(found, full)


# ---- scene -----------------------------------------------------------------------------------------


def _load_scene(folder: Path | None, full: bool) -> Problem:
    """The split is given; there is no more of it."""
    train, test = (file_of(_given(folder), name) for name in ("scene_train", "scene_test"))
    X, y = read_libsvm(train, multilabel=True)
    X_test, y_test = read_libsvm(test, multilabel=True, n_features=X.shape[1])
    error = partial(_hamming_error, X_test.toarray(), y_test)
    return Problem(X.toarray(), y, error, f"{len(y)} images to train on, {len(y_test)} to test")


def _hamming_error(X: Any, y: Any, estimator: Any) -> float:
    return metrics.hamming_loss(estimator.indicator(y), estimator.indicator(estimator.predict(X)))


# ---- letters ---------------------------------------------------------------------------------------


def _load_letters(folder: Path | None, full: bool) -> Problem:
    """Train on fold 0 and test on the others, as the papers do; in full, the other way round."""
    X, y, folds = read_letters(file_of(_given(folder), "letter.data"))
    train, test = (np.flatnonzero((folds == 0) == wanted) for wanted in (not full, full))
    if not train.size or not test.size:
        raise DataError("letter.data must have words in fold 0 and in others.")
    summary = f"{train.size} words to train on, {test.size} to test"
    error = partial(_score_error, [X[i] for i in test], [y[i] for i in test])
    return Problem([X[i] for i in train], [y[i] for i in train], error, summary)


def _score_error(X: Any, y: Any, estimator: Any) -> float:
    return 1.0 - float(estimator.score(X, y))


# ---- triplets --------------------------------------------------------------------------------------


def _load_triplets(folder: Path | None, full: bool) -> Problem:
    """So many triplets of shoes, or of scikit-learn's digits where there are no shoes."""
    n_train, n_test = (4000, 4000) if full else (1000, 1000)
    if folder is None:
        print("The data set triplets is not here: using triplets of handwritten digits.", file=sys.stderr)
        items, triplets, outcomes = digit_triplets(n_train + n_test)
    else:
        items, triplets, outcomes = read_triplets(file_of(folder, "zappos.npz"))
        items = items / np.abs(items).max()
        chosen = np.random.default_rng(0).permutation(len(triplets))[: n_train + n_test]
        triplets, outcomes = triplets[chosen], outcomes[chosen]
    n_train = len(triplets) // 2
    X, y = pair_features(items, triplets), outcomes.tolist()
    kind = "digits" if folder is None else "shoes"
    summary = f"{n_train} triplets of {kind} to train on, {len(y) - n_train} to test"
    return Problem(
        list(X[:n_train]), y[:n_train], partial(_score_error, list(X[n_train:]), y[n_train:]), summary
    )


def _given(folder: Path | None) -> Path:
    """The folder, which `Recipe.problem` has found where it is needed."""
    assert folder is not None  # noqa: S101
    return folder


def _triplet_predictor(**parameters: Any) -> StructuredPredictor:
    return StructuredPredictor(Simplex(3), **parameters)


_FLAGS = {"loss": ("loss",), "cost": ("cost",)}
RECIPES: dict[str, Recipe] = {
    "scene": Recipe(
        "images with sets of six labels, all pairs of labels with weights (64 labellings)",
        "scene",
        MultiLabelClassifier,
        {**SHARED, "edges": "all", "cost": "count", "fit_intercept": False},
        "share of wrong labels",
        _load_scene,
        {**_FLAGS, "edges": ("edges",)},
    ),
    "letters": Recipe(
        "handwritten words, letter by letter, as chains",
        "letters",
        ChainClassifier,
        {**SHARED, "cost": "hamming", "fit_intercept": False},
        "share of wrong letters",
        _load_letters,
        {**_FLAGS, "boundaries": ("start", "end")},
    ),
    "triplets": Recipe(
        "three items: which pair is most alike? (three outcomes)",
        "triplets",
        _triplet_predictor,
        {**SHARED, "fit_intercept": False},
        "share of wrong answers",
        _load_triplets,
        _FLAGS,
        needed=False,
    ),
}
