"""CQDB: the dictionaries inside of CRFsuite's model files, from strings to numbers and back.

    header        "CQDB", size, flag, byte order, size and offset of the backward array (24 bytes)
    256 tables    offset and size of each hash table (2,048 bytes)
    records       number, size, string and a zero byte
    hash tables   hash and offset of each record, by open addressing, half of them empty
    backward      offset of the record of each number

Offsets count from the beginning of the dictionary; integers have 32 bits. A string's table is the low byte of
its hash (Jenkins's lookup3, with the zero byte), its first slot there the rest of it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from structlearn.core.contract import Array

_MAGIC = b"CQDB"
_ORDER = 0x62445371
_HEADER = struct.Struct("<4s5I")
_PAIR = struct.Struct("<2I")
_N_TABLES = 256
_DATA = _HEADER.size + _N_TABLES * _PAIR.size
_WORDS = 3
#: By how many bits lookup3 turns words, block by block and at the end.
_MIX, _FINAL = (4, 6, 8, 16, 19, 4), (14, 11, 25, 16, 4, 14, 24)


def read_strings(data: bytes, begin: int, n: int) -> list[str]:
    """Return the strings of the numbers 0 to n - 1; ValueError if the dictionary is damaged."""
    if begin + _DATA > len(data) or data[begin : begin + 4] != _MAGIC:
        raise ValueError(f"there is no dictionary at byte {begin}")
    _, size, _, order, _, backward = _HEADER.unpack_from(data, begin)
    if order != _ORDER or begin + size > len(data) or backward + 4 * n > size:
        raise ValueError(f"the dictionary at byte {begin} is cut short or of another byte order")
    offsets = np.frombuffer(data, dtype="<u4", count=n, offset=begin + backward)
    return [_record(data, begin, begin + size, int(one), k) for k, one in enumerate(offsets.tolist())]


def _record(data: bytes, begin: int, end: int, offset: int, number: int) -> str:
    """Return the string of a record, which must lie in the dictionary and have its number."""
    at = begin + offset
    if offset < _DATA or at + _PAIR.size > end:
        raise ValueError(f"a string of the dictionary at byte {begin} lies outside of it")
    found, size = _PAIR.unpack_from(data, at)
    text = data[at + _PAIR.size : at + _PAIR.size + size]
    if found != number or at + _PAIR.size + size > end or text.find(b"\0") != size - 1 or not size:
        raise ValueError(f"a string of the dictionary at byte {begin} is damaged")
    return text[:-1].decode("utf-8", "surrogateescape")


def write_strings(strings: Sequence[str]) -> bytes:
    """Return a dictionary of strings by their numbers, which are 0, 1 ..."""
    texts = [one.encode("utf-8", "surrogateescape") + b"\0" for one in strings]
    if any(b"\0" in text[:-1] for text in texts):
        raise ValueError("CRFsuite has no place for names with a zero byte.")
    records = [_PAIR.pack(k, len(text)) + text for k, text in enumerate(texts)]
    sizes = np.array([len(one) for one in records], dtype=np.int64)
    offsets = _DATA + np.cumsum(sizes) - sizes
    tables = list(_tables(lookup3(texts), offsets))
    starts = _DATA + int(sizes.sum()) + np.cumsum([0, *(len(one) for one in tables)])
    counts = [len(table) // _PAIR.size for table in tables]
    references = [_PAIR.pack(int(at) if n else 0, n) for at, n in zip(starts, counts)]
    backward, size = int(starts[-1]), int(starts[-1]) + 4 * len(texts)
    if size >= 1 << 32:
        raise ValueError("CRFsuite's dictionaries have at most 4 GB.")
    header = _HEADER.pack(_MAGIC, size, 0, _ORDER, len(texts), backward)
    return b"".join([header, *references, *records, *tables, offsets.astype("<u4").tobytes()])


def _tables(hashes: Array, offsets: Array) -> Iterator[bytes]:
    """Yield the hash tables."""
    order = np.argsort(hashes % _N_TABLES, kind="stable")
    ends = np.searchsorted((hashes % _N_TABLES)[order], np.arange(_N_TABLES + 1))
    for first, last in pairwise(ends.tolist()):
        own = order[first:last]
        slots = np.zeros((2 * own.size, 2), dtype="<u4")
        for value, offset in zip(hashes[own].tolist(), offsets[own].tolist()):
            at = (value >> 8) % len(slots)
            while slots[at, 1]:
                at = (at + 1) % len(slots)
            slots[at] = value, offset
        yield slots.tobytes()


# ---- Jenkins's lookup3, of many strings at once ------------------------------------------------------------


def lookup3(texts: Sequence[bytes]) -> Array:
    """Return the 32-bit hash of each string."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    blocks, found = np.maximum((lengths + 11) // 12, 1), np.zeros(len(texts), dtype=np.uint32)
    for n in np.unique(blocks).tolist():
        own = np.flatnonzero(blocks == n)
        padded = b"".join(texts[k].ljust(12 * n, b"\0") for k in own.tolist())
        words = np.frombuffer(padded, dtype="<u4").reshape(own.size, n, _WORDS)
        found[own] = _hash(words, lengths[own].astype(np.uint32))
    return found


def _hash(words: Array, lengths: Array) -> Array:
    """Return the hashes of strings of the same number of blocks, whose words are padded by zeros."""
    a = b = c = lengths + np.uint32(0xDEADBEEF)
    for block in range(words.shape[1]):
        a, b, c = (one + words[:, block, k] for k, one in enumerate((a, b, c)))
        for k in _MIX if block + 1 < words.shape[1] else ():
            a, b, c = b, c + b, (a - c) ^ _turn(c, k)
    for k in _FINAL:
        a, b, c = b, (c ^ b) - _turn(b, k), a
    return b


def _turn(x: Array, k: int) -> Array:
    return (x << np.uint32(k)) | (x >> np.uint32(32 - k))
