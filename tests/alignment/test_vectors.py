"""Word vectors: the text format, the orthogonal map, and what is refused."""

import gzip

import numpy as np
import pytest

from structlearn.alignment.gold.vectors import (
    WordVectors,
    learn_map,
    map_vectors,
    nearest_links,
    orthogonal_map,
    precision_at_1,
    read_dictionary,
    read_vectors,
)
from structlearn.storage.errors import DataError


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_vectors_are_read_and_have_length_one(tmp_path):
    path = write(tmp_path / "en.vec", "3 2\nthe 3 4\nà 0 0\nhouse 0 -2 \n")
    vectors = read_vectors(path)
    assert vectors.words == ["the", "à", "house"]
    np.testing.assert_allclose(vectors.matrix, [[0.6, 0.8], [0, 0], [0, -1]])
    np.testing.assert_allclose(vectors.of(["house", "unknown", "the"]), [[0, -1], [0, 0], [0.6, 0.8]])


def test_only_the_words_asked_for_are_kept(tmp_path):
    path = tmp_path / "en.vec.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("3 1\na 1\nb 2\nc 3\n")
    assert read_vectors(path, words={"c", "a"}).words == ["a", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the 0.1 0.2\n", "line 1: the first line is 'count dimension'"),
        ("", "line 1: the first line is"),
        ("1 ²\na 1 2\n", "line 1: the first line is"),
        (f"1 {'9' * 5000}\na 1 2\n", "line 1: the first line is"),
        ("2 2\na 1 2\nb 1\n", "line 3: 1 values after the word, not 2"),
        ("1 2\na 1 x\n", "line 2: a value is not a number"),
        ("1 2\na 1 nan\n", "line 2: a value is not finite"),
        ("3 1\na 1\nb 2\n", "has 2 vectors but its first line says 3"),
    ],
)
def test_a_bad_file_is_named(tmp_path, text, message):
    path = write(tmp_path / "bad.vec", text)
    with pytest.raises(DataError, match=message):
        read_vectors(path)


@pytest.mark.parametrize("shape", [(5, 5), (3, 5), (5, 3)])
def test_the_map_is_semi_orthogonal_and_no_rotation_of_it_is_better(shape):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, shape[0])), rng.normal(size=(30, shape[1]))
    W = orthogonal_map(X, Y)
    gram = W @ W.T if shape[0] <= shape[1] else W.T @ W
    np.testing.assert_allclose(gram, np.eye(min(shape)), atol=1e-12)
    best = np.sum((X @ W) * Y)
    for _ in range(50):
        turn, _ = np.linalg.qr(np.eye(shape[1]) + 0.1 * rng.normal(size=(shape[1], shape[1])))
        assert np.sum((X @ W @ turn) * Y) <= best + 1e-9


def test_a_rotated_language_is_found_again():
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(60)]
    X = rng.normal(size=(60, 4)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    turn, _ = np.linalg.qr(rng.normal(size=(6, 4)))
    source, target = WordVectors(words, X), WordVectors(words, (X @ turn.T).astype(np.float32))
    pairs = [(word, word) for word in words]
    W, n = learn_map(source, target, [*pairs[:40], ("missing", "w1")])
    assert n == 40
    assert precision_at_1(source.map_by(W), target, pairs[40:]) == (1.0, 20)
    assert precision_at_1(source.map_by(W), target, [("w0", "w1"), ("w0", "w0"), ("w2", "w3")]) == (0.5, 2)


def test_a_dictionary_without_known_words_is_refused():
    one = WordVectors(["a"], np.ones((1, 1), dtype=np.float32))
    with pytest.raises(DataError, match="No pair of the dictionary"):
        learn_map(one, one, [("b", "c")])


def test_dictionaries(tmp_path):
    path = write(tmp_path / "pairs.tsv", "house\tmaison\nred rouge\n")
    assert read_dictionary(path) == [("house", "maison"), ("red", "rouge")]
    with pytest.raises(DataError, match="line 2: a line holds a word and its translation"):
        read_dictionary(write(tmp_path / "bad.tsv", "a\tb\na b c\n"))


@pytest.fixture
def one_space():
    matrix = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0].astype(np.float32)
    return WordVectors(list("abcd"), matrix), WordVectors(list("BACD"), matrix[[1, 0, 2, 3]])


def test_nearest_links(one_space):
    np.testing.assert_array_equal(nearest_links((["a", "b", "c"], ["A", "B", "C"]), one_space), np.eye(3))
    np.testing.assert_array_equal(nearest_links((["a", "?"], ["B", "A"]), one_space), [[0, 1], [0, 0]])
    assert nearest_links(([], ["A"]), one_space).shape == (0, 1)


def test_the_map_is_judged_by_words_it_was_not_learned_from():
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(60)]
    X = rng.normal(size=(60, 4)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    turn, _ = np.linalg.qr(rng.normal(size=(6, 4)))
    sides = WordVectors(words, X), WordVectors(words, (X @ turn.T).astype(np.float32))
    found = map_vectors(sides, [(word, word) for word in words])
    assert (found.known, found.precision, found.asked) == (60, 1.0, 6)
    np.testing.assert_allclose(found.vectors[0].matrix, found.vectors[1].matrix, atol=1e-5)
    wrong = [(word, words[i - 1]) if i % 10 == 9 else (word, word) for i, word in enumerate(words)]
    assert map_vectors(sides, wrong).precision == 0.0
    assert map_vectors(sides, [("w1", "w1")]).asked == 0


def test_words_that_become_one_keep_the_first_vector():
    vectors = WordVectors(["été", "ete", "a"], np.eye(3, dtype=np.float32))
    found = vectors.rewritten(lambda word: word.replace("é", "e"))
    assert found.words == ["ete", "a"]
    np.testing.assert_array_equal(found.matrix, np.eye(3)[[0, 2]])
