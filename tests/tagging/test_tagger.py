from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from model_files import rewrite
from structlearn import ChainClassifier
from structlearn.data import Tokens, split_rows
from structlearn.tagging import Tagger, default_templates
from structlearn.tagging.features import TextFeatures

KINDS = {"D": ["the", "a"], "N": ["dog", "cat", "Rome"], "V": ["runs", "sees"]}


@pytest.fixture(scope="module")
def text():
    """Sentences of (word, tag) pairs, and labels that depend on the words."""
    rng = np.random.default_rng(0)
    labels = [rng.choice(list("DNV"), size=rng.integers(1, 6)).tolist() for _ in range(20)]
    sentences = [[(str(rng.choice(KINDS[k])), k.lower()) for k in one] for one in labels]
    return sentences, labels


@pytest.fixture(scope="module")
def tagger(text):
    return Tagger(columns=("word", "pos"), random_state=0).fit(*text)


def test_is_a_chain_over_features(text, tagger):
    sentences, labels = text
    tokens = Tokens.from_sentences(sentences, ["word", "pos"])
    X = TextFeatures(default_templates(["word", "pos"])).fit(tokens).transform(tokens)
    rows = split_rows(X, tokens.lengths)
    same = ChainClassifier(loss="softmax", regularization=1 / 20, tol=0.01, random_state=0).fit(rows, labels)
    np.testing.assert_array_equal(same.weights_, tagger.chain_.weights_)
    assert tagger.certificate_.gap <= 0.01
    assert tagger.score(sentences, labels) == same.score(rows, labels) > 0.9
    for one, other in zip(same.predict(rows), tagger.predict(sentences)):
        np.testing.assert_array_equal(one, other)


def test_marginals_and_best_against_enumeration(text, tagger):
    sentence = [("the", "d"), ("unicorn", "n"), ("runs", "v")]
    scores = tagger.chain_.decision_function(tagger.rows([sentence]))[0]
    step = tagger.chain_.transition_coef_
    outputs = list(product(range(3), repeat=3))
    values = np.array([scores[range(3), y].sum() + step[y[0], y[1]] + step[y[1], y[2]] for y in outputs])
    p = np.exp(values - np.logaddexp.reduce(values))
    expected = np.zeros((3, 3))
    for y, share in zip(outputs, p):
        expected[range(3), y] += share
    np.testing.assert_allclose(tagger.predict_marginals([sentence])[0], expected, atol=1e-9)
    best = np.argsort(-values)[:4]
    for k, (labels, score) in zip(best, tagger.predict_kbest([sentence], 4)[0]):
        assert labels.tolist() == tagger.classes_[list(outputs[k])].tolist()
        assert score == pytest.approx(values[k])
    (drawn,) = tagger.sample([sentence], 200, random_state=0)
    assert (drawn[:, 0] == tagger.predict([sentence])[0][0]).mean() == pytest.approx(
        expected[0].max(), abs=0.1
    )


@pytest.mark.parametrize("hash_bits", [None, 8])
def test_save_and_load(text, tmp_path, hash_bits):
    sentences, labels = text
    tagger = Tagger(
        columns=("word", "pos"),
        templates="word pos[-1]&pos",
        transitions=None if hash_bits else "pos",
        hash_bits=hash_bits,
        random_state=0,
        chain_options={"max_passes": 5, "fit_intercept": False},
    )
    tagger.fit(sentences, labels).save(tmp_path / "tagger.st")
    same = Tagger.load(tmp_path / "tagger.st")
    assert same.columns == ("word", "pos")
    assert same.transitions == tagger.transitions
    for one, other in zip(tagger.predict_marginals(sentences), same.predict_marginals(sentences)):
        np.testing.assert_array_equal(one, other)
    # what was loaded is saved again, to the same
    same.save(tmp_path / "again.st")
    assert (tmp_path / "again.st").read_bytes() == (tmp_path / "tagger.st").read_bytes()


def test_transitions(text):
    sentences, labels = text
    options = {"columns": ("word", "pos"), "templates": "word", "random_state": 0}
    tagger = Tagger(**options, transitions="pos pos[-1]&pos").fit(sentences, labels)
    own = tagger.features_
    assert [str(one) for one in own.templates] == ["word", "pos", "pos[-1]&pos"]
    columns = own.columns_of("pos pos[-1]&pos")
    assert columns == list(range(own.starts_[1], own.n_features)) == tagger.chain_.transition_features
    assert tagger.chain_.conditioned_coef_.shape == (len(columns), 3, 3)
    assert tagger.score(sentences, labels) >= Tagger(**options).fit(sentences, labels).score(
        sentences, labels
    )


