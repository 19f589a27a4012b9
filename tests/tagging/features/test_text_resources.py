"""Columns made of others: lexicons, clusters, usual labels; sentence views."""

from __future__ import annotations

import gzip
from collections import Counter

import numpy as np
import pytest

from structlearn.data import DataError, Tokens
from structlearn.tagging.features.clusters import Clusters, bit_paths, cluster_vectors, read_clusters
from structlearn.tagging.features.derived import Stored
from structlearn.tagging.features.lexicon import PhraseList
from structlearn.tagging.features.resources import DerivedColumns, Resources, parse_lexicons
from structlearn.tagging.features.runs import SENTENCE_VIEWS, possible_values
from structlearn.tagging.features.usual import BLOCK, UsualLabels
from structlearn.tagging.parameters import TaggerParameters

VECTORS = "4 2\nla 1 0\nel 0.9 0.1\nperro 0 1\ngato -0.1 1\n"


def naive_matches(words, phrases):
    """Try all lengths at each place, the longest first."""
    at, found = 0, []
    while at < len(words):
        lengths = [n for n in range(len(words) - at, 0, -1) if " ".join(words[at : at + n]) in phrases]
        if lengths:
            found.append((at, at + lengths[0]))
        at += lengths[0] if lengths else 1
    return found


def test_lexicon_finds_what_a_naive_search_finds():
    rng = np.random.default_rng(0)
    letters = np.array(list("abc"))
    for _ in range(200):
        phrases = {" ".join(rng.choice(letters, rng.integers(1, 5))) for _ in range(rng.integers(1, 8))}
        words = rng.choice(letters, rng.integers(0, 12)).tolist()
        assert list(PhraseList.of("L", phrases).matches(words)) == naive_matches(words, phrases)


def test_lexicon_cells():
    sentences = [["Ana", "vive", "en", "San", "Juan", "de", "Alba"], ["San"], [], ["Juan", "Ana", "Ana"]]
    tokens = PhraseList.of("L", ["San Juan de Alba", "San Juan", "Ana"]).add(Tokens.from_sentences(sentences))
    assert "".join(tokens.column("L").cells) == "UOOBIILOOUU"


def test_lexicon_files(tmp_path):
    path = tmp_path / "names.txt.gz"
    path.write_bytes(gzip.compress("Ana  López\n\n\tJuan \r\nAna López\n".encode()))
    lexicon = PhraseList.of("PERSON", path)
    assert list(lexicon.phrases) == [("Ana", "López"), ("Juan",)]
    again = PhraseList.from_stored(lexicon.to_stored())
    assert (again.name, again.word, again.phrases) == (lexicon.name, lexicon.word, lexicon.phrases)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "holds no phrases"), (b" \n\t\n", "holds no phrases"), (b"Ana\nJos\xe9\n", "line 2.* not UTF-8")],
)
def test_lexicon_refusals(tmp_path, content, message):
    path = tmp_path / "names.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        PhraseList.of("L", path)


def test_names_of_lexicons():
    for name in ("", "1st", "a b", "x&y", "word[1]"):
        with pytest.raises(ValueError, match="cannot name a lexicon"):
            PhraseList.of(name, ["Ana"])
    assert parse_lexicons(["A=x=y.txt", "B=z"]) == {"A": "x=y.txt", "B": "z"}
    for flags in (["A"], ["A="], ["A=x", "A=y"]):
        with pytest.raises(ValueError, match=r"--lexicon PERSON=names\.txt"):
            parse_lexicons(flags)
    with pytest.raises(ValueError, match="name of another column"):
        Resources(TaggerParameters(lexicons={"word": ["Ana"]})).check(["word", "pos"])
    with pytest.raises(ValueError, match="each a string; got a int"):
        PhraseList.of("L", [1])


# ---- clusters --------------------------------------------------------------------------------------


def text(*words):
    return Tokens.from_sentences([list(words)])


