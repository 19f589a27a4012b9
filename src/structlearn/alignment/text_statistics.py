"""The part of an aligner that reads text: how its words are written, and the statistics of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.statistics.memory_plan import MemoryPlan
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.text.bitext import Bitext, checked_pair
from structlearn.alignment.text.form import (
    Forms,
    FormWriter,
    OtherForm,
    form_of_words,
    forms_of_text,
    in_forms,
)
from structlearn.alignment.text.on_disk import TextOnDisk
from structlearn.core.sentences import Statement
from structlearn.estimators.choices import make_checkpoint

if TYPE_CHECKING:
    from os import PathLike

    from structlearn.solvers.checkpoint import Checkpoint


class TextStatistics:
    """How words are looked up, and what text says of them."""

    if TYPE_CHECKING:
        lowercase: bool
        strip_accents: bool
        min_probability: float
        memory: int | str | None
        checkpoint: str | PathLike[str] | Checkpoint | None
        n_jobs: int
        statistics_: AlignmentStatistics

    def _find_forms(
        self,
        pairs: Sequence[Words],
        bitext: Iterable[Words],
        statistics: AlignmentStatistics | None,
        earlier: TextStatistics | None,
    ) -> Iterable[Words]:
        """See how the text is written; returns the bitext."""
        asked = {"lowercase": self.lowercase, "strip_accents": self.strip_accents}
        if earlier is not None:
            self._check_same(earlier)
            self.set_forms(earlier.forms_)
            return in_forms(self.forms_, bitext)
        if statistics is None:
            forms, bitext = forms_of_text(bitext, pairs, **asked)
            self.set_forms(forms)
        else:
            words = statistics.source_words, statistics.target_words
            self.set_forms((form_of_words(words[0], **asked), form_of_words(words[1], **asked)))
        return bitext

    def _check_same(self, earlier: TextStatistics) -> None:
        for name in ("lowercase", "strip_accents"):
            if getattr(self, name) != getattr(earlier, name):
                was = f"{{{name}={getattr(earlier, name)}}}"
                raise OtherForm(
                    None, Statement(f"The continued model was trained with {was}; give the same.")
                )

    def set_forms(self, forms: Forms) -> None:
        """Have words written in these forms, one per side."""
        self.forms_ = forms
        self._writers = FormWriter(forms[0]), FormWriter(forms[1])

    def train_statistics(
        self, pairs: Iterable[Words], earlier: AlignmentStatistics | None = None, *, keep: bool = True
    ) -> AlignmentStatistics:
        """Return the statistics of checked pairs; with `keep`, the run is kept in the checkpoint, if any."""
        written = (self._write(*pair) for pair in pairs if len(pair[0]) and len(pair[1]))
        known = None if earlier is None else (earlier.source_words, earlier.target_words)
        if self.memory is None:
            text: Bitext | TextOnDisk = Bitext.from_pairs(written, known)
        else:
            text = TextOnDisk(written, MemoryPlan.of(self.memory), known)
        for writer in self._writers:
            writer.clear()  # it has remembered more words than new text will have
        kept = make_checkpoint(self.checkpoint) if keep else None
        found = AlignmentStatistics.train(text, n_jobs=self.n_jobs, earlier=earlier, checkpoint=kept)
        return found.prune(self.min_probability)

    def write_pair(self, pair: Words) -> tuple[list[str], list[str]]:
        """Return the words as the statistics have them."""
        return self._write(*checked_pair(pair))

    def _write(self, source: Sequence[str], target: Sequence[str]) -> tuple[list[str], list[str]]:
        try:
            return self._writers[0].words(source), self._writers[1].words(target)
        except TypeError:
            raise ValueError('A word is a string, such as "house"; a pair has something else.') from None
