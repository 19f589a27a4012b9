"""The experiments of the method's papers, ready to run: data, estimator and parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structlearn import metrics
from structlearn.alignment.gold.concatenated import ProgramMatching, UntiedMatching, WordMatcher
from structlearn.alignment.gold.nearest import nearest_problem
from structlearn.core.contract import Array
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
from structlearn.estimators.base import StructuredEstimator
from structlearn.reports.comparison import named_solvers
from structlearn.structures import Simplex

#: Parameters of all recipes: lambda, the gap at which to stop, and budgets for the slow solvers.
SHARED: dict[str, str | float] = {
    "loss": "hinge",
    "regularization": 0.01,
    "tol": 1e-3,
    "max_passes": 1000,
    "max_seconds": 60.0,
}


class Amount(NamedTuple):
    """How much data a recipe takes: `full`, more than usual; `n`, the number of examples to train on."""

    full: bool = False
    n: int | None = None


class RecipeProblem(NamedTuple):
    """Data of a recipe: what to train on, and how to judge."""

    X: object
    y: object
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
    load : from the folder of its data set, or None, and how much of it is asked for, to the problem
    flags : what the command line may change, and the parameters that each stands for
    needed : whether there is no data without that folder
    sized : whether the number of examples can be chosen
    variants : parameters of what is compared, by names beside those of solvers; a large problem leaves out
        the `slow` ones unless they are named
    """

    what: str
    data: str
    estimator: Callable[..., StructuredEstimator]
    parameters: Mapping[str, object]
    error_name: str
    load: Callable[[Path | None, Amount], RecipeProblem]
    flags: Mapping[str, tuple[str, ...]]
    needed: bool = True
    sized: bool = False
    variants: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    slow: tuple[str, ...] = ()

    def solvers(self, names: Sequence[str] | None, n: int | None = None) -> Mapping[str, object] | None:
        """Return what to compare, in the form that `structlearn.reports.compare` takes.

        By names, or the usual.
        """
        if names is None:
            usual = {name: one for name, one in self.variants.items() if n is None or name not in self.slow}
            return usual or None
        return {name: self.variants.get(name, one) for name, one in named_solvers(names).items()}

    def problem(
        self, folder: str | Path | None = None, *, full: bool = False, n: int | None = None
    ) -> RecipeProblem:
        """Return the problem, from the data set's folder or, unless it is needed, from data that is embedded.

        folder : where the data set is (see `structlearn.data.located`)
        full : whether to train on more of the data
        n : how many examples to train on, where that can be chosen
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
        return self.load(found, Amount(full, n))


# ---- scene -----------------------------------------------------------------------------------------


def _load_scene(folder: Path | None, amount: Amount) -> RecipeProblem:
    """Return the problem, whose split is given: there is no more data."""
    train, test = (file_of(_require_folder(folder), name) for name in ("scene_train", "scene_test"))
    X, y = read_libsvm(train, multilabel=True)
    X_test, y_test = read_libsvm(test, multilabel=True, n_features=X.shape[1])
    error = partial(_hamming_error, X_test.toarray(), y_test)
    return RecipeProblem(X.toarray(), y, error, f"{len(y)} images to train on, {len(y_test)} to test")


def _hamming_error(X: Array, y: Array | list[tuple[int, ...]], estimator: MultiLabelClassifier) -> float:
    found = estimator.indicator(estimator.predict(X))
    return metrics.hamming_loss(list(estimator.indicator(y)), list(found))


# ---- letters ---------------------------------------------------------------------------------------


def _load_letters(folder: Path | None, amount: Amount) -> RecipeProblem:
    """Train on fold 0 and test on the others, as the papers do; in full, the other way round."""
    X, y, folds = read_letters(file_of(_require_folder(folder), "letter.data"))
    train, test = (np.flatnonzero((folds == 0) == wanted) for wanted in (not amount.full, amount.full))
    if not train.size or not test.size:
        raise DataError("letter.data must have words in fold 0 and in others.")
    summary = f"{train.size} words to train on, {test.size} to test"
    error = partial(_score_error, [X[i] for i in test], [y[i] for i in test])
    return RecipeProblem([X[i] for i in train], [y[i] for i in train], error, summary)


def _score_error(X: Any, y: Any, estimator: ChainClassifier | StructuredPredictor) -> float:
    return 1.0 - float(estimator.score(X, y))


# ---- triplets --------------------------------------------------------------------------------------


def _load_triplets(folder: Path | None, amount: Amount) -> RecipeProblem:
    """Load `amount` triplets of shoes, or of scikit-learn's digits where there are no shoes."""
    n_train, n_test = (4000, 4000) if amount.full else (1000, 1000)
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
    return RecipeProblem(
        list(X[:n_train]), y[:n_train], partial(_score_error, list(X[n_train:]), y[n_train:]), summary
    )


# ---- alignment -------------------------------------------------------------------------------------


def _load_alignment(folder: Path | None, amount: Amount) -> RecipeProblem:
    """Load pairs of the Hansards, or of the embedded corpus; labels are the links of nearest vectors."""
    train, test, told = nearest_problem(folder, amount.n or 100)
    for sentence in told:
        print(sentence, file=sys.stderr)
    summary = f"{len(train.X)} sentence pairs to train on, {len(test.X)} to test"
    return RecipeProblem(train.X, train.y, partial(_score_error, test.X, test.y), summary)


def _require_folder(folder: Path | None) -> Path:
    """Return the folder, which `Recipe.problem` has found where it is needed."""
    assert folder is not None  # noqa: S101
    return folder


def _word_matcher(**parameters: Any) -> WordMatcher:
    return WordMatcher(structure=UntiedMatching(), **parameters)


def _triplet_predictor(**parameters: Any) -> StructuredPredictor:
    return StructuredPredictor(Simplex(3), **parameters)


#: Pairwise steps choose among equally good vertices, by rounding; with these two oracles take the same steps.
_PLAIN_STEPS: dict[str, object] = {"solver": "bcfw", "solver_options": {"steps": "plain"}}
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
    "alignment": Recipe(
        "words of sentence pairs, matched one to one; features: the two words' vectors, concatenated",
        "hansards",
        _word_matcher,
        {**SHARED, "cost": "count"},
        "1 - F1 of links",
        _load_alignment,
        {"loss": ("loss",)},
        needed=False,
        sized=True,
        variants={
            "bcfw": _PLAIN_STEPS,
            "bcfw-lp": {**_PLAIN_STEPS, "structure": ProgramMatching()},
            "extragradient": {"solver": "extragradient"},
        },
        slow=("bcfw-lp",),
    ),
}
