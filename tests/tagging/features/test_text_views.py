"""Compiled views of a text against their definitions in Python, one string and one sentence at a time."""

from __future__ import annotations

import os
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from structlearn.core.blake2b import digest_slices
from structlearn.data import Tokens, read_tokens
from structlearn.tagging.features.runs import SENTENCE_VIEWS
from structlearn.tagging.features.text_views import TextViews
from structlearn.tagging.features.views import text_hash, view_named

DATA = Path(os.environ.get("STRUCTLEARN_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
STRING_VIEWS = [
    "same",
    "lower",
    "norm",
    "shape",
    "pattern",
    "prefix1",
    "suffix1",
    "suffix3",
    "suffix99",
]
#: Letters of several cases and widths in UTF-8, digits, combining marks, lone surrogates, a null, marks.
ALPHABET = "aAbBzZ09ßéÉñÑΣσςİıǅДд漢字１²٣\u0301\u0308\ud800\udfff\x00\U0001f600\U0001d400-.,'\"«»“”_ \n\u2028"
WORDS = ["", '"', "''", "``", "«", "Madrid", "del", "A", "a", "McDonald-4x", "ΟΔΟΣ", "x" * 300, "Ñé漢" * 100]


def random_sentences(seed: int, n: int = 300) -> list[list[str]]:
    """Return sentences of random words, of which some come often and some are empty."""
    rng = np.random.default_rng(seed)
    made = ["".join(rng.choice(list(ALPHABET), size=size)) for size in rng.integers(0, 12, size=200)]
    return [
        [str(one) for one in rng.choice([*made, *WORDS * 4], size=size)]
        for size in rng.integers(0, 12, size=n)
    ]


def wanted_hashes(tokens: Tokens, column: str, view: str) -> list[int]:
    """Return what the definition of a view makes of each token."""
    codes, strings = tokens.column(column)
    cells = [strings[code] for code in codes.tolist()]
    seen: list[str | None] = []
    if view in SENTENCE_VIEWS:
        for a, b in pairwise([0, *np.cumsum(tokens.lengths).tolist()]):
            seen += SENTENCE_VIEWS[view](cells[a:b])
    else:
        seen = [*map(view_named(view), cells)]
    return [0 if text is None else text_hash(text) for text in seen]


def found_hashes(tokens: Tokens, column: str, view: str) -> list[int]:
    codes, hashes = TextViews(tokens).view(column, view)
    return hashes[codes].tolist() if codes.size else []


@pytest.mark.parametrize("view", [*STRING_VIEWS, *SENTENCE_VIEWS])
def test_views_of_random_unicode_are_those_of_their_definitions(view):
    for seed in range(5):
        tokens = Tokens.from_sentences(random_sentences(seed))
        assert found_hashes(tokens, "word", view) == wanted_hashes(tokens, "word", view)


@pytest.mark.parametrize("view", [*STRING_VIEWS, *SENTENCE_VIEWS])
def test_views_of_no_sentences_and_of_empty_ones(view):
    for sentences in ([], [[]], [[], ["Ab"], []], [[""]]):
        tokens = Tokens.from_sentences(sentences)
        assert found_hashes(tokens, "word", view) == wanted_hashes(tokens, "word", view)


@pytest.mark.parametrize("path", ["conll2002/esp.testa.gz", "conll2000/test.txt.gz"])
def test_views_of_real_text(path):
    if not (DATA / path).exists():
        pytest.skip("needs the shared data")
    tokens = read_tokens(DATA / path)
    for view in (*STRING_VIEWS, *SENTENCE_VIEWS):
        assert found_hashes(tokens, "0", view) == wanted_hashes(tokens, "0", view)


def test_some_sentences_have_their_own_views():
    tokens = Tokens.from_sentences(random_sentences(7))
    for view in ("lower", "before", "place"):
        found_hashes(tokens, "word", view)  # which the memo keeps
        some = tokens.some(np.arange(1, len(tokens), 3))
        assert found_hashes(some, "word", view) == wanted_hashes(some, "word", view)


def test_digests_are_those_of_hashlib():
    rng = np.random.default_rng(0)
    text = rng.integers(0, 256, size=2000).astype(np.uint8)
    begin = np.concatenate([np.zeros(300, dtype=np.int64), rng.integers(0, 900, size=300)])
    end = begin + np.concatenate([np.arange(300), rng.integers(0, 900, size=300)])
    found = np.empty(begin.size, dtype=np.uint64)
    digest_slices(text, begin, end, found)
    wanted = [blake2b(text[a:b].tobytes(), digest_size=8).digest() for a, b in zip(begin, end)]
    assert found.tolist() == [int.from_bytes(one, "little") for one in wanted]
