"""Training of both directions by expectation maximisation, apart or to agree."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structlearn.alignment.statistics.continuing import EarlierText
from structlearn.alignment.statistics.direction import Direction
from structlearn.alignment.statistics.expectation import DirectionRecord, Expected, add_at, expect
from structlearn.alignment.statistics.jumps import no_counts
from structlearn.alignment.statistics.lexicon import N_MISSING, Lexicon, locate
from structlearn.alignment.statistics.relations import Relations, relate
from structlearn.alignment.statistics.translation import Priors
from structlearn.alignment.text.balance import agreement_power, surplus
from structlearn.alignment.text.bitext import Bitext, TrainingText
from structlearn.alignment.text.on_disk import KeptCells
from structlearn.core.contract import Array
from structlearn.core.threads import Map, in_order
from structlearn.solvers.checkpoint import Keeper
from structlearn.solvers.states import misfit

#: Sentence pairs are worked on in chunks of about this many cells, whatever the number of threads.
CHUNK = 1 << 19
BELIEFS = Priors()
#: A part read instead of a whole text has at least this many cells: a quarter of a million pairs of 11 words.
LEAST_CELLS = 1 << 25
#: How much the agreement of both directions weighs in the first iteration; in the last one it is all.
LEAST_AGREEMENT = 0.5


@dataclass(frozen=True)
class EMSettings:
    """How to train.

    model1, hmm : iterations of Model 1, then of the HMM
    agreement : whether the HMM's two directions are trained to agree: a link counts as much as the product of
        its two posteriors (Liang, Taskar and Klein 2006), or a power of it (see `balance`). At first it
        counts in each direction as the mean of that and of its own posterior; the share of the product
        rises from `LEAST_AGREEMENT` to 1. Otherwise each direction is trained apart; its objective never
        decreases if all `priors` are 0
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


class Trained(NamedTuple):
    """Both directions after some iterations."""

    forward: Direction
    reverse: Direction
    history: tuple[EMIteration, ...]

    def state(self) -> dict[str, object]:
        """Return what a checkpoint holds."""
        arrays = {name: getattr(self, name).to_arrays() for name in ("forward", "reverse")}
        return {
            **arrays,
            "log_prior": (self.forward.log_prior, self.reverse.log_prior),
            "history": self.history,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], lexicon: Lexicon) -> Trained:
        """Return the inverse of `state`; ValueError if it is of another lexicon."""
        given = {"forward": len(lexicon.source_pairs) - 1, "reverse": len(lexicon.target_pairs) - 1}
        both = [Direction.from_arrays(state[name], name == "forward", n) for name, n in given.items()]
        sizes = [(one.translation.size, one.null.size) for one in both]
        words = len(lexicon.target_pairs), len(lexicon.source_pairs)
        if sizes != [(lexicon.target.size + N_MISSING, n) for n in words]:
            raise misfit()
        forward, reverse = (replace(one, log_prior=prior) for one, prior in zip(both, state["log_prior"]))
        return cls(forward, reverse, tuple(state["history"]))


@dataclass(frozen=True)
class LocatedText:
    """The windows of a text, each with the entries of its cells, found once and kept in memory or on disk."""

    text: TrainingText
    lexicon: Lexicon
    run: Map

    @cached_property
    def _kept(self) -> KeptCells:
        return KeptCells(self.text.n_cells)

    def windows(self, step: int = 1) -> Iterable[tuple[Bitext, Array]]:
        """Return the whole text, or of every `step` windows one."""
        return self._windows_in_memory or self._found(step)

    @cached_property
    def _windows_in_memory(self) -> list[tuple[Bitext, Array]]:
        return list(self._found(1)) if self.text.in_memory else []

    def _found(self, step: int) -> Iterator[tuple[Bitext, Array]]:
        for number, window in enumerate(self.text.windows(step), 1):
            entry = None if self.text.in_memory else self._kept.read(step * number - 1)
            if entry is None:
                entry = locate(self.lexicon, window, self.run)
                if not self.text.in_memory:
                    self._kept.keep(step * number - 1, entry)
            yield window, entry


