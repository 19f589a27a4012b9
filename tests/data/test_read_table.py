"""Tables as people have them: numbers, text and missing values, in CSV and Parquet."""

import builtins
import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structlearn import make_table_transformer
from structlearn.data import DataError, read_csv, read_table, read_table_features, read_table_pieces
from structlearn.data.tables import csv_columns as table_columns


def rows(header, *lines):
    return "\n".join([header, *lines]) + "\n"


def test_numbers_text_and_gaps(write):
    table = read_table(write(rows("age,city,t", "31,Rome,x", ",Oslo,y", "54,,x", "NA,?,y")))
    np.testing.assert_array_equal(table.X[:, 0].astype(float), [31, np.nan, 54, np.nan])
    assert table.X[:, 1].tolist() == ["Rome", "Oslo", None, None]
    assert (table.feature_names, table.text_names, table.target_names) == (["age", "city"], ["city"], ["t"])
    assert table.remarks == ()


def test_a_table_of_numbers_is_that_of_read_csv(write):
    path = write(rows("a,b,t", "1,2.5,x", "-3,1e3,y"))
    table, same = read_table(path), read_csv(path)
    assert table.X.dtype == np.float64
    np.testing.assert_array_equal(table.X, same.X)
    assert table.y.tolist() == same.y.tolist()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a;b c;t\n1,5;x;u\n-2.000,25;y;v\n3;z;u\n", "x.csv"),
        ('\ufeffa;"b c";t\r\n"1,5";x;u\r\n-2000,25;y;v\r\n3,0;z;u\r\n', "x.csv"),
        ('a\tb c\tt\n1.5\tx\tu\n-2000.25\t"y"\tv\n3\tz\tu\n', "x.tsv"),
        ('a,"b c",t\n1.5,x,u\n-2000.25,y,v\n3,z,u\n', "x.csv"),
    ],
)
def test_delimiters_and_decimal_commas(write, content, name):
    table = read_table(write(content, name))
    assert table.X[:, 0].tolist() == [1.5, -2000.25, 3]
    assert table.X[:, 1].tolist() == ["x", "y", "z"]
    assert (table.feature_names, table.y.tolist()) == (["a", "b c"], ["u", "v", "u"])


def test_cells_with_line_ends(write):
    table = read_table(write('note,a,t\n"two\nlines",1,x\nplain,2,y\n'))
    assert table.X[:, 0].tolist() == ["two\nlines", "plain"]


def test_blanks_around_cells_and_lines_of_blanks(write):
    table = read_table(write('a, "b",t \n 1 ,x , u\n  \n NA ,x,v\n2, y,u\n\t\n'))
    np.testing.assert_array_equal(table.X[:, 0].astype(float), [1, np.nan, 2])
    assert table.X[:, 1].tolist() == ["x", "x", "y"]
    assert (table.feature_names, table.y.tolist()) == (["a", "b"], ["u", "v", "u"])
    table = read_table_features(write('a\n1\n""\n'), ["a"])  # as pandas writes what is missing
    np.testing.assert_array_equal(table.X[:, 0], [1, np.nan])


def test_named_text_and_ignored_columns(write):
    path = write(rows("zip,a,when,t", "01234,1,2020-01-01,x", "98765,2,2020-01-02,y"))
    table = read_table(path, text="zip", ignore=["when"])
    assert table.X.tolist() == [["01234", 1.0], ["98765", 2.0]]
    assert (table.others, table.left_out) == (["when", "t"], ["when"])
    assert read_table(path, text="zip,when").text_names == ["zip", "when"]


def many(cells, others="t"):
    return "c,a,t\n" + "".join(f"{cell},{k % 7}.5,{others}{k % 2}\n" for k, cell in enumerate(cells))


LEFT_OUT = {
    "it is empty": ["", "NA"] * 20,
    "it is the same in all rows": ["same"] * 40,
    "its text is different in every row": [f"name {k}" for k in range(40)],
    "no 3 rows share a text of it": [f"name {k // 2}" for k in range(60)],
}


@pytest.mark.parametrize("why", LEFT_OUT)
def test_columns_of_no_use_are_left_out(write, why):
    table = read_table(write(many(LEFT_OUT[why])))
    assert table.feature_names == ["a"]
    (remark,) = table.remarks
    assert remark.startswith(f'Column "c" is left out: {why}')
    assert table.X.dtype == np.float64


