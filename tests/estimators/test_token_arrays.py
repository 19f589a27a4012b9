"""Arrays beside tokens, against the same features put into one matrix by hand, or into the tokens' dicts."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV, KFold

import structlearn
from model_files import rewrite
from structlearn import ChainClassifier, SegmentClassifier
from structlearn.estimators.inputs.token_features import TokenFeatures

N_COLUMNS = 3
OPTIONS = {"loss": "softmax", "regularization": 0.05, "tol": 1e-8, "random_state": 0}


def text(n=12, seed=0):
    """Sentences of dicts, arrays beside them, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=n)
    X = [[{"w": "abc"[k]} for k in rng.integers(3, size=size)] for size in sizes]
    arrays = [rng.normal(size=(size, N_COLUMNS)).round(2) for size in sizes]
    y = [
        ["v" if token["w"] == "a" or row[0] > 0.5 else "c" for token, row in zip(*pair)]
        for pair in zip(X, arrays)
    ]
    return X, arrays, y


def in_dicts(X, arrays):
    """The same with the arrays' numbers as features of the tokens."""
    return [
        [{**token, **{f"array:{j}": value for j, value in enumerate(row)}} for token, row in zip(*pair)]
        for pair in zip(X, arrays)
    ]


@pytest.fixture(scope="module")
def trained():
    X, arrays, y = text()
    pairs = list(zip(X, arrays))
    return pairs, y, ChainClassifier(**OPTIONS).fit(pairs, y)


def test_the_matrix_has_the_arrays_beside():
    X, arrays, _ = text()
    features = TokenFeatures()
    found = features.fit_transform(list(zip(X, arrays))).rows
    alone = TokenFeatures().fit_transform(X).rows
    expected = sparse.hstack([alone, np.concatenate(arrays).astype(np.float32)])
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    assert found.dtype == np.float32
    assert found.has_canonical_format
    assert features.get_feature_names_out().tolist() == ["w:b", "w:c", "w:a", "array:0", "array:1", "array:2"]


@pytest.mark.parametrize("options", [{}, {"keep_names": False}, {"hash_bits": 12}])
def test_arrays_are_features_of_their_own(options, tmp_path):
    X, arrays, y = text()
    pairs, dicts = list(zip(X, arrays)), in_dicts(X, arrays)
    model = ChainClassifier(**OPTIONS).fit(TokenFeatures(**options).fit_transform(pairs), y)
    same = ChainClassifier(**OPTIONS).fit(TokenFeatures(**options).fit_transform(dicts), y)
    model.save(tmp_path / "model.st")
    loaded = structlearn.load(tmp_path / "model.st")
    for ask in ("predict_marginals", "decision_function"):
        for one, other, third in zip(
            *(getattr(model, ask)(pairs), getattr(same, ask)(dicts), getattr(loaded, ask)(pairs))
        ):
            np.testing.assert_allclose(one, other, atol=1e-3)
            np.testing.assert_array_equal(one, third)
    assert model.score(pairs, y) == same.score(dicts, y) > 0.9


def test_all_methods_take_pairs(trained):
    pairs, y, model = trained
    assert model.predict_kbest(pairs[:1], 2)[0][0][0].tolist() == model.predict(pairs[:1])[0].tolist()
    assert len(model.predict_spans(pairs)) == len(model.sample(pairs, 2)) == len(pairs)
    why = model.explain(pairs[0])
    assert {one.name for one in why[0].contributions} >= {"array:0", "array:1"}
    assert why[0].difference == pytest.approx(sum(one.amount for one in why[0].contributions))
    assert any(name == "array:0" for name, _ in model.top_features(5).labels["v"])
    model.calibrate(pairs, y)
    model.conformalize(pairs, y)
    assert len(model.predict_sets(pairs, 0.5)) == len(pairs)
    assert model.predict([([], np.empty((0, N_COLUMNS)))])[0].size == 0
    search = GridSearchCV(ChainClassifier(tol=0.1), {"regularization": [0.1, 0.01]}, cv=KFold(2))
    assert search.fit(pairs, y).best_score_ > 0.5


