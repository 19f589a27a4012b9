"""Column files in and back out, byte for byte."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structlearn.data import DataError, Tokens, filled, read_tokens

CONLLU = (
    "# sent_id = 1\n"
    "# text = vámonos al mar\n"
    "1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tvamos\tir\tVERB\t_\tMood=Imp\t0\troot\t_\t_\n"
    "2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\tX=y\n"
    "2.1\tvamos\tir\tVERB\t_\t_\t_\t_\t1:conj\t_\n"
    "3\tal\tal\tADP\t_\t_\t1\tcase\t_\t_\n"
    "\n"
    "# only a comment\n"
    "1\t#\t#\tSYM\t_\t_\t0\troot\t_\tSpaceAfter=No\n"
    "\n"
)


def cells(tokens, name):
    return tokens.column(name).cells.tolist()


def test_conllu_by_hand(write):
    tokens = read_tokens(write(CONLLU, "a.conllu"), lambda names: ["form", "upos"])
    assert cells(tokens, "form") == ["vamos", "nos", "al", "#"]
    assert cells(tokens, "upos") == ["VERB", "PRON", "ADP", "SYM"]
    assert (tokens.lengths.tolist(), tokens.lines.tolist()) == ([3, 1], [4, 5, 7, 10])
    assert list(tokens.columns) == ["form", "upos"]


def test_columns_go_by_numbers(write):
    tokens = read_tokens(write("# X\nb Y\n"))
    assert tokens.layout.names == ("0", "1")
    assert cells(tokens, "0") == ["#", "b"]
    with pytest.raises(DataError, match=r"line 1: there is no column '2'; there are 0, 1"):
        tokens.column("2")


def test_comments_of_plain_columns_are_tokens(write):
    tokens = read_tokens(write("# X\n\n# Y\nb Z\n"))
    assert (cells(tokens, "1"), tokens.lengths.tolist()) == (["X", "Y", "Z"], [1, 2])


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_comments_have_no_columns_as_tokens_have(write, separator):
    a, sign, b = (separator.join(row) for row in ("aXYZ", "###N", "bXYO"))
    comments = ["# sent_id = 1", "# text = a # b", "# newdoc", "#begin document (x);", "# the end"]
    path = write("\n".join([*comments[:2], a, sign, "", *comments[2:4], b, comments[4], ""]))
    tokens = read_tokens(path, text=True)
    assert (cells(tokens, "0"), cells(tokens, "3")) == (["a", "#", "b"], ["Z", "N", "O"])
    assert (tokens.lengths.tolist(), tokens.lines.tolist(), tokens.layout.line) == ([2, 1], [3, 4, 8], 3)
    assert "".join(filled(tokens, "3", ["Z", "N", "O"])) == path.read_text()


def test_a_token_that_lacks_a_column_is_no_comment(write):
    for content in ("a\tX\tY\n#\tX\n", "a X Y\n#tag X\n"):
        with pytest.raises(DataError, match=r"line 2: 2 columns, but line 1 has 3"):
            read_tokens(write(content))


def test_files_of_comments_hold_no_tokens(write):
    for content in ("# a = b\n", "-DOCSTART- O\n\n", "# newdoc\n-DOCSTART-\n"):
        with pytest.raises(DataError, match="holds no tokens"):
            read_tokens(write(content))


def test_marks_of_documents_are_no_sentences(write):
    text = "-DOCSTART- -X- O\n\na X O\nb Y B\n-DOCSTART-\nc Z I\n\n-DOCSTART-s X O\n"
    path = write(f"\ufeff{text}")
    tokens = read_tokens(path, text=True)
    assert (cells(tokens, "0"), tokens.lengths.tolist()) == (["a", "b", "c", "-DOCSTART-s"], [2, 1, 1])
    assert "".join(filled(tokens, "2", ["O", "B", "I", "O"])) == f"\ufeff{text}"
    added = "".join(filled(tokens, "3", list("pqrs"), place=3, confidences=[0.5] * 4))
    assert added.splitlines()[:3] == ["\ufeff-DOCSTART- -X- O _ _", "", "a X O p 0.5000"]
    again = read_tokens(write(added.replace("\n-DOCSTART- _ _", "\n-DOCSTART-")))
    assert cells(again, "3") == list("pqrs")


def test_a_long_file_without_blank_lines_is_doubted(write):
    with pytest.warns(UserWarning, match=r"no blank line, so that its 1001 tokens are one sequence"):
        assert len(read_tokens(write("a X\n" * 1001))) == 1
    assert len(read_tokens(write("a X\n" * 1001 + "\nb X\n"))) == 2  # no warning


def test_sentences_from_lists():
    tokens = Tokens.from_sentences([[("a", "X"), ("b", "Y")], [("a", "Y")]], ["word", "pos"])
    assert (cells(tokens, "word"), cells(tokens, "pos")) == (["a", "b", "a"], ["X", "Y", "Y"])
    assert cells(Tokens.from_sentences([["a", "b"]]), "word") == ["a", "b"]
    with pytest.raises(
        ValueError,
        match=r"Sentence 1 has a token of 3 columns; a token is a tuple of 2 strings \(word, pos\)",
    ):
        Tokens.from_sentences([[("a", "X")], [("a", "b", "c")]], ["word", "pos"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (CONLLU.replace("\tcase\t_\t_", "\tcase\t_"), "line 7: 9 columns; CoNLL-U has ten"),
        (CONLLU.replace("2.1\t", "2,1\t"), 'line 6: "2,1" cannot be here: expected a word'),
        (CONLLU.replace("3\tal\tal", "3 al\tal"), "line 7: 9 columns; CoNLL-U has ten"),
        ("a\tb\tX\nc d Y\n", "line 2: cells are separated by spaces, but those of line 1 by tabs"),
    ],
)
def test_errors_name_the_line(write, content, message):
    with pytest.raises(DataError, match=rf"bad\.txt, {message}"):
        read_tokens(write(content, "bad.txt"))


LAYOUTS = [
    "a X\nb Y\n\nc X\n",
    "a X\nb Y\n\nc X",
    "\ufeffa X\nb Y\n \n\n",
    "  a   X \r\nb\u00a0 Y\r\n\r\n\r\nc X",
    "a\tp q\tX\nb\t\tY\n\t\nc\t \tX\r\n",
    CONLLU,
    CONLLU.replace("\n", "\r\n"),
    CONLLU.rstrip("\n"),
]


def label_of(tokens):
    return "upos" if tokens.layout.conllu else tokens.layout.names[-1]


@pytest.mark.parametrize("content", LAYOUTS)
def test_filled_with_what_is_there(write, content):
    tokens = read_tokens(write(content), text=True)
    label = label_of(tokens)
    assert "".join(filled(tokens, label, cells(tokens, label))) == content


@pytest.mark.parametrize("content", LAYOUTS)
def test_filled_with_something_else(write, content):
    """What was written reads as it should, and filling it again with the old labels gives the old file."""
    tokens = read_tokens(write(content), text=True)
    label = label_of(tokens)
    new = [f"N{t}" for t in range(tokens.n_tokens)]
    other = read_tokens(write("".join(filled(tokens, label, new)), "other.txt"), text=True)
    assert cells(other, label) == new
    assert "".join(filled(other, label, cells(tokens, label))) == content


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\t \0"), min_size=1).filter(
    lambda s: not s.startswith("\ufeff")
)


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.tuples(CELL, CELL), min_size=1), min_size=1),
    st.sampled_from(["\t", " "]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_round_trip(tmp_path_factory, sentences, separator, end, ended):
    lines = [[separator.join(token) for token in sentence] for sentence in sentences]
    content = (end * 2).join(end.join(one) for one in lines) + (end if ended else "")
    path = tmp_path_factory.mktemp("round") / "x.txt.gz"
    path.write_bytes(gzip.compress(content.encode()))
    tokens = read_tokens(path, text=True)
    assert "".join(filled(tokens, "1", [b for sentence in sentences for _, b in sentence])) == content


@pytest.mark.parametrize(
    ("content", "place", "expected"),
    [
        ("a b\nc  d \n", 2, "a b N0\nc  d N1 \n"),
        ("a b\r\nc d", 1, "a N0 b\r\nc N1 d"),
        ("a\tb\n\nc\t\n", 2, "a\tb\tN0\n\nc\t\tN1\n"),
        ("\ufeffa\tb\n", 0, "\ufeffN0\ta\tb\n"),
    ],
)
def test_a_missing_column_is_put_in(write, content, place, expected):
    tokens = read_tokens(write(content), text=True)
    assert "".join(filled(tokens, "label", (f"N{t}" for t in range(2)), place=place)) == expected


def test_confidences(write):
    tokens = read_tokens(write("a X\nb Y\n"), text=True)
    assert "".join(filled(tokens, "1", ["P", "Q"], confidences=[1.0, 0.25])) == "a P 1.0000\nb Q 0.2500\n"
    tokens = read_tokens(write(CONLLU), text=True)
    written = "".join(filled(tokens, "upos", ["P"] * 4, confidences=[0.5] * 4))
    assert read_tokens(write(written)).column("misc").cells.tolist() == [
        "Confidence=0.5000",
        "X=y|Confidence=0.5000",
        "Confidence=0.5000",
        "SpaceAfter=No|Confidence=0.5000",
    ]


def test_a_label_with_a_space_does_not_fit(write):
    tokens = read_tokens(write("a X\nb Y\n"), text=True)
    with pytest.raises(DataError, match='line 1: the label "P Q" has a space'):
        list(filled(tokens, "1", ["P Q", "P"]))


@pytest.mark.parametrize(
    ("parts", "label"),
    [(("conll2000", "test.txt.gz"), "2"), (("ud_english_ewt", "en_ewt-ud-dev.conllu.gz"), "upos")],
)
def test_real_files_come_back(shared_file, parts, label):
    path = shared_file(*parts)
    tokens = read_tokens(path, text=True)
    written = "".join(filled(tokens, label, cells(tokens, label)))
    assert written.encode() == gzip.decompress(path.read_bytes())


@pytest.mark.parametrize(
    ("content", "signs"),
    [
        ("word,pos,label\nthe,DT,B-NP\n\ncat,NN,I-NP\n", "2 commas"),
        ("Wort;Art\n3,5;NUM\n", "1 semicolon"),
    ],
)
def test_a_table_is_no_column_of_tokens(write, content, signs):
    with pytest.raises(DataError, match=rf"x\.csv, line 1: every line has {signs}, as those of a table"):
        read_tokens(write(content, "x.csv"))


@pytest.mark.parametrize(
    "content",
    [
        "1,000\n2,500\n",
        ",\n",
        "a,b\n",
        ",\n,,\n",
        "well\n,\nyes\n",
        "a,b\nc\n",
        "&lt;\n&gt;\n",
        "a,b X\nc,d Y\n",
    ],
)
def test_tokens_may_have_commas(write, content):
    assert cells(read_tokens(write(content)), "0") == [line.split()[0] for line in content.splitlines()]