def test_row_numbers(write):
    text = many(range(40))
    assert read_table(write(text.replace("c,a", "id,a"))).feature_names == ["a"]
    table = read_table(write(text))
    assert table.feature_names == ["c", "a"]  # it may be time
    assert 'Column "c" counts the rows' in table.remarks[0]


@pytest.mark.parametrize(
    "cells",
    [
        ["2020-01-31", "2021-12-01"],
        ["2020-01-31 10:30", "2021-12-01T10:30:01.5Z", ""],
        ["31.1.2020", "1.12.21"],
        ["1/31/2020", "12/1/2021"],
        ["31 Jan 2020", "1 December 2021"],
        ["Jan 31, 2020"],
        ["10:30", "11:59 pm"],
        ["2020-01", "2021-12"],
    ],
)
def test_dates(write, cells):
    content = "c\ta\tt\n" + "".join(f"{cell}\t{k}\tx\n" for k, cell in enumerate([*cells, "NA"]))
    table = read_table(write(content))
    expected = "time" if ":" in cells[0][:3] else "date"
    assert table.kinds["c"].kind == expected
    assert read_table(write(content), category="c").kinds["c"].kind == "category"


@pytest.mark.parametrize(
    ("cells", "day_first", "remarks"),
    [
        (["31/1/2020", "2/3/2020"], True, 0),
        (["1/31/2020", "2/3/2020"], False, 0),
        (["1/2/2020", "2/3/2020"], False, 1),
        (["1.2.2020", "2.3.2020"], True, 0),
        (["2020-02-01", "2020-03-02"], False, 0),
    ],
)
def test_whether_the_day_comes_first(write, cells, day_first, remarks):
    content = "c,a,t\n" + "".join(f"{cell},{k},x\n" for k, cell in enumerate(cells))
    table = read_table(write(content))
    assert table.kinds["c"].day_first == day_first
    assert len(table.remarks) == remarks
    assert not remarks or "read as month/day/year; if the day comes first" in table.remarks[0]
    if remarks:
        table = read_table(write(content), day_first=True)
        assert (table.kinds["c"].day_first, table.remarks) == (True, ())


def test_dates_in_two_orders_are_refused(write):
    with pytest.raises(
        DataError, match='mixes dates with the day first and with the month first, such as "31/'
    ):
        read_table(write("c,a,t\n31/1/2020,1,x\n1/31/2020,2,y\n"))


def test_words_beside_dates_are_text(write):
    assert read_table(write("c,t\n2020-01-31,x\nnever,y\n")).text_names == ["c"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["$1,200", "$80", "-$3.50", "($4)"], [1200, 80, -3.5, -4]),
        (["12%", "7 %", "unknown"], [12, 7, np.nan]),
        (["1,234", "5,678"], [1234, 5678]),
        (["80 EUR", "€9", ""], [80, 9, np.nan]),
        (["3,14", "1,234"], [3.14, 1.234]),
        (["1'234.5", "7"], [1234.5, 7]),
        (["12345678901234567890", "1"], [12345678901234567890, 1]),
        (["86 m²", "120m²", "", "7,5 m²"], [86, 120, np.nan, 7.5]),
        (["-3 °C", "4.5 °C", "unknown"], [-3, 4.5, np.nan]),
        (["12 km/h", "7"], [12, 7]),
    ],
)
def test_numbers_as_people_write_them(write, cells, expected):
    table = read_table(write("c,a,t\n" + "".join(f'"{cell}",{k},x\n' for k, cell in enumerate(cells))))
    np.testing.assert_array_equal(table.X[:, 0], expected)
    assert table.kinds["c"].kind == "number"


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["$5", "€7"], 'mixes units that cannot be compared, "$5" and "€7"'),
        (["5%", "7"], 'mixes units that cannot be compared, "5%" and "7"'),
        ([*["3"] * 18, "three", "$4"], '"three", which is not a number'),
        ([*["2020-01-01"] * 18, "soon", "2020-01-02"], '"soon", which is not a date'),
    ],
)
def test_columns_that_cannot_be_read(write, cells, said):
    content = "c,a,t\n" + "".join(f"{cell},{k % 2}.5,x\n" for k, cell in enumerate(cells))
    with pytest.raises(DataError, match=re.escape(said)) as refusal:
        read_table(write(content))
    assert "take the column as categories (category='c'), or leave it out (ignore='c')" in str(refusal.value)
    assert read_table(write(content), category="c").kinds["c"].kind == "category"
    if "not a number" in said:
        table = read_table(write(content), number="c")
        assert np.isnan(table.X[:, 0]).sum() == 1


