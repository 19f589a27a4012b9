"""Links of both directions, joined by a rule: for those who must match the output of other aligners.

A word is linked to the word that most likely generated it, unless NULL is likelier; then the links of the two
directions are symmetrised. The aligner's own links, by the mean of both directions, are better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.links import Aligned, Link, table_links
from structlearn.alignment.statistics.statistics import Posteriors, by_pair
from structlearn.alignment.symmetrize import (
    Symmetrization,
    grow_diag,
    grow_diag_final,
    grow_diag_final_and,
    intersection,
    union,
)
from structlearn.alignment.text.bitext import batches
from structlearn.alignment.text.pairs import LengthLimit

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner

#: Rules by their usual names.
RULES: dict[str, Symmetrization] = {
    "intersect": intersection,
    "union": union,
    "grow-diag": grow_diag,
    "grow-diag-final": grow_diag_final,
    "grow-diag-final-and": grow_diag_final_and,
}


def symmetrized(
    aligner: Aligner, pairs: Iterable[Words], rule: Symmetrization, *, scores: bool = False
) -> Iterator[Aligned]:
    """Stream the pairs, aligned; a score is the mean of the two directions' probabilities."""
    limit = LengthLimit(aligner.max_length)
    nothing: Words = ([], [])
    short = (pair if limit.admits(*pair) else nothing for pair in map(aligner.split, pairs))
    for batch in batches(short):
        yield from _aligned(aligner, batch, rule, scores)


def _aligned(
    aligner: Aligner, batch: Sequence[Words], rule: Symmetrization, scores: bool
) -> Iterator[Aligned]:
    bitext = aligner.statistics_.encode(aligner.write_pair(pair) for pair in batch)
    for tables in by_pair(bitext, aligner.statistics_.posteriors(bitext)):
        links = sorted(rule(*directions(tables)))
        mean = tables.mean()
        yield Aligned(links, [float(mean[link]) for link in links] if scores else [])


def directions(tables: Posteriors) -> tuple[list[Link], list[Link]]:
    """Return the links of either direction for one pair: of each target word, and of each source word."""
    if not tables.forward.size:
        return [], []
    best = tables.forward == tables.forward.max(axis=0)
    backward = tables.reverse == tables.reverse.max(axis=1)[:, None]
    forward = best & (tables.forward > tables.forward_null)
    return sorted(table_links(forward)), sorted(
        table_links(backward & (tables.reverse > tables.reverse_null[:, None]))
    )
