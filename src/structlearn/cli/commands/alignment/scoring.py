"""Options of `align clean --score`, and what it does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from structlearn.cli.support.errors import say
from structlearn.cli.support.options import option, switch
from structlearn.cli.support.outputs import check_output

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner
    from structlearn.alignment.text.clean import CleaningRules
    from structlearn.alignment.uses.quality import PairQuality


@dataclass(frozen=True)
class ScoreOptions:
    """How pairs are scored, and which are kept."""

    score: Annotated[
        bool, switch("--score", "Drop pairs whose sides hardly translate each other, by their score.")
    ] = False
    model: Annotated[
        Path | None,
        option("MODEL", "With --score: an aligner of other text.  [default: one trained on this text]"),
    ] = None
    precision: Annotated[
        float | None,
        option("X", "With --score: this share of the pairs that are kept is good, such as 0.99."),
    ] = None
    keep: Annotated[float | None, option("SHARE", "With --score: keep this share, the best.")] = None
    scores: Annotated[
        Path | None, option("FILE", "With --score: write a score from 0 to 1 per line of the input.")
    ] = None
    page: Annotated[
        Path | None, option("PAGE.html", "With --score: write a page of pairs around the cut.")
    ] = None
    memory: Annotated[str | None, option("SIZE", "With --score: most memory for training, such as 1GB.")] = (
        None
    )
    jobs: Annotated[int, option("N", "With --score: threads for training.", min=1)] = 1

    def check(self, files: list[Path], outputs: list[Path]) -> None:
        """ValueError for options that do not go together, and for files that cannot be read again."""
        given = [self.model, self.precision, self.keep, self.scores, self.page, self.memory]
        if not self.score:
            if any(one is not None for one in given):
                raise ValueError(
                    "--model, --precision, --keep, --scores, --page and --memory go with --score."
                )
            return
        if Path("-") in files:
            raise ValueError(
                "With --score the text is read more than once; give files, not the standard input."
            )
        if self.precision is not None and self.keep is not None:
            raise ValueError("Give --precision or --keep, not both.")
        for name in ("precision", "keep"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise ValueError(f"--{name} is a share above 0, at most 1; got {value:g}.")
        used = [*files, *outputs, *([self.model] if self.model else [])]
        for path in (self.scores, self.page):
            if path is not None:
                used.append(check_output(path, others=used))

    def clean(
        self, sources: tuple[Path, Path], outputs: tuple[Path, Path], rules: CleaningRules
    ) -> dict[str, Any]:
        """Score the text, write what is kept, and return what was done."""
        from structlearn.alignment.uses.quality import probability
        from structlearn.alignment.uses.scored_text import ScoredText, cut_page

        text = ScoredText(*sources, rules)
        quality = text.calibrate(self._aligner(text), own=self.model is None)
        cut = self._cut(quality)
        counts, expected = text.write(outputs, quality, cut, self.scores)
        if self.page is not None:
            cut_page(quality, cut, expected).write(self.page)
            say(f"Wrote the page to {self.page}.")
        figures = {
            "cut": float(probability(cut)),
            "expected_precision": expected,
            "share_bad": quality.share_bad,
        }
        return {**counts, **figures}

    def _aligner(self, text: Any) -> Aligner:
        from structlearn.alignment.aligner import Aligner

        if self.model is not None:
            return Aligner.load(self.model)
        longest = text.rules.max_length
        return text.train(Aligner(max_length=longest, memory=self.memory, n_jobs=self.jobs, random_state=0))

    def _cut(self, quality: PairQuality) -> float:
        """Return the least log odds to keep: by what is asked for, or what is more likely good than bad."""
        from structlearn.alignment.uses.quality import cut_by_precision, cut_by_share

        if self.precision is not None:
            return cut_by_precision(quality.sample_log_odds, self.precision)
        return 0.0 if self.keep is None else cut_by_share(quality.sample_log_odds, self.keep)
