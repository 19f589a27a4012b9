"""Training of both directions by expectation maximisation, apart or to agree."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structlearn.apps.alignment.bitext import Array, Bitext
from structlearn.apps.alignment.direction import Direction, Priors
from structlearn.apps.alignment.expectation import DirectionRecord, Expected, add_at, expect
from structlearn.apps.alignment.jumps import JumpCounts
from structlearn.apps.alignment.lexicon import Lexicon
from structlearn.core.threads import Map, in_order

#: Sentence pairs are worked on in chunks of about so many cells, whatever the number of threads.
CHUNK = 1 << 19
#: The priors that served best on Hansards.
BELIEFS = Priors()


@dataclass(frozen=True)
class Recipe:
    """How to train.

    Parameters
    ----------
    model1, hmm : int
        Iterations of Model 1, then of the HMM.
    agreement : bool
        Whether the HMM's two directions are trained to agree: a link counts as much as the product of its
        two posteriors (Liang, Taskar and Klein 2006). Otherwise each direction is trained apart; its
        objective never decreases if `priors.unseen` is 0.
    p0 : float
        Probability of NULL.
    priors : Priors
    """

    model1: int = 5
    hmm: int = 5
    agreement: bool = True
    p0: float = 0.1
    priors: Priors = BELIEFS


class Row(NamedTuple):
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
    recipe: Recipe,
    *,
    n_jobs: int = 1,
    advance: Callable[[], object] = lambda: None,
) -> tuple[Direction, Direction, list[Row]]:
    """Both directions after the recipe's iterations, and the history. The same for every `n_jobs`."""
    start = partial(Direction.uniform, lexicon, p0=recipe.p0, priors=recipe.priors)
    directions = [start(True), start(False)]
    history: list[Row] = []
    begin = time.perf_counter()
    reach = bitext.longest + 1
    stages = [("model1", k, 0, False) for k in range(recipe.model1)]
    stages += [("hmm", k, reach, recipe.agreement) for k in range(recipe.hmm)]
    with in_order(n_jobs) as run:
        for model, k, reach, together in stages:
            records = [direction.record(reach) for direction in directions]
            sums = _expect_all(bitext, entry, records, together, run, advance)
            objective = [s.log_likelihood + d.log_prior for s, d in zip(sums, directions)]
            history.append(Row(model, k, objective[0], objective[1], time.perf_counter() - begin))
            directions = [
                d.updated(lexicon, s.link, s.null, s.jumps, recipe.priors) for s, d in zip(sums, directions)
            ]
    return directions[0], directions[1], history


def chunks(bitext: Bitext) -> list[tuple[int, int]]:
    """Ranges of sentence pairs of about `CHUNK` cells each."""
    cuts = np.searchsorted(bitext.cell_start, np.arange(0, bitext.cell_start[-1], CHUNK))
    edges = np.unique(np.concatenate([[0], cuts, [len(bitext)]]))
    return [(int(first), int(last)) for first, last in pairwise(edges)] or [(0, 0)]


class _Sums:
    """Expected counts of one direction by entry, generated word and distance, while chunks arrive."""

    def __init__(self, record: DirectionRecord, link: Array) -> None:
        self.link = link
        self.null = np.zeros(record.null.size)
        self.jumps = JumpCounts(np.zeros(record.jump.size), np.zeros(record.jump.size + 1))
        self.log_likelihood = 0.0

    def add(self, expected: Expected, words: Array) -> None:
        """Add all but the links."""
        add_at(words, expected.null, self.null)
        for total, part in zip(self.jumps, expected.jumps):
            total += part
        self.log_likelihood += expected.log_likelihood


def _expect_all(
    bitext: Bitext,
    entry: Array,
    records: list[DirectionRecord],
    together: bool,
    run: Map,
    advance: Callable[[], object],
) -> list[_Sums]:
    """What each direction expects of the whole text, added up in its order."""
    links = [np.zeros(records[0].translation.size, dtype=np.float32) for _ in range(1 if together else 2)]
    sums = [_Sums(record, link) for record, link in zip(records, (links[0], links[-1]))]
    parts = chunks(bitext)
    for part, expected in zip(parts, run(partial(_expect_chunk, bitext, entry, records, together), parts)):
        for link, one in zip(links, expected):
            add_at(bitext.cells(entry, *part), one.link, link)
        for total, one, corpus in zip(sums, expected, (bitext.target, bitext.source)):
            total.add(one, corpus.words(*part))
        advance()
    return sums


def _expect_chunk(
    bitext: Bitext, entry: Array, records: list[DirectionRecord], together: bool, part: tuple[int, int]
) -> tuple[Expected, Expected]:
    forward, reverse = expect(
        bitext.record, bitext.cells(entry, *part), records[0], records[1], part[0], part[1]
    )
    if together:
        np.multiply(forward.link, reverse.link, out=forward.link)
    return forward, reverse