@pytest.mark.parametrize(
    ("lines", "path"), [("010\tEl\t7\n11\tperro\t2\n", "010"), ("El 7\n\nperro 8\n", "7"), ("El 0\n", "0")]
)
def test_cluster_files(tmp_path, lines, path):
    file = tmp_path / "clusters"
    file.write_text(lines)
    clusters = read_clusters(file, text("El", "perro"))
    assert clusters.of_word("El") == path
    assert clusters.add(text("El", "nunca")).column("cluster").cells.tolist() == [path, ""]
    assert Clusters.from_stored(clusters.to_stored()).paths == clusters.paths


def test_cluster_refusals(tmp_path):
    file = tmp_path / "clusters"
    for content, message in (
        ("a\n", "line 1.*bits word count"),
        ("\n", "no clusters"),
        ("a b c d\n", "line 1"),
    ):
        file.write_text(content)
        with pytest.raises(DataError, match=message):
            read_clusters(file, text("a"))
    file.write_text("hund 1\n")
    with pytest.raises(ValueError, match=r"0\.0% of the 2 words"):
        read_clusters(file, text("el", "perro"))


def test_vectors_become_clusters(tmp_path):
    file = tmp_path / "some.vec"
    file.write_text(VECTORS)
    clusters = cluster_vectors(file, text("La", "gato", "nunca"))
    paths = clusters.paths
    assert paths["la"][0] == paths["el"][0] != paths["perro"][0] == paths["gato"][0]
    assert clusters.of_word("La") == paths["la"]  # by its lower case
    again = Clusters.from_stored(clusters.to_stored())
    assert again.paths == paths
    assert again.default_templates == clusters.default_templates


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "count dimension"),
        (b"four 2\nla 1 0\n", "count dimension"),
        (b"1 2\nla 1 0 3\n", "line 2: 3 values after the word, not 2"),
        (b"2 2\nla 1 0\n", "1 vectors but its first line says 2"),
        (b"1 2\nla 1 nan\n", "not finite"),
        (b"1 2\nl\xe0 1 0\n", "not UTF-8"),
        (b"1 2\nhund 1 0\n", r"0\.0% of the 1 words"),
    ],
)
def test_vector_refusals(tmp_path, content, message):
    file = tmp_path / "some.vec"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        cluster_vectors(file, text("la"))


def test_bit_paths_separate_what_is_apart():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 5)) * 10
    group = rng.integers(0, 4, size=80)
    paths = bit_paths(centres[group] + rng.normal(size=(80, 5)) * 0.01, 2)
    assert len({(g, path) for g, path in zip(group.tolist(), paths)}) == 4
    assert len(set(paths)) == 4
    same = bit_paths(np.ones((6, 3)), 4)
    assert len(set(same)) == 1


# ---- usual labels ----------------------------------------------------------------------------------


def naive_usual(sentences, labels, own, *, hidden):
    """Counts of labels of a word in all sentences, or in those of other blocks."""
    return [
        Counter(
            label
            for i, (words, tags) in enumerate(zip(sentences, labels))
            if not hidden or i // BLOCK != own // BLOCK
            for other, label in zip(words, tags)
            if other == word
        )
        for word in sentences[own]
    ]


def described(counts):
    if not counts:
        return "new"
    total = sum(counts.values())
    label, n = min(counts.items(), key=lambda one: (-one[1], one[0]))
    share = 0 if n / total < 0.6 else 1 if n / total < 0.9 else 2
    return f"{label} {3 * share + (0 if total < 2 else 1 if total < 4 else 2)}"


def test_usual_labels_are_those_of_other_blocks():
    rng = np.random.default_rng(1)
    n = 2 * BLOCK + 5
    sentences = [rng.choice(list("abcdefgh"), rng.integers(0, 4)).tolist() for _ in range(n)]
    sentences[3] = ["once"]
    labels = [[rng.choice(["O", "B-X"], p=[0.7, 0.3]) for _ in words] for words in sentences]
    usual = UsualLabels.of("word word[-1]&word")
    learnt = usual.learn(Tokens.from_sentences(sentences), labels)
    told = learnt.column("usual1").cells.tolist()
    naive = [described(c) for i in range(n) for c in naive_usual(sentences, labels, i, hidden=True)]
    assert told == naive
    assert "new" in told
    later = usual.add(Tokens.from_sentences(sentences)).column("usual1").cells.tolist()
    assert later == [described(c) for i in range(n) for c in naive_usual(sentences, labels, i, hidden=False)]
    assert usual.add(Tokens.from_sentences([["nunca", "a"]])).column("usual1").cells[0] == "new"
    again = DerivedColumns.from_stored(as_bundle(DerivedColumns((usual,))))
    assert again.add(Tokens.from_sentences(sentences)).column("usual2").cells.tolist() == (
        usual.add(Tokens.from_sentences(sentences)).column("usual2").cells.tolist()
    )


