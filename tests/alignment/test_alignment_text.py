import gzip
import io
import sys

import pytest

from structlearn.alignment.text.pairs import Pair, paired_lines, read_pairs, read_tab_pairs
from structlearn.data import DataError


def test_pairs_stream_one_line_at_a_time(write):
    pairs = read_pairs(write("a  b\n\xa0c\n", "x.en"), write(b"d\r\ne\xff\n", "x.fr"))
    assert next(pairs) == Pair(1, ["a", "b"], ["d"])
    with pytest.raises(DataError, match=r"x\.fr, line 2: byte 2 is not UTF-8"):
        next(pairs)


def test_archives(write):
    source, target = write(gzip.compress(b"a\nb\n"), "x.gz"), write("c\nd", "y")
    assert [pair.target for pair in read_pairs(source, target)] == [["c"], ["d"]]


@pytest.mark.parametrize(("left", "right", "short"), [("a\n", "b\nc\n", "left"), ("a\nb\n", "c\n", "right")])
def test_files_of_different_lengths(write, left, right, short):
    pairs = read_pairs(write(left, "left"), write(right, "right"))
    assert next(pairs).number == 1
    with pytest.raises(DataError, match=rf"{short}, line 2: the file ends here, but .* goes on"):
        next(pairs)


def test_empty_sentences(write):
    source, target = write("a\nb\n", "x.en"), write("c\n \n", "x.fr")
    with pytest.raises(DataError, match=r"x\.fr, line 2: the sentence is empty; `structlearn align clean`"):
        list(read_pairs(source, target))
    assert list(read_pairs(source, target, allow_empty=True))[1] == Pair(2, ["b"], [])


def test_missing_files_are_refused_at_once(write, tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.fr does not exist"):
        read_pairs(write("a\n"), tmp_path / "nowhere.fr")


def test_standard_input(write, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("é\n".encode())))
    assert list(paired_lines("-", write("b\n"))) == [(1, "é", "b")]
    with pytest.raises(DataError, match="Only one of the two sides"):
        paired_lines("-", "-")


def test_tabs(write):
    path = write("a b\tc\t0-0\nd\te\n")
    assert list(read_tab_pairs(path)) == [(Pair(1, ["a", "b"], ["c"]), "0-0"), (Pair(2, ["d"], ["e"]), None)]
    with pytest.raises(DataError, match=r"line 1: 2 or 3 columns between tabs are wanted, not 1"):
        next(read_tab_pairs(write("a b\n")))
    with pytest.raises(DataError, match="line 1: the sentence is empty"):
        next(read_tab_pairs(write("a\t\n")))
