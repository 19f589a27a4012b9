"""How likely it is that the two sides of a pair translate each other.

A text is a mixture: a share pi of its pairs is bad, and nobody has marked which. What bad pairs are like is
seen from pairs that are made bad, sources beside the targets of other pairs of the text. With features x of a
pair,

    p(good | x) = (1 - pi) r(x) / ((1 - pi) r(x) + pi),    log r(x) = <w, x> + b

x is evidence of the pair itself, and how much more that is than with the sides of the pairs before and after
it (see `neighbours`). r, the likelihood of good pairs over that of bad ones, is a logistic regression of the
text's pairs, each weighted by p(good | x), against those made bad; both weights and pi come from a few rounds
of expectation maximisation. How often words stand alone is then learned from the pairs as far as they are
good, and all that again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.text.doubts import LOOKED_AT as LOOKED_AT_BY_DOUBTS
from structlearn.alignment.text.doubts import doubt_languages
from structlearn.alignment.uses.evidence import (
    BothAlone,
    BothRatios,
    WordTables,
    end_to_end,
    evidence_of,
    learn_alone,
    ratios_of,
    usual_alone,
)
from structlearn.alignment.uses.neighbours import BesideNeighbours, beside_neighbours, summed
from structlearn.core.contract import Array
from structlearn.data import DataError

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner

#: Pairs that are looked at, at most, in runs of neighbours; fewer than `LEAST` do not tell.
LOOKED_AT, RUN, LEAST = 1 << 16, 64, 100
#: Pairs whose evidence is found at once.
AT_ONCE = 500
#: Rounds of expectation maximisation; steps of Newton's method in each, and its ridge.
ROUNDS, STEPS, RIDGE = 10, 8, 5.0
#: How often it is learned how often words stand alone.
LEARNED = 2
#: The share of bad pairs to begin with.
SHARE_AT_FIRST = 0.05
#: The places of a source and of a target.
Place = tuple[int, int]
#: One in this many of all that can be made bad is counted: there are three per pair. If none need be counted,
#: one in `ONE_OF_OTHER` is looked at in a long text.
ONE_IN, ONE_OF_OTHER = 13, 4


@dataclass(frozen=True)
class PairQuality:
    """Scores of sentence pairs, calibrated on a text.

    aligner : Aligner
        Its statistics say what is evidence.
    tables, alone : what is known of words, see `evidence`
    usual : how well sides go with those of neighbours, for a pair without any
    weights, intercept : of log r(x), see above
    share_bad : pi, the share of the text's pairs that are bad
    sample, sample_log_odds : the pairs that it was calibrated on, from all over the text, and their log odds
    """

    aligner: Aligner
    tables: WordTables
    alone: BothAlone
    usual: BesideNeighbours
    weights: Array
    intercept: float
    share_bad: float
    sample: Sequence[Words] = ()

    @cached_property
    def sample_log_odds(self) -> Array:
        return self.log_odds(self.sample)

    @classmethod
    def fit(cls, aligner: Aligner, text: Iterable[Words], *, own: bool = False) -> PairQuality:
        """Calibrate on a text, which is read once, as a stream; a sample of it is held.

        Parameters
        ----------
        aligner : Aligner
            Trained on other text of the same languages, or on this one as `text_with_mismatched` gives it.
        text : iterable of (source words, target words)
            Pairs without words on a side are passed over.
        own : bool
            Whether the aligner was trained on this text.

        """
        pairs = sample_runs(pair for pair in text if len(pair[0]) and len(pair[1]))
        if len(pairs) < LEAST:
            raise DataError(
                f"Scores are calibrated on at least {LEAST} pairs with words on both sides; got {len(pairs)}."
            )
        if not own:
            doubt_languages(aligner, pairs[:LOOKED_AT_BY_DOUBTS])
        statistics = aligner.statistics_
        tables = WordTables.of(statistics)
        one_in = ONE_IN if own else ONE_OF_OTHER if len(pairs) > LOOKED_AT // 4 else 1
        made = [
            (k + source, k + target)
            for k in range(0, len(pairs), RUN)
            for source, target in _places(pairs[k : k + RUN])[::one_in]
        ]
        ratios = _SampleRatios.of(partial(_ratios, aligner, tables), pairs, made)
        alone = usual_alone(statistics)
        for _ in range(LEARNED):
            x, bad, _ = ratios.evidence(alone)
            good = _probability_good(x, *fit_mixture(x, bad))
            alone = learn_alone(ratios.own, statistics, good)
        x, bad, usual = ratios.evidence(alone)
        return cls(aligner, tables, alone, usual, *fit_mixture(x, bad), pairs)

    def log_odds(self, pairs: Sequence[Words]) -> Array:
        """Return log p(good) / p(bad) of each pair; -inf where a side has no words.

        The pairs are lines of a text, in its order: each is compared with the nearest ones that have words.
        """
        found = np.full(len(pairs), -np.inf)
        places = [k for k, (source, target) in enumerate(pairs) if len(source) and len(target)]
        if places:
            own, next_target, next_source = (
                evidence_of(_ratios(self.aligner, self.tables, some), self.alone)
                for some in _with_neighbours([pairs[k] for k in places])
            )
            beside = beside_neighbours(next_target, next_source, self.usual)
            x = np.concatenate([own, beside.margins(own)], axis=1)
            found[places] = _log_odds(x, self.weights, self.intercept, self.share_bad)
        return found

    def stream_log_odds(self, pairs: Iterable[Words]) -> Iterator[float]:
        """Stream what `log_odds` returns of a text of any length."""
        stream = iter(pairs)
        before: list[Words] = []
        batch = list(islice(stream, AT_ONCE))
        while batch:
            following = list(islice(stream, AT_ONCE))
            after = [pair for pair in following if all(map(len, pair))][:1]
            yield from self.log_odds([*before, *batch, *after])[len(before) :][: len(batch)].tolist()
            before = [pair for pair in [*before, *batch] if all(map(len, pair))][-1:]
            batch = following

    def scores(self, pairs: Iterable[Words]) -> Iterator[float]:
        """Stream the probabilities that pairs are good."""
        return (float(probability(z)) for z in self.stream_log_odds(pairs))


def probability(log_odds: Array | float) -> Array:
    """Return 1 / (1 + exp(-log_odds))."""
    return 1.0 / (1.0 + np.exp(-np.maximum(log_odds, -700.0)))


def _log_odds(x: Array, weights: Array, intercept: float, share_bad: float) -> Array:
    return x @ weights + intercept + np.log((1 - share_bad) / share_bad)


def _probability_good(x: Array, weights: Array, intercept: float, share_bad: float) -> Array:
    return probability(_log_odds(x, weights, intercept, share_bad))


def _ratios(aligner: Aligner, tables: WordTables, pairs: Sequence[Words]) -> BothRatios:
    written = [aligner.write_pair(pair) for pair in pairs]
    parts = [written[k : k + AT_ONCE] for k in range(0, max(len(written), 1), AT_ONCE)]
    return end_to_end([ratios_of(tables, aligner.statistics_, part) for part in parts])


class _SampleRatios(NamedTuple):
    """Ratios of a sample of a text, of pairs made bad of it, and of sides with those of neighbours."""

    own: BothRatios
    next_target: BothRatios
    next_source: BothRatios
    bad: BothRatios
    bad_after: BothRatios  # the target of a bad pair, beside the source after it
    bad_before: BothRatios
    place: Array  # of the source of each bad pair, neither the first nor the last

    @classmethod
    def of(
        cls, ratios: Callable[[Sequence[Words]], BothRatios], pairs: Sequence[Words], made: Sequence[Place]
    ) -> _SampleRatios:
        inner = [(s, t) for s, t in made if 0 < s < len(pairs) - 1]
        bad, after, before = ([(pairs[s + k][0], pairs[t][1]) for s, t in inner] for k in (0, 1, -1))
        place = np.array([s for s, _ in inner], dtype=np.int64)
        own, next_target, next_source = map(ratios, _with_neighbours(pairs))
        return cls(own, next_target, next_source, ratios(bad), ratios(after), ratios(before), place)

    def evidence(self, alone: BothAlone) -> tuple[Array, Array, BesideNeighbours]:
        """Return the features of the text's pairs and of bad ones, and what is usual beside neighbours."""
        own, next_target, next_source = (
            evidence_of(one, alone) for one in (self.own, self.next_target, self.next_source)
        )
        bad, after, before = (evidence_of(one, alone) for one in (self.bad, self.bad_after, self.bad_before))
        beside = beside_neighbours(next_target, next_source)
        around = BesideNeighbours(beside.of_source[self.place], np.maximum(summed(after), summed(before)))
        return (
            np.concatenate([own, beside.margins(own)], axis=1),
            np.concatenate([bad, around.margins(bad)], axis=1),
            beside.usual(),
        )


