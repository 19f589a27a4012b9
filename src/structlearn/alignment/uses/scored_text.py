"""Cleaning of two line-aligned files by how well their pairs align, and the page that shows the cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import tee
from typing import TextIO

import numpy as np

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.text.clean import CleaningRules, Sides
from structlearn.alignment.text.pairs import Path, Splits, paired_lines
from structlearn.alignment.text_statistics import splits_of
from structlearn.alignment.uses.quality import PairQuality, probability, text_with_mismatched
from structlearn.core.contract import Array
from structlearn.data import written_text
from structlearn.reports import Page
from structlearn.reports.page import HistogramBar

#: What is counted, in the order of the report.
COUNTED = (
    "pairs_read",
    "pairs_written",
    "dropped_empty",
    "dropped_short",
    "dropped_long",
    "dropped_ratio",
    "dropped_score",
)
#: Pairs that a page shows on either side of the cut; bars of its histogram.
SHOWN, BARS = 40, 10


@dataclass(frozen=True)
class ScoredText:
    """Two line-aligned files, read again for each pass.

    rules : what is done to lines, and which pairs are dropped whatever their score; none is split
    """

    source: Path
    target: Path
    rules: CleaningRules

    def train(self, aligner: Aligner) -> Aligner:
        """Train an aligner on the text, so that it can score this text itself."""
        return aligner.fit([], None, text_with_mismatched(self._fit_pairs()))

    def calibrate(self, aligner: Aligner, *, own: bool) -> PairQuality:
        """Calibrate scores on the text; `own` if the aligner was trained by `train`."""
        splits = splits_of(aligner.tokenizers_)
        return PairQuality.fit(aligner, (_split_again(splits, pair) for pair in self._fit_pairs()), own=own)

    def _fit_pairs(self) -> Iterator[Words]:
        return ((left, right) for (left, right), dropped in self._pairs() if not dropped)

    def _pairs(self) -> Iterator[tuple[Sides, str | None]]:
        """Yield the tokens of each pair of lines, and the reason why it is dropped, if there is one."""
        rules = self.rules
        for _, left, right in paired_lines(self.source, self.target):
            sides = rules.tokens(left, rules.tokenize_source), rules.tokens(right, rules.tokenize_target)
            yield sides, rules.verdict(sides)

    def write(
        self, outputs: tuple[Path, Path], quality: PairQuality, cut: float, scores: Path | None = None
    ) -> tuple[dict[str, int], float]:
        """Write the pairs whose log odds are at least `cut`, and to `scores` a score per pair of lines.

        All files are written whole or not at all. Returns what was counted, see `COUNTED`, and the share of
        the pairs written that are expected to be good.
        """
        counts: Counter[str] = Counter()
        expected = 0.0
        with ExitStack() as stack:
            left, right = (stack.enter_context(written_text(path)) for path in outputs)
            told: TextIO | None = stack.enter_context(written_text(scores)) if scores is not None else None
            for sides, dropped, z in self._scored(quality):
                verdict = dropped or ("dropped_score" if z < cut else "pairs_written")
                counts.update({"pairs_read": 1, verdict: 1})
                p = float(probability(z))
                if told is not None:
                    told.write(f"{p:.6f}\n")
                if verdict == "pairs_written":
                    expected += p
                    left.write(" ".join(sides[0]) + "\n")
                    right.write(" ".join(sides[1]) + "\n")
        return {name: counts[name] for name in COUNTED}, expected / max(counts["pairs_written"], 1)

    def _scored(self, quality: PairQuality) -> Iterator[tuple[Sides, str | None, float]]:
        """Yield each pair with its log odds; -inf for those that are dropped anyway."""
        splits = splits_of(quality.aligner.tokenizers_)
        ahead, stream = tee(self._pairs())
        words = (([], []) if dropped else _split_again(splits, sides) for sides, dropped in ahead)
        for z, (sides, dropped) in zip(quality.stream_log_odds(words), stream):
            yield sides, dropped, z


def _split_again(splits: Splits, sides: Words) -> Words:
    """Return the tokens of a model that splits text itself; else the same."""
    return splits[0](" ".join(sides[0])), splits[1](" ".join(sides[1]))


# ---- the page -----------------------------------------------------------------------------------------


def cut_page(quality: PairQuality, cut: float, expected: float) -> Page:
    """Return a page that shows the pairs of the sample around the cut, and how scores are distributed."""
    z = quality.sample_log_odds
    order = np.argsort(z, kind="stable")
    place = int(np.searchsorted(z[order], cut))
    kept = len(z) - place
    page = Page(
        "Pairs around the cut",
        "Scores are probabilities that the two sides of a pair translate each other.",
    )
    page.cards(
        {
            "cut at a score of": f"{probability(cut):.3f}",
            "share of the pairs kept": f"{kept / len(z):.1%}",
            "expected precision": f"{expected:.1%}",
            "share of bad pairs": f"{quality.share_bad:.1%}",
        }
    )
    page.section("Scores").histogram(
        ["score", "share of the pairs", "share"], _bars(probability(z)), f"Scores of {len(z):,} pairs."
    )
    above, below = order[place : place + SHOWN], order[max(place - SHOWN, 0) : place][::-1]
    for heading, rows in (("Just above the cut: kept", above), ("Just below the cut: dropped", below)):
        page.section(heading).table(
            ["score", "source", "target"], [_row(quality.sample[k], z[k]) for k in rows.tolist()]
        )
    return page


def _row(pair: Words, z: float) -> tuple[str, str, str]:
    return f"{probability(z):.3f}", " ".join(pair[0]), " ".join(pair[1])


def _bars(scores: Array) -> list[HistogramBar]:
    counts, edges = np.histogram(scores, BARS, (0.0, 1.0))
    longest, total = max(counts.max(), 1), max(counts.sum(), 1)
    return [
        HistogramBar(f"{low:.1f} to {high:.1f}", n / longest, None, [f"{n / total:.1%}"])
        for n, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist())
    ]
