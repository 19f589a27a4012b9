"""Arrays beside words, against a chain over both put together by hand."""

import numpy as np
import pytest
from scipy import sparse

import structlearn
from model_files import contents
from structlearn import ChainClassifier
from structlearn.tagging import Tagger

WORDS = ("the", "a", "dog", "cat", "runs", "sees")
LABELS = "DDNNVV"
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 4)).round(2)


@pytest.fixture(scope="module")
def text():
    """Pairs (words, array), and labels that depend on the words."""
    rng = np.random.default_rng(1)
    codes = [rng.integers(len(WORDS), size=rng.integers(1, 6)) for _ in range(20)]
    pairs = [([WORDS[k] for k in one], VECTORS[one]) for one in codes]
    return pairs, [[LABELS[k] for k in one] for one in codes]


@pytest.fixture(scope="module")
def tagger(text):
    return Tagger(random_state=0, tol=1e-3).fit(*text)


def test_is_a_chain_over_both(text, tagger):
    pairs, labels = text
    maker = Tagger()
    rows = maker.fit_features([words for words, _ in pairs])
    both = [sparse.hstack([one, array], format="csr") for one, (_, array) in zip(rows, pairs)]
    options = {"loss": "softmax", "regularization": 1 / 20, "tol": 1e-3, "random_state": 0, "cost": "count"}
    chain = ChainClassifier(**options).fit(both, labels)
    for one, other in zip(tagger.predict_marginals(pairs), chain.predict_marginals(both)):
        np.testing.assert_allclose(one, other, atol=0.02)
    assert tagger.rows(pairs).rows.dtype == np.float32
    assert tagger.chain_.n_features_in_ == maker.features_.n_features + 4


def test_files_keep_them(text, tagger, tmp_path):
    pairs, _ = text
    tagger.save(tmp_path / "tagger.st")
    assert contents(tmp_path / "tagger.st")[0]["version"] == 8  # which earlier versions refuse
    same = structlearn.load(tmp_path / "tagger.st")
    for one, other in zip(tagger.predict_marginals(pairs), same.predict_marginals(pairs)):
        np.testing.assert_array_equal(one, other)
    same.save(tmp_path / "again.st")
    assert (tmp_path / "again.st").read_bytes() == (tmp_path / "tagger.st").read_bytes()


def test_why(text, tagger):
    why = tagger.explain(text[0][0])
    names = {one.name for one in why[0].contributions}
    assert {"array:0", "array:3", f"word={text[0][0][0][0]}"} <= names
    assert why[0].difference == pytest.approx(sum(one.amount for one in why[0].contributions))
    top = [name for pairs in tagger.top_features(50).labels.values() for name, _ in pairs]
    assert "array:1" in top


def test_small_models_keep_the_columns(text):
    pairs, labels = text
    small = Tagger(penalty="elasticnet", regularization=0.1, random_state=0).fit(pairs, labels)
    assert small.features_.n_features < Tagger().fit_features([words for words, _ in pairs]).rows.shape[1]
    assert small.chain_.n_features_in_ == small.features_.n_features + 4
    assert small.score(pairs, labels) > 0.9


def test_more_data_later_starts_at_the_weights_of_the_columns(text, monkeypatch):
    pairs, labels = text
    tagger = Tagger(random_state=0, warm_start=True).fit(pairs[15:], labels[15:])
    n, started = tagger.features_.n_features, []
    monkeypatch.setattr(ChainClassifier, "continue_from", lambda *given: started.append(given[-1]))
    tagger.fit(pairs, labels)
    assert tagger.features_.n_features > n
    assert started[0].size == tagger.chain_.n_features_in_
    np.testing.assert_array_equal(started[0][-4:], n + np.arange(4))


def test_refusals(text, tagger, tmp_path):
    pairs, labels = text
    words, array = pairs[0]
    with pytest.raises(
        ValueError, match="trained with arrays of 4 columns beside the tokens; give sentences"
    ):
        tagger.predict([words])
    with pytest.raises(ValueError, match="have 2 columns, but the model was trained with 4"):
        tagger.predict_spans([(words, array[:, :2])])
    with pytest.raises(ValueError, match=r"Sentence 0 has \d+ tokens, but an array of"):
        tagger.predict([(["the", *words], array)])
    with pytest.raises(ValueError, match="looks at arrays beside words, which raw text does not have"):
        tagger.tag("The dog runs.")
    with pytest.raises(ValueError, match="looks at arrays beside words"):
        Tagger(columns=("word", "pos"), taggers={"pos": tagger}).fit([one for one, _ in pairs], labels)
    with pytest.raises(ValueError, match="trained without arrays beside the tokens"):
        Tagger(tol=1e9).fit([one for one, _ in pairs], labels).predict(pairs)
    with pytest.raises(ValueError, match="Sentence 1 has no array beside its tokens"):
        Tagger().fit([pairs[0], pairs[1][0]], labels[:2])


def test_the_shell_refuses_what_a_file_lacks(tagger, tmp_path, capsys):
    from structlearn.cli import app

    tagger.save(tmp_path / "tagger.st")
    (tmp_path / "new.txt").write_text("the\ndog\n")
    assert (
        app(["predict", str(tmp_path / "tagger.st"), str(tmp_path / "new.txt")], standalone_mode=False) == 2
    )
    assert "trained with arrays of 4 columns" in capsys.readouterr().err
