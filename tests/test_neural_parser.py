"""Parsers with networks: against enumeration, and as people use them."""

from itertools import product

import numpy as np
import pytest

from model_files import rewrite

torch = pytest.importorskip("torch")

import structlearn  # noqa: E402
from structlearn.estimators.tree_parser import Parse  # noqa: E402
from structlearn.neural import NeuralParser  # noqa: E402

TINY = {"hidden_size": 12, "n_layers": 1, "epochs": 12, "dropout": 0.1, "batch_size": 40, "random_state": 0}


def sentences(n, seed=0):
    """Determiners depend on the next noun, the first noun on the verb as subj, a second one as obj."""
    rng, X, y = np.random.default_rng(seed), [], []
    for _ in range(n):
        words, heads, labels = [], [], []
        verb = 1
        if rng.random() < 0.6:
            words, heads, labels = [("the", "D")], [2], ["det"]
            verb = 2
        words.append((str(rng.choice(["dog", "cat"])), "N"))
        heads, labels, verb = [*heads, verb + 1], [*labels, "subj"], verb + 1
        words.append((str(rng.choice(["sees", "calls"])), "V"))
        heads, labels = [*heads, 0], [*labels, "root"]
        if rng.random() < 0.7:
            words += [("a", "D"), (str(rng.choice(["dog", "cat", "Anna"])), "N")]
            heads, labels = [*heads, verb + 2, verb], [*labels, "det", "obj"]
        X.append(words)
        y.append((np.array(heads), np.array(labels)))
    return X, y


@pytest.fixture(scope="module")
def text():
    return sentences(60)


@pytest.fixture(scope="module")
def parser(text):
    return NeuralParser(columns=("form", "upos"), n_networks=2, **TINY).fit(*text)


def is_tree(heads):
    above = [0, *heads]
    for word in range(1, len(above)):
        seen = set()
        while word and word not in seen:
            seen.add(word)
            word = above[word]
        if word:
            return False
    return sum(head == 0 for head in heads) == 1


def test_learns_trees_and_relations(parser):
    X, y = sentences(30, seed=1)
    found = parser.predict(X)
    right = [(one.heads == heads) & (one.labels == labels) for one, (heads, labels) in zip(found, y)]
    assert np.concatenate(right).mean() > 0.95
    assert parser.score(X, y) > 0.95
    assert parser.labels_.tolist() == ["det", "obj", "root", "subj"]


@pytest.mark.parametrize("projective", [False, True])
def test_probabilities_are_those_of_enumeration(parser, projective):
    sentence = [("a", "D"), ("dog", "N"), ("sees", "V"), ("Anna", "N")]
    own = structlearn.neural.NeuralParser(**parser.get_params()).set_params(projective=projective)
    own.networks_, own.coder_, own.labels_ = parser.networks_, parser.coder_, parser.labels_
    (theta,) = own.decision_function([sentence])
    trees = [heads for heads in product(range(5), repeat=4) if is_tree(heads)]
    if projective:
        trees = [one for one in trees if not crossing(one)]
    values = np.array([sum(theta[head, word] for word, head in enumerate(one)) for one in trees])
    shares = np.exp(values - np.logaddexp.reduce(values))
    means = np.zeros_like(theta)
    for one, share in zip(trees, shares):
        means[list(one), range(4)] += share
    np.testing.assert_allclose(own.predict_marginals([sentence])[0], means, atol=1e-6)
    assert tuple(own.predict([sentence])[0].heads) == trees[int(np.argmax(values))]
    (best,) = own.predict_kbest([sentence], 3)
    np.testing.assert_allclose([score for _, score in best], np.sort(values)[::-1][:3], atol=1e-5)
    assert all(type(tree) is Parse for tree, _ in best)
    draws = own.sample([sentence], 400, random_state=0)[0]
    assert (draws == best[0][0].heads).all(axis=1).mean() == pytest.approx(shares.max(), abs=0.1)


def crossing(heads):
    arcs = [sorted((word, head)) for word, head in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def test_many_best_trees_of_a_sentence_are_labelled_in_several_batches(parser):
    (best,) = parser.predict_kbest([[("dog", "N"), ("sees", "V"), ("cat", "N")] * 100], 8)
    assert [tree.heads.size for tree, _ in best] == [tree.labels.size for tree, _ in best] == [300] * 8


def test_files_give_back_the_same_parser(text, parser, tmp_path):
    X, _ = text
    parser.save(tmp_path / "parser.st")
    same = structlearn.load(tmp_path / "parser.st")
    assert type(same) is NeuralParser
    for one, other in zip(parser.predict_marginals(X), same.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [one.labels.tolist() for one in same.predict(X)] == [
        one.labels.tolist() for one in parser.predict(X)
    ]
    assert same.certificate_ == parser.certificate_
    same.save(tmp_path / "again.st")
    assert (tmp_path / "again.st").read_bytes() == (tmp_path / "parser.st").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda header, tensors: header["notes"]["network"].update(n_layers=2),
        lambda header, tensors: header["fitted"].update(labels=["one"]),
        lambda header, tensors: header["parameters"].update(projective="no"),
        lambda header, tensors: header["notes"].pop("network"),
        lambda header, tensors: tensors.update(weights=tensors["weights"][1:].copy()),
        lambda header, tensors: tensors.pop("text:vocabulary"),
    ],
)
def test_damaged_files_are_refused(parser, tmp_path, change):
    parser.save(tmp_path / "parser.st")
    rewrite(tmp_path / "parser.st", change)
    with pytest.raises(ValueError, match=r"parser\.st is damaged: "):
        structlearn.load(tmp_path / "parser.st")


def test_the_seed_decides_and_heads_alone_will_do(text, parser):
    X, y = text
    heads = [one for one, _ in y]
    small = {**TINY, "epochs": 1, "columns": ("form", "upos")}
    first, again = (NeuralParser(**small).fit(X, heads) for _ in range(2))
    np.testing.assert_array_equal(first.predict_marginals(X[:1])[0], again.predict_marginals(X[:1])[0])
    assert first.labels_ is None
    assert type(first.predict(X[:1])[0]) is np.ndarray
    found = parser.predict([X[0], [], X[1]])
    assert found[1].heads.size == found[1].labels.size == 0
    assert parser.predict_marginals([[]])[0].shape == (1, 0)
    assert parser.predict([]) == []
    with pytest.raises(ValueError, match="not fitted"):
        NeuralParser().predict(X[:1])
    assert [one.shape for one in parser.encode(X[:2])] == [(len(one), 48) for one in X[:2]]


def test_wrong_trees_are_refused_with_their_number():
    X = [[("a", "D")], [("a", "D"), ("b", "N")]]
    model = NeuralParser(columns=("form", "upos"), **TINY)
    with pytest.raises(ValueError, match=r"Sentence 1: .*cycle"):
        model.fit(X, [[0], [2, 1]])
    with pytest.raises(ValueError, match=r"Sentence 1: .*root"):
        model.fit(X, [[0], [0, 0]])
    with pytest.raises(ValueError, match="2 examples but y has 1"):
        model.fit(X, [[0]])
    assert model.set_params(single_root=False, epochs=1).fit(X, [[0], [0, 0]]).predict(X)[0].tolist() == [0]