def test_refusals(text, tmp_path):
    tagger = Tagger(columns=("word", "pos"))
    with pytest.raises(ValueError, match="not fitted"):
        tagger.predict(text[0])
    with pytest.raises(ValueError, match="there is no column 'lemma'; there are word, pos"):
        clone(tagger).set_params(templates="lemma").fit(*text)
    chain = ChainClassifier(max_passes=2, tol=1e9).fit([np.eye(2)], [["a", "b"]])
    chain.save(tmp_path / "chain.st")
    with pytest.raises(ValueError, match="holds no tagger of words"):
        Tagger.load(tmp_path / "chain.st")


def notes(**values):
    return lambda header, tensors: header["notes"].update(values)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (notes(aliases="word"), "notes.aliases must be dict, not 'word'"),
        (notes(aliases={"word": 5}), r"notes.aliases\['word'\] must be str"),
        (notes(aliases={"word": "nowhere"}), "there is no column 'nowhere'"),
        (notes(names=["0", 1, "2"]), r"notes.names\[1\] must be str"),
        (notes(names=[]), "notes.label must be one of notes.names"),
        (notes(label=None), "notes.label must be str"),
        (notes(templates=7), "notes.templates must be str"),
        (notes(templates="word.nothing"), "nothing"),
        (notes(min_count="1"), "notes.min_count must be int"),
        (notes(hash_bits=29), "it has 536870912 features, not"),
        (lambda header, tensors: header["notes"].pop("templates"), "it lacks notes.templates"),
        (lambda header, tensors: tensors.update({"array:features": np.zeros(3)}), "must be a vector of keys"),
        (
            lambda header, tensors: tensors.update({"array:features": np.ones(3, dtype=np.uint64)}),
            "it has 3 features, not",
        ),
    ],
)
def test_damaged_taggers_are_refused(tagger, tmp_path, change, why):
    path = tmp_path / "tagger.st"
    tagger.save(path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=f"tagger.st is damaged: .*{why}"):
        Tagger.load(path)


# ---- what is no list of sentences ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def words(text):
    """A tagger of words alone."""
    sentences, labels = text
    return Tagger(random_state=0).fit([[word for word, _ in one] for one in sentences], labels)


def test_sentences_without_words_have_no_labels(words, text):
    """They once reached Viterbi, which corrupted memory."""
    sentence = [word for word, _ in text[0][0]]
    for _ in range(20):
        found = words.predict([[], sentence, []])
        assert [one.size for one in found] == [0, len(sentence), 0]
        np.testing.assert_array_equal(found[1], words.predict([sentence])[0])
    assert [one.size for one in words.predict([[]])] == [0]
    assert [one.shape for one in words.predict_marginals([[], sentence])] == [(0, 3), (len(sentence), 3)]
    assert words.predict_kbest([[]], 2)[0][0][1] == 0.0
    with pytest.raises(ValueError, match="Sequence 1 is empty"):
        Tagger().fit([["a"], []], [["D"], []])


def test_no_sentences_have_no_labels(words):
    for ask in (words.predict, words.predict_marginals, words.predict_kbest, words.sample):
        assert ask([]) == []
    with pytest.raises(NotFittedError):
        Tagger().predict([])


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (
            "The quick fox",
            r"X must be a list of sentences, not a str; .* \[\[\"The\", \"quick\", \"fox\"\]\]",
        ),
        (["The quick fox"], "Sentence 0 must be a list of tokens, not a str"),
        ([["a"], b"The quick fox"], "Sentence 1 must be a list of tokens, not a bytes"),
        ([{"w": "a"}], "Sentence 0 must be a list of tokens, not a dict"),
        ({"a": 1}, "X must be a list of sentences, not a dict"),
        ([["a", None]], "Sentence 0 has a token of NoneType"),
        ([["a", b"b"]], "Sentence 0 has a token of bytes"),
        ([[("a", "b")]], "Sentence 0 has a token of 2 columns; a token is a string"),
        ([[(["a"],)]], "Sentence 0 has a token of tuple"),
        ([3], "Sentence 0 must be a list of tokens, not a int"),
    ],
)
def test_text_of_another_form_is_refused(words, X, said):
    with pytest.raises(ValueError, match=said):
        words.predict(X)
    with pytest.raises(ValueError, match=said):
        Tagger().fit(X, [["D"]])


def test_tokens_of_other_columns_are_refused(tagger):
    said = r"a token is a tuple of 2 strings \(word, pos\)"
    for token in ("ab", {"word": "a", "pos": "D"}, ("a", "D", "x"), ("a", None)):
        with pytest.raises(ValueError, match=said):
            tagger.predict([[token]])


