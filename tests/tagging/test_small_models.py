"""Small model files: what they leave out changes scores by no more than is said, and hardly a label."""

from __future__ import annotations

import numpy as np
import pytest

from structlearn import Tagger, load
from structlearn.estimators.inputs.checking import Stacked
from structlearn.tagging import small
from structlearn.tagging.features.context import Context
from structlearn.tagging.small import has_indicators

#: In place of the limit for real models, as all weights of small data are larger
NEAR_ZERO = 0.1


def sentences(seed: int, n: int = 80) -> tuple[list[list[str]], list[list[str]]]:
    """Return sentences of made-up words, whose labels depend on their ends and on the word before."""
    rng = np.random.default_rng(seed)
    X = [["".join(rng.choice(list("abcdeAB"), size=5)) for _ in range(rng.integers(1, 9))] for _ in range(n)]
    return X, [["NVD"[(ord(word[-1]) + len(word[0])) % 3] for word in one] for one in X]


def as_dicts(X: list[list[str]]) -> list[list[dict[str, str]]]:
    return [[{"word": word, "end": word[-2:], "first": word[0]} for word in one] for one in X]


@pytest.fixture(autouse=True)
def _every_model_is_large(monkeypatch):
    monkeypatch.setattr(small, "FEW", 0)
    monkeypatch.setattr(small, "NEAR_ZERO", NEAR_ZERO)


def scores(tagger: Tagger, X: object) -> np.ndarray:
    """Return the score of each label at each token."""
    chain = tagger.chain_
    rows = tagger.rows(X).rows
    found = rows @ chain.coef_.T
    return found if isinstance(found, np.ndarray) else found.toarray()


@pytest.mark.parametrize("features", ["all", "seen"])
@pytest.mark.parametrize("form", [list, as_dicts], ids=["words", "names"])
def test_scores_of_a_small_file_differ_by_what_is_said(form, features, tmp_path):
    X, y = sentences(0)
    tagger = Tagger(random_state=0, tol=1e-3, features=features).fit(form(X), y)
    tagger.save(tmp_path / "small")
    again, test = load(tmp_path / "small"), form(sentences(1)[0])
    assert again.features_.n_features < tagger.features_.n_features
    per_token = tagger.rows(test).rows.sum(axis=1).max()
    difference = np.abs(scores(tagger, test) - scores(again, test)).max()
    assert 0 < difference <= per_token * (NEAR_ZERO + 1e-6)
    found = zip(tagger.predict(test), again.predict(test), strict=True)
    assert np.mean([a == b for one, other in found for a, b in zip(one, other, strict=True)]) > 0.95


def test_dropped_weights_are_near_zero_and_the_others_are_kept(tmp_path):
    X, y = sentences(0)
    tagger = Tagger(random_state=0, tol=1e-3).fit(X, y)
    tagger.save(tmp_path / "small")
    again = load(tmp_path / "small")
    place = {key: j for j, key in enumerate(again.features_.keys_.tolist())}
    for key, row in zip(tagger.features_.keys_.tolist(), tagger.chain_.coef_.T, strict=True):
        wanted = np.where(np.abs(row) > NEAR_ZERO, row.astype(np.float32), 0)
        found = again.chain_.coef_[:, place[key]] if key in place else np.zeros(row.size)
        np.testing.assert_array_equal(found, wanted)


def test_keep_weights_keeps_everything(tmp_path):
    X, y = sentences(0)
    tagger = Tagger(random_state=0, keep_weights=True).fit(X, y)
    tagger.save(tmp_path / "whole")
    again = load(tmp_path / "whole")
    np.testing.assert_array_equal(again.chain_.weights_, tagger.chain_.weights_)
    np.testing.assert_array_equal(again.features_.keys_, tagger.features_.keys_)


def test_models_of_few_weights_are_written_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(small, "FEW", 10**9)
    X, y = sentences(0)
    tagger = Tagger(random_state=0).fit(X, y)
    tagger.save(tmp_path / "few")
    np.testing.assert_array_equal(load(tmp_path / "few").chain_.weights_, tagger.chain_.weights_)


def test_a_small_file_is_written_again_as_it_is(tmp_path):
    X, y = sentences(0)
    Tagger(random_state=0).fit(X, y).save(tmp_path / "one")
    load(tmp_path / "one").save(tmp_path / "two")
    one, two = load(tmp_path / "one"), load(tmp_path / "two")
    np.testing.assert_array_equal(one.chain_.weights_, two.chain_.weights_)
    assert (tmp_path / "two").stat().st_size == (tmp_path / "one").stat().st_size


def test_saving_leaves_the_tagger_as_it_is(tmp_path):
    X, y = sentences(0)
    tagger = Tagger(random_state=0).fit(X, y)
    weights, keys = tagger.chain_.weights_.copy(), tagger.features_.keys_.copy()
    tagger.save(tmp_path / "small")
    np.testing.assert_array_equal(tagger.chain_.weights_, weights)
    np.testing.assert_array_equal(tagger.features_.keys_, keys)


@pytest.mark.parametrize("form", [list, as_dicts], ids=["words", "names"])
def test_training_goes_on_from_a_small_file(form, tmp_path):
    X, y = sentences(0)
    Tagger(random_state=0).fit(form(X), y).save(tmp_path / "small")
    whole = Tagger(random_state=0, tol=1e-4).fit(form(X), y)
    again = Tagger(random_state=0, tol=1e-4).continue_from(load(tmp_path / "small")).fit(form(X), y)
    assert again.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-3)
    assert again.certificate_.converged


def test_features_with_values_and_arrays_keep_their_weights(tmp_path):
    X, y = sentences(0, n=30)
    valued = [[{"word": word, "size": 0.1 * len(word)} for word in one] for one in X]
    rng = np.random.default_rng(0)
    beside = [(one, rng.normal(size=(len(one), 2))) for one in X]
    for given in (valued, beside):
        tagger = Tagger(random_state=0).fit(given, y)
        tagger.save(tmp_path / "model")
        again = load(tmp_path / "model")
        np.testing.assert_array_equal(again.chain_.weights_, tagger.chain_.weights_)


def test_indicators_are_ones():
    from scipy import sparse

    lengths = np.array([2])
    assert has_indicators(Stacked(sparse.csr_matrix(np.eye(2)), lengths))
    assert not has_indicators(Stacked(sparse.csr_matrix(2 * np.eye(2)), lengths))
    assert not has_indicators(Stacked(np.eye(2), lengths))


def test_first_passes_are_small_unless_everything_is_kept():
    X, y = sentences(0)
    labels = [[f"B-{label}" if label != "D" else "O" for label in one] for one in y]
    made = {}
    for keep in (False, True):
        tagger = Tagger(task="ner", keep_weights=keep, random_state=0).fit(X, labels)
        (made[keep],) = (part for part in tagger.derived_.parts if isinstance(part, Context))
    small_table, table = made[False].chain.coef_.T, made[True].chain.coef_.T
    place = {key: j for j, key in enumerate(made[False].features.keys_.tolist())}
    assert len(place) <= table.shape[0]
    for key, row in zip(made[True].features.keys_.tolist(), table, strict=True):
        found = small_table[place[key]] if key in place else np.zeros(row.size)
        np.testing.assert_array_equal(found, np.where(np.abs(row) > made[False].near_zero, row, 0))
    assert (np.abs(table) <= made[False].near_zero).any()