def test_all_columns_that_cannot_be_read_are_named_at_once(write):
    rows_ = [f"{k % 3},{k % 2}.5,$3,x" for k in range(40)]
    rows_[7], rows_[9] = "oops,1,£2,x", "1,what,$3,y"
    with pytest.raises(DataError) as refusal:
        read_table(write(rows("a,b,c,t", *rows_)))
    assert "3 columns cannot be read: " in str(refusal.value)
    for said in ('"a" holds "oops"', "(line 9)", '"b" holds "what"', "(line 11)", '"c" mixes units'):
        assert said in str(refusal.value)
    assert "category='a,b,c'" in str(refusal.value)


@pytest.mark.parametrize("pair", [("yes", "no"), ("True", "FALSE"), ("Y", "n"), ("on", "off")])
def test_flags_are_one_column(write, pair):
    table = read_table(write("c,a,t\n" + "".join(f"{pair[k % 2]},{k},x\n" for k in range(6)) + ",9,x\n"))
    assert table.kinds["c"].kind == "flag"


@pytest.mark.parametrize("cells", [["1st", "2nd", "3rd"], ["5 kg", "7 lb"], ["5 kg", "much", "little"]])
def test_columns_without_one_unit_are_categories(write, cells):
    table = read_table(write("c,a,t\n" + "".join(f"{cells[k % len(cells)]},{k},x\n" for k in range(30))))
    assert table.kinds["c"].kind == "category"


@pytest.mark.parametrize("separator", ["; ", "|", ", "])
def test_lists_become_items(write, separator):
    cells = [
        separator.join(one)
        for one in (["red", "round"], ["round"], ["blue", "red"], ["red", "blue", "round"])
    ]
    content = "c;a;t\n" + "".join(f'"{cells[k % 4]}";{k};x\n' for k in range(40)) + ';9;x\n"red";3;x\n'
    frame = read_table(write(content)).frame
    mapped = make_table_transformer(scale=False).fit(frame)
    assert mapped.get_feature_names_out().tolist()[:3] == ["c:blue", "c:red", "c:round"]
    rows = np.asarray(mapped.transform(frame))[:, :3]
    np.testing.assert_array_equal(rows[:4], [[0, 1, 1], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(rows[-2:], [[0, 0, 0], [0, 1, 0]])


def test_names_with_commas_are_no_lists(write):
    places = [f'"town {k % 15}, land {k % 15}"' for k in range(90)]
    assert read_table(write(many(places))).kinds["c"].kind == "category"


def test_a_target_that_lists_labels(write):
    path = write("a,t\n1,x;y\n2,y\n3,\n4,z;x;x\n5,NA\n")
    table = read_table(path, target="t", target_kind="lists")
    assert table.target_names == ["x", "y", "z"]
    np.testing.assert_array_equal(table.y, [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]])
    other = write("a,t\n1,x;new\n2,z\n")
    (piece,) = read_table_pieces(other, table.kinds, target_list=table.target_list)
    np.testing.assert_array_equal(piece.y, [[1, 0, 0], [0, 0, 1]])
    assert piece.remarks == (
        'Column "t" lists labels that the model does not know: "new"; no answer can have them.',
    )
    with pytest.raises(DataError, match='"t" lists at most one label per row'):
        read_table(write("a,t\n1,x\n2,y\n"), target="t", target_kind="lists")


def test_free_text_is_found(write):
    cells = [f"the parcel number {k} came {'late' if k % 2 else 'early'}" for k in range(40)]
    table = read_table(write(many(cells)))
    assert table.kinds["c"].kind == "text"
    assert "is read as free text, word by word" in table.remarks[0]
    assert read_table(write(many(cells)), category="c").kinds["c"].kind == "category"
    names = read_table(write(many([f"Ann {k}" for k in range(40)])))
    assert "to learn from its words: text='c'" in names.remarks[0]


def test_row_numbers_without_a_name(write):
    table = read_table(write(",a,t\n" + "".join(f"{k},{k % 7}.5,x\n" for k in range(30))))
    assert table.feature_names == ["a"]
    assert table.remarks == ('Column "Unnamed: 0" is left out: it counts the rows.',)


def test_columns_in_two_roles(write):
    with pytest.raises(DataError, match='"a" is named as text and as ignore; choose one'):
        read_table(write("a,b,t\n1,2,x\n"), text="a", ignore="a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            many([*range(18), "abc"]),
            'line 20: column "c" holds "abc", which is not a number; correct the file',
        ),
        (many([1.5, 2.5, "inf"]), 'line 4: column "c" holds "inf", which is not finite'),
        (many(["-Infinity", "x"]), 'line 2: column "c" holds "-Infinity", which is not finite'),
        ("a;t\n1,5;x\n1.234;y\n", 'line 3: column "a" has numbers with a decimal comma and with a point'),
        ("a,b,t\n1,2,x\n1,2,\n", 'line 3: the target column "t" is empty; remove the row'),
        (",,\n0,1,x\n", r"line 1: no column has a name; write a line of names above the rows"),
        ("a,a,t\n0,1,x\n", 'line 1: two columns are named "a"; rename one'),
        ("a,t\n,x\n,y\n", r'has no column to learn from: Column "a" is left out: it is empty\.'),
        ("t\nx\n", "line 1: no feature columns"),
        ("a,t\n", "has a header but no rows"),
    ],
)
def test_errors_say_what_to_do(write, content, message):
    with pytest.raises(DataError, match=rf"bad\.csv,? {message}"):
        read_table(write(content, "bad.csv"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "u"}, 'the target column "u" is missing; the header has a, b, t'),
        ({"text": "u,v"}, "the columns u, v are missing"),
        ({"ignore": "u"}, 'the column "u" is missing'),
        ({"text": "t"}, 'column "t" is the target'),
        ({"ignore": "a,b"}, "no feature columns"),
    ],
)
def test_columns_that_are_named_must_be_there(write, options, message):
    with pytest.raises(DataError, match=message):
        read_table(write("a,b,t\n1,2,x\n"), **options)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["01", "02"], ["01", "02"]),
        (["1.0", "2.0"], ["1.0", "2.0"]),
        (["+1", "-1"], ["+1", "-1"]),
        (["True", "False"], ["True", "False"]),
        (["1", "b"], ["1", "b"]),
        (["999999999999999999999", "1"], ["999999999999999999999", "1"]),
    ],
)
def test_class_names_are_kept(write, cells, expected):
    path = write("a,t\n" + "".join(f"{k},{cell}\n" for k, cell in enumerate(cells)))
    assert read_table(path, target_kind="classes").y.tolist() == expected


