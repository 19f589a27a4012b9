"""Batches of sentences of similar lengths, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from structlearn.core.contract import Array
from structlearn.neural.vocabularies import PADDING, UNKNOWN, CodedText

#: While training, lengths count as up to this much more, so that batches differ from epoch to epoch.
_JITTER = 3.0


class Batch(NamedTuple):
    """Sentences side by side, padded at the end.

    words, forms, vectors : (batch, length); `forms` are rows of `spellings`
    others : one such table per column beside the words
    spellings : (distinct words, characters)
    lengths : (batch,)
    mask : (batch, length), whether there is a word
    """

    words: Tensor
    others: list[Tensor]
    vectors: Tensor
    forms: Tensor
    spellings: Tensor
    lengths: Tensor
    mask: Tensor


def grouped(lengths: Array, size: int, rng: np.random.Generator | None = None) -> list[Array]:
    """Return the numbers of sentences in groups of at most `size` words, padding included.

    With `rng`, groups are drawn anew and come in random order. Empty sentences are in none.
    """
    drawn = lengths if rng is None else lengths + rng.uniform(0.0, _JITTER, len(lengths))
    order = np.argsort(drawn, kind="stable")
    groups: list[list[int]] = [[]]
    longest = 0
    for i in order[lengths[order] > 0].tolist():
        longest = max(longest, int(lengths[i]))
        if groups[-1] and (len(groups[-1]) + 1) * longest > size:
            groups.append([])
            longest = int(lengths[i])
        groups[-1].append(i)
    if rng is not None:
        rng.shuffle(groups)
    return [np.array(one) for one in groups if one]


class TextBatches:
    """The batches of a text."""

    def __init__(self, text: CodedText) -> None:
        self.text = text
        self._widths = (text.spellings != PADDING).sum(axis=1)

    def places(self, chosen: Array) -> tuple[Array, Array]:
        """Return the tokens of sentences, and where they stand in a batch of them: (batch, length)."""
        lengths = self.text.lengths[chosen]
        mask = np.arange(lengths.max()) < lengths[:, None]
        offsets = np.arange(lengths.max()) + self.text.starts[chosen][:, None]
        return offsets[mask], mask

    def make(self, chosen: Array, rng: np.random.Generator | None = None, unknown: float = 0.0) -> Batch:
        """Return some sentences as a batch, in which a share of the words is taken for unknown ones."""
        at, mask = self.places(chosen)
        words = self.padded(self.text.words[at], mask)
        if rng is not None:
            words[mask & (rng.random(mask.shape) < unknown)] = UNKNOWN
        used, forms = np.unique(self.text.forms[at], return_inverse=True)
        width = max(1, int(self._widths[used].max(initial=0)))
        return Batch(
            torch.from_numpy(words),
            [torch.from_numpy(self.padded(one[at], mask)) for one in self.text.others],
            torch.from_numpy(self.padded(self.text.vectors[at], mask)),
            torch.from_numpy(self.padded(forms, mask)),
            torch.from_numpy(self.text.spellings[used, :width]),
            torch.from_numpy(self.text.lengths[chosen]),
            torch.from_numpy(mask),
        )

    @staticmethod
    def padded(values: Array, mask: Array) -> Array:
        """Return what tokens have as a table, 0 where it is padded."""
        found = np.zeros(mask.shape, dtype=np.int64)
        found[mask] = values
        return found

    def all(self, size: int) -> Iterator[tuple[Array, Batch]]:
        """Yield all sentences with words in batches, and their numbers, the shortest first."""
        for chosen in grouped(self.text.lengths, size):
            yield chosen, self.make(chosen)
