"""Small models: chunking of CoNLL-2000 with the elastic net, beside CRFsuite's c1 and c2.

python benchmarks/elastic_net.py [--choose] [--peer ITERATIONS]

With --choose, strengths are compared on a fifth of the training sentences after training on the others, and
the test file is not looked at; without, the chosen ones are trained on all of them. CRFsuite runs its OWL-QN
on the same features with c1 = c2 = 0.1 and as many iterations: seconds of the processor to each objective.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import numpy as np
from chunking import f1, items, read
from common import machine, note, recorded

from structlearn.data import Tokens
from structlearn.tagging import Tagger

#: c1 and c2 of CRFsuite; the first is its usual l2 alone
GRID = ((0.0, 0.5), (0.1, 0.1), (0.2, 0.1), (0.5, 0.1), (0.5, 0.25), (1.0, 0.1), (2.0, 0.1))


def fitted(train, c1, c2, **options):
    """A tagger with these strengths, the seconds of its training, and (seconds, P) of each evaluation."""
    X, y = train
    n, trace, begin = len(X), [], time.process_time()
    options["callback"] = lambda row: trace.append((time.process_time() - begin, row.primal))
    tagger = Tagger(
        columns=("word", "pos"),
        penalty="elasticnet" if c1 else "l2",
        regularization=(c1 + 2 * c2) / n,
        l1_ratio=c1 / (c1 + 2 * c2),
        random_state=0,
        chain_options=options,
    ).fit(X, y)
    return tagger, time.process_time() - begin, trace


def row(train, test, c1, c2):
    """One line of the table."""
    tagger, seconds, trace = fitted(train, c1, c2)
    w, found = tagger.chain_.weights_, tagger.certificate_
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        tagger.save(path)
        size = os.path.getsize(path) / 1e6
    scored = 100 * f1(test[1], tagger.predict(test[0]))
    nonzero = np.count_nonzero(w)
    note(
        what=f"c1 {c1:g}, c2 {c2:g}",
        f1=scored,
        nonzero=nonzero,
        primal=found.primal,
        gap=found.gap,
        cpu_seconds=seconds,
    )
    print(
        f"| {c1:g} | {c2:g} | {scored:.2f} | {nonzero:,} | {found.primal:.4f} | "
        f"{found.gap:.4f} | {found.passes:.0f} | {seconds:.1f} | {size:.1f} |",
        flush=True,
    )
    return tagger, trace


def held_out(X, y):
    """Every fifth sentence apart."""
    apart = np.arange(len(X)) % 5 == 0
    return [(chosen(X, which), [one for one, w in zip(y, which) if w]) for which in (~apart, apart)]


def chosen(X, which):
    words = [X.column(name).cells for name in ("word", "pos")]
    ends = np.cumsum(X.lengths)
    spans = [(a, b) for a, b, w in zip(ends - X.lengths, ends, which) if w]
    return Tokens.from_sentences([list(zip(*(one[a:b] for one in words))) for a, b in spans], ("word", "pos"))


def peer(tagger, train, test, limit):
    """CRFsuite with c1 = c2 = 0.1, weights for seen pairs alone: seconds, P and non-zeros by iteration."""
    import pycrfsuite

    class Trainer(pycrfsuite.Trainer):
        trace: list

        def message(self, message):
            name, _, value = message.partition(": ")
            if message.startswith("***** Iteration"):
                self.trace.append([time.process_time()])
            elif name in ("Loss", "Active features") and self.trace:
                self.trace[-1].append(float(value))

    (X, y), (X_test, y_test) = train, test
    trainer = Trainer(verbose=True)
    trainer.trace = []
    for one, labels in zip(items(tagger, X), y):
        trainer.append(one, labels.tolist())
    trainer.set_params({"c1": 0.1, "c2": 0.1, "feature.possible_transitions": True, "max_iterations": limit})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "crf")
        begin = time.process_time()
        trainer.train(path)
        seconds = time.process_time() - begin
        model = pycrfsuite.Tagger()
        model.open(path)
        scored = 100 * f1(y_test, [model.tag(one) for one in items(tagger, X_test)])
        size = os.path.getsize(path) / 1e6
    trace = [(at - begin, loss / len(X), int(count)) for at, loss, count in trainer.trace]
    what = f"python-crfsuite, {len(trace)} iterations"
    note(what=what, f1=scored, nonzero=trace[-1][2], primal=trace[-1][1], cpu_seconds=seconds)
    print(
        f"crfsuite, {len(trace)} iterations: P {trace[-1][1]:.4f}, F1 {scored:.2f}, "
        f"{trace[-1][2]:,} non-zero, {seconds:.1f} s, {size:.1f} MB",
        flush=True,
    )
    return trace


def compare(ours, theirs):
    """Seconds to the same objective values."""
    for _, aim, *_ in [theirs[k] for k in range(9, len(theirs), 10)] + [theirs[-1]]:
        here = next((seconds for seconds, value in ours if value <= aim), np.nan)
        there = next(seconds for seconds, value, _ in theirs if value <= aim)
        print(f"P <= {aim:.4f}: structlearn {here:.1f} s, crfsuite {there:.1f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--peer", type=int, default=0)
    asked = parser.parse_args()
    print(f"# Elastic net on CoNLL-2000\n# {machine()}, {time.strftime('%Y-%m-%d')}")
    train, test = read("train"), read("test")
    if asked.choose:
        train, test = held_out(*train)
    fitted(train, 0.1, 0.1, max_passes=1, max_seconds=1e-9)  # compiles
    print(
        "| c1 | c2 | F1 | non-zero weights | objective | gap | passes | seconds | MB |\n" + "|---" * 9 + "|"
    )
    for c1, c2 in GRID:
        tagger, trace = row(train, test, c1, c2)
        if (c1, c2) == (0.1, 0.1):
            compared = tagger, trace
    if asked.peer:
        compare(compared[1], peer(compared[0], train, test, asked.peer))


if __name__ == "__main__":
    recorded(main, peers=("python-crfsuite",))
