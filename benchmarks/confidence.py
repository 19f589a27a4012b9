"""How sure a chunker of CoNLL-2000 is: speed of spans with probabilities, calibration, conformal sets.

python benchmarks/confidence.py

The training file is cut once, at random: a tenth for `calibrate`, a tenth for `conformalize`, the rest for
training with the defaults. The test file is only reported on. Its articles are others than those of the
training file; so a last figure deals out the sentences of both anew. Seconds are of the processor, of one
thread.
"""

from __future__ import annotations

import time

import numpy as np
from chunking import f1, read
from common import best_of, machine, note, recorded

from structlearn.tagging import Tagger

COVERAGES = (0.5, 0.8, 0.9, 0.95)


def cut(X, y, seed=0):
    """Sentences as lists of (word, tag), in three parts."""
    sentences, order = as_lists(X), np.random.default_rng(seed).permutation(len(y))
    n = len(y) // 10
    return [([sentences[i] for i in part], [y[i] for i in part]) for part in np.split(order, [n, 2 * n])]


def as_lists(X):
    words, tags = (X.column(name).cells.tolist() for name in ("word", "pos"))
    ends = X.lengths.cumsum().tolist()
    return [list(zip(words[b - n : b], tags[b - n : b])) for b, n in zip(ends, X.lengths.tolist())]


def speed(tagger, X):
    rows = tagger.rows(X)
    ways = {
        "predict": lambda: tagger.chain_.predict(rows),
        "spans with probabilities": lambda: tagger.chain_.predict_spans(rows),
        "the same from columns": lambda: tagger.predict_spans(X),
        "marginals": lambda: tagger.chain_.predict_marginals(rows),
    }
    for name, way in ways.items():
        rate = X.n_tokens / best_of(way, 5, time.process_time)
        note(what=name, tokens_per_second=rate)
        print(f"{name}: {rate:,.0f} tokens/s", flush=True)


def reliability(name, found):
    note(what=name, label_error=found.labels.error, span_error=found.spans.error)
    print(
        f"{name}: expected calibration error of labels {found.labels.error:.4f}, of spans "
        f"{found.spans.error:.4f}; mean log-likelihood of a sentence {found.log_likelihood:.3f} "
        f"({found.left_out} left out)",
        flush=True,
    )


def sets(tagger, X, y):
    for coverage in COVERAGES:
        begin = time.process_time()
        found = tagger.predict_sets(X, coverage)
        seconds = time.process_time() - begin
        sizes = [len(one) for one in found if one is not None]
        print(
            f"coverage {coverage}: {covered(found, y):.4f} on test; sets of {np.mean(sizes):.1f} in the "
            f"mean, {np.median(sizes):.0f} in the median, {np.max(sizes)} at most, {found.count(None)} too "
            f"large; {seconds:.1f} s",
            flush=True,
        )


def covered(found, y):
    """The share of sets that hold the true labelling; None holds it."""
    return np.mean([one is None or any(map(np.array_equal, one, [t] * len(one))) for one, t in zip(found, y)])


def mixed(tagger, conformal, test, splits=20, coverage=0.9):
    """Coverage where the sentences are exchangeable: conformal and test ones, dealt out anew."""
    X, y = [*conformal[0], *as_lists(test[0])], [*conformal[1], *test[1]]
    shares, n = [], len(conformal[1])
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(y))
        (X_a, y_a), (X_b, y_b) = (
            ([X[i] for i in part], [y[i] for i in part]) for part in np.split(order, [n])
        )
        shares.append(covered(tagger.conformalize(X_a, y_a).predict_sets(X_b, coverage), y_b))
    print(f"coverage {coverage}, the two dealt out anew {splits} times: {np.mean(shares):.4f} in the mean")


def main():
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    held_out, conformal, train = cut(*read("train"))
    X, y = read("test")
    tagger = Tagger(columns=("word", "pos"), random_state=0).fit(*train)
    right = np.mean([np.array_equal(a, b) for a, b in zip(tagger.predict(X), y)])
    print(f"{len(train[1])} sentences; F1 {100 * f1(y, tagger.predict(X)):.2f}, {right:.4f} all right")
    speed(tagger, X)
    reliability("test, before", tagger.reliability(X, y))
    begin = time.process_time()
    found = tagger.calibrate(*held_out)
    print(f"temperature {found.temperature:.3f}, {time.process_time() - begin:.1f} s")
    reliability("held out, before", found.before)
    reliability("held out, after", found.after)
    reliability("test, after", tagger.reliability(X, y))
    tagger.conformalize(*conformal)
    sets(tagger, X, y)
    mixed(tagger, conformal, (X, y))


if __name__ == "__main__":
    recorded(main)
