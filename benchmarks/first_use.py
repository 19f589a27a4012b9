"""First use: a first fit and prediction in a new process with an empty cache of kernels, in CPU seconds.

python benchmarks/first_use.py [OTHER_CHECKOUT] [CASE ...] [--pairs 3]

Imports are not counted. With another checkout both are run in turn, and the ratio of the medians is printed.
A case A+B fits A first, uncounted, and is compared with B alone in the other checkout; `warm` is a chain
from a filled cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

HERE = Path(__file__).resolve().parents[1]
WORDS = ["the", "a", "cat", "dog", "tree", "house", "sees", "likes", "finds", "often", "never"]


def chain(**options):
    from structlearn import ChainClassifier

    rng = np.random.default_rng(0)
    X = [rng.normal(size=(length, 5)) for length in rng.integers(2, 6, 12)]
    y = [rng.integers(0, 3, len(x)) for x in X]

    def use():
        ChainClassifier(**{"loss": "hinge", "random_state": 0, "max_passes": 20} | options).fit(X, y).predict(
            X
        )

    return use


def multiclass():
    from structlearn import MulticlassClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)), rng.integers(0, 3, 30)
    return lambda: MulticlassClassifier(loss="hinge", random_state=0, max_passes=20).fit(X, y).predict(X)


def multilabel():
    from structlearn import MultiLabelClassifier

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 5)), rng.integers(0, 2, (30, 4))
    return lambda: MultiLabelClassifier(random_state=0, max_passes=20).fit(X, Y).predict(X)


def matching():
    from structlearn import MatchingClassifier

    rng = np.random.default_rng(0)
    X = [rng.normal(size=(m, m + 1, 5)) for m in rng.integers(2, 5, 12)]
    y = [np.eye(m, m + 1) for m in (len(x) for x in X)]
    return lambda: MatchingClassifier(random_state=0, max_passes=20).fit(X, y).predict(X)


def parser():
    from structlearn import TreeParser

    X = [[[word, "X", "X"] for word in sentence] for sentence in _sentences()]
    y = [np.arange(len(x)) for x in X]
    return lambda: TreeParser(random_state=0, max_passes=20).fit(X, y).predict(X)


def tagger():
    from structlearn.tagging import Tagger

    X = _sentences()
    y = [[("N", "V")[len(word) % 2] for word in x] for x in X]
    return lambda: Tagger(random_state=0).fit(X, y).predict(X)


def aligner():
    from structlearn.alignment.aligner import Aligner
    from structlearn.alignment.links import Links

    X = [(x, [word.upper() for word in x]) for x in _sentences()]
    gold = [Links.of((j, j) for j in range(len(x))) for x, _ in X]
    return lambda: Aligner(random_state=0).fit(X, gold).predict(X)


def own():
    from numba import njit

    from structlearn import StructuredPredictor
    from structlearn.structures import Structure  # noqa: F401  (imported before the clock starts)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 6, 4)), rng.integers(0, 6, 30)

    @njit
    def maximize(theta, vertex):
        best = np.argmax(theta)
        vertex[best] = 1.0
        return theta[best]

    gold = np.eye(6)[y]
    return lambda: StructuredPredictor(maximize, random_state=0, max_passes=20).fit(X, gold).predict(X)


def _sentences():
    rng = np.random.default_rng(0)
    return [[WORDS[k] for k in rng.integers(0, len(WORDS), length)] for length in rng.integers(3, 8, 25)]


CASES = {
    "multiclass": multiclass,
    "chain": chain,
    "chain-softmax": lambda: chain(loss="softmax"),
    "multilabel": multilabel,
    "matching": matching,
    "parser": parser,
    "tagger": tagger,
    "aligner": aligner,
    "own": own,
}
SHOWN = [*CASES, "chain+matching", "chain+tagger", "chain+multilabel", "chain+own", "warm"]


def child(case):
    names = ["chain", "chain"] if case == "warm" else case.split("+")
    *before, use = [CASES[name]() for name in names]
    for one in before:
        one()
    begin = time.process_time()
    use()
    print(time.process_time() - begin)


def run(checkout, case):
    """Processor seconds of a first use in a process of its own, with a cache of its own."""
    path = os.pathsep.join([str(checkout / "src"), str(HERE / "benchmarks")])
    command = [sys.executable, "-W", "ignore", str(Path(__file__).resolve()), "--child", case]
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "PYTHONPATH": path, "STRUCTLEARN_CACHE": cache}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main():
    reader = argparse.ArgumentParser()
    reader.add_argument("other", nargs="?", type=Path)
    reader.add_argument("cases", nargs="*")
    reader.add_argument("--pairs", type=int, default=3)
    reader.add_argument("--child")
    chosen = reader.parse_args()
    if chosen.child:
        child(chosen.child)
        return
    from common import machine, note

    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}; processor seconds")
    for case in chosen.cases or SHOWN:
        ours, theirs = [], []
        for _ in range(chosen.pairs):
            ours.append(run(HERE, case))
            if chosen.other:
                theirs.append(run(chosen.other, case.split("+")[-1]))
        ratio = f"  before {median(theirs):6.2f}  ratio {median(ours) / median(theirs):.2f}" if theirs else ""
        note(what=case, cpu_seconds=median(ours), **({"other_cpu_seconds": median(theirs)} if theirs else {}))
        print(f"{case:18s} {median(ours):6.2f}{ratio}", flush=True)


if __name__ == "__main__":
    from common import recorded

    recorded(main)
