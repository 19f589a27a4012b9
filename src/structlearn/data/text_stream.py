"""Text that may never end, as pieces: as much as there is at a time, however long its lines are."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from typing import Protocol

from structlearn.data.text import NOT_UTF8
from structlearn.storage.errors import DataError

#: Bytes that are read at a time, at most.
_AT_ONCE = 1 << 16


class ByteStream(Protocol):
    """What has bytes to give: as many as are there already, at least one until the end."""

    def read1(self, size: int, /) -> bytes: ...


def text_pieces(name: str, stream: ByteStream) -> Iterator[str]:
    """Yield the text of a stream in UTF-8, without a byte order mark; DataError if it is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    decoded = kept = 0  # bytes that are text by now, and those of a character that is not whole yet
    try:
        while raw := stream.read1(_AT_ONCE):
            piece = decoder.decode(raw)
            total, kept = decoded + kept + len(raw), len(decoder.getstate()[0])
            yield piece if decoded else piece.removeprefix("\ufeff")
            decoded = total - kept
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: byte {decoded + error.start + 1} {NOT_UTF8}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name}: the file cannot be read further ({error}).") from error
