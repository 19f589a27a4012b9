"""Models of CRFsuite, with the real python-crfsuite where it is installed."""

import contextlib
from functools import cache

import numpy as np
import pytest
from foreign import named, named_tagger, pattern_tagger, sentences

from structlearn.tagging.exchange import crfsuite, crfsuite_file
from structlearn.tagging.exchange.cqdb import lookup3, read_strings, write_strings


def lookup3_by_hand(text):
    """Jenkins's hashlittle of a string, with integers of Python."""

    def turn(x, k):
        return ((x << k) | (x >> (32 - k))) & 0xFFFFFFFF

    a = b = c = (0xDEADBEEF + len(text)) & 0xFFFFFFFF
    blocks = [text[at : at + 12].ljust(12, b"\0") for at in range(0, len(text), 12)]
    for n, block in enumerate(blocks):
        x, y, z = (int.from_bytes(block[k : k + 4], "little") for k in (0, 4, 8))
        a, b, c = (a + x) % 2**32, (b + y) % 2**32, (c + z) % 2**32
        if n + 1 == len(blocks):
            break
        a = ((a - c) % 2**32) ^ turn(c, 4)
        c = (c + b) % 2**32
        b = ((b - a) % 2**32) ^ turn(a, 6)
        a = (a + c) % 2**32
        c = ((c - b) % 2**32) ^ turn(b, 8)
        b = (b + a) % 2**32
        a = ((a - c) % 2**32) ^ turn(c, 16)
        c = (c + b) % 2**32
        b = ((b - a) % 2**32) ^ turn(a, 19)
        a = (a + c) % 2**32
        c = ((c - b) % 2**32) ^ turn(b, 4)
        b = (b + a) % 2**32
    c = ((c ^ b) - turn(b, 14)) % 2**32
    a = ((a ^ c) - turn(c, 11)) % 2**32
    b = ((b ^ a) - turn(a, 25)) % 2**32
    c = ((c ^ b) - turn(b, 16)) % 2**32
    a = ((a ^ c) - turn(c, 4)) % 2**32
    b = ((b ^ a) - turn(a, 14)) % 2**32
    return ((c ^ b) - turn(b, 24)) % 2**32


def test_hashes_are_lookup3():
    texts = [bytes(range(1, n + 1)) for n in range(1, 60)]
    assert lookup3(texts).tolist() == list(map(lookup3_by_hand, texts))


def test_a_dictionary_comes_back():
    strings = [f"w={k}" for k in range(1000)] + ["é", ""]
    assert read_strings(b"xy" + write_strings(strings), 2, len(strings)) == strings
    with pytest.raises(ValueError, match="zero byte"):
        write_strings(["a\0b"])


def peer(path):
    tagger = pytest.importorskip("pycrfsuite").Tagger()
    tagger.open(str(path))
    return tagger


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model that the real CRFsuite trained."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    path = tmp_path_factory.mktemp("crfsuite") / "m.crfsuite"
    trainer = pycrfsuite.Trainer(verbose=False)
    X, y = sentences()
    for tokens, labels in zip(named(X), y):
        trainer.append(tokens, labels)
    trainer.train(str(path))
    return path


def test_an_imported_model_answers_as_the_real_crfsuite(trained):
    theirs, ours = peer(trained), crfsuite.read_tagger(trained.read_bytes())
    X = named(sentences(100, seed=1)[0])
    assert [one.tolist() for one in ours.predict(X)] == [theirs.tag(one) for one in X]
    for tokens, table in zip(X[:20], ours.predict_marginals(X[:20])):
        theirs.set(tokens)
        shares = [[theirs.marginal(label, t) for label in ours.classes_] for t in range(len(tokens))]
        np.testing.assert_allclose(table, shares, atol=1e-10)


def test_the_contents_of_a_real_file_are_written_byte_by_byte(trained):
    data = trained.read_bytes()
    assert crfsuite_file.write_model(crfsuite_file.read_model(data)) == data


@pytest.mark.parametrize("parameters", [{}, {"loss": "hinge"}, {"chain_options": {"fit_intercept": False}}])
def test_an_exported_model_answers_in_the_real_crfsuite_as_ours(tmp_path, parameters):
    tagger = named_tagger(**parameters)
    path = tmp_path / "m.crfsuite"
    path.write_bytes(crfsuite.write_tagger(tagger))
    theirs = peer(path)
    X = named(sentences(100, seed=2)[0])
    more = ["intercept"] if tagger.chain_.intercept_.any() else []
    found = [theirs.tag([[*token, *more] for token in one]) for one in X]
    assert found == [one.tolist() for one in tagger.predict(X)]


def test_templates_export_under_the_names_of_their_features(tmp_path):
    tagger = pattern_tagger()
    path = tmp_path / "m.crfsuite"
    path.write_bytes(crfsuite.write_tagger(tagger))
    theirs = peer(path)
    X, _ = sentences(30, seed=3)
    for sentence, labels in zip(X, tagger.predict(X)):
        rows = tagger.rows([sentence]).rows
        tokens = [[tagger.features_.names_[j] for j in rows[t].indices] for t in range(len(sentence))]
        assert theirs.tag([[*one, "intercept"] for one in tokens]) == labels.tolist()


def test_conditioned_transitions_are_refused():
    with pytest.raises(ValueError, match="transitions that depend on features"):
        crfsuite.write_tagger(pattern_tagger(["U:%x[0,0]", "B1:%x[0,1]"]))


def test_damaged_files_are_refused():
    data = crfsuite.write_tagger(named_tagger())
    for end in range(0, len(data), 97):
        with pytest.raises(ValueError, match=r"CRFsuite|cut short|dictionary|weights"):
            crfsuite.read_tagger(data[:end])
    for at in (0, 4, 8, 12, 20, 24, 28, 32, 36):  # the number of features and the references are not read
        with pytest.raises(ValueError, match=r"CRFsuite|cut short|dictionary|weights"):
            crfsuite.read_tagger(data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :])


@pytest.mark.parametrize("seed", range(200))
def test_flipped_bits_make_another_model_or_one_sentence(seed):
    rng = np.random.default_rng(seed)
    data = bytearray(small_model())
    for at in rng.integers(len(data), size=int(rng.integers(1, 9))).tolist():
        data[at] ^= 1 << int(rng.integers(8))
    with contextlib.suppress(ValueError):
        assert len(crfsuite.read_tagger(bytes(data)).classes_) > 0


@cache
def small_model():
    return crfsuite.write_tagger(named_tagger())
