import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from structlearn.data import DataError, read_columns, split_rows, write_columns


def all_tokens(sequences):
    return [sequences.tokens(i) for i in range(len(sequences))]


def all_labels(sequences):
    return [labels.tolist() for labels in sequences.labels]


def test_by_hand(write):
    read = read_columns(write("the DT B\ncat NN I\n\nruns VB O\n"))
    assert all_tokens(read) == [[["the", "DT"], ["cat", "NN"]], [["runs", "VB"]]]
    assert all_labels(read) == [["B", "I"], ["O"]]
    assert (len(read), read.n_columns, read.lengths.tolist(), read.lines.tolist()) == (
        2,
        2,
        [2, 1],
        [1, 2, 4],
    )


@pytest.mark.parametrize(
    "content",
    [
        "a X\nb Y\n\nc X\n",
        "a X\nb Y\n\nc X",
        "\n\na X\nb Y\n\n  \n\t\n\nc X\n\n\n",
        "a X\r\nb Y\r\n\r\nc X\r\n",
        "a\tX\nb\tY\n\nc\tX\n",
        "  a   X\nb Y  \n\nc  X\n",
    ],
)
def test_layouts(write, content):
    read = read_columns(write(content))
    assert all_tokens(read) == [[["a"], ["b"]], [["c"]]]
    assert all_labels(read) == [["X", "Y"], ["X"]]


def test_cells_may_hold_what_is_not_a_separator(write):
    read = read_columns(write("# \u00a0 X\n10\u00a0000 \u3000 Y\n"))
    assert all_tokens(read) == [[["#", "\u00a0"], ["10\u00a0000", "\u3000"]]]
    assert all_labels(read) == [["X", "Y"]]
    read = read_columns(write("New York\t\tX Y\n"))
    assert all_tokens(read) == [[["New York", ""]]]
    assert all_labels(read) == [["X Y"]]


@pytest.mark.parametrize(
    ("column", "features"), [(0, ["b", "c"]), (1, ["a", "c"]), (-2, ["a", "c"]), (2, ["a", "b"])]
)
def test_named_label_column(write, column, features):
    read = read_columns(write("a b c\n"), label_column=column)
    assert read.tokens(0) == [features]
    assert all_labels(read) == [[["a", "b", "c"][column]]]


def test_no_labels(write):
    read = read_columns(write("a b\n\nc d\n"), label_column=None)
    assert all_tokens(read) == [[["a", "b"]], [["c", "d"]]]
    assert read.labels is None


def test_file_for_a_model(write):
    path = write("a b c\n", "x.txt")
    assert read_columns(path, n_feature_columns=3).labels is None
    assert all_labels(read_columns(path, n_feature_columns=2)) == [["c"]]
    assert all_labels(read_columns(path, n_feature_columns=2, label_column=0)) == [["a"]]
    with pytest.raises(DataError, match=r"x\.txt, line 1: 3 columns; the model was trained on 1 feature col"):
        read_columns(path, n_feature_columns=1)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("\na b\n\nc d\ne f g\n", {}, "line 5: 3 columns, but line 2 has 2"),
        ("a\tb\nc d\te\nf\n", {}, "line 3: 1 columns, but line 1 has 2"),
        ("a\tb\n\nc d\n", {}, "line 3: cells are separated by spaces, but those of line 1 by tabs"),
        ("a b\nc\td\n", {}, "line 2: cells are separated by tabs, but those of line 1 by spaces"),
        ("a b\nc d\te\n", {}, "line 2: cells are separated by tabs, but those of line 1 by spaces"),
        ("a b\n", {"label_column": 2}, "line 1: 2 columns, so there is no column 2"),
        ("a b\n", {"label_column": -3}, "line 1: 2 columns, so there is no column -3"),
        ("\na\n", {}, "line 2: only one column; expected features and a label"),
        ("a\tb\n\nc\t\n", {}, "line 3: the label is empty"),
        ("\n \n", {}, "holds no tokens"),
        (b"a b\nc \xff\n", {}, "line 2: byte 3 is not UTF-8"),
    ],
)
def test_errors_name_the_line(write, content, options, message):
    with pytest.raises(DataError, match=rf"bad\.txt,? {message}"):
        read_columns(write(content, "bad.txt"), **options)


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\t "), min_size=1).filter(
    # numpy strings drop zeros at their end; a mark at the start of a file is not text
    lambda s: not s.endswith("\0") and not s.startswith("\ufeff")
)


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(CELL, CELL, CELL), min_size=1), min_size=1), st.sampled_from("\t "))
def test_round_trip(tmp_path_factory, sequences, separator):
    path = tmp_path_factory.mktemp("round") / "x.txt.gz"
    with gzip.open(path, "wb") as stream:
        blocks = ["\n".join(separator.join(token) for token in sequence) for sequence in sequences]
        stream.write("\n\n".join(blocks).encode())
    read = read_columns(path)
    assert all_tokens(read) == [[[a, b] for a, b, _ in sequence] for sequence in sequences]
    assert all_labels(read) == [[c for _, _, c in sequence] for sequence in sequences]


def test_write_columns(tmp_path):
    write_columns(tmp_path / "out.txt", [np.array(["B", "I-é"]), np.array([3])])
    assert (tmp_path / "out.txt").read_bytes() == "B\nI-é\n\n3\n".encode()
    stream = io.StringIO()
    write_columns(stream, iter([["a"], ["b"], ["c"]]))
    assert stream.getvalue() == "a\n\nb\n\nc\n"


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_split_rows(kind):
    X = np.arange(10.0).reshape(5, 2)
    pieces = split_rows(kind(X), np.array([2, 1, 2]))
    assert [piece.shape for piece in pieces] == [(2, 2), (1, 2), (2, 2)]
    back = np.concatenate([piece.toarray() if sparse.issparse(piece) else piece for piece in pieces])
    np.testing.assert_array_equal(back, X)


@pytest.mark.parametrize(
    ("name", "n_sentences", "n_tokens"), [("train", 8936, 211727), ("test", 2012, 47377)]
)
def test_conll2000(shared_file, name, n_sentences, n_tokens):
    read = read_columns(shared_file("conll2000", f"{name}.txt.gz"))
    assert (len(read), int(read.lengths.sum()), read.n_columns) == (n_sentences, n_tokens, 2)
    assert {"B-NP", "I-NP", "O"} < set(np.concatenate(read.labels).tolist())
