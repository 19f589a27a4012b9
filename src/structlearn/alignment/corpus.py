"""A small corpus that comes with the library: English-French sentence pairs with gold links."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files
from typing import NamedTuple

from structlearn.alignment.links import Links, links_at
from structlearn.alignment.text.pairs import Path, read_tab_pairs
from structlearn.data import DataError


class LinkedPair(NamedTuple):
    """A sentence pair with its gold links."""

    source: list[str]
    target: list[str]
    links: Links


def load_corpus() -> list[LinkedPair]:
    """Return the corpus: 212 pairs, tokenised and in lower case, with the links that a careful reader draws.

    Sure links join words that translate each other. Possible links join phrases that do so only as a whole
    ("of course", "bien sûr"), and words to the neighbour that the other language folds them into (the
    partitive article of "du pain" to "bread", "will" to a future tense). What has no counterpart, such as
    the "do" of a question, has no link.
    """
    with as_file(files("structlearn.alignment") / "corpus.tsv") as path:
        return list(read_linked_pairs(path))


def read_linked_pairs(path: Path) -> Iterator[LinkedPair]:
    """Stream lines `source TAB target TAB links`, the links in Pharaoh form (`0-0 1?2`)."""
    for pair, text in read_tab_pairs(path):
        if text is None:
            raise DataError.at(path, pair.number, "the third column, with the links, is missing.")
        lengths = len(pair.source), len(pair.target)
        yield LinkedPair(pair.source, pair.target, links_at(path, pair.number, text, lengths))
