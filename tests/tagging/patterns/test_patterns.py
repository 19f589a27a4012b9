"""Patterns of CRF++ and Wapiti, against a straightforward reading of them, and against the real Wapiti."""

import gzip
import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from structlearn.data import Tokens, read_tokens
from structlearn.tagging.features import parse_templates, spell_templates
from structlearn.tagging.patterns.features import PatternFeatures
from structlearn.tagging.patterns.reading import CRFPP, WAPITI, parse_patterns

SHARED = Path(os.environ.get("STRUCTLEARN_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
SENTENCES = [
    [("The", "D"), ("dog", "N"), ("runs", "V")],
    [("Éa", "N")],
    [],
    [("dog", "N"), ("The", "D"), ("1987", "C"), (".", ".")],
]
CRFPP_TEXT = """# words
U00:%x[-2,0]
U01:%x[0,0]/%x[1,1]/%x[-1,0]

U:%x[-1,0]
U:%x[1,0]
B01:%x[0,1]
B
"""
WAPITI_TEXT = r"""u:w=%x[0,0]   # a comment
U:low=%X[-1,0]
u:pre=%m[0,0,"^.."]
u:cap=%t[0,0,"^\u"]
u:CAP=%M[0,0,"\u"]
u:first=%x[@1,0]/%x[@-1,0]
u:far=%x[9,1]
*:bias
*:tag=%x[0,1]
b
"""


def read_crfpp(line, sentence, t):
    """The string of a CRF++ pattern at token t, by substitution."""

    def cell(found):
        at, column = t + int(found[1]), int(found[2])
        if at < 0:
            return f"_B{at}"
        return sentence[at][column] if at < len(sentence) else f"_B+{at - len(sentence) + 1}"

    return re.sub(r"%x\[(-?\d+),(\d+)\]", cell, line)


def strings_of(features, tokens):
    """The strings of each token, from the matrix and the names."""
    X = features.transform(tokens)
    rows = ([(j, int(v)) for j, v in zip(X[t].indices, X[t].data)] for t in range(X.shape[0]))
    return [Counter({features.names_[j]: n for j, n in row}) for row in rows]


def test_features_of_crfpp_are_its_strings():
    tokens = Tokens.from_sentences(SENTENCES, ("word", "pos"))
    features = PatternFeatures(CRFPP_TEXT).fit(tokens)
    lines = [line for line in CRFPP_TEXT.splitlines() if line[:1] in ("U", "B") and line != "B"]
    expected = [
        Counter(read_crfpp(line, sentence, t) for line in lines)
        for sentence in SENTENCES
        for t in range(len(sentence))
    ]
    assert strings_of(features, tokens) == expected
    assert {features.names_[j] for j in features.pair_columns(None)} == {
        f"B01:{tag}" for tag in ("D", "N", "V", "C", ".")
    }


def test_patterns_that_make_one_string_make_one_feature():
    tokens = Tokens.from_sentences([["a", "b", "a"]])
    features = PatternFeatures(["U:%x[-1,0]", "U:%x[1,0]"], min_count=2).fit(tokens)
    assert strings_of(features, tokens) == [{"U:b": 1}, {"U:a": 2}, {"U:b": 1}]


def test_features_of_wapiti():
    tokens = Tokens.from_sentences(SENTENCES, ("word", "pos"))
    found = strings_of(PatternFeatures(WAPITI_TEXT).fit(tokens), tokens)
    assert set(found[0]) == {
        "u:w=The",
        "u:low=_x-1",
        "u:pre=Th",
        "u:cap=true",
        "u:CAP=t",
        "u:first=The/runs",
        "u:far=_x+#",
        "*:bias",
        "*:tag=D",
    }
    assert {"u:low=the", "u:pre=do", "u:cap=false", "u:CAP="} <= set(found[1])
    assert {"u:pre=É", "u:first=Éa/Éa"} <= set(found[3])  # two bytes
    assert "u:low=the" in found[6]


@pytest.mark.parametrize(("text", "dialect"), [(CRFPP_TEXT, CRFPP), (WAPITI_TEXT, WAPITI)])
def test_the_spelling_of_patterns_reads_the_same(text, dialect):
    patterns = parse_patterns(text)
    assert {one.dialect for one in patterns} == {dialect}
    assert parse_templates(spell_templates(patterns)) == patterns
    assert parse_templates(text.splitlines()) == patterns


def test_a_file_of_either_notation(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("# words\nword[-1..1]\npos&word\n")
    assert parse_templates(path) == parse_templates("word[-1..1] pos&word")
    path.write_text(WAPITI_TEXT)
    assert parse_templates(path) == parse_patterns(WAPITI_TEXT)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("W01:%x[0,0]", 'begins with "W"'),
        ("U01:%q[0,0]", '"%q" is an unknown directive'),
        ("U01:%x[0]", "is not written as"),
        ("U01:%x[0,0", "closing bracket"),
        ("U01:%x[9,0]", "at most 8"),
        ('u:%m[0,0,"abc]', "closed regular expression"),
        ("u:%t[0,0]", "closed regular expression"),
        ('u:%m[0,0,"a**"]', "repeats nothing"),
        ("u:%x[@0,0]", "never is"),
    ],
)
def test_errors_name_the_line(tmp_path, line, problem):
    path = tmp_path / "x.template"
    path.write_text(f"# a comment\n{'U' if line[0] == 'W' else line[0]}00:%x[0,0]\n{line}\n")
    with pytest.raises(ValueError, match=rf"^Line 3 of x\.template: .*{problem}"):
        parse_templates(path)


def test_notations_are_not_mixed():
    with pytest.raises(ValueError, match="one notation"):
        parse_templates([*parse_templates("word"), "U:%x[0,0]"])


def test_observations_are_those_of_the_real_wapiti():
    if not (SHARED / "wapiti").is_dir():
        pytest.skip("the data is not here")
    model = gzip.decompress((SHARED / "wapiti" / "model.wapiti.gz").read_bytes()).decode()
    observations = re.findall(r"^\d+:(.*),$", model.rpartition("#qrk#")[2], re.MULTILINE)
    tokens = read_tokens(SHARED / "conll2000" / "train.txt.gz").some(np.arange(600))
    features = PatternFeatures(SHARED / "wapiti" / "pattern.txt").fit(tokens)
    assert features.names_ == [one for one in observations if one != "b"]
