"""Chunking of CoNLL-2000 with the default templates against python-crfsuite: same features, one thread each.

python benchmarks/chunking.py [--without-peer] [--iterations 50,100]

CRFsuite runs L-BFGS to its own stop and, with --iterations, is trained afresh with such limits, so that the
time it needs for an F1 can be told. Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time

import numpy as np
from common import DATA, best_of, machine, note, recorded

from structlearn.data import Tokens, read_tokens, split_rows
from structlearn.tagging import Tagger, span_scores

BENCH = [["--iterations", "80"]]
QUICK = [["--without-peer"]]

GOAL = 0.938
NAMES = {"word": "0", "pos": "1"}


def read(name):
    tokens = read_tokens(DATA / "conll2000" / f"{name}.txt.gz")
    labels = split_rows(tokens.column("2").cells, tokens.lengths)
    return Tokens(tokens.columns, tokens.lengths, NAMES), labels


def f1(gold, found):
    return span_scores([one.tolist() for one in gold], [list(one) for one in found])["all"].f1


def ours(train, test):
    """Fit with the defaults; the seconds and F1 of every evaluation come from the trace."""
    (X, y), (X_test, y_test) = train, test
    begin = time.process_time()
    tagger = Tagger(columns=("word", "pos"), random_state=0).fit(X, y)
    total = time.process_time() - begin
    rows = tagger.rows(X_test)
    scored = f1(y_test, tagger.predict(X_test))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = tagger.certificate_
    print(
        f"structlearn (auto, lambda 1/{len(X)}): {tagger.features_.n_features} features, "
        f"{len(tagger.classes_)} labels; F1 {100 * scored:.2f}, accuracy {tagger.score(X_test, y_test):.4f}; "
        f"P {found.primal:.4f}, gap {found.gap:.4f}, {found.passes:.0f} passes; {total:.1f} s of the "
        f"processor for features and training; peak memory {peak:.2f} GB",
        flush=True,
    )
    seconds = best_of(lambda: tagger.chain_.predict(rows), 5)
    whole = best_of(lambda: tagger.predict(X_test), 3)
    n = X_test.n_tokens
    print(f"prediction: {n / seconds:,.0f} tokens/s from features, {n / whole:,.0f} tokens/s from columns")
    note(what="structlearn", f1=scored, primal=found.primal, cpu_seconds=total, tokens_per_second=n / seconds)
    return tagger, total, n / seconds


def items(tagger, X):
    """Each token's features as CRFsuite takes them: their numbers as strings, and the constant."""
    import pycrfsuite

    rows = tagger.features_.transform(X)
    names = np.array([f"f{j}" for j in range(rows.shape[1])], dtype=object)
    ends = np.cumsum(X.lengths)
    for a, b in zip(ends - X.lengths, ends):
        sentence = [
            [*names[rows.indices[rows.indptr[t] : rows.indptr[t + 1]]], "constant"] for t in range(a, b)
        ]
        yield pycrfsuite.ItemSequence(sentence)


def crfsuite(tagger, train, test, limit):
    """Train with all state and transition features and the same L2; returns seconds, F1 and tokens/s."""
    import pycrfsuite

    (X, y), (X_test, y_test) = train, test
    trainer = pycrfsuite.Trainer(verbose=False)
    for one, labels in zip(items(tagger, X), y):
        trainer.append(one, labels.tolist())
    trainer.set_params(
        {
            "c1": 0.0,
            "c2": tagger.chain_.regularization * len(X) / 2,  # the sum of losses plus c2 ||w||^2
            "feature.possible_states": True,
            "feature.possible_transitions": True,
            "max_iterations": limit,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "crf")
        begin = time.process_time()
        trainer.train(path)
        seconds = time.process_time() - begin
        model = pycrfsuite.Tagger()
        model.open(path)
        prepared = list(items(tagger, X_test))
        scored = f1(y_test, [model.tag(one) for one in prepared])
        rate = X_test.n_tokens / best_of(lambda: [model.tag(one) for one in prepared], 3)
    log = trainer.logparser.iterations
    loss = log[-1]["loss"] / len(X)
    print(
        f"crfsuite, at most {limit} iterations: {len(log)} made, P {loss:.4f}, F1 {100 * scored:.2f}, "
        f"{seconds:.1f} s of the processor, prediction {rate:,.0f} tokens/s",
        flush=True,
    )
    what = f"python-crfsuite, {len(log)} iterations"
    note(what=what, f1=scored, primal=loss, cpu_seconds=seconds, tokens_per_second=rate)
    return seconds, scored, rate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--iterations", default="1000")
    asked = parser.parse_args()
    print(f"# Chunking of CoNLL-2000\n# {machine()}, {time.strftime('%Y-%m-%d')}")
    train, test = read("train"), read("test")
    Tagger(columns=("word", "pos"), chain_options={"max_passes": 1}, tol=1e9).fit(
        train[0], train[1]
    )  # compiles
    tagger, seconds, rate = ours(train, test)
    if asked.without_peer:
        return
    for limit in map(int, asked.iterations.split(",")):
        theirs, scored, their_rate = crfsuite(tagger, train, test, limit)
        reached = "reaches" if scored >= GOAL else "does not reach"
        print(
            f"it {reached} {100 * GOAL:.1f}; its training takes {theirs / seconds:.1f} times ours, our "
            f"prediction is {rate / their_rate:.1f} times as fast",
            flush=True,
        )


if __name__ == "__main__":
    recorded(main, peers=("python-crfsuite",))