def test_targets_that_are_numbers(write):
    assert read_table(write("a;t\n1;2,5\n2;3\n"), target_kind="numbers").y.tolist() == [2.5, 3]
    with pytest.raises(DataError, match='line 3: the target column "t" holds "x", which is not a number'):
        read_table(write("a,t\n1,2\n2,x\n"), target_kind="numbers")
    with pytest.raises(DataError, match='line 3: the target column "t" has numbers with a decimal comma and'):
        read_table(write("a;t\n1;2,5\n2;1.234\n"), target_kind="numbers")
    with pytest.raises(DataError, match=r'line 3: the target column "t" is empty \("NA"\)'):
        read_table(write("a,t\n1,2\n2,NA\n"), target_kind="numbers")


def test_label_columns(write):
    table = read_table(write("a,u,v\n1,True,0\n2,false,1\n"), target="u,v")
    assert table.y.tolist() == [[1, 0], [0, 1]]


def test_columns_of_a_model(write):
    path = write("city,more,t,age\nRome,1,x,\n2020-01-01,2,y,30\n")
    table = read_table_features(path, ["age", "city"], text_names=["city"], target_names=["t"])
    assert table.X[:, 1].tolist() == ["Rome", "2020-01-01"]  # text is text
    assert np.isnan(table.X[0, 0])
    assert (table.y.tolist(), table.others) == (["x", "y"], ["more", "t"])
    with pytest.raises(DataError, match='the feature column "zip" is missing'):
        read_table_features(path, ["zip", "age"])
    with pytest.raises(DataError, match='line 2: column "city" holds "Rome", which is not a number; leave'):
        read_table_features(path, ["city"])


def test_many_different_numbers_are_not_kept_as_text(write, monkeypatch):
    monkeypatch.setattr(table_columns, "MANY_LEVELS", 10)
    values = np.random.default_rng(0).normal(size=9000).tolist()
    path = write(many(values))
    np.testing.assert_array_equal(read_table(path).X[:, 0], values)
    path = write(many([*values, "oops"]))
    with pytest.raises(DataError, match=r'line 9002: column "c" holds "oops", which is not a number'):
        read_table(path)
    words = [f"w{k % 700}" for k in range(9000)]
    assert read_table(write(many(words))).X[:, 0].tolist() == words


