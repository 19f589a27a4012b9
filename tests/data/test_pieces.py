import io

import pytest

from structlearn.data import DataError
from structlearn.data.text_stream import text_pieces


class Slow(io.BytesIO):
    """Gives three bytes at a time."""

    def read1(self, size=-1):
        return super().read1(3)


def test_characters_between_two_pieces():
    text = "hallo wörld 😀 \ufeff\r\n"
    for mark in ("", "\ufeff"):
        assert "".join(text_pieces("x", Slow((mark + text).encode()))) == text
    assert list(text_pieces("x", Slow(b""))) == []


@pytest.mark.parametrize(
    ("raw", "at"), [(b"abc\xffd", 4), (b"ab\xf0\x9f", 3), ("ü😀".encode() + b"\x80x", 7), (b"\xef\xbb", 1)]
)
def test_what_is_no_text_is_named(raw, at):
    with pytest.raises(DataError, match=f"x: byte {at} is not UTF-8 text"):
        list(text_pieces("x", Slow(raw)))
