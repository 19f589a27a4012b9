"""TreeParser: what it learns, its two stages, files, refusals."""

import numpy as np
import pytest

import structlearn
from structlearn import TreeParser
from structlearn.estimators.inputs.tokens import token_codes
from structlearn.structures import ProjectiveTree

TEMPLATES = ("", "h.upos m.upos", "m.lower", "h.lower", "h.upos b.upos m.upos", "m.suffix2")


def sentences(n=24, seed=0):
    """Determiners lean on the next noun, nouns on the verb, the verb is the root."""
    rng, X, y = np.random.default_rng(seed), [], []
    for _ in range(n):
        tags = [*(["D", "N"] * int(rng.integers(0, 2))), "V", *(["D", "N"] * int(rng.integers(1, 3)))]
        verb = tags.index("V") + 1
        words = [f"{tag.lower()}{rng.integers(3)}" for tag in tags]
        X.append(list(zip(words, tags, tags)))
        heads = [0 if tag == "V" else k + 2 if tag == "D" else verb for k, tag in enumerate(tags)]
        y.append((np.array(heads), np.array([{"V": "root", "D": "det", "N": "obj"}[tag] for tag in tags])))
    return X, y


def parser(**options):
    parameters = {
        "regularization": 0.1,
        "templates": TEMPLATES,
        "bits": 12,
        "label_bits": 8,
        "random_state": 0,
    }
    return TreeParser(**{**parameters, **options})


@pytest.fixture(scope="module")
def trained():
    X, y = sentences()
    return parser(label_regularization=1e-3, tol=1e-3, label_tol=1e-3).fit(X, y)


def test_it_learns_trees_and_labels(trained):
    X, y = sentences(seed=1)
    for found, (heads, labels) in zip(trained.predict(X), y):
        np.testing.assert_array_equal(found.heads, heads)
        assert found.labels.tolist() == labels.tolist()
    assert trained.score(X, y) == 1.0
    assert trained.certificate_.gap <= 1e-3
    assert trained.label_certificate_["gap"] <= 1e-3


def test_models_survive_a_file(trained, tmp_path):
    X, _ = sentences(seed=2)
    trained.save(tmp_path / "parser.st")
    again = structlearn.load(tmp_path / "parser.st")
    for one, other in zip(trained.predict(X), again.predict(X)):
        np.testing.assert_array_equal(one.heads, other.heads)
        assert one.labels.tolist() == other.labels.tolist()
    assert again.templates_ == list(TEMPLATES)


def test_scores_k_best_and_predictions_belong_together(trained):
    X, _ = sentences(6, seed=3)
    for theta, tree, best in zip(
        trained.decision_function(X), trained.predict(X), trained.predict_kbest(X, 3)
    ):
        np.testing.assert_array_equal(best[0][0].heads, tree.heads)
        assert best[0][1] == pytest.approx((theta * ProjectiveTree().encode(tree.heads)).sum())
        assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)
    with pytest.raises(AttributeError, match="train with loss='softmax'"):
        trained.sample(X)


def test_a_crf_has_marginals_and_samples():
    X, y = sentences(8)
    model = parser(loss="softmax", regularization=1.0, tol=0.05).fit(X, [heads for heads, _ in y])
    assert model.labels_ is None
    for theta, table in zip(model.decision_function(X), model.predict_marginals(X)):
        np.testing.assert_allclose(table, ProjectiveTree().marginals(theta).mean, atol=1e-12)
    drawn = model.sample(X, 5, random_state=0)
    assert [one.shape for one in drawn] == [(5, len(x)) for x in X]
    assert model.predict(X)[0].shape == (len(X[0]),)
    gap = model.certificate_.gap
    assert 0 <= gap <= 0.05


def test_crossing_arcs_are_moved_with_a_warning():
    X = [[(w, w, w) for w in "abcd"]]
    crossing = [np.array([0, 1, 1, 2])]
    with pytest.warns(UserWarning, match=r"1 of 1 trees have crossing arcs.* move 1 of 4 arcs"):
        parser(tol=0.1).fit(X, crossing)
    free = parser(tol=0.1, projective=False, regularization=1e-3).fit(X, crossing)
    np.testing.assert_array_equal(free.predict(X)[0], crossing[0])


def test_sentences_and_trees_that_do_not_fit_are_refused():
    X, y = sentences(2)
    for trees, message in (
        ([np.array([0] * len(X[0])), y[1][0]], r"Sentence 0: Words 1 and 2 are both under the root"),
        ([y[0][0][:-1], y[1][0]], r"Sentence 0: There are \d heads but \d words"),
        ([y[0], y[1][0]], "Tree 1 has no labels but others have"),
        ([(y[0][0], ["a"]), y[1]], "Tree 0 has . heads but 1 labels"),
    ):
        with pytest.raises(ValueError, match=message):
            parser().fit(X, trees)
    with pytest.raises(ValueError, match="Sentence 0 must be a list of at least one token"):
        parser().fit([[], X[1]], y)
    with pytest.raises(ValueError, match="a token is a list of 3 strings"):
        parser().fit([[("a", "b")], X[1]], y)
    with pytest.raises(ValueError, match="reads the column 'lemma'; there are form, upos, xpos"):
        parser(templates=["h.lemma"]).fit(X, y)
    with pytest.raises(ValueError, match="bits must be an integer from 4 to 30"):
        parser(bits=40).fit(X, y)
    with pytest.raises(ValueError, match="no classes to weigh"):
        parser(class_weight="balanced").fit(X, y)


def test_derived_columns_are_functions_of_the_form():
    X = [[("House", "N"), ("house", "N"), ("mouse", "N")]]
    codes, lengths = token_codes(X, ("form", "upos"), ("lower", "form", "suffix4", "prefix2", "upos"))
    assert lengths.tolist() == [3]
    same = [(codes[0] == codes[1]).tolist(), (codes[1] == codes[2]).tolist()]
    assert same == [[True, False, True, False, True], [False, False, True, False, True]]
