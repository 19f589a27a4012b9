"""Where the words of a corpus occur, word by word."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from structlearn.alignment.text.bitext import Corpus
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

#: Into how many parts the words are cut.
N_PARTS = 64


class Occurrences(NamedTuple):
    """Where words occur: word e at the tokens `token[start[e] : start[e + 1]]`, of those sentences."""

    start: Array
    token: Array
    sentence: Array


def occurrences(corpus: Corpus, n_words: int) -> Occurrences:
    """Sort the occurrences of words by counting: as the sparse matrix of tokens by sentence and word."""
    size = len(corpus.start) - 1, n_words
    by_word = csr_array((np.arange(corpus.tokens.size), corpus.tokens, corpus.start), shape=size).tocsc()
    sentence = by_word.indices.astype(np.int32, copy=False)
    return Occurrences(by_word.indptr.astype(np.int64, copy=False), by_word.data, sentence)


def even_parts(start: Array) -> list[tuple[int, int]]:
    """Return ranges of words that occur about equally often."""
    cuts = np.searchsorted(start, np.linspace(0, start[-1], N_PARTS + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, [len(start) - 1]]))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


@kernel
def count_sentences(corpus: Corpus, n_words: int) -> Array:
    """Count the sentences in which each word occurs."""
    last = np.zeros(n_words, dtype=np.int32)  # one more than the sentence
    pairs = np.zeros(n_words + 1, dtype=np.int32)
    for s in range(corpus.start.size - 1):
        for word in corpus.tokens[corpus.start[s] : corpus.start[s + 1]]:
            pairs[word] += last[word] != s + 1
            last[word] = s + 1
    return pairs
