"""Learning from gold links: processor time by the length of the gold pairs.

    python benchmarks/alignment_gold.py [--languages it hu]

XL-WA's train parts: 200 pairs cut to 25 words, and 12 pairs of 150 words and more, made of lines one after
another. Statistics are of all lines, and made before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

from alignment_sizes import xlwa
from common import machine, note, recorded

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.links import Links

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--languages", nargs="+", default=["it"])
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    for language in parser.parse_args().languages:
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
