"""Arcs of dependency trees: features of a head and a word, hashed on the fly."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from structlearn.core.contract import Array
from structlearn.scoring.arcs.kernels import Arcs, arc_norms, count_features, list_features
from structlearn.scoring.arcs.templates import Templates
from structlearn.scoring.base import Scoring, starts, starts_of


class ArcScoring(Scoring):
    """theta_i[h, m] = sum of w over the hashed features of the arc from head h, 0 the root, to word m.

    No feature is stored: a sentence of n words has n (n + 1) arcs of some hundred features each.

    Parameters
    ----------
    codes : uint64 array of shape (all words, columns)
        Hashes of the words' strings, sentences end to end.
    lengths : int array of shape (n_sentences,)
    templates : Templates
        Which codes are read together (`compile_templates`).
    bits : int
        There are 2^bits weights, at least 2^4.
    """

    def __init__(self, codes: Array, lengths: Array, templates: Templates, bits: int) -> None:
        lengths = np.asarray(lengths, dtype=np.int64)
        self.codes = np.ascontiguousarray(codes, dtype=np.uint64)
        self.templates = templates
        self.bits = bits
        self.first = starts_of(lengths, len(codes))
        self.shapes = np.stack([lengths + 1, lengths], axis=1)
        self.start = starts(lengths * (lengths + 1))
        self.n_weights = 1 << bits

    @property
    def record(self) -> Arcs:
        longest = int(self.shapes[:, 1].max())
        shift = np.uint64(64 - self.bits)
        return Arcs(self.codes, self.first, self.start, self.templates, shift, self.n_weights, longest, 0)

    @property
    def _bare_record(self) -> Arcs:
        """The record without scratch memory of the size of w."""
        return self.record._replace(n_weights=0)

    def _part_norms(self, first: int, last: int) -> Array:
        norms = np.empty(self.start[last] - self.start[first])
        arc_norms(self.record, first, last, norms)
        return norms

    @property
    def n_terms(self) -> int:
        """A feature has an integer count: the largest squared norm is no less than the number of terms."""
        longest = int(np.argmax(self.shapes[:, 1]))
        most = float(self.part_norms(longest, longest + 1).max(initial=1.0)) ** 2
        return 4 * round(most)

    def features_of(self, heads: Array) -> csr_matrix:
        """Count the hashed features of the arc into each word, given all words' heads, end to end."""
        heads = np.ascontiguousarray(heads, dtype=np.int64)
        most = np.repeat(self.shapes[:, 1], self.shapes[:, 1])
        if heads.shape != most.shape or ((heads < 0) | (heads > most)).any():
            raise ValueError(
                f"Heads are {most.size} numbers of words in their sentences, with 0 for the root."
            )
        sizes = np.empty(heads.size, dtype=np.int64)
        count_features(self._bare_record, heads, sizes)
        ends = starts(sizes)
        features = np.empty(ends[-1], dtype=np.int64)
        list_features(self._bare_record, heads, ends, features)
        ones = np.ones(features.size, dtype=np.float32)
        found = csr_matrix((ones, features, ends), shape=(heads.size, self.n_weights))
        found.sum_duplicates()
        return found
