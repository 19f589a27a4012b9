"""Texts with more words on one side than on the other: letters of Chinese beside words of English.

Where a word is linked to k words of the other side, the direction that chooses one of them is sure of none: a
right link has posteriors of about 1 and 1/k. Their product counts too little in training, and their mean is
not far above 1/2. How many words there are on either side says how large k is, about.
"""

from __future__ import annotations

from structlearn.alignment.text.bitext import Vocabulary

#: Languages differ in their numbers of words by as much (English and Hungarian do); up to it nothing changes.
USUAL_RATIO = 1.25


def surplus(source: Vocabulary, target: Vocabulary) -> float:
    """Return k: words of the longer side per word of the shorter, over what is usual, squared; at least 1."""
    sizes = sorted(max(1, int(side.counts.sum())) for side in (source, target))
    return max(1.0, sizes[1] / sizes[0] / USUAL_RATIO) ** 2


def agreement_power(k: float) -> float:
    """Return the power of the product of both posteriors that a link counts as in training."""
    return k**-2.0


def link_threshold(k: float) -> float:
    """Return half of a right link's mean of both posteriors, (1 + 1/k) / 2."""
    return (1.0 + 1.0 / k) / 4.0
