"""Training of both directions by expectation maximisation, apart or to agree."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structlearn.apps.alignment.bitext import Bitext
from structlearn.apps.alignment.direction import Direction
from structlearn.apps.alignment.expectation import DirectionRecord, Expected, add_at, expect
from structlearn.apps.alignment.jumps import JumpCounts
from structlearn.apps.alignment.lexicon import Lexicon
from structlearn.apps.alignment.relations import relate
from structlearn.apps.alignment.translation import Priors
from structlearn.core.contract import Array
from structlearn.core.threads import Map, in_order

#: Sentence pairs are worked on in chunks of about so many cells, whatever the number of threads.
CHUNK = 1 << 19
BELIEFS = Priors()


@dataclass(frozen=True)
class EMSettings:
    """How to train.

    model1, hmm : iterations of Model 1, then of the HMM
    agreement : whether the HMM's two directions are trained to agree: a link counts as much as the product of
        its two posteriors (Liang, Taskar and Klein 2006). Otherwise each direction is trained apart; its
        objective never decreases if all `priors` are 0
    p0 : probability of NULL
    """

    model1: int = 5
    hmm: int = 5
    agreement: bool = True
    p0: float = 0.1
    priors: Priors = BELIEFS


class EMIteration(NamedTuple):
    """One iteration: the objective of each direction *before* its M-step, and seconds since the start."""

    model: str
    iteration: int
    forward: float
    reverse: float
    seconds: float


def train(
    bitext: Bitext,
    lexicon: Lexicon,
    entry: Array,
    settings: EMSettings,
    *,
    n_jobs: int = 1,
    advance: Callable[[], object] = lambda: None,
) -> tuple[Direction, Direction, list[EMIteration]]:
    """Both directions after the iterations, and the history. The same for every `n_jobs`."""
    priors = settings.priors
    relations = relate(bitext, lexicon, entry)
    forward, reverse = (Direction.uniform(lexicon, side, settings.p0) for side in (True, False))
    history: list[EMIteration] = []
    begin = time.perf_counter()
    stages = [("model1", k, 0, False) for k in range(settings.model1)]
    stages += [("hmm", k, bitext.longest + 1, settings.agreement) for k in range(settings.hmm)]
    with in_order(n_jobs) as run:
        for model, k, reach, together in stages:
            records = forward.record(reach), reverse.record(reach)
            ahead, back = _expect_all(bitext, entry, records, together, run, advance)
            objectives = ahead.log_likelihood + forward.log_prior, back.log_likelihood + reverse.log_prior
            history.append(EMIteration(model, k, *objectives, time.perf_counter() - begin))
            forward = forward.updated(lexicon, relations, ahead, priors)
            reverse = reverse.updated(lexicon, relations, back, priors)
    return forward, reverse, history


def chunks(bitext: Bitext) -> list[tuple[int, int]]:
    """Ranges of sentence pairs of about `CHUNK` cells each."""
    cuts = np.searchsorted(bitext.cell_start, np.arange(0, bitext.cell_start[-1], CHUNK))
    edges = np.unique(np.concatenate([[0], cuts, [len(bitext)]]))
    return [(int(first), int(last)) for first, last in pairwise(edges)] or [(0, 0)]


def _expect_all(
    bitext: Bitext,
    entry: Array,
    records: tuple[DirectionRecord, DirectionRecord],
    together: bool,
    run: Map,
    advance: Callable[[], object],
) -> list[Expected]:
    """What each direction expects of the whole text, added up in its order by entry, word and distance."""

    def work(part: tuple[int, int]) -> tuple[Expected, Expected]:
        forward, reverse = expect(bitext.record, bitext.cells(entry, *part), *records, *part)
        if together:
            np.multiply(forward.link, reverse.link, out=forward.link)
        return forward, reverse

    parts = chunks(bitext)
    sums = [_nothing(record) for record in records]
    for part, expected in zip(parts, run(work, parts)):
        for k, (one, corpus) in enumerate(zip(expected, (bitext.target, bitext.source))):
            if k == 0 or not together:
                add_at(bitext.cells(entry, *part), one.link, sums[k].link)
            add_at(corpus.words(*part), one.null, sums[k].null)
            for total, jumps in zip(sums[k].jumps, one.jumps):
                total += jumps
            sums[k] = sums[k]._replace(log_likelihood=sums[k].log_likelihood + one.log_likelihood)
        advance()
    return [sums[0], sums[1]._replace(link=sums[0].link) if together else sums[1]]


def _nothing(record: DirectionRecord) -> Expected:
    jumps = JumpCounts(np.zeros(record.jump.size), np.zeros(record.jump.size + 1))
    link = np.zeros(record.translation.size, dtype=np.float32)
    return Expected(link, np.zeros(record.null.size), jumps, 0.0)
