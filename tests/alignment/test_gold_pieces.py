import numpy as np
import pytest

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.gold.features import edge_features
from structlearn.alignment.gold.gold_pairs import gold_of, in_pieces
from structlearn.alignment.gold.long_pairs import LONG, RANGE, pieces_of
from structlearn.alignment.links import Links
from structlearn.structures import Matching


def near_the_diagonal(m, n, rng, spread):
    """Random links, some of them possible only, with words that have none."""
    rows = rng.choice(m, size=2 * m // 3, replace=False)
    links = [(int(i), int(np.clip(i * n // m + rng.integers(-spread, spread + 1), 0, n - 1))) for i in rows]
    return Links.of(links[::2], links)


@pytest.mark.parametrize(
    ("m", "n", "spread"), [(150, 160, 2), (300, 120, 4), (90, 170, 1), (200, 200, 0), (260, 240, 30)]
)
def test_every_word_and_every_link_is_in_one_piece(m, n, spread):
    rng = np.random.default_rng(m)
    for _ in range(20):
        links = near_the_diagonal(m, n, rng, spread)
        pieces = pieces_of(links, (m, n))
        for side, length in enumerate((m, n)):
            words = np.concatenate([piece[side] for piece in pieces])
            assert sorted(words) == list(range(length))
            assert all((np.diff(piece[side]) > 0).all() for piece in pieces)
        for i, j in links.possible:
            assert sum(i in rows and j in columns for rows, columns in pieces) == 1


def test_long_pairs_have_small_pieces():
    length = 20 * RANGE
    links = Links.of([(i, i) for i in range(length)])
    assert max(len(rows) for rows, _ in pieces_of(links, (length, length))) < LONG


@pytest.mark.parametrize(
    ("links", "shape"),
    [
        ([(i, i) for i in range(LONG)], (LONG, LONG)),  # not long
        ([(i, 149 - i) for i in range(150)], (150, 150)),  # links cross everywhere
        ([(0, 0)], (1, 300)),
        ([], (120, 130)),
    ],
)
def test_other_pairs_are_one_piece(links, shape):
    (piece,) = pieces_of(Links.of(links), shape)
    assert [len(side) for side in piece] == list(shape)


def test_pieces_of_gold_pairs_have_their_links_and_features():
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(40)]
    pairs = [([*rng.choice(words, size)], [*rng.choice(words, size + 10)]) for size in (20, 150, 8, 130)]
    links = [near_the_diagonal(len(e), len(f), rng, 1) for e, f in pairs]
    features = edge_features(Aligner().fit(pairs).statistics_, pairs)
    gold = gold_of(features, links, Matching(capacities=(2, 2)))
    pieces = in_pieces(gold, links)
    pair = pieces.pair
    assert len(pair) > len(pairs)
    for k in range(len(pairs)):
        own = np.flatnonzero(pair == k)
        for whole, cut in zip((gold.tables, gold.free), (pieces.tables, pieces.free)):
            assert sum(cut[p].sum() for p in own) == whole[k].sum()
        linked = np.concatenate([pieces.X[p][pieces.tables[p] > 0] for p in own])
        expected = gold.X[k][gold.tables[k] > 0]
        np.testing.assert_array_equal(np.unique(linked, axis=0), np.unique(expected, axis=0))


def test_the_model_that_is_kept_is_of_whole_pairs():
    rng = np.random.default_rng(1)
    words = [f"w{k}" for k in range(60)]
    sides = [[str(word) for word in rng.choice(words, 120)] for _ in range(3)]
    pairs = [(side, [word.upper() + "x" for word in side]) for side in sides]
    links = [Links.of([(i, i) for i in range(120)])] * 3
    certificate = Aligner(loss="hinge", missed=2.0, random_state=0).fit(pairs, links).certificate_
    twice = 2 * len(pairs)  # as a part of the text, and as new
    assert certificate.oracle_calls == twice * certificate.passes
