"""Lexical shortlists, as translation systems read them: which words the words of the other side may become.

Lines of `lex.s2t` are `target source p(target | source)`, those of `lex.t2s` `source target p(source |
target)`, counted over the links of a text, in bounded memory.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from structlearn.alignment.files.pair_files import WrittenPair
from structlearn.alignment.uses.sorted_counts import Sorter, with_totals
from structlearn.data.text import check_there
from structlearn.storage.errors import DataError, StrPath

#: From a word to its pieces.
Pieces = Callable[[str], Iterable[str]]
#: Different pairs of words in memory; more are sorted in temporary files.
ROOM = 1 << 20


def pieces_of(model: StrPath | None) -> Pieces:
    """Return what splits a word by a SentencePiece model; without one a word is its only piece."""
    if model is None:
        return lambda word: [word]
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        raise ValueError("SentencePiece models need the library sentencepiece: install it.") from None
    check_there(model)
    try:
        found = SentencePieceProcessor(model_file=os.fspath(model))
    except (OSError, RuntimeError):
        raise DataError(f"{os.fspath(model)} is no SentencePiece model.") from None
    return lru_cache(maxsize=1 << 16)(lambda word: found.encode(word, out_type=str))


def count_links(
    pairs: Iterable[WrittenPair], pieces: tuple[Pieces, Pieces], sorters: tuple[Sorter, Sorter]
) -> None:
    """Count linked pieces, by source and by target."""
    for (source, target), count in _counted(pairs, pieces):
        sorters[0].add(source, target, (count,))
        sorters[1].add(target, source, (count,))


def _counted(
    pairs: Iterable[WrittenPair], pieces: tuple[Pieces, Pieces]
) -> Iterator[tuple[tuple[str, str], int]]:
    counts: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        for i, j in pair.links:
            counts.update(
                (left, right) for left in pieces[0](pair.source[i]) for right in pieces[1](pair.target[j])
            )
        if len(counts) >= ROOM:
            yield from counts.items()
            counts.clear()
    yield from counts.items()


def shortlist_lines(sorter: Sorter, most: int) -> Iterator[str]:
    """Yield lines `other word p(other | word)` of the likeliest others of each word."""
    for _, rows in groupby(with_totals(sorter.merge()), key=lambda row: row[0][0]):
        found = [(count / total, word, other) for (word, other, (count,)), total in rows]
        found.sort(key=itemgetter(0), reverse=True)
        yield from (f"{other} {word} {probability:.7f}\n" for probability, word, other in found[:most])
