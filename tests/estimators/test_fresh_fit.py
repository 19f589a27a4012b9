"""A fit replaces all that an earlier one has set, a failed one nothing; parameters of fit decide answers."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    CutSegmenter,
    GraphClassifier,
    GridClassifier,
    LinearRegressor,
    MatchingClassifier,
    SegmentClassifier,
    TreeParser,
    load,
)

RNG = np.random.default_rng(3)
SEQUENCES = [RNG.normal(size=(length, 3)) for length in (3, 1, 4, 2, 5, 2)]
LABELS = [RNG.choice(["a", "b", "c"], size=len(one)) for one in SEQUENCES]
SPANS = [[(0, 1, "a")] for _ in SEQUENCES]
RING = np.array([[0, 1], [1, 2], [2, 0]])
GRAPHS = [(RNG.normal(size=(3, 2)), RING) for _ in range(6)]
STATES = [RNG.integers(0, 3, size=3) for _ in GRAPHS]
IMAGES = [RNG.normal(size=(3, 3, 2)) for _ in range(5)]
MASKS = [RNG.integers(0, 2, size=(3, 3)) for _ in IMAGES]
PAIRS = [RNG.normal(size=(3, 3, 2)) for _ in range(5)]
MATCHINGS = [RNG.permutation(3) for _ in PAIRS]
WORDS = [[["the", "D"], ["cat", "N"], ["runs", "V"]], [["dogs", "N"], ["run", "V"]]]
TREES = [([2, 3, 0], ["d", "s", "r"]), ([2, 0], ["s", "r"])]


def whole(sentence, start, end):
    return [f"length={end - start}"]


#: models, their data, and parameters that are changed after fit
CASES = {
    "chain": (ChainClassifier(transition_features=[0, 2]), SEQUENCES, LABELS, {"transition_features": None}),
    "plain chain": (
        ChainClassifier(start=True, end=True),
        SEQUENCES,
        LABELS,
        {"transition_features": [1], "start": False, "fit_intercept": False},
    ),
    "segments": (
        SegmentClassifier(segment_features=whole, segment_bits=4),
        SEQUENCES,
        SPANS,
        {"segment_bits": 6, "max_length": 7},
    ),
    "graph": (GraphClassifier(), GRAPHS, STATES, {"pairs": "potts", "fit_intercept": False}),
    "graph without": (GraphClassifier(fit_intercept=False), GRAPHS, STATES, {"fit_intercept": True}),
    "grid": (GridClassifier(), IMAGES, MASKS, {"connectivity": 8, "directional": False}),
    "cut": (
        CutSegmenter(regularization=0.1),
        IMAGES,
        MASKS,
        {"connectivity": 8, "edge_features": "constant", "fit_intercept": False},
    ),
    "matching": (MatchingClassifier(), PAIRS, MATCHINGS, {"fit_intercept": True, "capacities": (2, 2)}),
    "tree": (
        TreeParser(columns=("form", "upos"), templates=["h.upos m.upos"], bits=8, label_bits=6),
        WORDS,
        TREES,
        {"bits": 9, "label_bits": 7, "columns": ("form", "upos", "xpos")},
    ),
}


def trained(case):
    model, X, y, changes = CASES[case]
    model = type(model)(**model.get_params(deep=False)).set_params(random_state=0)
    return model.fit(X, y), X, changes


def same(one, other):
    assert list(map(str, one)) == list(map(str, other))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_a_model_predicts_by_the_parameters_of_its_fit(case, tmp_path):
    model, X, changes = trained(case)
    expected = model.predict(X)
    model.save(tmp_path / "model")
    model.set_params(**changes)
    same(model.predict(X), expected)
    if case == "segments":
        return  # whose function is no part of a file
    again = load(tmp_path / "model").set_params(**changes)
    same(again.predict(X), expected)


@pytest.mark.parametrize("case", ["chain", "plain chain", "graph", "grid", "tree"])
def test_a_model_with_another_layout_is_not_saved(case, tmp_path):
    model, _, changes = trained(case)
    model.set_params(**changes)
    with pytest.raises(ValueError, match="have changed since the model was fitted: set them back"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("case", ["chain", "graph", "cut", "matching"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_that_fails_leaves_the_model_as_it_was(case):
    model, X, _ = trained(case)
    expected, before = model.predict(X), dict(vars(model))
    with pytest.raises(ValueError, match=r"examples|entries|outputs|labels"):
        model.fit(X, CASES[case][2][:-1])
    assert vars(model) == before
    same(model.predict(X), expected)


def test_a_first_fit_that_fails_leaves_nothing():
    model = ChainClassifier()
    with pytest.raises(ValueError, match="rows of features but"):
        model.fit(SEQUENCES, [labels[:1] for labels in LABELS])
    assert vars(model) == vars(ChainClassifier())


def test_the_next_fit_has_what_it_sets_and_nothing_else():
    named = [[{"word": str(t)} for t in range(len(one))] for one in SEQUENCES]
    partly = [[None, *labels[1:]] for labels in LABELS]
    model = ChainClassifier(random_state=0).fit(named, partly)
    model.calibrate(named, LABELS)
    model.conformalize(named, LABELS)
    assert {"features_", "outer_history_", "temperature_", "conformal_scores_"} <= vars(model).keys()
    model.fit(SEQUENCES, LABELS)
    assert vars(model).keys() == vars(ChainClassifier(random_state=0).fit(SEQUENCES, LABELS)).keys()


def test_calibration_forgets_the_sets_of_other_probabilities():
    model = ChainClassifier(random_state=0).fit(SEQUENCES, LABELS).conformalize(SEQUENCES, LABELS)
    model.calibrate(SEQUENCES, LABELS)
    assert not hasattr(model, "conformal_scores_")


def test_attributes_of_a_solver_or_of_a_posterior_end_with_it():
    X, y = RNG.normal(size=(20, 2)), np.arange(20) % 2
    model = BinaryClassifier(loss="hinge", random_state=0).fit(X, y)
    assert hasattr(model, "dual_coef_")
    assert not hasattr(model.set_params(loss="softmax").fit(X, y), "dual_coef_")
    regressor = LinearRegressor(posterior="gaussian").fit(X, y)
    assert not hasattr(regressor.set_params(posterior=None).fit(X, y), "posterior_covariance_")


def test_a_fitted_model_does_not_change():
    estimator = ChainClassifier(random_state=0).fit(SEQUENCES, LABELS)
    model, expected = estimator.model_, estimator.predict(SEQUENCES)
    with pytest.raises(FrozenInstanceError):
        model.weights = model.weights + 1
    estimator.fit(SEQUENCES[::-1], [labels[::-1] for labels in LABELS[::-1]])
    same(model.best(SEQUENCES), expected)
    assert [len(one) for one in model.sample(SEQUENCES, 2, np.random.default_rng(0))] == [2] * len(SEQUENCES)