def _with_neighbours(pairs: Sequence[Words]) -> tuple[Sequence[Words], list[Words], list[Words]]:
    """Return the pairs, each source beside the next target, and each next source beside the target."""
    along = list(pairwise(pairs))
    return pairs, [(one[0], two[1]) for one, two in along], [(two[0], one[1]) for one, two in along]


# ---- pairs that are known to be bad -------------------------------------------------------------------


def sample_runs(pairs: Iterable[Words]) -> list[Words]:
    """Return runs of neighbours from all over a stream: all of it, or at least half of `LOOKED_AT` pairs."""
    stream, kept, step, number = iter(pairs), [], 1, 0
    while run := list(islice(stream, RUN)):
        if number % step == 0:
            kept.append(run)
        if len(kept) * RUN > LOOKED_AT:
            kept, step = kept[::2], 2 * step
        number += 1
    return [pair for run in kept for pair in run]


def text_with_mismatched(text: Iterable[Words]) -> Iterator[Words]:
    """Stream a text to train on, with some pairs that are made bad behind each run of neighbours.

    Statistics know the words of bad pairs, too, and more of them than of pairs that they have not seen. Pairs
    that are made bad are as likely to be bad as those of the text only if they were counted like these.
    """
    stream = iter(text)
    while run := list(islice(stream, RUN)):
        yield from run
        yield from _counted(run)


