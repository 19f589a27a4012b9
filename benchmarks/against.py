"""Training times of this checkout over those of another one: processor seconds, runs in turn.

python benchmarks/against.py OTHER_CHECKOUT [PROBLEM ...] [--pairs 9]

For each problem both checkouts are started in turn, each in a process of its own that trains once to compile
or load its kernels and then once for the clock. Printed are the median of the ratios, and all of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parents[1]


def letters_hinge():
    from common import letters

    from structlearn import ChainClassifier

    X, y, folds = letters()
    some = [i for i in range(len(X)) if folds[i] == 0]
    model = ChainClassifier(loss="hinge", regularization=0.01, tol=1e-2, fit_intercept=False, random_state=0)
    return lambda: model.fit([X[i] for i in some], [y[i] for i in some])


def letters_softmax():
    from common import letters

    from structlearn import ChainClassifier

    X, y, folds = letters()
    some = [i for i in range(len(X)) if folds[i] in (0, 1, 2)]
    model = ChainClassifier(loss="softmax", regularization=0.001, tol=1e-3, random_state=0)
    return lambda: model.fit([X[i] for i in some], [y[i] for i in some])


def digits_hinge():
    from sklearn.datasets import load_digits

    from structlearn import MulticlassClassifier

    X, y = load_digits(return_X_y=True)
    model = MulticlassClassifier(
        loss="hinge", regularization=0.01, tol=1e-4, fit_intercept=False, random_state=0
    )

    def fit():
        for _ in range(20):
            model.fit(X / 16, y)
        return model

    return fit


def chunking_softmax():
    from common import DATA
    from structlearn.apps.tagging import Tagger  # by the name that earlier commits have, too

    from structlearn.data import Tokens, read_tokens, split_rows

    tokens = read_tokens(DATA / "conll2000" / "test.txt.gz")
    labels = split_rows(tokens.column("2").cells, tokens.lengths)
    X = Tokens(tokens.columns, tokens.lengths, {"word": "0", "pos": "1"})
    return lambda: Tagger(columns=("word", "pos"), random_state=0).fit(X, labels)


def letters_tight():
    from common import letters

    from structlearn import ChainClassifier

    X, y, folds = letters()
    some = [i for i in range(len(X)) if folds[i] == 0]
    model = ChainClassifier(loss="hinge", regularization=0.01, tol=1e-3, fit_intercept=False, random_state=0)
    return lambda: model.fit([X[i] for i in some], [y[i] for i in some])


def scene_hinge():
    from common import scene

    from structlearn import MultiLabelClassifier

    X, Y = scene("train")
    return lambda: MultiLabelClassifier(loss="hinge", regularization=0.01, tol=1e-2, random_state=0).fit(X, Y)


def matching_hinge(size=60, n_examples=40, n_features=12):
    """Links of random permutations, seen through noisy features (as in `matching_training`)."""
    import numpy as np

    from structlearn import MatchingClassifier

    rng = np.random.default_rng(0)
    y = [np.eye(size)[rng.permutation(size)] for _ in range(n_examples)]
    X = [rng.normal(size=(size, size, n_features)) + links[:, :, None] for links in y]
    return lambda: MatchingClassifier(regularization=0.1, tol=1e-2, random_state=0).fit(X, y)


def parsing_hinge(n_sentences=1500):
    import warnings

    from common import DATA
    from structlearn.apps.parsing import read_conllu

    from structlearn import TreeParser

    document = read_conllu(DATA / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz")
    X, y = document.tokens()[:n_sentences], document.trees(single_root=True)[:n_sentences]
    warnings.simplefilter("ignore")  # of crossing arcs
    return lambda: TreeParser(random_state=0, max_passes=5).fit(X, y)


def alignment_statistics(n_pairs=20_000):
    import gzip
    from itertools import islice

    from common import DATA
    from structlearn.apps.alignment.bitext import Bitext
    from structlearn.apps.alignment.statistics import AlignmentStatistics

    folder = DATA / "hansards"
    with gzip.open(folder / "bitext.e.gz", "rt") as left, gzip.open(folder / "bitext.f.gz", "rt") as right:
        pairs = [(a.split(), b.split()) for a, b in islice(zip(left, right), n_pairs)]
    return lambda: AlignmentStatistics.train(Bitext.from_pairs(pairs))


PROBLEMS = {
    "letters-hinge": letters_hinge,
    "letters-tight": letters_tight,
    "digits-hinge": digits_hinge,
    "letters-softmax": letters_softmax,
    "chunking-softmax": chunking_softmax,
    "scene-hinge": scene_hinge,
    "matching-hinge": matching_hinge,
    "parsing-hinge": parsing_hinge,
    "alignment-statistics": alignment_statistics,
}


#: The exit code of a problem whose data is not here.
NO_DATA = 3


def child(name):
    try:
        fit = PROBLEMS[name]()
    except FileNotFoundError:
        sys.exit(NO_DATA)
    fit()
    begin = time.process_time()
    model = fit()
    seconds = time.process_time() - begin
    found = getattr(model, "certificate_", None)  # statistics have none
    print(seconds, *((found.passes, found.primal, found.gap) if found else (0, 0, 0)))


def run(checkout, name):
    """Processor seconds of one training, its passes, P and gap; None without its data."""
    path = os.pathsep.join([str(checkout / "src"), str(HERE / "benchmarks")])
    command = [sys.executable, str(Path(__file__).resolve()), "--child", name]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode == NO_DATA:
        return None
    if done.returncode:
        sys.exit(f"{name} in {checkout}: {done.stderr}")
    return tuple(map(float, done.stdout.split()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--child")
    chosen = parser.parse_args()
    if chosen.child:
        child(chosen.child)
        return
    from common import machine

    print(machine())
    for name in chosen.problems or PROBLEMS:
        ratios = []
        for k in range(chosen.pairs):
            pair = (HERE, chosen.other) if k % 2 else (chosen.other, HERE)
            found = {checkout: run(checkout, name) for checkout in pair}
            if None in found.values():
                break
            ratios.append(found[HERE][0] / found[chosen.other][0])
        if not ratios:
            print(f"{name}: its data is not here, passed over", flush=True)
            continue
        before, now = found[chosen.other], found[HERE]
        shown = " ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
        print(f"{name}: median ratio {median(ratios):.3f} ({shown})")
        for which, (seconds, passes, primal, gap) in (("other", before), ("this", now)):
            print(f"  {which}: {seconds:.2f} s, {passes:g} passes, P {primal:.5f}, gap {gap:.2g}", flush=True)


if __name__ == "__main__":
    main()
