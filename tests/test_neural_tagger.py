"""Taggers with networks: against enumeration, and as people use them."""

from itertools import pairwise, product

import numpy as np
import pytest

from model_files import rewrite

torch = pytest.importorskip("torch")

import structlearn  # noqa: E402
from structlearn import ChainClassifier, Tagger  # noqa: E402
from structlearn.neural import NeuralTagger  # noqa: E402
from structlearn.neural import training as training_module  # noqa: E402
from structlearn.neural.batches import TextBatches, grouped  # noqa: E402

TINY = {"hidden_size": 8, "epochs": 3, "n_networks": 1, "batch_size": 40, "random_state": 0}


def sentences(n, seed=0):
    """Names end in -mo or -ril, one or two in a row; verbs do not."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words, labels = [], []
        for _ in range(int(rng.integers(1, 6))):
            if rng.random() < 0.4:
                length = int(rng.integers(1, 3))
                stems = rng.choice(list("BCDFGHKLMNPRSTV"), size=length)
                words += [(f"{stem}a{rng.choice(['mo', 'ril'])}", "N") for stem in stems]
                labels += ["B-PER", *["I-PER"] * (length - 1), "O"]
                words.append(("and", "C"))
            else:
                words.append((str(rng.choice(["sees", "runs", "calls"])), "V"))
                labels.append("O")
        X.append(words)
        y.append(labels)
    return X, y


@pytest.fixture(scope="module")
def text():
    return sentences(80)


@pytest.fixture(scope="module")
def tagger(text):
    options = {"columns": ("word", "pos"), "constraints": "bio"}
    return NeuralTagger(**options, **{**TINY, "n_networks": 2}).fit(*text)


def network_tables(tagger, sentence):
    """The scores of labels and steps, the mean over the networks, by the modules themselves."""
    batch = TextBatches(tagger.coder_.code(tagger.text([sentence]))).make(np.array([0]))
    nets = tagger.networks_
    steps = [(one.crf.transitions, one.crf.start_transitions, one.crf.end_transitions) for one in nets]
    with torch.no_grad():
        scores = torch.stack([one(batch)[0] for one in nets]).mean(0).double().numpy()
    return scores, *(np.mean([one.detach().numpy() for one in each], axis=0) for each in zip(*steps))


def test_probabilities_are_those_of_enumeration(text, tagger):
    X, y = text
    linear = Tagger(columns=("word", "pos"), constraints="bio", random_state=0).fit(X, y)
    sentence = sentences(1, seed=5)[0][0][:4]
    scores, steps, start, end = network_tables(tagger, sentence)
    own = linear.chain_.decision_function(linear.rows([sentence]))[0]
    labels, k = tagger.classes_.tolist(), len(tagger.classes_)
    outputs, values = [], []
    for one in product(range(k), repeat=len(sentence)):
        names = [labels[code] for code in one]
        if any(b == "I-PER" and a not in ("B-PER", "I-PER") for a, b in pairwise([None, *names])):
            continue
        of_network = scores[range(len(one)), one].sum() + start[one[0]] + end[one[-1]]
        of_network += sum(steps[pair] for pair in pairwise(one))
        of_linear = own[range(len(one)), one].sum()
        of_linear += sum(linear.chain_.transition_coef_[pair] for pair in pairwise(one))
        outputs.append(one)
        values.append(0.5 * of_network + 0.5 * of_linear)
    shares = np.exp(np.array(values) - np.logaddexp.reduce(values))
    means = sum(share * np.eye(k)[list(one)] for one, share in zip(outputs, shares))
    np.testing.assert_allclose(tagger.predict_marginals([sentence])[0], means, atol=1e-6)
    best = outputs[int(np.argmax(shares))]
    assert tagger.predict([sentence])[0].tolist() == [labels[code] for code in best]
    assert tagger.log_probability([sentence], [[labels[c] for c in best]])[0] == pytest.approx(
        np.log(shares.max()), abs=1e-6
    )


def test_networks_alone_learn_from_the_characters_of_words(text):
    X, y = text
    larger = {**TINY, "epochs": 12, "hidden_size": 16, "dropout": 0.2}
    alone = NeuralTagger(columns=("word", "pos"), linear_share=0.0, **larger).fit(X, y)
    unseen, gold = sentences(40, seed=1)
    assert alone.score(unseen, gold) > 0.9
    assert alone.linear_certificate_ == {}
    losses = alone.history_.primal
    assert losses[-1] < 0.5 * losses[0]
    assert alone.certificate_.dual == 0.0
    spans = alone.predict_spans(unseen)
    assert all(0 < span.probability <= 1 for one in spans for span in one)


def test_files_give_back_the_same_tagger(text, tagger, tmp_path):
    X, _ = text
    tagger.save(tmp_path / "tagger.st")
    same = structlearn.load(tmp_path / "tagger.st")
    assert type(same) is NeuralTagger
    for one, other in zip(tagger.predict_marginals(X), same.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(tagger.encode(X), same.encode(X), strict=True):
        np.testing.assert_array_equal(one, other)
    same.save(tmp_path / "again.st")
    assert (tmp_path / "again.st").read_bytes() == (tmp_path / "tagger.st").read_bytes()
    assert same.get_params() == tagger.get_params()
    with pytest.raises(ValueError, match="use structlearn"):
        Tagger.load(tmp_path / "tagger.st")


def larger(header, _):
    header["notes"]["network"]["hidden_size"] = 10**9


def another(header, _):
    header["notes"]["network"]["n_networks"] = 3


def shorter(_, tensors):
    tensors["array:networks"] = tensors["array:networks"][:-1].copy()


def not_finite(_, tensors):
    tensors["array:networks"] = np.full_like(tensors["array:networks"], np.nan)


def lacking(_, tensors):
    del tensors["array:networks"]


def no_words(_, tensors):
    tensors["text:vocabulary"] = np.frombuffer(b'[["word","pos"],[]]\n', dtype=np.uint8)


@pytest.mark.parametrize("change", [larger, another, shorter, not_finite, lacking, no_words])
def test_damaged_files_are_refused(tagger, tmp_path, change):
    tagger.save(tmp_path / "tagger.st")
    rewrite(tmp_path / "tagger.st", change)
    with pytest.raises(ValueError, match=r"tagger\.st is damaged: "):
        structlearn.load(tmp_path / "tagger.st")


def test_the_seed_decides_and_another_fit_starts_afresh(text, tagger):
    X, y = text
    first = tagger.predict_marginals(X[:5])
    state = torch.random.get_rng_state()
    again = NeuralTagger(**tagger.get_params()).fit(*sentences(10, seed=3)).fit(X, y)
    assert torch.equal(state, torch.random.get_rng_state())  # that of the caller is left alone
    for one, other in zip(first, again.predict_marginals(X[:5])):
        np.testing.assert_array_equal(one, other)
    other_seed = NeuralTagger(**tagger.get_params()).set_params(random_state=1, n_networks=1).fit(X, y)
    assert not np.allclose(first[0], other_seed.predict_marginals(X[:1])[0])


def test_a_sentence_has_the_same_answer_alone_and_among_others(text, tagger):
    X, _ = text
    among = tagger.predict_marginals([*X[:10], []])
    assert among[-1].shape == (0, 3)
    for i in (0, 3, 7):
        np.testing.assert_allclose(tagger.predict_marginals([X[i]])[0], among[i], atol=1e-5)
    assert tagger.predict([]) == []
    assert [len(one) for one in tagger.encode([[], X[0], []])] == [0, len(X[0]), 0]


def test_the_last_layer_can_be_trained_to_a_certificate(text, tagger):
    X, y = text
    states = tagger.encode(X)
    assert states[0].shape == (len(X[0]), 2 * 2 * 8)
    chain = ChainClassifier(regularization=0.01, tol=0.01, random_state=0).fit(states, y)
    assert chain.certificate_.converged
    assert 0 <= chain.certificate_.gap <= 0.01
    assert chain.score(tagger.encode(sentences(30, seed=2)[0]), sentences(30, seed=2)[1]) > 0.8
    both = Tagger(columns=("word", "pos"), random_state=0).fit(list(zip(X, states)), y)
    assert both.certificate_.converged
    assert both.chain_.n_features_in_ == both.features_.n_features + 32


def test_vectors_are_inputs(text, tmp_path):
    X, y = text
    path = tmp_path / "vectors.vec"
    path.write_text("3 2\nsees 1 0\nruns 0 1\nzebra 1 1\n")
    tagger = NeuralTagger(columns=("word", "pos"), vectors=path, **TINY).fit(X, y)
    (table,) = [one.encoder.vectors for one in tagger.networks_]
    assert table.shape == (4, 2)
    at = tagger.coder_.code(tagger.text([[("Zebra", "N"), ("runs", "V"), ("unknown", "N")]])).vectors
    np.testing.assert_allclose(table[at], [[0.5**0.5, 0.5**0.5], [0, 1], [0, 0]], rtol=1e-6)
    tagger.save(tmp_path / "tagger.st")
    again = structlearn.load(tmp_path / "tagger.st")
    assert torch.equal(again.networks_[0].encoder.vectors, table)

    with pytest.raises(FileNotFoundError, match=r"none\.vec does not exist"):
        tagger.set_params(vectors=tmp_path / "none.vec").fit(X, y)


def test_training_that_ends_early_leaves_a_model(text, monkeypatch):
    X, y = text
    tagger = NeuralTagger(columns=("word", "pos"), **TINY)
    update, steps = training_module.NetworkTraining._update, []

    def interrupted(*given):
        steps.append(1)
        if len(steps) == 3:
            raise KeyboardInterrupt
        return update(*given)

    monkeypatch.setattr(training_module.NetworkTraining, "_update", interrupted)
    assert tagger.fit(X, y).certificate_.interrupted
    assert len(tagger.predict(X[:2])) == 2
    monkeypatch.setattr(training_module.NetworkTraining, "_update", update)
    limited = tagger.set_params(max_seconds=1e-9, linear_share=0.0, n_networks=3).fit(X, y)
    assert limited.certificate_.status.startswith("Stopped after max_seconds")
    assert len(limited.networks_) == 1


@pytest.mark.parametrize(
    ("parameters", "X", "y", "sentence"),
    [
        ({"epochs": 0}, None, None, "epochs must be a whole number"),
        ({"dropout": 1.0}, None, None, "dropout must be at least 0"),
        ({"linear_share": 1.0}, None, None, "linear_share must be"),
        ({"learning_rate": float("nan")}, None, None, "learning_rate must be positive"),
        ({}, [(["a"], np.full((1, 2), np.nan))], [["X"]], "arrays go with Tagger"),
        ({}, [[{"word": "a"}]], [["X"]], "go with Tagger"),
        ({}, [["a", "b"]], [["X", None]], "partly labelled"),
        ({}, [["a", "b"]], [["X"]], "1 labels"),
        ({}, [], [], "empty"),
    ],
)
def test_refusals(parameters, X, y, sentence, text):
    given = text if X is None else (X, y)
    columns = ("word", "pos") if X is None else ("word",)
    with pytest.raises(ValueError, match=sentence):
        NeuralTagger(columns=columns, **{**TINY, **parameters}).fit(*given)


def test_batches_hold_each_sentence_once_and_few_words():
    lengths = np.array([3, 0, 9, 1, 30, 3, 2, 9])
    for rng in (None, np.random.default_rng(0)):
        groups = grouped(lengths, 12, rng)
        assert sorted(np.concatenate(groups).tolist()) == [0, 2, 3, 4, 5, 6, 7]
        assert all(len(one) == 1 or len(one) * lengths[one].max() <= 12 for one in groups)
