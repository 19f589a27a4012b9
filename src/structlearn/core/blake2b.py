"""BLAKE2b inside kernels: 64 bits of a stretch of bytes, as `hashlib.blake2b(digest_size=8)` gives them.

The hash of a message (RFC 7693): h = IV with h_0 changed by the size of the digest; for each block of 128
bytes, h <- F(h, block, bytes so far, last), where F runs twelve rounds of eight mixings G on sixteen words.
The digest is h_0, little-endian.
"""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import inline, kernel, leaf

BLOCK = 128
_IV = np.array(
    [
        *(0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1),
        *(0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179),
    ],
    dtype=np.uint64,
)
#: of a digest of eight bytes, without a key
_PARAMETERS = 0x01010008
_ROUNDS = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)
_ORDER = np.array([*_ROUNDS, *_ROUNDS[:2]], dtype=np.int64)


@inline
def _turn(x: np.uint64, bits: int) -> np.uint64:
    return (x >> np.uint64(bits)) | (x << np.uint64(64 - bits))


@inline
def _mix(v: Array, a: int, b: int, c: int, d: int, x: np.uint64, y: np.uint64) -> None:
    """G(v_a, v_b, v_c, v_d; x, y)."""
    v[a] = v[a] + v[b] + x
    v[d] = _turn(v[d] ^ v[a], 32)
    v[c] = v[c] + v[d]
    v[b] = _turn(v[b] ^ v[c], 24)
    v[a] = v[a] + v[b] + y
    v[d] = _turn(v[d] ^ v[a], 16)
    v[c] = v[c] + v[d]
    v[b] = _turn(v[b] ^ v[c], 63)


@leaf
def _compress(h: Array, m: Array, v: Array, n_bytes: int, last: bool) -> None:
    """h <- F(h, m, n_bytes, last)."""
    for k in range(8):
        v[k], v[k + 8] = h[k], _IV[k]
    v[12] ^= np.uint64(n_bytes)
    if last:
        v[14] = ~v[14]
    for r in range(12):
        for k in range(4):
            _mix(v, k, k + 4, k + 8, k + 12, m[_ORDER[r, 2 * k]], m[_ORDER[r, 2 * k + 1]])
        for k in range(4):
            x, y = m[_ORDER[r, 8 + 2 * k]], m[_ORDER[r, 9 + 2 * k]]
            _mix(v, k, (k + 1) % 4 + 4, (k + 2) % 4 + 8, (k + 3) % 4 + 12, x, y)
    for k in range(8):
        h[k] ^= v[k] ^ v[k + 8]


@leaf
def _read_block(text: Array, begin: int, end: int, m: Array) -> None:
    """m <- at most 128 bytes as sixteen little-endian words, zeros behind them."""
    for k in range(16):
        word = np.uint64(0)
        at = begin + 8 * k
        for j in range(min(8, end - at)):
            word |= np.uint64(text[at + j]) << np.uint64(8 * j)
        m[k] = word


@leaf
def digest(text: Array, begin: int, end: int, room: Array) -> np.uint64:
    """Return the digest of text[begin:end]; room : 40 words."""
    h, m, v = room[:8], room[8:24], room[24:]
    for k in range(8):
        h[k] = _IV[k]
    h[0] ^= np.uint64(_PARAMETERS)
    at = begin
    while end - at > BLOCK:
        _read_block(text, at, end, m)
        at += BLOCK
        _compress(h, m, v, at - begin, False)
    _read_block(text, at, end, m)
    _compress(h, m, v, end - begin, True)
    return h[0]


@kernel
def digest_slices(text: Array, begin: Array, end: Array, found: Array) -> None:
    """found <- the digest of each text[begin:end]."""
    room = np.empty(40, dtype=np.uint64)
    for i in range(begin.size):
        found[i] = digest(text, begin[i], end[i], room)
