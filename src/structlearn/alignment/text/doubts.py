"""Parallel text that is hardly meant as it is read: lines without blanks, sides of other languages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.text.tokenizers import HAN_AND_KANA, SOUTH_EAST_ASIAN
from structlearn.core.errors import doubt

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner

SIDES = ("source", "target")
#: Pairs that are looked at.
LOOKED_AT = 1000
#: Characters that their words rarely reach, by scripts that are written without blanks.
_WORDS_WITHOUT_BLANKS = {
    re.compile(f"[{HAN_AND_KANA}]"): 5,
    re.compile(f"[{SOUTH_EAST_ASIAN}]"): 10,
}


def doubt_whole_lines(pairs: Sequence[Words]) -> None:
    """Warn of a side of Chinese, Japanese, Thai and the like that is not split into words."""
    for k, side in enumerate(SIDES):
        words = [str(word) for pair in islice(pairs, LOOKED_AT) for word in pair[k]]
        if words and _is_not_split(words):
            n_pairs = min(len(pairs), LOOKED_AT)
            doubt(
                f"The {side} text is written without blanks between words and has {len(words) / n_pairs:.1f} "
                "tokens per line: whole lines would be aligned as words. Split it into words first, with "
                "--tokenize auto (in Python, tokenize='auto'), or a tokenizer of its language."
            )


def _is_not_split(words: Sequence[str]) -> bool:
    """Whether most characters are of a script without blanks, and words are longer than its words are."""
    text = "".join(words)
    for script, longest in _WORDS_WITHOUT_BLANKS.items():
        if 2 * len(script.findall(text)) > len(text):
            return len(text) > longest * len(words)
    return False


class Unknown(NamedTuple):
    """Shares of a side's words that the model does not know: on that side, and on its other side."""

    here: float
    there: float

    @property
    def is_of_other_side(self) -> bool:
        """Whether the words are far better known on the other side."""
        return self.here > 0.3 and self.there < self.here / 2


def doubt_languages(aligner: Aligner, pairs: Sequence[Words]) -> None:
    """Warn of sides that are exchanged, and of a side of which most words are not known."""
    found = dict(zip(SIDES, _unknown(aligner, pairs)))
    if _are_exchanged(*found.values()):
        doubt(
            f"The two sides seem to be exchanged: the model does not know {found['source'].here:.0%} of the "
            f"source's words and {found['target'].here:.0%} of the target's, but knows most of them on its "
            "other side. Exchange --src and --tgt (in Python, the words of each pair)."
        )
        return
    for side, one in found.items():
        if one.is_of_other_side or one.here > 0.5:
            other = SIDES[side == "source"]
            of_other = f" They are words of its {other} language." if one.is_of_other_side else ""
            doubt(
                f"The model does not know {one.here:.0%} of the {side}'s words.{of_other} Was it trained on "
                "these languages, in this order, and on text of this form?"
            )


def _are_exchanged(source: Unknown, target: Unknown) -> bool:
    """Whether each side is better known on the other side, and both together far better."""
    together = Unknown(*np.mean([source, target], axis=0))
    return together.is_of_other_side and source.there < source.here and target.there < target.here


def _unknown(aligner: Aligner, pairs: Sequence[Words]) -> Iterator[Unknown]:
    """Yield the shares of unknown words of each side, here and on the other side."""
    here = _shares(aligner, pairs)
    there = _shares(aligner, [(target, source) for source, target in pairs])
    return map(Unknown, here, there[::-1])


def _shares(aligner: Aligner, pairs: Sequence[Words]) -> list[float]:
    """Return the share of each side's words that the statistics lack; 0 of no words."""
    bitext = aligner.statistics_.encode(map(aligner.write_pair, pairs))
    sides = ((bitext.source.tokens, bitext.source_words), (bitext.target.tokens, bitext.target_words))
    return [float((tokens == len(words)).mean()) if tokens.size else 0.0 for tokens, words in sides]
