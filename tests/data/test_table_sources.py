"""Tables by pyarrow's reader, by the plain one, and in pieces: the same, whatever the file holds."""

import builtins

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structlearn import make_table_transformer
from structlearn.data import DataError, read_table, read_table_pieces
from structlearn.data.tables import arrow_csv, source
from structlearn.tables.frame import TextColumn, join_frames
from structlearn.tables.readings import ColumnReading


def cells_of(frame):
    """The cells of a frame, column by column, however they are kept."""
    return {
        name: [None if one != one else one for one in column.tolist()]
        if not isinstance(column, TextColumn)
        else column.objects().tolist()
        for name, column in zip(frame.names, frame.columns)
    }


def read_both(path, monkeypatch, **options):
    """The table by the plain reader, and by pyarrow's, which must not give up."""
    plain = read_table(path, **options)
    found = []
    read = arrow_csv.read_fast
    with monkeypatch.context() as patch:
        patch.setattr(source, "ARROW_FROM", 0)
        patch.setattr(arrow_csv, "read_fast", lambda *one: found.append(read(*one)) or found[-1])
        fast = read_table(path, **options)
    return plain, fast, found[0] is not None


CELLS = st.sampled_from(
    ["1", " 2.5 ", "-3e4", "", "NA", "x", "two words", 'a "quote"', "a,b", "two\nlines", "007", "nan", "$5"]
) | st.sampled_from(
    ["1,234", "2020-01-31", "2020-01-31 10:30", "10:30", "True", "yes", "é", "+7", "0x1F", "1_000"]
)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=30), st.sampled_from([",", ";", "\t"]))
def test_both_readers_agree(tmp_path_factory, cells, delimiter):
    path = tmp_path_factory.mktemp("both") / "x.csv"
    frame = pd.DataFrame(cells, columns=["a", "b", "t"]).astype(str)
    frame.to_csv(path, index=False, sep=delimiter)
    with pytest.MonkeyPatch.context() as patch:
        plain = source.open_table(path).read(["a", "b", "t"], ["t"])
        patch.setattr(source, "ARROW_FROM", 0)
        fast = source.open_table(path).read(["a", "b", "t"], ["t"])
    assert cells_of(plain) == cells_of(fast)


def messy(n=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "n": rng.normal(size=n).round(4),
            "price": [f"${one:,.2f}" for one in rng.gamma(2, 900, n)],
            "when": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "ok": rng.choice(["yes", "no"], n),
            "city": rng.choice(["Rome", "Oslo", "New\nYork", 'the "Hague"'], n),
            "note": [" ".join(rng.choice(["good", "bad", "slow", "late, very"], 6)) for _ in range(n)],
        }
    )
    frame.loc[::7, ["n", "city", "when"]] = None
    return frame.assign(t=rng.choice(["u", "v"], n))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_messy_table(tmp_path, monkeypatch, delimiter, ending):
    path = tmp_path / f"x.csv{ending}"
    messy().to_csv(path, index=False, sep=delimiter)
    plain, fast, was_fast = read_both(path, monkeypatch)
    assert was_fast
    assert plain.kinds == fast.kinds
    assert [one.kind for one in plain.kinds.values()] == [
        "number",
        "number",
        "date",
        "flag",
        "category",
        "text",
    ]
    assert cells_of(plain.frame) == cells_of(fast.frame)
    assert plain.y.tolist() == fast.y.tolist()


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.parquet"])
def test_pieces_are_the_whole(tmp_path, monkeypatch, fast, name):
    path = tmp_path / name
    messy().to_parquet(path) if name.endswith("t") else messy().to_csv(path, index=False)
    whole = read_table(path, target_kind="classes")
    monkeypatch.setattr(source, "PIECE", 60)
    monkeypatch.setattr(arrow_csv, "_BLOCK", 4000)
    if name.endswith("parquet"):
        from structlearn.data.tables import parquet

        monkeypatch.setattr(parquet, "PIECE", 60)
    monkeypatch.setattr(source, "ARROW_FROM", 0 if fast else 1 << 60)
    pieces = list(read_table_pieces(path, whole.kinds, target_names=["t"], target_kind="classes"))
    assert len(pieces) > 4
    assert cells_of(join_frames([one.frame for one in pieces])) == cells_of(whole.frame)
    assert np.concatenate([one.y for one in pieces]).tolist() == whole.y.tolist()


@pytest.mark.parametrize("fast", [True, False])
def test_a_cell_that_cannot_be_read_far_down(tmp_path, monkeypatch, fast):
    frame = messy()
    kinds = read_table(_csv(tmp_path, frame)).kinds
    monkeypatch.setattr(source, "PIECE", 60)
    monkeypatch.setattr(arrow_csv, "_BLOCK", 4000)
    monkeypatch.setattr(source, "ARROW_FROM", 0 if fast else 1 << 60)
    frame["city"] = "Rome"  # no line ends in cells: row k is in line k + 2
    frame["n"] = frame.n.astype(object)
    frame.loc[333, "n"] = "oops"
    pieces = read_table_pieces(_csv(tmp_path, frame), kinds)
    with pytest.raises(DataError, match='line 335: column "n" holds "oops", which is not a number; leave'):
        list(pieces)
    frame.loc[333, "n"] = "1,2"
    path = _csv(tmp_path, frame)
    path.write_text(path.read_text().replace('"1,2"', "1,2"))
    with pytest.raises(DataError, match="line 335: 8 cells, but the header has 7 columns"):
        list(read_table_pieces(path, kinds))


