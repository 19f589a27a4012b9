"""Where a second core pays: training by one thread, by two, and by two processes (local:2), in turn.

python benchmarks/paying.py [letters seg matching cut parsing chains ...] [--repeats 3] [--local] [--beside]

Seconds by the clock, medians: those of the certificate, from the first step to the gap, and those of the
whole call of `fit`; without compilation. Then processor seconds of the call: of all threads together, and of
the first alone, which does its part and all that is not shared out. On a busy machine that is about what the
clock would show on idle cores (waiting counts until it sleeps). --beside measures the ceiling: two
independent processes make the same one-thread fit at the same time; were the cores free of each other, each
would take as long as alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import warnings
from contextlib import nullcontext

import numpy as np
from common import DATA, letters, machine, note, recorded

from structlearn import ChainClassifier, CutSegmenter, MatchingClassifier, TreeParser
from structlearn.data import make_chains, make_matchings, make_segmentations

SENTENCES = 1500


def words():
    X, y, folds = letters()
    chosen = np.flatnonzero(folds != 0)
    return [X[i] for i in chosen], [y[i] for i in chosen]


def sentences():
    from structlearn.parsing import read_conllu

    document = read_conllu(DATA / "ud_english_ewt" / "en_ewt-ud-train.conllu.gz")
    return document.tokens()[:SENTENCES], document.trees(single_root=True)[:SENTENCES]


#: estimator, data, parameters, whether a cluster takes it
PROBLEMS = {
    "letters": (
        ChainClassifier,
        words,
        {"loss": "hinge", "regularization": 0.01, "tol": 1e-2, "solver": "bcfw", "fit_intercept": False},
        True,
    ),
    "letters-seg": (
        ChainClassifier,
        words,
        {"loss": "hinge", "regularization": 0.01, "tol": 1e-2, "solver": "seg", "fit_intercept": False},
        True,
    ),
    "seg": (
        ChainClassifier,
        words,
        {"loss": "hinge", "regularization": 1 / 6251, "tol": 1e-2, "solver": "seg", "fit_intercept": False},
        True,
    ),
    "chains": (
        ChainClassifier,
        lambda: make_chains(20_000, 10, 20, 64, 0, dtype=np.float32, noise=0.5),
        {"loss": "hinge", "regularization": 1e-3, "tol": 1e-2, "solver": "bcfw"},
        True,
    ),
    "matching": (
        MatchingClassifier,
        lambda: make_matchings(1000, 60, 60, 12, random_state=0, noise=1.0),
        {"loss": "hinge", "regularization": 0.1, "tol": 1e-2, "solver": "seg"},
        True,
    ),
    "matching-bcfw": (
        MatchingClassifier,
        lambda: make_matchings(200, 60, 60, 12, random_state=0, noise=1.0),
        {"loss": "hinge", "regularization": 0.1, "tol": 5e-2, "solver": "bcfw"},
        True,
    ),
    "cut": (
        CutSegmenter,
        lambda: make_segmentations(100, 50, 50, random_state=0),
        {"loss": "hinge", "regularization": 625.0, "tol": 1e-3, "solver": "seg"},
        False,
    ),
    "cuts": (
        CutSegmenter,
        lambda: make_segmentations(400, 50, 50, random_state=0),
        {"loss": "hinge", "regularization": 625.0, "tol": 2e-4, "solver": "seg"},
        False,
    ),
    "parsing": (TreeParser, sentences, {"tol": 0.2}, False),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--local", action="store_true", help="local:2 as well")
    parser.add_argument("--beside", action="store_true", help="two independent processes as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f}")
    opened = nullcontext()
    if options.local:
        from structlearn.distributed import connected

        opened = connected("local:2")
    with opened as client:
        for name in options.problems:
            measure(name, client, options)


def measure(name: str, client, options) -> None:
    make, data, parameters, spreads = PROBLEMS[name]
    X, y = data()
    ways = {"1 thread": (1, {}), "2 threads": (2, {})}
    if client is not None and spreads:
        ways["local:2"] = (1, {"client": client})
    for n_jobs, where in ways.values():  # compiles
        make(random_state=0, n_jobs=n_jobs, **parameters, max_passes=1).fit(X[:200], y[:200], **where)
    found = {way: [] for way in ways}
    for _ in range(options.repeats):
        for way, (n_jobs, where) in ways.items():
            found[way].append(timed(make(random_state=0, n_jobs=n_jobs, **parameters), X, y, where))
    alone = np.median(found["1 thread"], axis=0)
    for way, values in found.items():
        medians = np.median(values, axis=0)
        seconds, fit, cpu, own, passes = medians
        every = " ".join(f"{one[0]:.2f}" for one in values)
        steps, whole, _, first, _ = alone / medians
        note(
            what=f"{name}, {way}",
            seconds=seconds,
            fit_seconds=fit,
            cpu_seconds=cpu,
            times=steps,
            passes=passes,
        )
        print(
            f"{name:9s} {way:10s} {seconds:6.2f} s ({every}), {steps:.2f}x; fit {fit:6.2f} s, {whole:.2f}x; "
            f"processor {cpu:.2f} s, first thread {own:.2f} s, {first:.2f}x; {passes:.0f} passes",
            flush=True,
        )
    if options.beside:
        together = np.median([one[:2] for one in beside(name, options.repeats)], axis=0)
        steps, whole = 2 * alone[:2] / together
        note(what=f"{name}, ceiling", seconds=together[0], fit_seconds=together[1], times=steps)
        print(
            f"{name:9s} ceiling    {together[0]:6.2f} s, {steps:.2f}x; "
            f"fit {together[1]:6.2f} s, {whole:.2f}x",
            flush=True,
        )


def timed(model, X, y, where) -> tuple[float, float, float, float, float]:
    """Seconds of the certificate and of the call; processor seconds, of all threads and of this; passes."""
    clocks = (time.perf_counter, time.process_time, time.thread_time)
    begin = [clock() for clock in clocks]
    certificate = model.fit(X, y, **where).certificate_
    took = [clock() - first for clock, first in zip(clocks, begin)]
    return certificate.seconds, *took, certificate.passes


def beside(name: str, repeats: int) -> list[tuple[float, ...]]:
    """The same fit in two processes at once, so often."""
    context = multiprocessing.get_context("spawn")
    together, found = context.Barrier(2), context.Queue()
    both = [context.Process(target=_alone, args=(name, repeats, together, found)) for _ in range(2)]
    for one in both:
        one.start()
    times = [found.get() for _ in range(2 * repeats)]
    for one in both:
        one.join()
    return times


def _alone(name: str, repeats: int, together, found) -> None:
    warnings.simplefilter("ignore")
    make, data, parameters, _ = PROBLEMS[name]
    X, y = data()
    make(random_state=0, **parameters, max_passes=1).fit(X[:200], y[:200])
    for _ in range(repeats):
        together.wait()
        found.put(timed(make(random_state=0, **parameters), X, y, {}))


if __name__ == "__main__":
    recorded(main)
