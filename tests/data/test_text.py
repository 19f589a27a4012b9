import gzip
import io
import os
import sys
import tracemalloc
from collections import deque

import numpy as np
import pytest

from structlearn.data import DataError, open_text, text, write_lines
from structlearn.data.rewriting import filled
from structlearn.data.tokens import read_tokens


def test_lines_come_numbered_and_without_their_ends(write):
    assert list(open_text(write(b"a\r\n\nb c \n"))) == [(1, "a"), (2, ""), (3, "b c ")]


def test_no_newline_at_the_end_and_empty_file(write):
    assert list(open_text(write(b"a\nb"))) == [(1, "a"), (2, "b")]
    assert list(open_text(write(b""))) == []


def test_byte_order_mark_is_dropped_at_the_start_only(write):
    assert list(open_text(write("\ufeffé\n\ufeffb"))) == [(1, "é"), (2, "\ufeffb")]


def test_only_newlines_end_a_line(write):
    assert list(open_text(write("a\u2028b\x0cc\x85d\n"))) == [(1, "a\u2028b\x0cc\x85d")]


def pack(content, ending):
    if ending == ".gz":
        return gzip.compress(content)
    return pytest.importorskip("zstandard").ZstdCompressor(write_checksum=True).compress(content)


def unpack(content, ending):
    if ending == ".gz":
        return gzip.decompress(content)
    return pytest.importorskip("zstandard").ZstdDecompressor().decompressobj().decompress(content)


PACKED = pytest.mark.parametrize("ending", [".gz", ".zst"])


@PACKED
def test_packed_text(write, ending):
    whole = pack("é\n".encode(), ending) + pack(b"b\n", ending)
    assert list(open_text(write(whole, f"x{ending.upper()}"))) == [(1, "é"), (2, "b")]


def test_missing_file_is_refused_at_once(tmp_path):
    with pytest.raises(DataError, match=r"^File .*nowhere\.txt does not exist\.$"):
        open_text(tmp_path / "nowhere.txt")


def test_directory(tmp_path):
    with pytest.raises(DataError, match="is a directory, not a file"):
        open_text(tmp_path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="this user may read everything")
def test_forbidden_file(write):
    path = write(b"a")
    path.chmod(0)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        open_text(path)


def test_encoding_error_names_file_and_line(write):
    lines = open_text(write(b"good\nb\xe9d\n", "latin.txt"))
    assert next(lines) == (1, "good")
    with pytest.raises(DataError, match=r"latin\.txt, line 2: byte 2 is not UTF-8"):
        next(lines)


@PACKED
def test_damaged_archives(write, ending):
    with pytest.raises(DataError, match=rf"plain\{ending}, line 1: the file cannot be read further"):
        list(open_text(write(b"not an archive", f"plain{ending}")))
    whole = pack(os.urandom(2000).hex().encode(), ending)
    with pytest.raises(DataError, match=rf"cut\{ending}, line 1: the file cannot be read further"):
        list(open_text(write(whole[:-500], f"cut{ending}")))
    with pytest.raises(DataError, match=rf"bent\{ending}, line 1: the file cannot be read further"):
        list(open_text(write(whole[:100] + b"\xff" * 100 + whole[200:], f"bent{ending}")))


