"""Labels carried over links, and the files they come in."""

import json

import pytest

from structlearn.alignment.links import Aligned
from structlearn.alignment.uses.labelled import (
    LABELLED_FORMATS,
    ProjectedSentence,
    check_same_words,
    is_spans,
    read_labelled,
)
from structlearn.alignment.uses.projection import (
    Projection,
    project_pair,
    project_spans,
    project_tags,
    without_unsure,
)
from structlearn.data import DataError


def aligned(text, sure=None):
    links = [tuple(map(int, one.split("-"))) for one in text.split()]
    return Aligned(links, sure or [])


@pytest.mark.parametrize(
    ("gaps", "labels"), [("fill", "B-X I-X I-X O"), ("split", "B-X O B-X O"), ("drop", "O O O O")]
)
def test_policies_for_gaps(gaps, labels):
    found = project_spans(["B-X", "I-X", "O"], aligned("0-0 1-2 2-1"), 4, gaps)
    assert found.labels == labels.split()
    if gaps == "fill":
        assert found.confidence[:3] == [pytest.approx(2 / 3)] * 3


def test_no_gap_is_the_same_for_all():
    for gaps in ("fill", "split", "drop"):
        found = project_spans(["B-X", "I-X", "B-X"], aligned("0-2 1-1 2-0", [0.8, 0.6, 1.0]), 4, gaps)
        assert found.labels == ["B-X", "B-X", "I-X", "O"]
        assert found.confidence == [1.0, pytest.approx(0.7), pytest.approx(0.7), 0.0]


def test_the_surer_span_stays():
    """The filled one falls back to its longest run, if that is free."""
    found = project_spans(["B-X", "I-X", "I-X", "B-Y"], aligned("0-0 1-1 2-4 3-3", [0.5, 0.5, 0.5, 1.0]), 5)
    assert found.labels == ["B-X", "I-X", "O", "B-Y", "O"]
    found = project_spans(["B-X", "B-Y"], aligned("0-0 1-0", [0.5, 0.6]), 1)
    assert found == (["B-Y"], [0.6])


def test_a_span_without_links_is_lost():
    assert project_spans(["B-X", "O"], aligned("1-0"), 1) == (["O"], [0.0])
    with pytest.raises(ValueError, match="Unknown policy for gaps 'hole'"):
        project_spans(["B-X"], aligned("0-0"), 1, "hole")


def test_tags():
    found = project_tags(["D", "N", "N"], aligned("0-0 1-0 2-0 1-2", [0.6, 0.4, 0.3, 0.9]), 3)
    assert found == (["N", "_", "N"], [pytest.approx(0.7), 0.0, 0.9])
    assert without_unsure(found, 0.8, spans=False).labels == ["_", "_", "N"]


def test_from_the_target():
    found = project_pair(["A", "B"], aligned("0-1 2-0"), (["x", "y", "z"], ["a", "b"]), None, 1)
    assert found.labels == ["B", "_", "A"]


def test_kinds_of_labels():
    assert is_spans("auto", ["O", "B-X"])
    assert not is_spans("auto", ["O", "O"])
    assert not is_spans("auto", ["O", "NN"])
    assert is_spans("spans", ["O"])
    with pytest.raises(ValueError, match="Unknown kind of labels"):
        is_spans("trees", [])


def sentences(path, *arguments):
    return [(one.words, one.labels) for one in read_labelled(path, *arguments).sentences]


def test_columns(write):
    path = write("a D B-X\nb N I-X\n\n\nc N O\n")
    assert sentences(path) == [(["a", "b"], ["B-X", "I-X"]), (["c"], ["O"])]
    assert sentences(path, "1") == [(["a", "b"], ["D", "N"]), (["c"], ["N"])]
    with pytest.raises(DataError, match="line 1: there is no column '7'"):
        read_labelled(path, "7")
    with pytest.raises(DataError, match="line 1: only one column"):
        read_labelled(write("a\nb\n"))
    with pytest.raises(DataError, match=r"line 2: 1 columns, but line 1 has 2"):
        sentences(write("a X\nb\n"))


def test_conllu(write):
    cells = "\t_\t_\t_\t_\t_"
    path = write(
        f"# x\n1-2\tab\t_\t_\t_{cells}\n1\ta\t_\tDET\tD{cells}\n2\tb\t_\tNOUN\tN{cells}\n", "x.conllu"
    )
    assert sentences(path) == [(["a", "b"], ["DET", "NOUN"])]
    assert sentences(path, "xpos") == [(["a", "b"], ["D", "N"])]


def test_brackets(write):
    text = "[ORG Acme Inc] hired [PER her ] [ 1 ] .\n\n[LOC Rome]\n"
    found = sentences(write(text))
    assert found == [
        ([*["Acme", "Inc", "hired", "her"], *"[1]."], ["B-ORG", "I-ORG", "O", "B-PER", *"OOOO"]),
        ([], []),
        (["Rome"], ["B-LOC"]),
    ]
    for wrong, message in (
        ("a\n[ORG b", "line 2: the bracket .* is not closed"),
        ("[ORG [PER a]]", "line 1: .* inside of"),
        ("[ORG ]", "line 1: the bracket .* has no words"),
    ):
        with pytest.raises(DataError, match=message):
            sentences(write(wrong), None, "inline")
    words, labels = found[0]
    written = LABELLED_FORMATS["inline"].write(
        ProjectedSentence(words, Projection(labels, [0.5] * len(words))), column="", scores=False
    )
    assert written == "[ORG Acme Inc] hired [PER her] [ 1 ] .\n"


def test_writers(write):
    one = ProjectedSentence(["a", "b"], Projection(["B-X", "O"], [0.5, 0.0]))
    forms = {name: form.write(one, column="misc", scores=True) for name, form in LABELLED_FORMATS.items()}
    assert forms["conll"] == "a\tB-X\t0.5000\nb\tO\t0.0000\n\n"
    assert forms["conllu"].splitlines()[0] == "1\ta" + "\t_" * 7 + "\tB-X"
    assert forms["inline"] == "[X:0.500 a] b\n"
    assert json.loads(forms["jsonl"])["spans"] == [{"label": "X", "start": 0, "end": 1}]
    tags = ProjectedSentence(["a", "b"], Projection(["N", "_"], [0.5, 0.0]))
    assert LABELLED_FORMATS["inline"].write(tags, column="", scores=False) == "a/N b/_\n"
    path = write(LABELLED_FORMATS["conllu"].write(tags, column="upos", scores=True))
    assert sentences(path) == [(["a", "b"], ["N", "_"])]


def test_words_that_differ(write):
    (one,) = read_labelled(write("a X\nb Y\n", "tags")).sentences
    check_same_words("tags", one, ["a", "b"], "text, line 4,")
    with pytest.raises(DataError, match='tags, line 2: the word is "b", but in text, line 4, it is "c"'):
        check_same_words("tags", one, ["a", "c"], "text, line 4,")
    with pytest.raises(DataError, match=r"tags, line 1: the sentence has 2 words, but text, line 4, has 1"):
        check_same_words("tags", one, ["a"], "text, line 4,")
