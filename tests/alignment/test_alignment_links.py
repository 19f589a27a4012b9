import gzip

import numpy as np
import pytest

from structlearn.alignment.links import (
    Links,
    format_pharaoh,
    link_table,
    parse_pharaoh,
    read_both,
    read_links,
    table_links,
    write_naacl,
    write_pharaoh,
)
from structlearn.data import DataError

NAACL = "0001 1 1 S\n0001 2 3 P\n0003 4 1\n"
PHARAOH = "0-0 1?2\n\n3-0\n"
LINKS = [Links.of({(0, 0)}, {(1, 2)}), Links.of(()), Links.of({(3, 0)})]
LENGTHS = [(2, 3), (1, 1), (4, 1)]


def test_possible_includes_sure():
    assert Links.of([(0, 0)], [(1, 2)]).possible == {(0, 0), (1, 2)}
    assert parse_pharaoh("0-0 0?0 1p2") == LINKS[0]


def test_both_formats_say_the_same(write):
    for text, name in ((NAACL, "gold.wa"), (PHARAOH, "gold"), (PHARAOH.replace("?", "p"), "gold")):
        assert read_links(write(text, name)) == LINKS
        assert read_links(write(text, name), LENGTHS) == LINKS
        assert read_links(write(gzip.compress(text.encode()), "x.gz")) == LINKS


def test_the_format_is_told_by_content(write):
    assert read_links(write("\n" + NAACL, "links.txt")) == LINKS
    assert read_links(write(PHARAOH, "links.wa")) == LINKS
    assert read_links(write("\n\n", "links.txt")) == [Links.of(())] * 2
    assert read_links(write("\n\n", "links.wa.gz".removesuffix(".gz"))) == []


def test_further_forms(write):
    assert parse_pharaoh("0-1:0.93 2-3:1e-05") == Links.of({(0, 1), (2, 3)})
    assert read_links(write("1 1 2 S 0.5\n\n1\t2\t2  P\n")) == [Links.of({(0, 1)}, {(1, 1)})]
    assert read_links(write("1 1 1 P\n1 1 1 S\n")) == [Links.of({(0, 0)})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0-0\n1-0 x-1\n", 'line 2: "x-1" is not a link such as 0-1'),
        ("0-0\n1\n", 'line 2: "1" is not a link'),
        ("1 1 1 S\n1 1 S\n", "line 2: \"1 1 S\" is not 'sentence source target S'"),
        ("1 1 1 S\n1 1 1 Q\n", 'line 2: "1 1 1 Q" is not'),
        ("1 0 1 S\n", "line 1: sentences and positions count from 1"),
        (f"0-0\n0-{'9' * 5000}\n", 'line 2: "0-9999'),
    ],
)
def test_what_is_wrong_is_named(write, text, said):
    with pytest.raises(DataError, match=f"file.txt, {said}"):
        read_links(write(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0-0 1-2\n1-0\n3-0\n", "line 2: the link from source word 2 to target word 1 .* of 1 and 1 words"),
        ("0-0 1?3\n\n3-0\n", "line 1: the link from source word 2 to target word 4 .* of 2 and 3 words"),
        ("1 1 1 S\n3 4 2 P\n", "line 2: the link from source word 4 to target word 2 .* of 4 and 1 words"),
        ("4 1 1 S\n", "line 1: there is no sentence pair 4, only 3"),
        ("0-0\n\n0-0\n\n", "line 4: there is no sentence pair 4, only 3"),
    ],
)
def test_links_outside_their_sentences(write, text, said):
    with pytest.raises(DataError, match=f"file.txt, {said}"):
        read_links(write(text), LENGTHS)


def test_numbers_of_sentence_pairs_are_credible(write):
    assert len(read_links(write("1 1 1 S\n100000 1 1 S\n"))) == 100_000
    with pytest.raises(DataError, match="links of 2 sentence pairs but one has the number 999999999, more"):
        read_links(write("1 1 1 S\n999999999 1 1 S\n"))


def test_too_few_lines(write):
    with pytest.raises(DataError, match="has 1 lines for 3 sentence pairs"):
        read_links(write("0-0\n"), LENGTHS)
    assert read_links(write("1 1 1\n"), LENGTHS) == [Links.of({(0, 0)}), Links.of(()), Links.of(())]


def test_two_files_of_the_same_pairs(write):
    naacl, lines = write("1 1 1\n", "x.wa"), write(PHARAOH, "x.pharaoh")
    assert read_both(naacl, lines) == ([Links.of({(0, 0)}), Links.of(()), Links.of(())], LINKS)
    with pytest.raises(DataError, match="short has 1 lines, but there are 3 sentence pairs"):
        read_both(lines, write("0-0\n", "short"))
    with pytest.raises(DataError, match="Only one"):
        read_both("-", "-")


def test_written_links_are_read_again(tmp_path):
    write_naacl(tmp_path / "x.wa", LINKS)
    assert (tmp_path / "x.wa").read_text() == "0001 1 1 S\n0001 2 3 P\n0003 4 1 S\n"
    write_pharaoh(tmp_path / "x.gz", LINKS, possible=True)
    assert gzip.decompress((tmp_path / "x.gz").read_bytes()).decode() == PHARAOH
    for name in ("x.wa", "x.gz"):
        assert read_links(tmp_path / name) == LINKS
    write_pharaoh(tmp_path / "sure", LINKS)
    assert read_links(tmp_path / "sure") == [Links.of(links.sure) for links in LINKS]
    assert format_pharaoh({(10, 0), (2, 1)}) == "2-1 10-0"


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path):
    def broken():
        yield LINKS[0]
        raise RuntimeError

    for write_links in (write_pharaoh, write_naacl):
        with pytest.raises(RuntimeError):
            write_links(tmp_path / "out", broken())
        assert list(tmp_path.iterdir()) == []


def test_tables():
    sure, possible = LINKS[0].tables((2, 3))
    np.testing.assert_array_equal(sure, [[1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(possible, [[1, 0, 0], [0, 0, 1]])
    assert table_links(possible) == LINKS[0].possible
    assert link_table([], (0, 2)).shape == (0, 2)
