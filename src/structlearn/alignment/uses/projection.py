"""Labels carried over the links of a pair: tags word by word, spans as wholes.

A span covers the words that its own words are linked to. Where these leave a gap, the *policy* says what
becomes of it: fill (one span from the first to the last), split (a span for each run of words) or drop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from structlearn.alignment.links import Aligned
from structlearn.core.registry import Registry
from structlearn.estimators.inputs.spans import OUTSIDE, spans

#: What a word without links has where labels are tags.
NO_TAG = "_"


class Projection(NamedTuple):
    """The labels of the other side's words, and how sure each is: 0 where nothing speaks for it."""

    labels: list[str]
    confidence: list[float]


class CarriedSpan(NamedTuple):
    """A span of the other side: the words first <= j < end."""

    label: str
    first: int
    end: int
    confidence: float


Run = tuple[int, int]


def _fill(runs: list[Run]) -> list[Run]:
    return [(runs[0][0], runs[-1][1])]


def _split(runs: list[Run]) -> list[Run]:
    return runs


def _drop(runs: list[Run]) -> list[Run]:
    return runs if len(runs) == 1 else []


class GapPolicy(NamedTuple):
    """What becomes of a span whose words are not side by side: from its runs to those that are kept."""

    name: str
    what: str
    keep: Callable[[list[Run]], list[Run]]


GAPS: Registry[GapPolicy] = Registry(
    "policy for gaps",
    [
        GapPolicy("fill", "a span goes from its first word to its last", _fill),
        GapPolicy("split", "each run of words is a span", _split),
        GapPolicy("drop", "a span with a gap is left out", _drop),
    ],
)


def project_tags(labels: Sequence[str], aligned: Aligned, n_words: int) -> Projection:
    """Give each word the label with the largest sum of its links' confidences, else `_`."""
    votes: list[dict[str, float]] = [{} for _ in range(n_words)]
    for i, j, sure in _links(aligned):
        votes[j][labels[i]] = votes[j].get(labels[i], 0.0) + sure
    best = [max(one, key=one.__getitem__, default=NO_TAG) for one in votes]
    return Projection(best, [min(1.0, one.get(label, 0.0)) for one, label in zip(votes, best)])


def project_spans(labels: Sequence[str], aligned: Aligned, n_words: int, gaps: str = "fill") -> Projection:
    """Project spans as wholes, written as B-type and I-type; where two overlap, the surer one stays."""
    keep = GAPS.entry(gaps).keep
    wanted = [one for span in spans(labels) if (one := _candidates(span, aligned, keep))]
    projected = Projection([OUTSIDE] * n_words, [0.0] * n_words)
    for choices in sorted(wanted, key=lambda one: -one[0][0].confidence):
        _enter_first(projected, choices)
    return projected


def _links(aligned: Aligned) -> Iterator[tuple[int, int, float]]:
    sure = aligned.confidence or [1.0] * len(aligned.links)
    return ((i, j, one) for (i, j), one in zip(aligned.links, sure))


def _candidates(
    span: tuple[str, int, int], aligned: Aligned, keep: Callable[[list[Run]], list[Run]]
) -> list[list[CarriedSpan]]:
    """Return what to try for a span, one after the other.

    What the policy keeps, then its longest run alone.
    """
    label, first, end = span
    own = [(i, j, sure) for i, j, sure in _links(aligned) if first <= i < end]
    runs = _runs(j for _, j, _ in own)
    kept = keep(runs) if runs else []
    if not kept:
        return []
    longest = max(runs, key=lambda run: run[1] - run[0])
    tried = [kept, [longest]]
    return [[CarriedSpan(label, *run, _confidence(own, end - first, run)) for run in one] for one in tried]


def _runs(words: Iterable[int]) -> list[Run]:
    """Return the runs of words side by side, each as first and end."""
    known = sorted(set(words))
    if not known:
        return []
    cuts = [(a + 1, b) for a, b in pairwise(known) if b > a + 1]
    firsts, ends = [known[0], *(b for _, b in cuts)], [*(a for a, _ in cuts), known[-1] + 1]
    return list(zip(firsts, ends))


def _confidence(own: Sequence[tuple[int, int, float]], length: int, run: Run) -> float:
    """Return the mean confidence of the span's words, none for one without links here.

    Times the share linked.
    """
    best: dict[int, float] = {}
    linked = set()
    for i, j, sure in own:
        if run[0] <= j < run[1]:
            best[i] = max(best.get(i, 0.0), sure)
            linked.add(j)
    return sum(best.values()) / length * len(linked) / (run[1] - run[0])


def _enter_first(projected: Projection, choices: list[list[CarriedSpan]]) -> None:
    """Enter the candidates of the first choice that leaves some whose words are free."""
    for candidates in choices:
        free = [one for one in candidates if _is_free(projected, one)]
        for one in free:
            _enter(projected, one)
        if free:
            return


def _is_free(projected: Projection, one: CarriedSpan) -> bool:
    return all(label == OUTSIDE for label in projected.labels[one.first : one.end])


def _enter(projected: Projection, one: CarriedSpan) -> None:
    for j in range(one.first, one.end):
        projected.labels[j] = f"{'B' if j == one.first else 'I'}-{one.label}"
        projected.confidence[j] = one.confidence


def project_pair(
    labels: Sequence[str], aligned: Aligned, pair: Sequence[Sequence[str]], gaps: str | None, own: int = 0
) -> Projection:
    """Carry labels of side `own` of a pair to the other: as spans if `gaps` is a policy, else as tags."""
    if own:
        aligned = Aligned([(i, j) for j, i in aligned.links], aligned.confidence)
    if gaps is None:
        return project_tags(labels, aligned, len(pair[1 - own]))
    return project_spans(labels, aligned, len(pair[1 - own]), gaps)


def without_unsure(carried: Projection, least: float, spans: bool) -> Projection:
    """Remove the labels that are less sure; those of a span are equally sure."""
    nothing = OUTSIDE if spans else NO_TAG
    labels = [label if sure >= least else nothing for label, sure in zip(*carried)]
    return Projection(labels, carried.confidence)