def test_a_warm_start_goes_by_the_columns(trained):
    pairs, y, _ = trained
    model = ChainClassifier(**OPTIONS, warm_start=True).fit(pairs, y)
    before = model.coef_.copy()
    more = [([{"w": "new"}], np.zeros((1, N_COLUMNS))), *pairs]
    model.set_params(max_passes=1, tol=1e9).fit(more, [["v"], *y])
    assert model.features_.names_.index("array:0") == 4  # where "new" has come before it
    np.testing.assert_allclose(model.coef_[:, 4:], before[:, 3:], atol=0.1)


def test_segments_take_pairs():
    X, arrays, y = text()
    spans = [[(t, t + 1, label) for t, label in enumerate(one) if label == "v"] for one in y]
    pairs = list(zip(X, arrays))

    def first(tokens, start, end):
        return [tokens[start]["w"]]

    options = {**OPTIONS, "tol": 1e-4, "segment_features": first, "segment_bits": 4}
    model = SegmentClassifier(**options).fit(pairs, spans)
    same = SegmentClassifier(**options).fit(in_dicts(X, arrays), spans)
    for one, other in zip(model.predict_marginals(pairs), same.predict_marginals(in_dicts(X, arrays))):
        np.testing.assert_allclose(one, other, atol=0.02)
    assert model.score(pairs, spans) > 0.9


TOKENS, BESIDE = [{"w": "a"}, {"w": "b"}], np.zeros((2, N_COLUMNS))


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([(TOKENS, np.zeros((3, N_COLUMNS)))], "Sentence 0 has 2 tokens, but an array of 3 rows beside"),
        ([(TOKENS, BESIDE), (TOKENS, np.zeros((2, 1)))], "Sentence 1 has an array of 1 columns .* have 3"),
        ([(TOKENS, BESIDE), (TOKENS, BESIDE * np.nan)], "Sentence 1 has NaN"),
        ([(TOKENS, BESIDE + 1e39)], "Sentence 0 has NaN, infinity or more than"),
        ([(TOKENS, BESIDE), TOKENS], "Sentence 1 has no array beside its tokens, but those before have an"),
        ([TOKENS, (TOKENS, BESIDE)], "Sentence 1 has an array beside its tokens, but those before have no"),
        ([(TOKENS, np.zeros(2))], r"Sentence 0 has an array of float64 and shape \(2,\)"),
        ([(TOKENS, np.array([["a"], ["b"]]))], "Sentence 0 has an array of <U1"),
        ([(["a", "b"], BESIDE)], "Token 0 of sentence 0 is a str, where features are expected"),
        ([[*TOKENS, BESIDE]], r"Token 2 of sentence 0 is an array; .* goes in a tuple, \(tokens, array\)"),
    ],
)
def test_what_does_not_go_together_is_refused(X, said):
    for model in (ChainClassifier(), SegmentClassifier()):
        y = [["a", "b"] if isinstance(model, ChainClassifier) else [(0, 1, "a")] for _ in X]
        with pytest.raises(ValueError, match=said):
            model.fit(X, y)


def test_what_a_model_was_not_trained_on_is_refused(trained):
    pairs, y, model = trained
    with pytest.raises(
        ValueError, match="trained with arrays of 3 columns beside the tokens; give sentences"
    ):
        model.predict([pairs[0][0]])
    with pytest.raises(ValueError, match="have 1 columns, but the model was trained with 3"):
        model.predict([(TOKENS, np.zeros((2, 1)))])
    plain = ChainClassifier(tol=1).fit([tokens for tokens, _ in pairs], y)
    with pytest.raises(ValueError, match="trained without arrays beside the tokens; give the tokens alone"):
        plain.predict(pairs)
    rows = ChainClassifier(tol=1).fit([array for _, array in pairs], y)
    with pytest.raises(ValueError, match="trained on arrays, not on features by name"):
        rows.predict(pairs)


@pytest.mark.parametrize("n", [7, 5, -1, "3"])
def test_a_damaged_number_of_columns_is_refused(trained, tmp_path, n):
    trained[2].save(tmp_path / "model.st")
    rewrite(tmp_path / "model.st", lambda header, tensors: header["features"].update(n_arrays=n))
    with pytest.raises(ValueError, match="arrays"):
        structlearn.load(tmp_path / "model.st")
