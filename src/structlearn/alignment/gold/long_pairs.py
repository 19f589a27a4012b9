"""Long gold pairs in pieces: their cells grow with the square of their length, those of pieces do not.

Settings are chosen with models that are trained on pieces. Each is made of some ranges of words, far apart
and between two cuts that no link crosses, so that links between distant words are seen to be wrong. Models
that are kept are trained on whole pairs: without most of what is far apart they are worse.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from structlearn.alignment.links import Link, Links
from structlearn.core.contract import Array

#: Pairs with a side above `LONG` words are cut into ranges with a side of at least `RANGE` words,
LONG, RANGE = 100, 25
#: and this many ranges make a piece.
TOGETHER = 2


def pieces_of(links: Links, shape: tuple[int, ...]) -> list[tuple[Array, Array]]:
    """Return the source and target words of each piece.

    Of a pair that is not long, or cannot be cut, all words.
    """
    places = [(0, 0), *(_cuts(links, *shape) if max(shape) > LONG else ()), shape]
    ranges = [(np.arange(i, k), np.arange(j, l)) for (i, j), (k, l) in pairwise(places)]
    n_pieces = max(1, round(len(ranges) / TOGETHER))
    rows, columns = zip(*ranges)
    return [
        (np.concatenate(rows[first::n_pieces]), np.concatenate(columns[first::n_pieces]))
        for first in range(n_pieces)
    ]


def _cuts(links: Links, m: int, n: int) -> list[Link]:
    """Places (i, j): every link is before both or behind both, and there are words on all sides."""
    last, first = np.full(m, -1), np.full(m, n)
    for i, j in links.possible:
        last[i], first[i] = max(last[i], j), min(first[i], j)
    end = np.maximum.accumulate(last) + 1  # behind the links of words up to i
    begin = np.minimum.accumulate(first[::-1])[::-1]  # where the links of words from i on begin
    cuts, before = [], (0, 0)
    for i in range(1, m):
        j = int(end[i - 1])
        is_open = j <= begin[i] and before[1] < j < n
        if is_open and max(i - before[0], j - before[1]) >= RANGE:
            before = i, j
            cuts.append(before)
    return cuts
