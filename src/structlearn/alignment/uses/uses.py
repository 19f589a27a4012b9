"""What people align for: labels of the other side, phrase pairs, a bilingual word list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import tee
from typing import TYPE_CHECKING

from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.links import Aligned
from structlearn.alignment.uses.dictionary import Translation, word_list
from structlearn.alignment.uses.phrases import PhrasePair, counted_phrases
from structlearn.alignment.uses.projection import Projection, project_pair
from structlearn.core.registry import one_of

if TYPE_CHECKING:
    from structlearn.alignment.statistics.statistics import AlignmentStatistics


class AlignerUses:
    """The part of an aligner that uses its links."""

    if TYPE_CHECKING:
        statistics_: AlignmentStatistics

        def align(self, pairs: Iterable[Words], *, scores: bool = False) -> Iterator[Aligned]: ...

    def project_labels(
        self,
        pairs: Sequence[Words],
        labels: Sequence[Sequence[str]],
        *,
        gaps: str = "fill",
        kind: str = "auto",
        labelled: str = "source",
    ) -> list[Projection]:
        """Carry labels from one side to the other.

        Parameters
        ----------
        pairs : sequence of (source words, target words)
        labels : sequence of sequences of str
            A label for each word of the labelled side.
        gaps : "fill", "split" or "drop"
            What becomes of a span whose words are linked to words that are not side by side.
        kind : "spans", "tags" or "auto"
            Spans are O, B-type, I-type and the like; by default what the labels look like.
        labelled : "source" or "target"
            The side that the labels are of.

        Returns
        -------
        list of Projection
            Labels of the other side's words, spans as B-type and I-type, with confidences.

        """
        from structlearn.alignment.uses.labelled import is_spans

        if len(pairs) != len(labels):
            raise ValueError(f"{len(pairs)} pairs but labels of {len(labels)} were given.")
        own = {"source": 0, "target": 1}[one_of("side", labelled, ("source", "target"))]
        for k, (pair, known) in enumerate(zip(pairs, labels)):
            if len(pair[own]) != len(known):
                raise ValueError(f"Pair {k} has {len(pair[own])} {labelled} words but {len(known)} labels.")
        spans = is_spans(kind, (label for known in labels for label in known))
        return [
            project_pair(known, one, pair, gaps if spans else None, own)
            for pair, known, one in zip(pairs, labels, self.align(pairs, scores=True))
        ]

    def phrases(
        self,
        pairs: Iterable[Words],
        *,
        max_length: int = 7,
        min_count: int = 1,
        memory: int = 500_000_000,
    ) -> Iterator[PhrasePair]:
        """Return the phrase pairs of a text, which is read once; see `counted_phrases`."""
        kept, read = tee(pairs)
        linked = ((*pair, one.links) for pair, one in zip(kept, self.align(read)))
        return counted_phrases(linked, max_length=max_length, min_count=min_count, memory=memory)

    def dictionary(self, *, min_score: float = 0.1, min_count: int = 2, top: int = 5) -> list[Translation]:
        """Return the word pairs that translate each other best, by source word; see `word_list`."""
        return word_list(self.statistics_, min_score=min_score, min_count=min_count, top=top)