def _counted(run: Sequence[Words]) -> list[Words]:
    """Return the mismatched pairs of a run that `text_with_mismatched` adds to it."""
    return mismatched(run)[::ONE_IN]


def mismatched(pairs: Sequence[Words]) -> list[Words]:
    """Return sources beside other targets: half of all away, the next one, and one of about the same length.

    Targets that are the same as the right one are passed over.
    """
    return [(pairs[source][0], pairs[target][1]) for source, target in _places(pairs)]


def _places(pairs: Sequence[Words]) -> list[Place]:
    """Return the places of the sources and targets of `mismatched`."""
    n = len(pairs)
    order = sorted(range(n), key=lambda k: (len(pairs[k][1]), len(pairs[k][0])))
    alike = dict(zip(order, [*order[1:], order[0]]))
    others = (((k + n // 2) % n, (k + 1) % n, alike[k]) for k in range(n))
    return [
        (k, other)
        for k, three in enumerate(others)
        for other in three
        if list(pairs[other][1]) != list(pairs[k][1])
    ]


# ---- the mixture --------------------------------------------------------------------------------------


def fit_mixture(text: Array, bad: Array) -> tuple[Array, float, float]:
    """Return w, b and pi from the features of a text's pairs and of bad ones.

    Parameters
    ----------
    text, bad : ndarrays of shape (n, d) and (m, d)

    """
    if not len(bad):
        raise DataError("All targets of the text are the same: nothing tells good pairs from bad ones.")
    both = np.concatenate([text, bad])
    mean, scale = both.mean(axis=0), np.maximum(both.std(axis=0), 1e-9)
    x = np.column_stack([(both - mean) / scale, np.ones(len(both))])
    n, share, w, surplus = len(text), SHARE_AT_FIRST, np.zeros(x.shape[1]), 0.0
    good = np.full(n, 1.0 - share)
    y, weight = np.repeat([1.0, 0.0], [n, len(bad)]), np.full(len(x), n / len(bad))
    for _ in range(ROUNDS):
        weight[:n], surplus = good, np.log(good.mean())
        w = _logistic(x, y, weight, w)
        # the regression sees sum(good) good pairs beside n bad ones; r is without that ratio
        good = probability(x[:n] @ w - surplus + np.log((1.0 - share) / share))
        share = float(np.clip(1.0 - good.mean(), 1.0 / n, 0.5))
    slopes = w[:-1] / scale
    return slopes, float(w[-1] - slopes @ mean - surplus), share


def _logistic(x: Array, y: Array, weight: Array, w: Array) -> Array:
    """Minimise sum weight log(1 + exp(-+ <w, x>)) + RIDGE / 2 ||w||^2 by Newton's method from w."""
    for _ in range(STEPS):
        p = probability(x @ w)
        gradient = x.T @ (weight * (p - y)) + RIDGE * w
        hessian = (x * (weight * p * (1.0 - p))[:, None]).T @ x + RIDGE * np.eye(len(w))
        step = np.linalg.solve(hessian, gradient)
        w = w - step
        if np.abs(step).max() < 1e-6:
            break
    return w


# ---- where to cut -------------------------------------------------------------------------------------


def cut_by_precision(log_odds: Array, precision: float) -> float:
    """Return the least log odds to keep so that this share of the pairs kept is expected to be good."""
    ranked = np.sort(log_odds)[::-1]
    expected = np.cumsum(probability(ranked)) / np.arange(1, len(ranked) + 1)
    n_kept = int((expected >= precision).sum())  # it only falls
    if not n_kept:
        raise DataError(f"No pair is good with a probability of {precision}; ask for less precision.")
    return float(ranked[n_kept - 1])


def cut_by_share(log_odds: Array, share: float) -> float:
    """Return the least log odds of the best `share` of the pairs."""
    ranked = np.sort(log_odds)[::-1]
    return float(ranked[max(1, round(share * len(ranked))) - 1])
