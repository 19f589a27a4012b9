"""How alike two words look, against the table of longest common subsequences."""

from __future__ import annotations

import numpy as np
import pytest

from structlearn.alignment.statistics.strings import (
    LONGEST,
    clear_letters,
    letter_marks,
    likeness,
    mark_letters,
    spell,
)


def longest_common_subsequence(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i, one in enumerate(a, 1):
        for j, other in enumerate(b, 1):
            above = max(table[i - 1, j], table[i, j - 1])
            table[i, j] = table[i - 1, j - 1] + 1 if one == other else above
    return table[-1, -1]


def test_likeness_is_the_longest_common_subsequence_over_the_longer_length():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcé中𝒳"), size=rng.integers(0, 45))) for _ in range(40)]
    cut = [word[:LONGEST] for word in words]
    spelled, marks = spell(words), letter_marks()
    for i, one in enumerate(cut):
        mark_letters(spelled, i, marks)
        for j, other in enumerate(cut):
            longest = max(len(one), len(other), 1)
            expected = longest_common_subsequence(one, other) / longest
            assert likeness(marks, len(one), spelled, j) == pytest.approx(expected)
        clear_letters(spelled, i, marks)
    assert not marks.any()