def as_bundle(derived):
    return Stored(derived.notes(), derived.texts(), derived.arrays())


def test_unknown_labels_do_not_count():
    sentences = [["a", "b"]] * (2 * BLOCK)
    labels = [[None, {"X", "Y"}]] * (2 * BLOCK - 1) + [["Z", "Z"]]
    usual = UsualLabels.of("word")
    usual.learn(Tokens.from_sentences(sentences), labels)
    assert usual.labels == ["Z"]
    assert usual.add(Tokens.from_sentences([["a"]])).column("usual1").cells.tolist() == ["Z 6"]


def test_tokens_without_a_value_are_alike_in_training_and_later():
    sentences = [["Ana", "ve", "a", "Eva"]] * (2 * BLOCK)
    usual = UsualLabels.of("word.suffix3 word.first")
    learnt = usual.learn(Tokens.from_sentences(sentences), [["X", "O", "O", "X"]] * (2 * BLOCK))
    later = usual.add(Tokens.from_sentences(sentences))
    for column in usual.columns:
        assert later.column(column).cells.tolist() == learnt.column(column).cells.tolist()
    assert later.column("usual2").cells.tolist()[:4] == ["X 8", "O 8", "O 8", "X 8"]


def test_damaged_resources():
    derived = DerivedColumns((UsualLabels.of("word"), PhraseList.of("L", ["a"])))
    derived.parts[0].learn(Tokens.from_sentences([["a"]]), [["X"]])
    whole = as_bundle(derived)
    DerivedColumns.from_stored(whole)
    wrong = [
        whole._replace(notes={"derived": [{"kind": "nothing"}]}),
        whole._replace(notes={"derived": "all"}),
        whole._replace(arrays={}),
        whole._replace(texts={}),
        whole._replace(arrays={**whole.arrays, "derived0:codes0": np.array([99], dtype=np.int32)}),
        whole._replace(arrays={**whole.arrays, "derived0:keys0": np.array([[1]], dtype=np.uint64)}),
    ]
    for bundle in wrong:
        with pytest.raises(ValueError, match=r"derived|usual labels"):
            DerivedColumns.from_stored(bundle)


# ---- views of sentences ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "seen"),
    [
        ("before", ["", "dijo", "dijo", "dijo", "a"]),
        ("after", ["a", "a", "a", "", ""]),
        ("first", [None, "Ana", "Ana", None, "Juan"]),
        ("last", [None, "López", "López", None, "Juan"]),
        ("place", ["0", "1/2", "2/2", "0", "1/1"]),
    ],
)
def test_views_of_runs(view, seen):
    assert SENTENCE_VIEWS[view](["dijo", "Ana", "López", "a", "Juan"]) == seen


def test_view_of_quotations():
    seen = SENTENCE_VIEWS["quoted"](["El", '"', "Siete", "Colinas", '"', "de", '"', '"', '"', "x"])
    assert seen == [
        "O",
        'few XX " ',
        "few XX B",
        "few XX E",
        'few XX  "',
        "O",
        '0 xx " ',
        '0 xx  "',
        "O",
        "O",
    ]


@pytest.mark.parametrize("view", SENTENCE_VIEWS)
def test_views_of_hostile_sentences(view):
    for words in ([], [""], ["\ud800", "\x00", '"'], ["É" * 10_000], ['"', "A"] * 50):
        seen = SENTENCE_VIEWS[view](words)
        assert len(seen) == len(words)
        assert set(seen) - {None} <= set(possible_values(view, words))
