"""What a limit on memory leaves for the statistics of a text."""

from __future__ import annotations

from typing import NamedTuple

from structlearn.core.memory import parse_size
from structlearn.core.sentences import ParameterError

#: What the program takes itself, with its compiled code.
PROGRAM = 280 << 20
#: The least that a limit must leave beside it.
LEAST = 64 << 20
#: Bytes for a pair of words in training (two translation tables, two sums, and what is known of the pair: 40,
#: and a fifth for what passes take beside it), for a word of either side, for a cell of a window.
A_PAIR, A_WORD, A_CELL = 48, 320, 12
#: Cells of a window: more do not save time.
MOST_CELLS = 1 << 24


class MemoryPlan(NamedTuple):
    """How much of each there may be.

    entries : pairs of words in the lexicon
    words : words of a side with a number of their own
    cells : cells of a window, about
    """

    entries: int
    words: int
    cells: int

    @classmethod
    def of(cls, limit: int | str) -> MemoryPlan:
        """Make a plan for this much memory; "2GB" is 2e9. The plan depends on the limit alone."""
        left = parse_size(limit) - PROGRAM
        if left < LEAST:
            raise ParameterError(
                "{memory=} is too little; use at least {least}MB.",
                memory=limit,
                least=f"{(PROGRAM + LEAST) / 1000000.0:.0f}",
            )
        cells = min(MOST_CELLS, left // 5 // A_CELL)
        words = left // 4 // A_WORD // 2
        entries = (left - cells * A_CELL - 2 * words * A_WORD) // A_PAIR
        return cls(entries, words, cells)
