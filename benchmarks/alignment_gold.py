"""Learning from gold links: processor time by the length of the gold pairs.

    python benchmarks/alignment_gold.py [--languages it hu]
    python benchmarks/alignment_gold.py --learners [--languages it nl hu] [--seeds 3]

XL-WA's train parts: 200 pairs cut to 25 words, and 12 pairs of 150 words and more, made of lines one after
another. Statistics are of all lines, and made before.

`--learners`: error rates by the loss. XL-WA: of 300 other pairs of the train part, and of the dev part (which
is translated more freely), without gold links and with 20 and 100 pairs of the train part. Hansards: of other
pairs of the 200, with statistics of 20,000 lines. "said" is what cross-validation says of pairs of the same
kind. The hinge has lambda 1 and a missed link costs 4, which is about the best for it.

`--printed`: what training prints as its error, beside the error of pairs that are held out in five folds: as
new pairs, and as a part of the text. Hansards with 300, 2,000 and 20,000 lines of text.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from alignment_sizes import xlwa
from alignment_statistics import bitext_pairs, gold_links, gold_pairs
from common import machine, note, recorded

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.links import Links
from structlearn.alignment.metrics import alignment_scores

Pair = tuple[list[str], list[str], list[Any]]


def joined(pairs: list[Any], links: list[Links], least: int) -> Iterator[Pair]:
    """Lines one after another, until a side has so many words."""
    source: list[str] = []
    target: list[str] = []
    known: list[Any] = []
    for (e, f), one in zip(pairs, links):
        known += [(i + len(source), j + len(target)) for i, j in one.sure]
        source, target = source + e, target + f
        if max(len(source), len(target)) >= least:
            yield source, target, known
            source, target, known = [], [], []


def cut(pair: Pair, length: int) -> Pair:
    source, target, known = pair
    return source[:length], target[:length], [link for link in known if max(link) < length]


LEARNERS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "hinge": {"loss": "hinge", "regularization": 1.0, "missed": 4.0},
}


def compare_learners(languages: list[str], seeds: int) -> None:
    for language in languages:
        train, dev = xlwa(language, "train"), xlwa(language, "dev")
        rule = Aligner(random_state=0).fit([], None, [*train[0], *dev[0]])
        note(what=f"{language}, dev, without gold", aer=error_rate(rule, *dev))
        print(f"{language}: without gold, dev {error_rate(rule, *dev):.2%}", flush=True)
        for n in (20, 100):
            compare(language, rule, train, n, seeds, dev)
    gold = gold_pairs("train"), [Links.of(*one) for one in gold_links("train")]
    more = islice((pair for pair in bitext_pairs() if pair[0] and pair[1]), 20_000)
    rule = Aligner(random_state=0).fit([], None, [*gold[0], *more])
    for n in (20, 100, 160):
        compare("fr", rule, gold, n, 2 * seeds)


def compare(name: str, rule: Aligner, gold: Any, n: int, seeds: int, dev: Any = None) -> None:
    """Train each learner on n pairs chosen by each seed."""
    for learner, parameters in LEARNERS.items():
        rates: dict[str, list[float]] = {}
        for seed in range(seeds):
            order = np.random.default_rng(100 + seed).permutation(len(gold[0]))
            known, others = (
                tuple([one[k] for k in part] for one in gold) for part in (order[:n], order[n:][:300])
            )
            for kind, test in (("same kind", others), ("dev", dev)):
                if test is None:
                    continue
                taught = Aligner(random_state=0, **parameters)
                taught.fit(*known, test[0], statistics=rule.statistics_)
                rates.setdefault(kind, []).append(error_rate(taught, *test))
                rates.setdefault(f"{kind}, rule", []).append(error_rate(rule, *test))
            if taught.aer_ is not None:
                rates.setdefault("said", []).append(taught.aer_)
        means = {kind: float(np.mean(found)) for kind, found in rates.items()}
        note(what=f"{name}, {n} gold pairs, {learner}", **means)
        print(
            f"{name}, {n} gold pairs, {learner}: {', '.join(f'{k} {v:.2%}' for k, v in means.items())}",
            flush=True,
        )


def compare_printed(sizes: Sequence[int] = (300, 2000, 20_000)) -> None:
    """Fit on four fifths of the gold pairs, with text that has the others and with text that has not."""
    pairs, links = gold_pairs("train"), [Links.of(*one) for one in gold_links("train")]
    text = list(islice((pair for pair in bitext_pairs() if pair[0] and pair[1]), max(sizes)))
    parts = np.array_split(np.random.default_rng(0).permutation(len(pairs)), 5)
    for n in sizes:
        for kind in ("new", "text"):
            printed, found = [], {}
            for part in parts:
                rest = np.setdiff1d(range(len(pairs)), part)
                held_out = [pairs[k] for k in part]
                more = [*text[:n], *(held_out if kind == "text" else ())]
                aligner = Aligner(random_state=0)
                aligner.fit([pairs[k] for k in rest], [links[k] for k in rest], more)
                printed.append(aligner.aer_ if kind == "new" else aligner.text_aer_)
                found |= zip(part, aligner.predict(held_out))
            held_out_aer = alignment_scores(links, [found[k] for k in range(len(pairs))]).aer
            said = [one for one in printed if one is not None]
            mean = float(np.mean(said)) if said else None
            note(what=f"{n} lines, held-out pairs: {kind}", printed=mean, held_out=held_out_aer)
            shown = "nothing" if mean is None else f"{mean:.2%}"
            print(f"{n} lines, {kind}: printed {shown}, held out {held_out_aer:.2%}", flush=True)


def error_rate(aligner: Aligner, pairs: list[Any], links: list[Links]) -> float:
    return alignment_scores(links, aligner.predict(pairs)).aer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--languages", nargs="+", default=["it"])
    parser.add_argument("--printed", action="store_true", help="the error that training prints")
    parser.add_argument("--learners", action="store_true", help="error rates by the loss")
    parser.add_argument(
        "--seeds", type=int, default=3, help="choices of gold pairs; twice as many for French"
    )
    arguments = parser.parse_args()
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    if arguments.printed:
        compare_printed()
        return
    if arguments.learners:
        compare_learners(arguments.languages, arguments.seeds)
        return
    for language in arguments.languages:
        gold = xlwa(language, "train")
        rule = Aligner(random_state=0).fit(gold[0])
        short, long = list(joined(*gold, 25))[:200], list(joined(*gold, 150))[:12]
        Aligner(random_state=0).fit(gold[0][:10], gold[1][:10])  # compiles
        for found in ([cut(pair, 25) for pair in short], long):
            pairs, links = [one[:2] for one in found], [Links.of(one[2]) for one in found]
            lengths = [max(map(len, pair)) for pair in pairs]
            begin = time.process_time()
            taught = Aligner(random_state=0).fit(pairs, links, statistics=rule.statistics_)
            seconds = time.process_time() - begin
            size = f"{len(pairs)} pairs of {min(lengths)} to {max(lengths)} words"
            note(what=f"{language}: {size}", cpu_seconds=seconds, aer=taught.aer_)
            print(f"{language}: {size}: {seconds:.1f} s CPU, AER in cross-validation {taught.aer_:.2%}")


if __name__ == "__main__":
    recorded(main)
