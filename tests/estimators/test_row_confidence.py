"""calibrate and conformalize of models of rows, against sums, grids and held-out data."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from structlearn import (
    BinaryClassifier,
    LinearRegressor,
    MulticlassClassifier,
    MultiLabelClassifier,
    load,
)

N_TRAIN, N_TUNE = 60, 500
TEMPERATURES = np.exp(np.linspace(-1.5, 1.5, 301))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 4))
    return X, (X @ rng.normal(size=(4, 3)) + rng.gumbel(size=(2600, 3))).argmax(axis=1)


def parts(X, y):
    """Training, calibration and test data."""
    return [(X[own], y[own]) for own in np.split(np.arange(len(X)), [N_TRAIN, N_TRAIN + N_TUNE])]


def grid_best(log_likelihood):
    return TEMPERATURES[np.argmax([log_likelihood(one) for one in TEMPERATURES])]


@pytest.fixture(scope="module")
def fitted(rows):
    return MulticlassClassifier(loss="softmax", regularization=1e-4).fit(*parts(*rows)[0])


@pytest.fixture
def classifier(fitted, rows):
    """A model that is too sure of itself, and its data."""
    return deepcopy(fitted), parts(*rows)


def test_the_temperature_is_that_of_a_grid_and_the_log_loss_falls(classifier):
    model, (_, (X, y), (X_test, y_test)) = classifier
    scores = X @ model.coef_.T + model.intercept_
    best = grid_best(lambda one: log_softmax(scores / one, axis=1)[np.arange(len(y)), y].mean())
    answers, before = model.predict(X_test), model.predict_proba(X_test)
    found = model.calibrate(X, y)
    assert found.temperature == pytest.approx(best, rel=0.01)
    assert best > 1.1
    after = model.predict_proba(X_test)
    assert after == pytest.approx(
        softmax((X_test @ model.coef_.T + model.intercept_) / best, axis=1), abs=0.01
    )
    assert (model.predict(X_test) == answers).all()
    own = np.arange(len(y_test)), y_test
    assert np.log(after[own]).mean() > np.log(before[own]).mean()
    assert found.after.log_likelihood > found.before.log_likelihood
    assert found.after.log_likelihood == pytest.approx(
        np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()
    )
    assert found.after.labels.counts.sum() == len(y)


def test_sets_hold_the_class_as_often_as_asked(classifier, tmp_path):
    model, (_, tune, (X, y)) = classifier
    model.calibrate(*tune)
    half = len(y) // 2
    model.conformalize(X[:half], y[:half])
    proba = model.predict_proba(X[half:])
    for coverage in (0.8, 0.9, 0.99):  # below 0.7 a set has the best class all the same
        sets = model.predict_sets(X[half:], coverage)
        share = np.mean([one in own for one, own in zip(y[half:].tolist(), sets)])
        assert share == pytest.approx(coverage, abs=0.04)
        for row, own in zip(proba, sets):  # a set is of the most probable classes, best first
            assert own == np.argsort(-row)[: len(own)].tolist()
            assert own
    model.save(tmp_path / "m.st")
    loaded = load(tmp_path / "m.st")
    assert loaded.predict_sets(X[half:], 0.9) == model.predict_sets(X[half:], 0.9)
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()


def test_the_threshold_is_the_order_statistic_of_log_probabilities(classifier):
    model, (_, tune, (X, y)) = classifier
    model.calibrate(*tune)
    model.conformalize(X[:19], y[:19])
    surprises = np.sort(-np.log(model.predict_proba(X[:19])[np.arange(19), y[:19]]))
    most = surprises[int(np.ceil(20 * 0.8)) - 1]
    for row, own in zip(model.predict_proba(X[19:]), model.predict_sets(X[19:], 0.8)):
        assert len(own) == max((-np.log(row) <= most + 1e-12).sum(), 1)


def test_a_loss_without_probabilities_has_sets_and_no_temperature(rows):
    training, tune, (X, y) = parts(*rows)
    model = MulticlassClassifier(loss="hinge", random_state=0).fit(*training).conformalize(*tune)
    share = np.mean([one in own for one, own in zip(y.tolist(), model.predict_sets(X, 0.9))])
    assert share == pytest.approx(0.9, abs=0.05)
    with pytest.raises(AttributeError, match="'hinge' has no probabilities; train with loss='softmax'"):
        model.calibrate(*tune)
    sparse = MulticlassClassifier(loss="sparsemax", random_state=0).fit(*training)
    with pytest.raises(AttributeError, match="exactly 0"):
        sparse.calibrate(*tune)


def test_classes_that_the_model_does_not_know(classifier):
    model, (_, (X, y), _) = classifier
    model.calibrate(X, y)
    expected = model.temperature_
    strange = np.where(np.arange(len(y) + 5) < len(y), np.append(y, y[:5]), 7)
    found = model.calibrate(np.vstack([X, X[:5]]), strange)
    assert found.after.left_out == 5
    assert model.temperature_ == pytest.approx(expected)
    with pytest.raises(ValueError, match="none of the classes"):
        model.calibrate(X, y + 10)
    model.conformalize(X[:20], np.where(np.arange(20) < 5, 9, y[:20]))
    with pytest.raises(ValueError, match=r"No set of classes has coverage 0.9: 5 of the 20"):
        model.predict_sets(X, 0.9)
    with pytest.raises(ValueError, match="one output per example"):
        model.conformalize(X, y[:-1])


def test_what_is_forgotten(rows):
    training, tune, (X, _) = parts(*rows)
    model = MulticlassClassifier(loss="softmax", regularization=1e-4, random_state=0).fit(*training)
    plain = model.predict_proba(X)
    model.calibrate(*tune)
    model.conformalize(*tune)
    model.calibrate(*tune)
    with pytest.raises(ValueError, match="no sets yet"):
        model.predict_sets(X)
    assert not np.allclose(model.predict_proba(X), plain)
    model.fit(*training)
    assert (model.predict_proba(X) == plain).all()
    assert not hasattr(model, "temperature_")


def test_two_classes(rows, tmp_path):
    training, tune, (X, y) = parts(rows[0], np.where(rows[1] == 0, "yes", "no"))
    model = BinaryClassifier(loss="softmax", regularization=1e-4).fit(*training)
    scores, signs = model.decision_function(tune[0]), np.where(tune[1] == "yes", 1, -1)
    best = grid_best(lambda one: np.log(expit(signs * scores / one)).mean())
    assert model.calibrate(*tune).temperature == pytest.approx(best, rel=0.01)
    assert model.predict_proba(X)[:, 1] == pytest.approx(expit(model.decision_function(X) / best), abs=0.01)
    model.conformalize(*tune)
    model.save(tmp_path / "m.st")
    sets = load(tmp_path / "m.st").predict_sets(X, 0.8)
    assert np.mean([one in own for one, own in zip(y.tolist(), sets)]) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("edges", ["none", "tree"])
def test_label_sets(rows, edges, tmp_path):
    X, y = rows
    labels = np.column_stack([y == 0, y == 1, X[:, 0] + X[:, 1] > 0]).astype(int)
    training, tune, (X_test, _) = parts(X, labels)
    model = MultiLabelClassifier(loss="softmax", regularization=1e-4, edges=edges, random_state=0).fit(
        *training
    )

    def mean_log(one):
        model.temperature_ = one
        proba = model.predict_marginals(tune[0])
        return np.log(np.where(tune[1], proba, 1 - proba)).mean()

    if edges == "none":  # independent labels
        scores = model.decision_function(tune[0])
        assert mean_log(2.0) == pytest.approx(np.log(expit(np.where(tune[1], scores, -scores) / 2)).mean())
    best = TEMPERATURES[::10][np.argmax([mean_log(one) for one in TEMPERATURES[::10]])]
    del model.temperature_
    before = model.predict_marginals(X_test)
    found = model.calibrate(*tune)
    assert found.temperature == pytest.approx(best, rel=0.1)
    assert found.after.log_likelihood == pytest.approx(mean_log(model.temperature_))
    assert found.after.log_likelihood >= found.before.log_likelihood
    model.save(tmp_path / "m.st")
    assert (load(tmp_path / "m.st").predict_marginals(X_test) == model.predict_marginals(X_test)).all()
    model.fit(*training)
    assert (model.predict_marginals(X_test) == before).all()


@pytest.mark.parametrize("posterior", [None, "gaussian"])
def test_intervals(posterior, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_t(3, 3000)  # not normal
    model = LinearRegressor(posterior=posterior).fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="no intervals yet"):
        model.predict_interval(X)
    model.conformalize(X[50:550], y[50:550])
    middle, std = model.predict(X[50:550], return_std=True)
    scores = np.sort(np.abs(y[50:550] - middle) / std)
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X[550:], coverage).T
        assert np.mean((low <= y[550:]) & (y[550:] <= high)) == pytest.approx(coverage, abs=0.04)
        middle, std = model.predict(X[550:], return_std=True)
        assert high - middle == pytest.approx(scores[int(np.ceil(501 * coverage)) - 1] * std)
        assert low + high == pytest.approx(2 * middle)
    model.save(tmp_path / "m.st")
    assert (load(tmp_path / "m.st").predict_interval(X, 0.9) == model.predict_interval(X, 0.9)).all()
    with pytest.raises(ValueError, match=r"Intervals of coverage 0.999 need 999"):
        model.predict_interval(X, 0.999)
    with pytest.raises(ValueError, match="NaN"):
        model.conformalize(X[:2], [0.0, np.nan])
    model.fit(X[:50], y[:50])
    assert not hasattr(model, "conformal_scores_")


def test_intervals_where_training_rows_are_met_exactly():
    X = np.arange(10.0)[:, None]
    model = LinearRegressor(regularization=0).fit(X, 2 * X[:, 0])
    model.conformalize(X, 2 * X[:, 0] + np.linspace(-1, 1, 10))
    low, high = model.predict_interval([[3.0]], 0.9)[0]
    assert (low, high) == pytest.approx((5.0, 7.0))
