import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structlearn.data import DataError, read_csv, read_csv_features


def test_target_is_the_last_column(write):
    table = read_csv(write("a,b,kind\n1,2.5,x\n-3,1e3,y\n"))
    np.testing.assert_array_equal(table.X, [[1, 2.5], [-3, 1000]])
    assert table.X.dtype == np.float64
    assert table.y.tolist() == ["x", "y"]
    assert (table.feature_names, table.target_names) == (["a", "b"], ["kind"])


def test_named_target(write):
    table = read_csv(write("a,kind,b\n1,7,2\n3,8,4\n"), target="kind")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(table.y, [7, 8])
    assert table.feature_names == ["a", "b"]


def test_several_targets_are_indicators(write):
    table = read_csv(write("sea,a,sun\n0,5,1\n1,6,1.0\n"), target="sun, sea")
    np.testing.assert_array_equal(table.y, [[1, 0], [1, 1]])
    assert table.y.dtype == np.int64
    assert (table.feature_names, table.target_names) == (["a"], ["sun", "sea"])


def test_a_column_name_with_a_comma_is_one_target(write):
    table = read_csv(write('"sun,sea",a\nx,5\n'), target="sun,sea")
    assert (table.y.tolist(), table.target_names) == (["x"], ["sun,sea"])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-2"], np.array([1, -2])),
        (["1", "2.5"], np.array([1, 2.5])),
        (["1", "b"], np.array(["1", "b"])),
    ],
)
def test_target_types(write, cells, expected):
    y = read_csv(write("a,t\n" + "".join(f"0,{cell}\n" for cell in cells))).y
    np.testing.assert_array_equal(y, expected)
    assert y.dtype.kind == expected.dtype.kind


def test_quotes_spaces_blank_lines_and_windows(write):
    table = read_csv(write('\ufeff"the, a", b ,t\r\n"1", 2 ,"x ""y"", z"\r\n\r\n3,4,w\r\n\r\n'))
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.feature_names == ["the, a", "b"]
    assert table.y.tolist() == ['x "y", z', "w"]


def test_tabs_and_gzip(write):
    table = read_csv(write(gzip.compress(b"a\tb\n1\t2,5\n"), "x.tsv.gz"))
    assert (table.X.tolist(), table.y.tolist()) == ([[1]], ["2,5"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,t\n1,2,x\n1,abc,y\n", 'line 3: column "b" holds "abc", which is not a number'),
        ("a,b,t\n1,2,x\n\n,3,y\n", 'line 4: column "a" is empty'),
        ("a,b,t\n1,2,x\n1,nan,y\n", 'line 3: column "b" holds "nan", which is not finite'),
        ("a,b,t\n1,-inf,x\n", 'line 2: column "b" holds "-inf", which is not finite'),
        ("a,b,t\n1,2_0,x\n", 'line 2: column "b" holds "2_0", which is not a number'),
        ('a,t\n1,"two\nlines"\nz,y\n', 'line 4: column "a" holds "z"'),
        ("a,b,t\n1,2,x\n1,2\n", "line 3: 2 cells, but the header has 3 columns"),
        ("a,b,t\n1,2,x\n1\n", "line 3: 1 cell, but the header has 3 columns"),
        ("a,b,t\n1,2,x,4\n", "line 2: 4 cells, but the header has 3 columns"),
        ("a,b,t\n1,2,x\n1,2,\n", 'line 3: the target column "t" is empty'),
        ("a,t\n1,2.5\n1,inf\n", 'line 3: the label "inf" is not finite'),
        ("a,b,a\n1,2,3\n", 'line 1: two columns are named "a"'),
        (",,\n1,2,3\n", "line 1: no column has a name"),
        ("a,b,a,b\n1,2,3,4\n", 'line 1: several columns have the same name: "a", "b"; rename them'),
        ('a,t\n1,x\n2,"y\n3,z\n', "line 3: the row cannot be split into cells"),
        ("a|t\n1|x\n", "line 1: no feature columns"),
        ("a;b;t\n1,5;2;x\n1;2.5.1;x\n", 'line 3: column "b" holds "2.5.1", which is not a number'),
        ("\na,t\n1,x\n", "line 1: the header is empty"),
        ("", r"is empty\."),
        ("a,t\n", r"has a header but no rows"),
        (b"a,t\n1,\xff\n", "line 2: byte 3 is not UTF-8"),
    ],
)
def test_errors_name_line_and_column(write, content, message):
    with pytest.raises(DataError, match=rf"bad\.csv,? {message}"):
        read_csv(write(content, "bad.csv"))


@pytest.mark.parametrize("cell", ["2", "", "x", "nan"])
def test_indicator_targets_must_be_zero_or_one(write, cell):
    with pytest.raises(DataError, match=f'line 2: the target column "u" holds "{cell}"; expected 0 or 1'):
        read_csv(write(f"a,t,u\n1,1,{cell}\n"), target="t,u")


def test_missing_target(write):
    path = write("a,b\n1,2\n")
    with pytest.raises(DataError, match='line 1: the target column "t" is missing; the header has a, b'):
        read_csv(path, target="t")
    table = read_csv(path, target="t", require_target=False)
    assert (table.X.tolist(), table.y, table.feature_names, table.target_names) == (
        [[1, 2]],
        None,
        ["a", "b"],
        [],
    )
    assert read_csv(path, target="b", require_target=False).y.tolist() == [2]
    assert read_csv(path, require_target=False).X.tolist() == [[1, 2]]


def test_features_by_name(write):
    path = write("t,b,note,a\nx,2,hello,1\ny,4,,3\n")
    table = read_csv_features(path, ["a", "b"])
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert (table.y, table.feature_names, table.target_names) == (None, ["a", "b"], [])
    table = read_csv_features(path, ["a", "b"], target_names=["t"])
    assert (table.y.tolist(), table.target_names) == (["x", "y"], ["t"])
    assert read_csv_features(path, ["a"], target_names=["t", "u"]).y is None


def test_missing_feature_is_named(write):
    with pytest.raises(DataError, match=r'x\.csv, line 1: the feature column "c" is missing'):
        read_csv_features(write("a,b\n1,2\n", "x.csv"), ["a", "c"])


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(-99, 99)), min_size=1),
    st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1), min_size=1),
)
def test_what_pandas_writes(tmp_path_factory, numbers, words):
    path = tmp_path_factory.mktemp("round") / "x.csv"
    words = [f"word {words[i % len(words)]}" for i in range(len(numbers))]
    frame = pd.DataFrame({"x,y": [f for f, _ in numbers], 'a"b': [i for _, i in numbers], "word": words})
    frame.to_csv(path, index=False)
    table = read_csv(path)
    np.testing.assert_array_equal(table.X, frame.iloc[:, :2].to_numpy(float))
    assert table.y.tolist() == words
    assert table.feature_names == ["x,y", 'a"b']
