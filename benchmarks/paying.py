"""Where a second core pays: training by one thread, by two, and by two processes (local:2), in turn.

python benchmarks/paying.py [letters seg matching cut parsing chains ...] [--repeats 3] [--local]
                            [--first-thread]

Seconds are those of the certificate: from the first step to the gap, without compilation. Medians. On a busy
machine two threads wait for each other: then compare the processor time of the first thread, which does its
half of all visits and all that is not shared out (--first-thread).
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from contextlib import nullcontext

import numpy as np
from common import DATA, letters, machine

from structlearn import ChainClassifier, CutSegmenter, MatchingClassifier, TreeParser
from structlearn.data import make_chains, make_matchings, make_segmentations

SENTENCES = 1500


def words():
    X, y, folds = letters()
    chosen = np.flatnonzero(folds != 0)
    return [X[i] for i in chosen], [y[i] for i in chosen]


def sentences():
    from structlearn.apps.parsing import read_conllu

    document = read_conllu(DATA / "ud_english_ewt" / "en_ewt-ud-train.conllu.gz")
    return document.tokens()[:SENTENCES], document.trees(single_root=True)[:SENTENCES]


#: estimator, data, parameters, whether a cluster takes it
PROBLEMS = {
    "letters": (
        ChainClassifier,
        words,
        {"regularization": 0.01, "tol": 1e-2, "solver": "bcfw", "fit_intercept": False},
        True,
    ),
    "letters-seg": (
        ChainClassifier,
        words,
        {"regularization": 0.01, "tol": 1e-2, "solver": "seg", "fit_intercept": False},
        False,
    ),
    "seg": (
        ChainClassifier,
        words,
        {"regularization": 1 / 6251, "tol": 1e-2, "solver": "seg", "fit_intercept": False},
        False,
    ),
    "chains": (
        ChainClassifier,
        lambda: make_chains(20_000, 10, 20, 64, 0, dtype=np.float32, noise=0.5),
        {"regularization": 1e-3, "tol": 1e-2, "solver": "bcfw"},
        True,
    ),
    "matching": (
        MatchingClassifier,
        lambda: make_matchings(1000, 60, 60, 12, random_state=0, noise=1.0),
        {"regularization": 0.1, "tol": 1e-2, "solver": "seg"},
        False,
    ),
    "matching-bcfw": (
        MatchingClassifier,
        lambda: make_matchings(200, 60, 60, 12, random_state=0, noise=1.0),
        {"regularization": 0.1, "tol": 5e-2, "solver": "bcfw"},
        True,
    ),
    "cut": (
        CutSegmenter,
        lambda: make_segmentations(100, 50, 50, random_state=0),
        {"regularization": 625.0, "tol": 1e-3, "solver": "seg"},
        False,
    ),
    "parsing": (TreeParser, sentences, {"tol": 0.2}, False),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--local", action="store_true", help="local:2 as well")
    parser.add_argument("--first-thread", action="store_true", help="processor time of the first thread")
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
    found = {way: [] for way in ways}
    for n_jobs, where in ways.values():  # compiles
        make(random_state=0, n_jobs=n_jobs, **parameters, max_passes=1).fit(X[:200], y[:200], **where)
    for _ in range(options.repeats):
        for way, (n_jobs, where) in ways.items():
            model = make(random_state=0, n_jobs=n_jobs, **parameters)
            begin = time.thread_time()
            certificate = model.fit(X, y, **where).certificate_
            own = time.thread_time() - begin
            found[way].append((own if options.first_thread else certificate.seconds, certificate.passes))
    alone = np.median([seconds for seconds, _ in found["1 thread"]])
    for way, values in found.items():
        seconds, passes = np.median(values, axis=0)
        every = " ".join(f"{one:.2f}" for one, _ in values)
        print(
            f"{name:9s} {way:10s} {seconds:7.2f} s ({every}), {passes:.0f} passes, {alone / seconds:.2f}x",
            flush=True,
        )


if __name__ == "__main__":
    main()