# ---- features by name ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [dict, list])
def test_tokens_that_are_features(text, tmp_path, form):
    sentences, labels = text
    make = {
        dict: lambda word, tag: {"w": word, "pos": tag},
        list: lambda word, tag: [f"w:{word}", f"pos:{tag}"],
    }
    X = [[make[form](*token) for token in one] for one in sentences]
    tagger = Tagger(random_state=0).fit(X, labels)
    same = Tagger(columns=("word", "pos"), templates="word pos", random_state=0).fit(sentences, labels)
    assert tagger.certificate_.primal == pytest.approx(same.certificate_.primal, abs=0.02)
    assert [one.tolist() for one in tagger.predict(X)] == [one.tolist() for one in same.predict(sentences)]
    tagger.save(tmp_path / "tagger.st")
    loaded = Tagger.load(tmp_path / "tagger.st")
    for one, other in zip(tagger.predict_marginals(X), loaded.predict_marginals(X)):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="Token 0 of sentence 0 is a tuple, where features are expected"):
        tagger.predict(sentences)
    with pytest.raises(ValueError, match="a token of several columns as a tuple"):
        Tagger(columns=("word", "pos")).fit(X, labels)


def test_how_sure_it_is(text, tmp_path):
    """The chain is asked, about the rows of the sentences; files keep what it has learnt."""
    sentences, labels = text
    words = Tagger(columns=("word", "pos"), random_state=0).fit(*text)
    chain, rows = words.chain_, words.rows(sentences)
    assert words.predict_spans(sentences) == chain.predict_spans(rows)
    np.testing.assert_array_equal(
        words.log_probability(sentences, labels), chain.log_probability(rows, labels)
    )
    assert words.predict_kbest_proba(sentences, 2)[0][0][1] == chain.predict_kbest_proba(rows, 2)[0][0][1]
    assert words.reliability(sentences, labels).left_out == 0
    found = words.calibrate(sentences, labels)
    assert found.temperature == words.temperature_ == chain.temperature_
    words.conformalize(sentences, labels).save(tmp_path / "model.st")
    same = Tagger.load(tmp_path / "model.st")
    assert same.temperature_ == words.temperature_
    for one, other in zip(same.predict_sets(sentences, 0.8), words.predict_sets(sentences, 0.8)):
        assert list(map(list, one)) == list(map(list, other))
    with pytest.raises(ValueError, match="max_size must be at least 1"):
        words.predict_sets(sentences, max_size=0)
    assert words.predict_spans([]) == words.predict_sets([]) == []
    with pytest.raises(NotFittedError):
        Tagger().predict_spans(sentences)


def test_all_answers_are_limited_to_what_is_allowed():
    words = [["the", "dog", "runs"], ["a", "cat", "sees", "the", "dog"]] * 6
    labels = [["D", "N", "V"], ["D", "N", "V", "D", "N"]] * 6
    tagger = Tagger(random_state=0).fit(words, labels).conformalize(words, labels)
    asked, allowed = [["the", "dog", "runs"]], [[None, {"V", "D"}, None]]
    (free,) = tagger.predict_kbest_proba(asked, 27)
    kept = [(one.tolist(), p) for one, p in free if one[1] != "N"]
    total = sum(p for _, p in kept)
    (ranked,) = tagger.predict_kbest_proba(asked, 27, allowed)
    assert [one.tolist() for one, _ in ranked] == [one for one, _ in kept]
    np.testing.assert_allclose([p for _, p in ranked], [p / total for _, p in kept])
    best = ranked[0][0].tolist()
    assert tagger.predict(asked, allowed)[0].tolist() == best
    assert tagger.predict_sets(asked, 0.9, allowed=allowed)[0][0].tolist() == best
    (spans,) = tagger.predict_spans(asked, allowed)
    assert best == ["D", "D", "V"]
    right = sum(p for one, p in ranked if one.tolist() in (["D", "D", "N"], ["D", "D", "V"]))
    assert spans[0][:3] == (0, 2, "D")
    assert spans[0].probability == pytest.approx(right)


@pytest.mark.parametrize(
    "given",
    [
        {"random_state": 3},
        {"task": "ner", "context": 0, "regularization": 0.5, "n_jobs": 2},
        {"templates": ["word", "word[-1]"], "usual": "word", "chain_options": {"max_passes": 50}},
        {"warm_start": True, "context": 3, "verbose": 0},
    ],
)
@pytest.mark.filterwarnings("ignore:The labels .* mark no spans")
def test_a_loaded_tagger_has_the_parameters_of_the_saved_one(tmp_path, given):
    X, y = [["the", "cat"], ["a", "dog"]] * 40, [["D", "N"], ["D", "N"]] * 40
    tagger = Tagger(**given).fit(X, y)
    tagger.save(tmp_path / "tagger.st")
    assert Tagger.load(tmp_path / "tagger.st").get_params(deep=False) == tagger.get_params(deep=False)
