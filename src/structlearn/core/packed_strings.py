"""Strings end to end as bytes, and their hashes: what compiled views are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from structlearn.core.blake2b import digest_slices
from structlearn.core.contract import Array


class PackedStrings(NamedTuple):
    """Strings as UTF-8 and as code points, end to end; a lone surrogate is the three bytes of its number.

    text : uint8 bytes
    points : uint32 code points
    at : where each code point begins in `text`, and the end
    first : where each string begins in `points`, and the end
    """

    text: Array
    points: Array
    at: Array
    first: Array

    @classmethod
    def of(cls, strings: Sequence[str]) -> PackedStrings:
        """Pack strings."""
        joined = "".join(strings)
        text = np.frombuffer(joined.encode("utf-8", "surrogatepass"), dtype=np.uint8)
        points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        at = np.append(np.flatnonzero((text & 0xC0) != 0x80), text.size)
        return cls(text, points, at, _edges(map(len, strings), len(strings)))

    @property
    def lengths(self) -> Array:
        """Code points of each string."""
        return np.diff(self.first)

    def hashes(self) -> Array:
        """Return the hash of each string."""
        return hash_slices(self.text, self.at[self.first[:-1]], self.at[self.first[1:]])

    def prefix_hashes(self, size: int) -> Array:
        """Return the hash of the first `size` code points of each string; 0 of a shorter string."""
        begin = self.first[:-1]
        return self._affix_hashes(begin, begin + size, size)

    def suffix_hashes(self, size: int) -> Array:
        """Return the hash of the last `size` code points of each string; 0 of a shorter string."""
        end = self.first[1:]
        return self._affix_hashes(end - size, end, size)

    def _affix_hashes(self, begin: Array, end: Array, size: int) -> Array:
        found = np.zeros(begin.size, dtype=np.uint64)
        long = self.lengths >= size
        found[long] = hash_slices(self.text, self.at[begin[long]], self.at[end[long]])
        return found


def hash_slices(text: Array, begin: Array, end: Array) -> Array:
    """Return 64 bits of each stretch of bytes by BLAKE2b; never 0."""
    found = np.empty(begin.size, dtype=np.uint64)
    digest_slices(text, begin, end, found)
    return np.maximum(found, np.uint64(1))


def hash_strings(strings: Sequence[str | None]) -> Array:
    """Return the hash of each string; 0 of None."""
    found = PackedStrings.of([text or "" for text in strings]).hashes()
    found[[i for i, text in enumerate(strings) if text is None]] = 0
    return found


def _edges(lengths: Iterable[int], n: int) -> Array:
    found = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.fromiter(lengths, dtype=np.int64, count=n), out=found[1:])
    return found