class Stage(NamedTuple):
    """One iteration that is to be made.

    hmm : whether it is of the HMM, else of Model 1
    together : whether the two directions are trained to agree
    power : of the product of their posteriors that a link counts as
    weight : of that; the rest of the weight has each direction's own posterior
    step : one in this many windows is read
    """

    model: str
    iteration: int
    hmm: bool
    together: bool
    power: float
    weight: float
    step: int


def stages(settings: EMSettings, text: TrainingText) -> list[Stage]:
    """Return all iterations. On a long text, the first of each model read a part, the next twice that."""
    most = max(1, min(text.n_windows, text.n_cells // LEAST_CELLS))
    power = agreement_power(surplus(text.source_words, text.target_words))
    made = []
    for model, n, hmm, together in (
        ("model1", settings.model1, False, False),
        ("hmm", settings.hmm, True, settings.agreement),
    ):
        for k in range(n):
            weight = _agreement_weight(k, n) if power == 1.0 else 1.0
            made.append(Stage(model, k, hmm, together, power, weight, min(2 ** (n - 1 - k), most)))
    return made


def _agreement_weight(k: int, n: int) -> float:
    """Return the weight of agreement in iteration k of n."""
    return 1.0 - (1.0 - LEAST_AGREEMENT) * (n - 1 - k) / max(n - 1, 1)


def train_directions(
    text: TrainingText,
    lexicon: Lexicon,
    settings: EMSettings,
    *,
    n_jobs: int = 1,
    advance: Callable[[], object] = lambda: None,
    earlier: EarlierText | None = None,
    keeper: Keeper | None = None,
) -> Trained:
    """Train both directions and return them with the history. The result is the same for every `n_jobs`.

    `earlier` text counts as though it were read again. Each iteration is kept by the `keeper`, if there is
    one, and training goes on from what it has.
    """
    to_do = stages(settings, text)
    with in_order(n_jobs) as run:
        located = LocatedText(text, lexicon, run)
        relations = relate(text, lexicon, located.windows(), earlier)
        now = _resume(keeper, lexicon) or _begin(lexicon, relations, settings, earlier)
        begin = time.perf_counter() - (now.history[-1].seconds if now.history else 0.0)
        for stage in to_do[len(now.history) :]:
            both = now.forward, now.reverse
            records = [one.record(stage.hmm) for one in both]
            expected = _expect_all(located, records, stage, run, advance)
            forward, reverse = (one.log_prior + seen.log_likelihood for one, seen in zip(both, expected))
            done = EMIteration(stage.model, stage.iteration, forward, reverse, time.perf_counter() - begin)
            both = _m_step(both, lexicon, relations, expected, settings.priors, earlier)
            now = Trained(*both, (*now.history, done))
            del expected  # as large as the tables: gone before the next ones are made
            if keeper is not None and (keeper.is_due() or len(now.history) == len(to_do)):
                keeper.keep(now.state())
    return now


def _begin(
    lexicon: Lexicon, relations: Relations, settings: EMSettings, earlier: EarlierText | None
) -> Trained:
    """Begin with all translations alike, or as they were in the earlier text."""
    forward, reverse = (Direction.uniform(lexicon, side, settings.p0) for side in (True, False))
    if earlier is not None:
        both = [one.with_jumps(old) for one, old in zip((forward, reverse), earlier.directions)]
        nothing = [_nothing(one.record(False)) for one in both]
        forward, reverse = _m_step(both, lexicon, relations, nothing, settings.priors, earlier)
    return Trained(forward, reverse, ())


def _m_step(
    both: Sequence[Direction],
    lexicon: Lexicon,
    relations: Relations,
    expected: Sequence[Expected],
    priors: Priors,
    earlier: EarlierText | None,
) -> tuple[Direction, Direction]:
    """Make the M-step of both directions."""
    if earlier is not None:
        earlier.add_to(expected)
    forward, reverse = (one.m_step(lexicon, relations, seen, priors) for one, seen in zip(both, expected))
    return forward, reverse


def _resume(keeper: Keeper | None, lexicon: Lexicon) -> Trained | None:
    """Return what the keeper has; ValueError if that is of another lexicon."""
    state = None if keeper is None else keeper.load()
    return None if state is None else Trained.from_state(state, lexicon)


def cell_ranges(bitext: Bitext) -> list[tuple[int, int]]:
    """Return ranges of sentence pairs of about `CHUNK` cells each."""
    cuts = np.searchsorted(bitext.cell_start, np.arange(0, bitext.cell_start[-1], CHUNK))
    edges = np.unique(np.concatenate([[0], cuts, [len(bitext)]]))
    return [(int(first), int(last)) for first, last in pairwise(edges)] or [(0, 0)]


def _expect_all(
    located: LocatedText,
    records: Sequence[DirectionRecord],
    stage: Stage,
    run: Map,
    advance: Callable[[], object],
) -> list[Expected]:
    """Return what each direction expects of the whole text, summed in order by entry, word and distance.

    Of a part of the text it is as though the rest were like it.
    """
    sums, n_cells = [_nothing(record) for record in records], 0
    for bitext, entry in located.windows(stage.step):
        _expect_window(bitext, entry, records, stage, run, sums, advance)
        n_cells += entry.size
    if n_cells < located.text.n_cells:
        sums = [_times(one, located.text.n_cells / n_cells) for one in sums]
    return [sums[0], sums[1]._replace(link=sums[0].link) if _counts_once(stage) else sums[1]]


def _counts_once(stage: Stage) -> bool:
    """Whether a link counts the same in both directions."""
    return stage.together and stage.weight == 1.0


def _times(expected: Expected, share: float) -> Expected:
    for table in (expected.link, expected.null, *expected.jumps):
        table *= share
    return expected._replace(log_likelihood=share * expected.log_likelihood)


def _expect_window(
    bitext: Bitext,
    entry: Array,
    records: Sequence[DirectionRecord],
    stage: Stage,
    run: Map,
    sums: list[Expected],
    advance: Callable[[], object],
) -> None:
    """Add what is expected of one window."""

    def work(part: tuple[int, int]) -> tuple[Expected, Expected]:
        forward, reverse = expect(bitext.record, bitext.cells(entry, *part), records[0], records[1], *part)
        if stage.together:
            _agree(forward.link, reverse.link, stage)
        return forward, reverse

    parts = cell_ranges(bitext)
    for part, expected in zip(parts, run(work, parts)):
        for k, (one, corpus) in enumerate(zip(expected, (bitext.target, bitext.source))):
            if k == 0 or not _counts_once(stage):
                add_at(bitext.cells(entry, *part), one.link, sums[k].link)
            add_at(corpus.words(*part), one.null, sums[k].null)
            for total, jumps in zip(sums[k].jumps, one.jumps):
                total += jumps
            sums[k] = sums[k]._replace(log_likelihood=sums[k].log_likelihood + one.log_likelihood)
        advance()


def _agree(forward: Array, reverse: Array, stage: Stage) -> None:
    """Make of posteriors what links count in each direction; in `forward` alone if that is the same."""
    both = forward * reverse
    if stage.power < 1.0:
        np.power(both, stage.power, out=both)
    if _counts_once(stage):
        forward[:] = both
        return
    for own in (forward, reverse):
        own += np.float32(stage.weight) * (both - own)


def _nothing(record: DirectionRecord) -> Expected:
    link, null = np.zeros(record.translation.size), np.zeros(record.null.size)
    return Expected(link, null, no_counts(record.jumps), 0.0)
