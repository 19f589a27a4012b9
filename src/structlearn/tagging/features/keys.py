"""Features as 64-bit keys, and the table that numbers them."""

from __future__ import annotations

import numpy as np

from structlearn.core.bits import mix_bits
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

#: What keys are made of where a cell is outside of its sentence.
OUTSIDE = 0x9E3779B97F4A7C15


@kernel
def add_atom(values: Array, codes: Array, first: Array, offset: int, keys: Array) -> None:
    """keys <- mix_bits(key + value of the cell `offset` tokens away); zero where the value is.

    values : hash of each distinct string; codes : the string of each token.
    Sequence i is the tokens first[i]:first[i + 1]. A key of zero (no feature) stays zero.
    """
    for i in range(first.size - 1):
        a, b = first[i], first[i + 1]
        for t in range(a, b):
            at = t + offset
            if at < a:
                value = np.uint64(OUTSIDE) * np.uint64(2 * (a - at))
            elif at >= b:
                value = np.uint64(OUTSIDE) * np.uint64(2 * (at - b) + 1)
            else:
                value = values[codes[at]]
            keys[t] = mix_bits(keys[t] + value) if keys[t] != 0 and value != 0 else np.uint64(0)


@kernel
def fill_table(keys: Array, slots: Array) -> None:
    """slots <- one more than the place of each key, by open addressing; zero is an empty slot."""
    mask = np.uint64(slots.size - 1)
    for j in range(keys.size):
        at = keys[j] & mask
        while slots[at] != 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = j + 1


@kernel
def find_keys(wanted: Array, keys: Array, slots: Array, found: Array) -> None:
    """found <- the place of each wanted key in `keys`, -1 if it is not there."""
    mask = np.uint64(slots.size - 1)
    for t in range(wanted.size):
        at = wanted[t] & mask
        found[t] = -1
        while slots[at] != 0 and wanted[t] != 0:
            j = slots[at] - 1
            if keys[j] == wanted[t]:
                found[t] = j
                break
            at = (at + np.uint64(1)) & mask


class KeyTable:
    """Finds the place of a key in an array of distinct keys."""

    def __init__(self, keys: Array) -> None:
        self.keys = keys
        size = 1 << max(int(2 * keys.size - 1).bit_length(), 1)
        self._slots = np.zeros(size, dtype=np.int32)
        fill_table(keys, self._slots)

    def places(self, wanted: Array) -> Array:
        """Place of each wanted key; -1 if it is not there."""
        found = np.empty(wanted.size, dtype=np.int32)
        find_keys(wanted, self.keys, self._slots, found)
        return found
