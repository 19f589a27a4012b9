"""Gold links of the same kind as the text: error rates of held-out pairs, over several shuffles of folds.

    python benchmarks/alignment_folds.py [--languages it nl hu] [--lines 20000] [--shuffles 3] [--called NAME]

XL-WA's dev parts (103 to 105 pairs) in ten folds, so that a model learns from about 94 pairs of the dev part.
Statistics are of the train and dev text. Hansards: the 200 pairs in five folds, so that it learns from 160;
statistics are of the lines of the bitext and of the 200 pairs. Beside these stands the rule without gold
links.

`--called` says which library it is, to run an earlier one (its folder in PYTHONPATH) beside this one.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from typing import Any

import numpy as np
from alignment_sizes import xlwa
from alignment_statistics import bitext_pairs, gold_links, gold_pairs
from common import machine, note, recorded

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.links import Links
from structlearn.alignment.metrics import alignment_scores


def held_out(rule: Aligner, pairs: list[Any], links: list[Links], n_folds: int, seed: int) -> float:
    """Error rate of all pairs, each predicted by a model of the other folds; their text is known to it."""
    order = np.random.default_rng(seed).permutation(len(pairs))
    found: dict[int, Any] = {}
    for fold in np.array_split(order, n_folds):
        rest = np.setdiff1d(order, fold)
        test = [pairs[k] for k in fold]
        taught = Aligner(random_state=0)
        taught.fit([pairs[k] for k in rest], [links[k] for k in rest], test, statistics=rule.statistics_)
        found |= zip(fold.tolist(), taught.predict(test))
    return alignment_scores(links, [found[k] for k in range(len(pairs))]).aer


def compare(
    name: str, text: list[Any], pairs: list[Any], links: list[Links], folds: int, shuffles: int
) -> None:
    rule = Aligner(random_state=0).fit([], None, text)
    without = alignment_scores(links, rule.predict(pairs)).aer
    begin = time.process_time()
    rates = []
    for seed in range(shuffles):
        rates.append(held_out(rule, pairs, links, folds, seed))
        print(f"  {name}, shuffle {seed}: without gold {without:.2%}, with {rates[-1]:.2%}", flush=True)
    seconds = (time.process_time() - begin) / (folds * shuffles)
    learned = len(pairs) - len(pairs) // folds
    note(
        what=f"{name}, about {learned} gold pairs",
        without_gold=without,
        with_gold=float(np.mean(rates)),
        least=min(rates),
        most=max(rates),
        shuffles=shuffles,
    )
    shown = ", ".join(f"{one:.2%}" for one in rates)
    print(
        f"{name}: without gold {without:.2%}, with {np.mean(rates):.2%} ({shown}), {seconds:.1f} s CPU a fit",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--languages", nargs="*", default=["it", "nl", "hu"])
    parser.add_argument("--lines", type=int, nargs="*", default=[20_000])
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--called", default="", help="a name of the library that is measured")
    arguments = parser.parse_args()
    called = f"{arguments.called}: " if arguments.called else ""
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    for language in arguments.languages:
        train, dev = xlwa(language, "train"), xlwa(language, "dev")
        compare(f"{called}{language}, dev", [*train[0], *dev[0]], *dev, 10, arguments.shuffles)
    pairs, links = gold_pairs("train"), [Links.of(*one) for one in gold_links("train")]
    for n in arguments.lines:
        text = list(islice((pair for pair in bitext_pairs() if pair[0] and pair[1]), n))
        name = f"{called}Hansards, {n} lines"
        compare(name, [*pairs, *text], pairs, links, 5, arguments.shuffles)


if __name__ == "__main__":
    recorded(main)
