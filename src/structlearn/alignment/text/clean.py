"""Cleaning of parallel text: tokens, case, accents, lengths, and long pairs split at their punctuation.

Pairs stream through: one is held at a time.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from structlearn.alignment.text.pairs import Path, paired_lines
from structlearn.alignment.text.tokenizers import AT_BLANKS, Tokenizer
from structlearn.data import written_text

Sides = tuple[list[str], list[str]]

#: What is counted, in the order of the report. `dropped` counts pieces of split pairs one by one.
COUNTED = (
    "pairs_read",
    "pairs_written",
    "pairs_split",
    "dropped_empty",
    "dropped_short",
    "dropped_long",
    "dropped_ratio",
    "source_tokens",
    "target_tokens",
)
_LIGATURES = str.maketrans({"œ": "oe", "Œ": "OE", "æ": "ae", "Æ": "AE"})
#: Marks behind which a long pair may be cut: these at first, with commas if that is not enough.
_CUTS = (frozenset(".;:!?…"), frozenset(".;:!?…,"))
#: Pieces are taken as translations if the longer one has at most this many times more tokens.
_PIECE_RATIO = 2.0


@dataclass(frozen=True)
class CleaningRules:
    """What cleaning does.

    tokenize_source, tokenize_target : from a line, in Unicode's composed form (NFC), to its tokens
    lowercase, strip_accents : whether to do that to the tokens
    min_length, max_length : bounds on the number of tokens of either side
    max_ratio : bound on the length of the longer side over that of the shorter
    split_above : pairs with a longer side than this are split where they can be; by default those above
        `max_length`; 0 splits none
    """

    tokenize_source: Tokenizer = AT_BLANKS
    tokenize_target: Tokenizer = AT_BLANKS
    lowercase: bool = False
    strip_accents: bool = False
    min_length: int = 1
    max_length: int = 80
    max_ratio: float = 3.0
    split_above: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.min_length <= self.max_length:
            raise ValueError(
                f"Lengths need 1 <= minimum <= maximum, but they are {self.min_length} and {self.max_length}."
            )
        if not self.max_ratio >= 1:
            raise ValueError(f"The maximum ratio must be at least 1, not {self.max_ratio}.")
        if self.split_above is not None and self.split_above < 0:
            raise ValueError(f"The length to split above must be at least 0, not {self.split_above}.")

    @property
    def limit(self) -> int | None:
        """The length above which pairs are split; None to split none."""
        return (self.max_length if self.split_above is None else self.split_above) or None

    def verdict(self, sides: Sides) -> str | None:
        """Return the reason why a pair is dropped; None if it is kept."""
        short, long = sorted(map(len, sides))
        if not short:
            return "dropped_empty"
        if short < self.min_length:
            return "dropped_short"
        if long > self.max_length:
            return "dropped_long"
        return "dropped_ratio" if long > self.max_ratio * short else None

    def tokens(self, text: str, tokenize: Tokenizer) -> list[str]:
        """Return the cleaned tokens of a line."""
        text = " ".join(tokenize(unicodedata.normalize("NFC", text)))
        text = text.lower() if self.lowercase else text
        return (without_accents(text) if self.strip_accents else text).split()


def clean_files(
    sources: tuple[Path, Path], outputs: tuple[Path, Path], rules: CleaningRules | None = None
) -> dict[str, int]:
    """Clean two line-aligned files into two others, both written whole or not at all.

    Both are the source side and the target side, plain or (by their names) .gz or .zst. By default only
    empty, very long and lopsided pairs are dropped or split. Returns the numbers of what is named in
    `COUNTED`.
    """
    counts: Counter[str] = Counter()
    lines = ((left, right) for _, left, right in paired_lines(*sources))
    with written_text(outputs[0]) as left, written_text(outputs[1]) as right:
        for sides in clean_pairs(lines, rules or CleaningRules(), counts):
            for stream, tokens in zip((left, right), sides):
                stream.write(" ".join(tokens) + "\n")
    return {name: counts[name] for name in COUNTED}


def clean_pairs(
    lines: Iterable[tuple[str, str]], rules: CleaningRules, counts: Counter[str]
) -> Iterator[Sides]:
    """Stream pairs of lines as cleaned tokens, and count in `counts` what happens."""
    for left, right in lines:
        sides = rules.tokens(left, rules.tokenize_source), rules.tokens(right, rules.tokenize_target)
        pieces = [sides] if rules.limit is None else split_pair(sides, rules.limit, rules.max_ratio)
        counts.update(pairs_read=1, pairs_split=len(pieces) > 1)
        for piece in pieces:
            dropped = rules.verdict(piece)
            counts[dropped or "pairs_written"] += 1
            if not dropped:
                counts.update(source_tokens=len(piece[0]), target_tokens=len(piece[1]))
                yield piece


def without_accents(text: str) -> str:
    """Return the text without accents and ligatures: `cœur brisé` as `coeur brise`."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", text.translate(_LIGATURES))
    return unicodedata.normalize("NFC", "".join(c for c in apart if not unicodedata.combining(c)))


# ---- splitting --------------------------------------------------------------------------------------


def split_pair(
    sides: Sides, limit: int, max_ratio: float = _PIECE_RATIO, cuts: tuple[frozenset[str], ...] = _CUTS
) -> list[Sides]:
    """Split a pair above `limit` tokens behind marks that both sides have, in the same order.

    Pieces are as long as the limit allows. Where the two parts of a piece differ too much in length, the
    marks do not correspond, and the pair stays as it is.
    """
    if not cuts or _longer(sides) <= limit:
        return [sides]
    pieces = _join_short_pieces(_cut(sides, cuts[0]), limit)
    if any(_ratio(piece) > min(max_ratio, _PIECE_RATIO) for piece in pieces):
        pieces = [sides]
    return [part for piece in pieces for part in split_pair(piece, limit, max_ratio, cuts[1:])]


def _cut(sides: Sides, marks: frozenset[str]) -> list[Sides]:
    """Return the smallest pieces; the pair itself if its sides do not have the same marks."""
    inside = [[(k + 1, token) for k, token in enumerate(side[:-1]) if token in marks] for side in sides]
    if [token for _, token in inside[0]] != [token for _, token in inside[1]]:
        return [sides]
    left, right = ([0, *(end for end, _ in ends), len(side)] for ends, side in zip(inside, sides))
    return [(sides[0][a:b], sides[1][c:d]) for a, b, c, d in zip(left[:-1], left[1:], right[:-1], right[1:])]


def _join_short_pieces(pieces: list[Sides], limit: int) -> list[Sides]:
    """Join neighbours while they stay within the limit."""
    packed = pieces[:1]
    for piece in pieces[1:]:
        joined = packed[-1][0] + piece[0], packed[-1][1] + piece[1]
        if _longer(joined) <= limit:
            packed[-1] = joined
        else:
            packed.append(piece)
    return packed


def _longer(sides: Sides) -> int:
    return max(map(len, sides))


def _ratio(sides: Sides) -> float:
    short, long = sorted(map(len, sides))
    return long / short if short else float("inf")
