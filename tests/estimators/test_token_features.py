"""Features by name, against scikit-learn's DictVectorizer and the conventions of python-crfsuite."""

import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import GridSearchCV, KFold

import structlearn
from model_files import rewrite
from structlearn import ChainClassifier
from structlearn.estimators.inputs.token_features import TokenFeatures

CHOICES = {"w": list("abcde"), "shape": ["x", "X:d"], "é": ["ü", ""]}


@pytest.fixture(scope="module")
def text():
    """Sentences of dicts, and labels that depend on one of the features."""
    rng = np.random.default_rng(0)
    X = [[token(rng) for _ in range(rng.integers(1, 6))] for _ in range(30)]
    return X, [["v" if one["w"] in "ae" else "c" for one in sentence] for sentence in X]


def token(rng):
    found = {name: str(rng.choice(values)) for name, values in CHOICES.items()}
    if rng.random() < 0.5:
        found |= {"n": float(rng.normal()), "flag": bool(rng.random() < 0.5), "list": ["p", "q"]}
    return found


def flat(X):
    return [one for sentence in X for one in sentence]


def weights(rows, features):
    """Each row as a dict from names to weights."""
    names = features.get_feature_names_out()
    rows = rows.tocsr()
    return [dict(zip(names[row.indices].tolist(), row.data.tolist())) for row in rows]


def test_the_matrix_is_that_of_dict_vectorizer(text):
    features = TokenFeatures()
    found = features.fit_transform(text[0])
    other = DictVectorizer(separator=":", sort=False, dtype=np.float32)
    expected = other.fit_transform(flat(text[0]))
    assert features.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.rows.toarray(), expected.toarray())
    assert found.rows.dtype == np.float32
    assert found.lengths.tolist() == [len(one) for one in text[0]]
    assert found.rows.has_canonical_format
    np.testing.assert_array_equal(features.transform(text[0]).rows.toarray(), expected.toarray())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"key": 0.5}, {"key": 0.5}),
        ({"key": np.float32(2), "int": 3}, {"key": 2.0, "int": 3.0}),
        ({"yes": True, "no": False}, {"yes": 1.0}),
        ({"key": "value"}, {"key:value": 1.0}),
        ({"key": np.str_("value")}, {"key:value": 1.0}),
        ({"key": ""}, {"key:": 1.0}),
        (["one", "two:3"], {"one": 1.0, "two:3": 1.0}),
        ({"one"}, {"one": 1.0}),
        ({"key": ["x", "y"], "set": {"z"}}, {"key:x": 1.0, "key:y": 1.0, "set:z": 1.0}),
        ({"a": {"b": "c", "d": 2, "e": {"f": True}}}, {"a:b:c": 1.0, "a:d": 2.0, "a:e:f": 1.0}),
        ({"a": {"b": ["x"]}}, {"a:b:x": 1.0}),
        ({"a": "b", "a:b": 0.5}, {"a:b": 1.5}),
        (["twice", "twice"], {"twice": 2.0}),
        ({"vector": np.array([0.5, 0.0, 2.0])}, {"vector:0": 0.5, "vector:2": 2.0}),
    ],
)
def test_conventions_of_python_crfsuite(given, expected):
    features = TokenFeatures()
    assert weights(features.fit_transform([[given]]).rows, features) == [expected]


def test_unknown_features_are_left_out():
    features = TokenFeatures()
    features.fit_transform([[{"a": "b", "n": 2}]])
    found = features.transform([[{"a": "z", "n": 3, "new": 1}], [], [{}]])
    np.testing.assert_array_equal(found.rows.toarray(), [[0, 3], [0, 0]])
    assert found.lengths.tolist() == [1, 0, 1]


def test_rare_features_are_left_out():
    features = TokenFeatures(min_count=2)
    found = features.fit_transform([[["a", "b"], ["b", "c"]], [["c", "d"]]])
    assert features.get_feature_names_out().tolist() == ["b", "c"]
    np.testing.assert_array_equal(found.rows.toarray(), [[1, 0], [1, 1], [0, 1]])
    with pytest.raises(ValueError, match="No feature occurs 2 times; lower min_count"):
        TokenFeatures(min_count=2).fit_transform([[["a"]]])


def test_names_hashes_and_hashing_predict_the_same(text):
    X, y = text
    ways = [TokenFeatures(), TokenFeatures(keep_names=False), TokenFeatures(hash_bits=16)]
    models = [
        ChainClassifier(loss="softmax", tol=1e-8, random_state=0).fit(way.fit_transform(X), y) for way in ways
    ]
    assert np.unique(ways[2].transform(X).rows.indices).size == ways[0].n_features  # no collision
    for model in models[1:]:
        for one, other in zip(models[0].predict_marginals(X), model.predict_marginals(X)):
            np.testing.assert_allclose(one, other, atol=1e-4)
    for way in ways[1:]:
        with pytest.raises(ValueError, match="names of the features were not kept"):
            way.get_feature_names_out()
        assert way.transform([[{}]]).rows.nnz == 0
    with pytest.raises(ValueError, match="hash_bits or keep_names, not both"):
        TokenFeatures(hash_bits=4, keep_names=True)