def _csv(tmp_path, frame):
    frame.to_csv(tmp_path / "x.csv", index=False)
    return tmp_path / "x.csv"


HOSTILE = {
    "ragged": (b"a,b,t\n1,2,x\n1,2\n", "line 3: 2 cells, but the header has 3 columns"),
    "unclosed": (b'a,b,t\n1,"2,x\n1,2,y\n', "line 2: the row cannot be split into cells"),
    "a byte of 0": (b"a,b,t\n1,2,x\n1,\x002,y\n", "line 3: the line holds a byte of 0"),
    "Latin-1": (b"a,b,t\n1,\xe9,x\n1,2,y\n", "line 2: byte 3 is not UTF-8 text"),
    "two of one name": (b"a,a,t\n1,2,x\n", 'two columns are named "a"; rename one of them'),
}


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files(write, monkeypatch, fast, what):
    content, said = HOSTILE[what]
    monkeypatch.setattr(source, "ARROW_FROM", 0 if fast else 1 << 60)
    with pytest.raises(DataError, match=said):
        read_table(write(content, "x.csv"))


@pytest.mark.parametrize("fast", [True, False])
def test_what_is_odd_but_fine(write, monkeypatch, fast):
    monkeypatch.setattr(source, "ARROW_FROM", 0 if fast else 1 << 60)
    mark = read_table(write("\ufeffa,b,t\r\n1,x,u\r\n\r\n2,y,v\r\n".encode(), "x.csv"))
    assert (mark.feature_names, mark.y.tolist()) == (["a", "b"], ["u", "v"])
    quoted = read_table(write('"a\nb",c,t\n1,"x\n\ny",u\n2,"z, ""z""",v\n', "x.csv"))
    assert quoted.X[:, 1].tolist() == ["x\n\ny", 'z, "z"']
    assert quoted.feature_names == ["a\nb", "c"]
    blanks = read_table(write('a, b,t\n1, "x, y",u\n2, z ,v\n', "x.csv"))
    assert blanks.X[:, 1].tolist() == ["x, y", "z"]
    wide = ",".join(f"c{j}" for j in range(10_000))
    lines = [",".join(["1"] * 9_999 + [last, "u"]) for last in "12"]
    table = read_table(write("\n".join([f"{wide},t", *lines]), "x.csv"))
    assert table.feature_names == ["c9999"]
    (remark,) = table.remarks
    assert remark.startswith("9999 columns are left out, each because it is the same in all rows: c0, c1")


def test_without_pyarrow(tmp_path, monkeypatch):
    path = _csv(tmp_path, messy())
    monkeypatch.setattr(source, "ARROW_FROM", 0)
    expected = read_table(path)
    known = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return known(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    table = read_table(path)
    assert cells_of(table.frame) == cells_of(expected.frame)
    pieces = read_table_pieces(path, table.kinds)
    assert sum(len(one.frame) for one in pieces) == len(table.frame)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.tuples(st.text(max_size=12) | CELLS, st.text("0123456789-/:.,$€% +eE()", max_size=12)), min_size=1
    )
)
def test_any_cells_are_read_or_refused_with_a_sentence(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("any") / "x.csv"
    frame = pd.DataFrame([(a.replace("\0", ""), b, "t") for a, b in cells], columns=["a", "b", "t"])
    frame.to_csv(path, index=False, encoding="utf-8", errors="replace")
    for least in (0, 1 << 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(source, "ARROW_FROM", least)
            try:
                table = read_table(path)
            except DataError:
                continue
            rows = make_table_transformer(kinds=table.kinds).fit_transform(table.frame)
            assert np.isfinite(rows if isinstance(rows, np.ndarray) else rows.data).all()


def test_the_plain_reader_goes_on_where_pyarrow_gives_up(tmp_path, monkeypatch):
    rows = [f"{k % 9}.5,Rome,u" for k in range(600)]
    rows[500] = '1.5, "Rome",u'  # to pyarrow the quotes belong to the cell
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["n,city,t", *rows]) + "\n")
    kinds = {"n": ColumnReading("number"), "city": ColumnReading("category")}
    monkeypatch.setattr(source, "ARROW_FROM", 0)
    monkeypatch.setattr(arrow_csv, "_BLOCK", 1000)
    pieces = [one.frame for one in read_table_pieces(path, kinds)]
    assert len(pieces) > 2
    expected = {"n": [k % 9 + 0.5 for k in range(600)], "city": ["Rome"] * 600}
    expected["n"][500] = 1.5
    assert cells_of(join_frames(pieces)) == expected