@pytest.mark.parametrize("far", [5, 8000])
def test_a_point_beside_decimal_commas_however_far(write, monkeypatch, far):
    monkeypatch.setattr(table_columns, "MANY_LEVELS", 10)
    cells = [f"{k},5" for k in range(9000)]
    cells[far] = "1.234"
    with pytest.raises(DataError, match=rf'line {far + 2}: column "c" has numbers with a decimal comma and'):
        read_table(write("c;t\n" + "".join(f"{cell};x\n" for cell in cells)))
    cells[:8000] = ["1"] * 8000  # first points, then commas
    with pytest.raises(DataError, match=r'line 2: column "c" has numbers with a decimal comma and'):
        read_table(write("c;t\n1.234;x\n" + "".join(f"{cell};x\n" for cell in cells)))


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
            st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1),
        ),
        min_size=1,
        max_size=19,
    ),
    st.sampled_from([",", ";", "\t"]),
)
def test_what_pandas_writes(tmp_path_factory, cells, delimiter):
    path = tmp_path_factory.mktemp("round") / "x.csv"
    words = [None if word is None else f"word {word}" for _, word in cells]
    frame = pd.DataFrame({"x;y": [number for number, _ in cells], "word": words, "t": "u"}, dtype=object)
    frame.to_csv(path, index=False, sep=delimiter)
    table = read_table_features(path, ["x;y", "word"], text_names=["word"])
    expected = np.array([np.nan if one is None else one for one, _ in cells], dtype=float)
    np.testing.assert_array_equal(table.X[:, 0].astype(float), expected)
    assert table.X[:, 1].tolist() == words


# ---- Parquet --------------------------------------------------------------------------------------------


def frame():
    return pl.DataFrame(
        {
            "age": [31.5, None, 54.0],
            "n": [1, 2, 4],
            "city": ["Rome", None, "Oslo"],
            "zip": ["01", "02", "01"],
            "ok": [True, False, None],
            "t": ["x", "y", "x"],
        }
    )


def test_parquet_is_read_as_csv_is(tmp_path):
    frame().write_parquet(tmp_path / "x.parquet")
    frame().write_csv(tmp_path / "x.csv")
    table = read_table(tmp_path / "x.parquet")
    same = read_table(tmp_path / "x.csv", text="zip")
    assert (table.text_names, table.feature_names) == (["city", "zip", "ok"], same.feature_names)
    assert table.y.tolist() == same.y.tolist()
    for a, b in zip(table.X[:, :4].ravel(), same.X[:, :4].ravel()):
        assert a == b or a != a
    assert table.X[:, 4].tolist() == ["True", "False", None]


def test_what_parquet_files_hold_beside_values(tmp_path):
    path = tmp_path / "x.parquet"
    frame().with_columns(when=pl.lit(dt.datetime(2020, 1, 31))).write_parquet(path)
    assert read_table(path, target="t").remarks == ('Column "when" is left out: it is the same in all rows.',)
    frame().with_columns(many=pl.lit([[1, 2]])).write_parquet(path)
    with pytest.raises(DataError, match=r'column "many" holds .*list.*, which is not a single value'):
        read_table(path, target="t")
    path.write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match="is no Parquet file"):
        read_table(path)
    with pytest.raises(DataError, match="does not exist"):
        read_table(tmp_path / "nowhere.parquet")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    frame().write_parquet(tmp_path / "x.parquet")
    known = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return known(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataError, match="needs pyarrow: pip install pyarrow"):
        read_table(tmp_path / "x.parquet")


def test_a_header_that_may_be_data_is_remarked(write):
    assert read_table(write("1.5,red\n2.5,blue\n3.5,red\n")).remarks == (
        'The header has "1.5" for a name; if line 1 is data, write a line of names above it.',
    )
    assert read_table(write("2023,2024,t\n1,2,a\n2,2.5,b\n")).remarks == ()


def test_numbers_that_cannot_be_squared_are_refused(write):
    table = read_table(write("a,b,t\n1e149,1e-300,x\n,-1e-300,y\n"))
    assert np.isfinite(np.nanmax(table.X**2))
    with pytest.raises(DataError, match=r'line 3: column "b" holds -1e\+151, which is too large'):
        read_table(write("a,b,t\n1,2,x\n2,-1e151,y\n"))


def test_tables_that_are_no_text(write):
    with pytest.raises(DataError, match=r"x\.csv is UTF-16 text: save the file as UTF-8"):
        read_table(write("a,t\n1,x\n".encode("utf-16"), "x.csv"))
    with pytest.raises(DataError, match=r"x\.csv is not text: save it as text in UTF-8"):
        read_table(write(b"PK\x03\x04\0\0,\0\n", "x.csv"))