@pytest.mark.parametrize("options", [{}, {"keep_names": False}, {"hash_bits": 10}])
def test_models_keep_their_features(text, tmp_path, options):
    X, y = text
    rows = TokenFeatures(**options).fit_transform(X)
    model = ChainClassifier(random_state=0).fit(rows, y)
    model.save(tmp_path / "model.st")
    same = structlearn.load(tmp_path / "model.st")
    assert same.features_.names_ == model.features_.names_
    for one, other, third in zip(model.predict(X), same.predict(X), model.predict(rows)):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)
    same.save(tmp_path / "again.st")
    assert (tmp_path / "again.st").read_bytes() == (tmp_path / "model.st").read_bytes()


def test_a_chain_takes_dicts_wherever_it_takes_sequences(text):
    X, y = text
    model = ChainClassifier(loss="softmax", random_state=0).fit(X, y)
    rows = [DictVectorizer(separator=":", sort=False).fit(flat(X)).transform(one) for one in X]
    same = ChainClassifier(loss="softmax", random_state=0).fit(rows, y)
    assert model.score(X, y) == same.score(rows, y) > 0.9
    for ask in ("predict_marginals", "decision_function"):
        for one, other in zip(getattr(model, ask)(X), getattr(same, ask)(rows)):
            np.testing.assert_allclose(one, other, atol=0.02)
    assert len(model.sample(X[:2], 3)[0]) == 3
    assert model.predict_kbest(X[:1], 2)[0][0][0].tolist() == model.predict(X[:1])[0].tolist()
    search = GridSearchCV(ChainClassifier(tol=0.1), {"regularization": [0.1, 0.01]}, cv=KFold(2)).fit(X, y)
    assert search.best_score_ > 0.5
    with pytest.raises(ValueError, match="trained on features by name; give every token as a dict"):
        model.predict([["a", "b"]])
    model.fit(rows, y)
    with pytest.raises(ValueError, match="trained on arrays, not on features by name"):
        model.predict(X)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([[{"a": "b"}], [{}, {"a": None}]], 'Token 1 of sentence 1 has None as the value of .* "a"'),
        ([[{"a": 1 + 2j}]], "Token 0 of sentence 0 has a complex"),
        ([[{"a": [1]}]], "has an int in a list of features"),
        ([[["a", 1]], [["a"]]], "not numbers|has an int"),
        ([[{"a": float("nan")}]], 'has nan as the value of the feature "a"; leave the feature out'),
        ([[{"a": -float("inf")}]], "has -inf as the value"),
        ([[{"a": 10**5000}]], "has a number beyond 1e308 as the value"),
        ([[{}], [{}, {}]], "No token has a feature"),
        ([[{"a": "b"}], np.zeros((2, 2))], "Sentence 1 must be a list of tokens, not an? ndarray"),
        ([np.zeros((1, 2)), [{"a": "b"}, {}]], "Sequence 1 holds a dict per row, not numbers; give all"),
        ([[{"a": 1e300}]], "has 1e\\+300 as the value"),
        ([[{"a": np.array([np.nan])}]], 'has nan as the value of the feature "a:0"'),
        ([[{1: "a"}]], "a feature whose name is an int; names are strings"),
        ([[{1: 0.5}]], "a feature whose name is an int; names are strings"),
        ([[{"a": {1: 0.5}}]], "a feature whose name is an int; names are strings"),
        ([[{"a": "b"}, ["a"]]], "Token 1 of sentence 0 is a list, but those before are not; .* in one form"),
        ([[["a"]], [{"a": 1}]], "Token 0 of sentence 1 is a dict, but those before are not"),
        ([[{"a": "b"}, "word"]], "Token 1 of sentence 0 is a str, where features are expected"),
        ([[{"a": "b"}], {"a": "b"}], "Sentence 1 must be a list of tokens, not a dict"),
    ],
)
def test_what_is_no_feature_is_refused(X, said):
    with pytest.raises(ValueError, match=said):
        ChainClassifier().fit(X, [["x"] * len(one) for one in X])


def test_damaged_names_are_refused(text, tmp_path):
    path = tmp_path / "model.st"
    model = ChainClassifier(random_state=0, tol=1).fit(*text)

    def twice(header, tensors):
        n = tensors["features:ends"].size
        tensors["features:names"] = np.full(n, 97, dtype=np.uint8)
        tensors["features:ends"] = np.arange(1, n + 1)

    changes = {
        "do not end where they should": lambda header, tensors: tensors["features:ends"].__setitem__(
            0, 10**6
        ),
        "have no names": lambda header, tensors: tensors.pop("features:ends"),
        "a feature has two columns": twice,
        "features.min_count must be": lambda header, tensors: header["features"].update(min_count="1"),
        "not 7": lambda header, tensors: header["features"].update(n_features=7),
    }
    for why, change in changes.items():
        model.save(path)
        rewrite(path, change)
        with pytest.raises(ValueError, match=f"model.st is damaged: .*{why}"):
            structlearn.load(path)
