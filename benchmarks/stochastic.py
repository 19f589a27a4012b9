"""The stochastic extragradient beside block-coordinate Frank-Wolfe (SDCA for smooth losses).

    python benchmarks/stochastic.py [PROBLEM ...] [--gaps 0.1,0.01,0.001] [--seconds 60] [--cached 0,1,2,4,8]

For each problem and lambda: passes with the oracle and processor seconds (with evaluations, kernels compiled
before) to each gap. With --cached the stochastic extragradient is tried with such numbers of cached passes.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from common import DATA, letters, machine, note, recorded, scene
from linear import sparse_problem
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    MatchingClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
    TreeParser,
)


def words(fold=None):
    X, y, folds = letters()
    some = [i for i in range(len(X)) if fold is None or folds[i] == fold]
    return [X[i] for i in some], [y[i] for i in some]


def chains(loss="hinge", fold=None):
    X, y = words(fold)
    return ChainClassifier(loss=loss, fit_intercept=False), X, y


def digits(loss="hinge"):
    X, y = load_digits(return_X_y=True)
    return MulticlassClassifier(loss=loss, fit_intercept=False), X / 16, y


def binary():
    return BinaryClassifier(loss="hinge", fit_intercept=False), *sparse_problem(np.random.default_rng(0))


def label_sets():
    return MultiLabelClassifier(loss="hinge", edges="all"), *scene("train")


def matchings(size, n_examples=40, n_features=12):
    """Links of random permutations, seen through noisy features (as in `matching_training`)."""
    rng = np.random.default_rng(0)
    y = [np.eye(size)[rng.permutation(size)] for _ in range(n_examples)]
    X = [rng.normal(size=(size, size, n_features)) + links[:, :, None] for links in y]
    return MatchingClassifier(), X, y


def trees():
    from structlearn.parsing import read_conllu

    document = read_conllu(DATA / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz")
    heads = [tree for tree, _ in document.trees(single_root=True)]
    return TreeParser(), document.tokens(), heads


def chunks(loss, n_sentences):
    """CoNLL-2000 with the default templates, as a chain over sparse rows."""
    from structlearn.data import read_tokens, split_rows
    from structlearn.tagging import Tagger

    tokens = read_tokens(DATA / "conll2000" / "train.txt.gz")
    word, pos, y = (split_rows(tokens.column(name).cells, tokens.lengths) for name in "012")
    X = [list(zip(*columns)) for columns in zip(word, pos)][:n_sentences]
    y = [one.tolist() for one in y][:n_sentences]
    tagger = Tagger(columns=("word", "pos"), chain_options={"max_passes": 1}, tol=1e9).fit(X, y)
    return ChainClassifier(loss=loss), tagger.rows(X), y


#: what is trained, its lambdas (0 is 1/n), and the gaps if not the default ones
PROBLEMS = {
    "letters fold 0": (lambda: chains(fold=0), (1.0, 0.1, 0.01, 0, 1e-4)),
    "letters": (chains, (0.01, 0)),
    "letters fold 0, softmax": (lambda: chains("softmax", 0), (0.1, 0.01, 0)),
    "letters fold 0, sparsemax": (lambda: chains("sparsemax", 0), (0.1, 0.01, 0)),
    "letters, softmax": (lambda: chains("softmax"), (0.01, 0)),
    "digits": (digits, (0.1, 0.01, 0.001, 0)),
    "digits, softmax": (lambda: digits("softmax"), (0.01, 0)),
    "digits, sparsemax": (lambda: digits("sparsemax"), (0.01, 0)),
    "binary, sparse": (binary, (0.01, 1e-4)),
    "scene": (label_sets, (0.1, 0.01, 0)),
    "matching 25": (lambda: matchings(25), (0.1, 0.01)),
    "matching 60": (lambda: matchings(60), (0.1, 0.01)),
    "chunking 500, softmax": (lambda: chunks("softmax", 500), (0.01, 0)),
    "chunking 500": (lambda: chunks("hinge", 500), (0.01, 0)),
    "chunking, softmax": (lambda: chunks("softmax", None), (0,)),
    "parsing": (trees, (0,)),
}


def solvers(model, asked):
    """By name: parameters of the estimator."""
    if isinstance(model, BinaryClassifier):
        peer = "coordinate-ascent"
    else:
        peer = "bcfw" if model.chosen_loss().name == "hinge" else "sdca"
    found = {peer: {"solver": peer}}
    if peer == "sdca" and isinstance(model, MulticlassClassifier):
        found["lbfgs"] = {"solver": "lbfgs"}
    if not asked:
        return {**found, "seg": {"solver": "seg"}}
    cached = {f"seg, {k} cached": {"solver": "seg", "solver_options": {"cached_passes": k}} for k in asked}
    return {**found, **cached}


def run(model, X, y, gaps, seconds, **parameters):
    """Passes and processor seconds to each gap, those it came to."""
    rows, begin = [], 0.0

    def watch(row):
        rows.append((row.gap, row.passes, time.process_time() - begin))

    model.set_params(tol=gaps[-1], random_state=0, max_passes=10_000, max_seconds=seconds, **parameters)
    model.set_params(callback=None, max_passes=1).fit(X, y)  # compiles
    begin = time.process_time()
    model.set_params(callback=watch, max_passes=10_000).fit(X, y)
    found = [next((row for row in rows if row[0] <= gap), None) for gap in gaps]
    return found, model.certificate_


def report(name, asked):
    make, lambdas = PROBLEMS[name]
    model, X, y = make()
    for regularization in lambdas:
        shown = f"{regularization:g}" if regularization else "1/n"
        model.set_params(regularization=regularization or 1 / len(y))
        print(f"{name}, lambda {shown}:", flush=True)
        for title, parameters in solvers(model, asked.cached).items():
            found, end = run(model, X, y, asked.gaps, asked.seconds, **parameters)
            model.set_params(solver="auto", solver_options=None)
            cells = [f"{row[1]:4.0f} {row[2]:7.2f} s" if row else f"{'-':>14s}" for row in found]
            for gap, row in zip(asked.gaps, found):
                passes, seconds = row[1:3] if row else (None, None)
                note(what=f"{name}, lambda {shown}, {title}", gap=gap, passes=passes, cpu_seconds=seconds)
            print(f"  {title:18s} {' | '.join(cells)} | gap {end.gap:.2g} after {end.passes:.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    numbers = lambda kind: lambda text: [kind(one) for one in text.split(",")]  # noqa: E731
    parser.add_argument("--gaps", type=numbers(float), default=[0.1, 0.01, 0.001])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cached", type=numbers(int), default=[])
    asked = parser.parse_args()
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}; gaps {asked.gaps}")
    warnings.simplefilter("ignore")  # of what is not converged, and of crossing arcs
    with threadpool_limits(1):
        for name in asked.problems or PROBLEMS:
            report(name, asked)


if __name__ == "__main__":
    recorded(main)
