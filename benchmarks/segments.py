"""Segments beside a chain on the same features: what a pass takes, and F1 of spans.

python benchmarks/segments.py [conll2000|conll2002] [--max-length 8] [--passes 3] [--train] [--whole]

A pass is one of the default solver of the CRF, over all sentences; seconds are of the processor, the
difference of runs of more passes and of 1, so that what is done once does not count. --train trains both to
the gap of the shell's default and scores them on the held-out file. --whole gives segments the features of
`train --model segments`, phrase, shape and types elsewhere, and both the defaults of `ner` for names.
"""

from __future__ import annotations

import argparse
import time
import warnings

from common import DATA, machine, note, recorded

from structlearn.data import Tokens, read_tokens, split_rows
from structlearn.estimators import ChainClassifier, SegmentTagger
from structlearn.estimators.inputs.spans import spans
from structlearn.tagging import Tagger, span_scores

BENCH = [["conll2000"], ["conll2002"]]

FILES = {"conll2000": ("train.txt.gz", "test.txt.gz"), "conll2002": ("esp.train.gz", "esp.testa.gz")}


def read(data, name, columns):
    tokens = read_tokens(DATA / data / name)
    names = list(tokens.columns)
    labels = split_rows(tokens.column(names[-1]).cells, tokens.lengths)
    return Tokens(tokens.columns, tokens.lengths, dict(zip(columns, names))), labels


def short(y, most):
    """Which sentences have no longer span: the others are left out of the comparison of passes."""
    return [i for i, tags in enumerate(y) if all(b - a <= most for _, a, b in spans(tags.tolist()))]


def sentences(tokens, columns, kept):
    """Some sentences of a text, as lists of words or of tuples."""
    cells = [split_rows(tokens.column(name).cells, tokens.lengths) for name in columns]
    if len(columns) == 1:
        return [cells[0][i].tolist() for i in kept]
    return [list(zip(*(column[i].tolist() for column in cells))) for i in kept]


def seconds_of_a_pass(make, X, y, passes):
    def run(n):
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(max_passes=n, tol=0.0, loss="softmax", random_state=0, regularization=1 / len(y)).fit(X, y)
        return time.process_time() - begin

    run(1)  # kernels
    return (min(run(1 + passes) for _ in range(2)) - min(run(1) for _ in range(2))) / passes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default="conll2002", choices=FILES)
    parser.add_argument("--max-length", type=int, default=8)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--whole", action="store_true")
    given = parser.parse_args()
    columns = ("word", "pos") if given.data == "conll2000" else ("word",)
    train, test = (read(given.data, name, columns) for name in FILES[given.data])
    print(machine(), given.data)
    task = "ner" if given.whole and given.data == "conll2002" else "tag"
    tagger = Tagger(columns=columns, task=task, model="segments" if given.whole else "chain")
    whole = {"segment_features": "text"} if given.whole else {}
    if given.train:
        rows = tagger.fit_features(*train)
        for kind, own in ((ChainClassifier, {}), (SegmentTagger, whole)):
            begin = time.process_time()
            model = kind(loss="softmax", regularization=1 / len(rows), tol=0.01, random_state=0, **own).fit(
                rows, train[1]
            )
            spent = time.process_time() - begin
            found = model.predict(tagger.rows(test[0]))
            f1 = span_scores([y.tolist() for y in test[1]], [y.tolist() for y in found])["all"].f1
            note(what=kind.__name__, f1=f1, cpu_seconds=spent, passes=model.certificate_.passes)
            print(
                f"{kind.__name__}: F1 {100 * f1:.2f}, {spent:.1f} s, {model.certificate_.passes:.0f} passes"
            )
        return
    kept = short(train[1], given.max_length)
    y = [train[1][i] for i in kept]
    X = tagger.fit_features(sentences(train[0], columns, kept), y)
    chain = seconds_of_a_pass(ChainClassifier, X, y, given.passes)
    segments = seconds_of_a_pass(
        lambda **options: SegmentTagger(max_length=given.max_length, **whole, **options), X, y, given.passes
    )
    note(what="a pass", chain_seconds=chain, segments_seconds=segments, ratio=segments / chain)
    print(
        f"a pass: chain {chain:.2f} s, segments of up to {given.max_length} {segments:.2f} s: "
        f"{segments / chain:.2f}"
    )


if __name__ == "__main__":
    recorded(main)
