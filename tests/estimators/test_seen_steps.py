"""Transitions that occur in the training data: weights for these alone, and no others allowed."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

import structlearn
from structlearn import ChainClassifier, runtime
from structlearn.estimators.weights import step_choice
from structlearn.structures import Chain, SparseChain
from structlearn.tagging import Tagger

K = 5


def sequences(n=12, seed=0):
    """Labels that go on to the next or stay, with noisy features."""
    rng = np.random.default_rng(seed)
    y = [(np.cumsum(rng.integers(0, 2, rng.integers(1, 6))) + rng.integers(0, K)) % K for _ in range(n)]
    return [np.eye(K)[labels] + 0.7 * rng.standard_normal((labels.size, K)) for labels in y], y


def fitted(**options):
    X, y = sequences()
    usual = {"regularization": 0.1, "tol": 1e-4, "max_passes": 500, "random_state": 0, "transitions": "seen"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ChainClassifier(**usual | options).fit(X, y)


def seen_table(y):
    table = np.zeros((K, K), dtype=bool)
    for labels in y:
        for pair in pairwise(labels.tolist()):
            table[pair] = True
    return table


def dense_primal(model, forbidden=None):
    """P by a chain with all transitions, from the weights by name: independent of `SparseChain`."""
    X, y = sequences()
    chain = Chain(K, forbidden=forbidden)
    losses = []
    for x, labels in zip(X, y):
        scores = chain.parts(x @ model.coef_.T + model.intercept_, model.transition_coef_)
        losses.append(chain.marginals(scores).log_partition - scores @ chain.encode(labels))
    return model.regularization / 2 * model.weights_ @ model.weights_ + np.mean(losses)


@pytest.mark.parametrize("solver", ["auto", "sdca", "lbfgs"])
def test_the_problem_is_that_of_a_chain_whose_other_transitions_are_zero(solver):
    model = fitted(solver=solver)
    seen = seen_table(sequences()[1])
    assert (model.transition_coef_[~seen] == 0).all()
    assert (model.transition_coef_[seen] != 0).all()
    assert model.weights_.size == (K + 1) * K + seen.sum()
    assert model.certificate_.primal == pytest.approx(dense_primal(model), rel=1e-10)
    assert 0 <= model.certificate_.gap <= 1e-3
    assert f"the {seen.sum()} steps between labels that occur" in model.certificate_.status


def test_solvers_of_the_hinge_agree():
    found = [fitted(loss="hinge", solver=one).certificate_ for one in ("auto", "bcfw", "cutting-plane")]
    assert max(one.dual for one in found) <= min(one.primal for one in found) + 1e-9
    assert max(one.gap for one in found) < 0.01


def test_only_seen_steps_are_made_where_that_is_asked():
    model = fitted(transitions="seen-only")
    seen = seen_table(sequences()[1])
    forbidden = list(zip(*np.nonzero(~seen)))
    assert model.certificate_.primal == pytest.approx(dense_primal(model, forbidden), rel=1e-10)
    assert "no other step is made" in model.certificate_.status
    X = sequences(30, seed=1)[0]
    for labels in [*model.predict(X), *(one for many in model.sample(X, 3, 0) for one in many)]:
        assert all(seen[pair] for pair in pairwise(labels.tolist()))


def test_answers_are_those_of_the_chain_with_all_transitions():
    model, X = fitted(), sequences(8, seed=1)[0]
    chain = Chain(K)
    for x, best, table, ranked in zip(
        X, model.predict(X), model.predict_marginals(X), model.predict_kbest(X, 2)
    ):
        scores = chain.parts(x @ model.coef_.T + model.intercept_, model.transition_coef_)
        assert (chain.decode(chain.maximize(scores)) == best).all()
        assert (ranked[0][0] == best).all()
        np.testing.assert_allclose(chain.marginals(scores).mean[: table.size], table.ravel(), atol=1e-12)


def test_allowed_labels_limit_predictions():
    model = fitted()
    x = sequences(8, seed=1)[0][0]
    (found,) = model.predict([x], allowed=[[{1, 2}] * len(x)])
    assert set(found.tolist()) <= {1, 2}


@pytest.mark.parametrize("transitions", ["seen", "seen-only"])
def test_models_are_saved_and_loaded(tmp_path, transitions):
    model, X = fitted(transitions=transitions), sequences(8, seed=1)[0]
    model.save(tmp_path / "model.safetensors")
    again = structlearn.load(tmp_path / "model.safetensors")
    assert isinstance(again.structure_, SparseChain)
    assert again.structure_.free == (transitions == "seen")
    assert all((a == b).all() for a, b in zip(model.predict(X), again.predict(X)))
    assert (again.transition_coef_ == model.transition_coef_).all()


@pytest.mark.parametrize("transitions", ["seen", "seen-only"])
def test_the_runtime_reads_such_models(tmp_path, transitions):
    rng = np.random.default_rng(0)
    words = [[f"w{k}" for k in rng.integers(0, 20, 5)] for _ in range(30)]
    y = [[str(int(word[1:]) % 4) for word in sentence] for sentence in words]
    X = [[{"word": word, "odd": word[-1] in "13579"} for word in sentence] for sentence in words]
    tagger = Tagger(chain_options={"transitions": transitions}, random_state=0).fit(X[:20], y[:20])
    tagger.save(tmp_path / "tagger.safetensors")
    again = runtime.load(tmp_path / "tagger.safetensors")
    for found, expected in zip(again.predict(X), tagger.predict(X)):
        assert list(found) == list(expected)


def test_training_goes_on_from_a_model_before():
    X, y = sequences()
    model = fitted(warm_start=True)
    before = model.certificate_.primal
    model.fit(X, y)
    assert model.certificate_.primal <= before + 1e-9
    assert model.certificate_.passes <= 2


def test_many_labels_of_which_few_steps_are_seen_are_found(monkeypatch):
    assert type(fitted(transitions="auto").structure_) is Chain
    monkeypatch.setattr(step_choice, "MANY_STEPS", 20)
    monkeypatch.setattr(step_choice, "TIMES_SEEN", 2)
    assert isinstance(fitted(transitions="auto").structure_, SparseChain)
    assert type(fitted(transitions="auto", start=True).structure_) is Chain
    monkeypatch.setattr(step_choice, "TIMES_SEEN", 8)
    assert type(fitted(transitions="auto").structure_) is Chain


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"transitions": "some"}, "transitions"),
        ({"start": True}, "does not go with start"),
        ({"constraints": [(0, 1)]}, "does not go with constraints"),
        ({"transition_features": [0]}, "does not go with transition_features"),
    ],
)
def test_what_does_not_go_with_seen_steps_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        fitted(**options)


def test_partly_labelled_sequences_have_all_steps():
    X, y = sequences()
    partly = [[None] * len(y[0]), *y[1:]]
    with pytest.raises(ValueError, match="partly labelled"):
        ChainClassifier(transitions="seen").fit(X, partly)


@pytest.mark.parametrize(
    ("steps", "words"),
    [([[0, 3]], "labels 0 .. 2"), ([[0, 1], [0, 1]], "once"), ([0, 1], "pairs"), ([[0.5, 1]], "pairs")],
)
def test_lists_that_are_no_steps_are_refused(steps, words):
    with pytest.raises(ValueError, match=words):
        SparseChain(3, steps)
