"""Label sequences under constraints: ten labels of which there is at most one span each.

`python benchmarks/sequence_limits.py`: chains of 50 positions with scores by chance, with and without labels
that like to stay; CPU milliseconds per sequence, beside those of Viterbi's algorithm alone in the same run,
and how often the bound is the score.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from common import note, recorded

from structlearn.structures import Chain
from structlearn.structures.chain.constrained import ConstrainedSequence, Limit, best_within_limits

LENGTH, CONSTRAINED, SEQUENCES = 50, 10, 40


def at_most_one_span(label: int, k: int) -> Limit:
    event = np.zeros((k + 1, k), dtype=int)
    event[:, label] = 1
    event[label, label] = 0
    return Limit(event, 0, 1)


def seconds(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def main() -> None:
    """Time all kinds of chains."""
    for k in (12, 20, 40):
        for stays in (1.0, 3.0):
            time_chains(k, stays)


def keep_best(found: list[ConstrainedSequence], *problem: Any) -> None:
    found.append(best_within_limits(*problem))


def time_chains(k: int, stays: float) -> None:
    rng = np.random.default_rng(k)
    limits = [at_most_one_span(label, k) for label in range(CONSTRAINED)]
    chain, alone, within, found = Chain(k), [], [], list[ConstrainedSequence]()
    for _ in range(SEQUENCES + 1):
        unary, step = 1.5 * rng.normal(size=(LENGTH, k)), rng.normal(size=(k, k)) + stays * np.eye(k)
        steps, theta = np.repeat(step[None], LENGTH, axis=0), np.concatenate([unary.ravel(), step.ravel()])
        alone.append(seconds(partial(chain.maximize, theta)))
        within.append(seconds(partial(keep_best, found, unary, steps, limits)))
    ms = 1e3 * np.array([alone, within])[:, 1:]  # the first one compiles
    exact = np.mean([one.bound - one.value <= 1e-9 for one in found[1:]])
    what = f"{LENGTH} positions, {k} labels, {CONSTRAINED} with at most one span, stays {stays:g}"
    note(what=what, ms=np.median(ms[1]), most_ms=ms[1].max(), viterbi_ms=np.median(ms[0]), exact=exact)
    print(
        f"{what}: {np.median(ms[1]):.2f} ms (at most {ms[1].max():.2f}), Viterbi alone "
        f"{np.median(ms[0]):.2f}; exact {exact:.0%}"
    )


if __name__ == "__main__":
    recorded(main)
