"""Cleaning by scores: how many mismatched pairs are found, and whether the precision is what was promised.

    python benchmarks/alignment_cleaning.py [--pairs N,N] [--text hansards|parallel] [--skip N]

Of the first N pairs of the text, after those that are skipped, a tenth get the target of another pair: a
third of them that of a random pair, a third the next line's, a third that of a pair whose target is as long.
Statistics are trained on all of it, as `align clean --score` does it without a model. No label is used. A
pair whose new target is the same as its own counts as right. The pairs of the text itself all count as right,
though some are not.

found: share of mismatched pairs below the score that keeps 99% of the others; found_0.98: 98%. Precision:
asked for, and reached. Twenty of the text's own pairs below the score go to stderr, to see what they are.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
from itertools import islice

import numpy as np
from alignment_statistics import bitext_pairs
from common import DATA, machine, note, recorded
from scipy.stats import rankdata

from structlearn import Aligner
from structlearn.alignment.uses.quality import PairQuality, cut_by_precision, text_with_mismatched

PARALLEL = DATA / "parallel"
KINDS = ("random", "next line", "same length")


def parallel_pairs():
    with (
        gzip.open(PARALLEL / "train.norm.en.gz", "rt") as left,
        gzip.open(PARALLEL / "train.norm.fr.gz", "rt") as right,
    ):
        for one, other in zip(left, right):
            yield one.split(), other.split()


TEXTS = {"hansards": bitext_pairs, "parallel": parallel_pairs}


def spoil(pairs, rng):
    """Return the pairs with a tenth of them mismatched; the kind of each, 0 for those that are right."""
    n = len(pairs)
    kinds, spoilt = np.zeros(n, dtype=int), list(pairs)
    by_length = {}
    for k, (_, target) in enumerate(pairs):
        by_length.setdefault(len(target), []).append(k)
    for place, k in enumerate(np.sort(rng.choice(n - 1, n // 10, replace=False)).tolist()):
        source, target = pairs[k]
        kind = place % 3
        other = (int(rng.integers(n)), k + 1, int(rng.choice(by_length[len(target)])))[kind]
        if pairs[other][1] != target:
            spoilt[k], kinds[k] = (source, pairs[other][1]), kind + 1
    return spoilt, kinds


def auc(good, bad):
    ranks = rankdata(np.concatenate([good, bad]))[: len(good)]
    return (ranks.sum() - len(good) * (len(good) + 1) / 2) / len(good) / len(bad)


def measure(name, n, skip):
    pairs = list(islice((pair for pair in TEXTS[name]() if pair[0] and pair[1]), skip, skip + n))
    text, kinds = spoil(pairs, np.random.default_rng(0))
    begin = time.process_time()
    aligner = Aligner(random_state=0).fit([], None, text_with_mismatched(text))
    trained = time.process_time()
    quality = PairQuality.fit(aligner, text, own=True)
    calibrated = time.process_time()
    z = quality.log_odds(text)
    ended = time.process_time()
    good, bad = z[kinds == 0], z[kinds > 0]
    cut = np.quantile(good, 0.01)
    found = [(z[kinds == k] < cut).mean() for k in (1, 2, 3)]
    used = {
        "auc": auc(good, bad),
        "found": (bad < cut).mean(),
        "found_0.98": (bad < np.quantile(good, 0.02)).mean(),
        "expected_share": quality.share_bad,
        "true_share": len(bad) / len(z),
    }
    for asked in (0.95, 0.99, 0.999):
        kept = z >= cut_by_precision(z, asked)
        used |= {f"precision_{asked}": (kinds[kept] == 0).mean(), f"kept_{asked}": kept[kinds == 0].mean()}
    note(
        what=f"{name}, {n} pairs" + f" after {skip}" * (skip > 0),
        **used,
        score_us=1e6 * (ended - calibrated) / n,
    )
    print(f"{name}, {n:,} pairs: " + ", ".join(f"{key} {value:.4f}" for key, value in used.items()))
    print("  found: " + ", ".join(f"{kind} {one:.3f}" for kind, one in zip(KINDS, found)))
    cpu = trained - begin, calibrated - trained, ended - calibrated
    print("  CPU: training {:.1f} s, calibration {:.1f} s, scores {:.1f} s".format(*cpu), flush=True)
    low = np.flatnonzero((kinds == 0) & (z < cut))
    for k in low[:: max(1, len(low) // 20)][:20].tolist():
        print(f"    {z[k]:.1f} {' '.join(text[k][0])} ||| {' '.join(text[k][1])}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", default="20000,100000")
    parser.add_argument("--skip", type=int, default=0, help="so many pairs of the text are passed over")
    parser.add_argument("--text", default="hansards", choices=TEXTS)
    arguments = parser.parse_args()
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    for n in arguments.pairs.split(","):
        measure(arguments.text, int(n), arguments.skip)


if __name__ == "__main__":
    recorded(main)