@PACKED
def test_a_damaged_archive_gives_all_lines_before_the_damage(write, ending):
    rows = np.random.default_rng(0).integers(10**9, size=60_000).tolist()
    whole = pack("".join(f"{row}\n" for row in rows).encode(), ending)
    taken = []
    with pytest.raises(DataError, match=r"line [0-9]+: the file cannot be read further") as told:
        taken.extend(open_text(write(whole[: len(whole) // 2], f"half{ending}")))
    assert len(taken) > 9000
    assert taken == [(k, str(row)) for k, row in enumerate(rows[: len(taken)], 1)]
    assert f"line {len(taken) + 1}:" in str(told.value)


@PACKED
@pytest.mark.parametrize("filler", [b"\0", b"\n", b"1 1:1\n"])
def test_an_archive_that_holds_next_to_nothing_many_times_is_left_early(write, filler, ending):
    path = write(pack(b"1 1:1\n", ending) + pack(filler * (1 << 24), ending), f"bomb{ending}")
    taken = []
    with pytest.raises(DataError, match="unpacks to more than 250 times its size; if that is right, unpack"):
        taken.extend(len(line) + 1 for _, line in open_text(path))
    assert sum(taken) < 1 << 22


def test_an_archive_is_refused_before_anyone_works_on_it(write):
    lines = open_text(write(gzip.compress(b"0-0\n" * (1 << 20)), "bomb.gz"))
    with pytest.raises(DataError, match="line 1: the file cannot be read further"):
        next(lines)


def test_what_is_unpacked_is_bounded_beside_the_ratio(write):
    """Newlines that keep within 250 times the size of the archive, as long as that goes."""
    filler = os.urandom(5000).hex().encode() + b"\n"
    window = gzip.compress(filler + b"\n" * ((1 << 20) - len(filler)))
    assert 100 < (1 << 20) / len(window) < 250
    with pytest.raises(DataError, match="unpacks to more than 100 times its size; if that is right, unpack"):
        deque(open_text(write(window * 20, "bomb.gz")), maxlen=0)


def test_a_line_has_an_end(write, monkeypatch):
    monkeypatch.setattr(text, "LONGEST_LINE", 1000)
    assert [len(line) for _, line in open_text(write(b"a" * 999 + b"\n" + b"b" * 1000))] == [999, 1000]
    with pytest.raises(DataError, match="line 2: the line is longer than"):
        list(open_text(write(b"a\n" + b"b" * 1001)))
    with pytest.raises(DataError, match="is not text"):
        list(open_text(write(bytes(1001))))


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such devices")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_devices_that_never_end_are_refused(device, monkeypatch):
    with pytest.raises(DataError, match=rf"^{device} is a device, not a file; give a file or a pipe\.$"):
        open_text(device)
    with open(device, encoding="latin-1") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        with pytest.raises(DataError, match="stdin is a device"):
            text.standard_input()


def test_links_that_lead_nowhere_are_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(DataError, match=r"loop is a link that leads to no file\.$"):
        open_text(tmp_path / "loop")


def test_null_is_an_empty_file():
    assert list(open_text(os.devnull)) == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_not_kept(write, end):
    n = 100_000
    path = write(f"{end * n}a X{end}{end * n}b Y{end}")
    for whole in (False, True):
        tracemalloc.start()
        tokens = read_tokens(path, text=whole)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert tokens.lengths.tolist() == [1, 1]
        assert peak < (2 * 9 * n if whole else 0) + 500_000  # a pointer a line, if it is written back
    assert "".join(filled(tokens, "1", ["V", "W"])) == path.read_bytes().decode().replace("X", "V").replace(
        "Y", "W"
    )


def test_an_archive_of_text_may_be_long(write):
    numbers = np.random.default_rng(0).integers(10, size=(1 << 16, 50))
    whole = "\n".join(" ".join(map(str, row)) for row in numbers.tolist())
    assert [line for _, line in open_text(write(gzip.compress(whole.encode()), "long.gz"))] == whole.split(
        "\n"
    )


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_write_lines(tmp_path, ending):
    path = tmp_path / f"out.txt{ending}"
    write_lines(path, ["é", "", "b"])
    raw = path.read_bytes()
    assert (unpack(raw, ending) if ending else raw) == "é\n\nb\n".encode()


def test_zstandard_is_asked_for_where_it_is_missing(write, monkeypatch):
    path = write(pack(b"a\n", ".zst"), "x.zst")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    with pytest.raises(DataError, match="need the package zstandard"):
        list(open_text(path))


def test_write_lines_to_a_stream():
    stream = io.StringIO()
    write_lines(stream, iter(["a", "b"]))
    assert stream.getvalue() == "a\nb\n"


def test_write_where_there_is_no_folder(tmp_path):
    with pytest.raises(DataError, match=r"out\.txt cannot be written: No such file or directory\."):
        write_lines(tmp_path / "none" / "out.txt", ["a"])


def test_errors_are_value_errors():
    assert issubclass(DataError, ValueError)
    assert str(DataError.at("scene.txt", 12, "no.")) == "scene.txt, line 12: no."


@pytest.mark.parametrize("start", [b"\x89PNG\r\n\x1a", b"\xff\xd8\xff\xe0JFIF", b"GIF89a\xff", b"a\x01\xff"])
def test_a_picture_is_not_text_of_another_encoding(write, start):
    with pytest.raises(DataError, match="is not text: save it as text"):
        list(open_text(write(start)))
    with pytest.raises(DataError, match="CP1252"):
        list(open_text(write("Müller".encode("cp1252"))))
