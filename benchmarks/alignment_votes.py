"""Votes: links of other aligners as features of gold learning, on other pairs of the Hansards.

    python benchmarks/alignment_votes.py [--lines 20000] [--eflomal COMMAND] [--seeds 2]

Statistics of some lines of the bitext, without the 200 pairs; gold links in five folds, the mean over seeds.
Voters: eflomal's two directions and their intersection, on the same lines and the pairs, if COMMAND is given;
our own aligner without gold links, trained on the other corpus (`parallel`, as many lines); and a made-up
good one, which has 95% of the sure links, a quarter of the possible ones and a few wrong ones. Each row has
the error rate of the votes alone, and that of the model that weighs them.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from alignment_statistics import bitext_pairs, gold_links, gold_pairs, read_links, text_pairs
from common import DATA, machine, note, recorded

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.links import Links
from structlearn.alignment.metrics import alignment_scores

Voter = Sequence[Any]


def lines(pairs: Any, n: int) -> list[Any]:
    return list(islice((pair for pair in pairs if pair[0] and pair[1] and max(map(len, pair)) <= 100), n))


def eflomal(command: str, pairs: list[Any], text: list[Any]) -> list[Voter]:
    """Links of the pairs in both directions; they come first in the text."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("e", "f", "forward", "reverse")]
        for k in (0, 1):
            paths[k].write_text("".join(f"{' '.join(pair[k])}\n" for pair in [*pairs, *text]))
        options = [part for pair in zip(("-s", "-t", "-f", "-r"), paths) for part in pair]
        subprocess.run([command, *options], check=True, stderr=subprocess.DEVNULL)
        return [read_links(path)[: len(pairs)] for path in paths[2:]]


def made_up(pairs: list[Any], links: list[Links]) -> Voter:
    rng = np.random.default_rng(0)
    found = []
    for (source, target), one in zip(pairs, links):
        m, n = len(source), len(target)
        votes = {link for link in sorted(one.sure) if rng.random() < 0.95}
        votes |= {link for link in sorted(one.possible - one.sure) if rng.random() < 0.25}
        wrong = range(rng.poisson(0.02 * (m + n)))
        found.append(votes | {(int(rng.integers(m)), int(rng.integers(n))) for _ in wrong})
    return found


def held_out_error(
    pairs: list[Any], links: list[Links], text: Aligner, voters: list[Voter], seeds: int
) -> float:
    """Each pair predicted by a model of four fifths of the others."""
    rates = []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(pairs))
        found: dict[int, Any] = {}
        for part in np.array_split(order, 5):
            rest = np.setdiff1d(order, part)
            aligner = Aligner(random_state=0)
            known = [[one[k] for k in rest] for one in (pairs, links)]
            votes = [[one[k] for k in rest] for one in voters]
            aligner.fit(*known, statistics=text.statistics_, votes=votes)
            held_out = [[one[k] for k in part] for one in voters]
            found |= zip(part, aligner.predict([pairs[k] for k in part], held_out))
        rates.append(alignment_scores(links, [found[k] for k in range(len(pairs))]).aer)
    return float(np.mean(rates))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--eflomal", metavar="COMMAND", help="an eflomal-align whose links are votes")
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    print(f"# {machine()}")
    pairs, links = gold_pairs("train"), [Links.of(*one) for one in gold_links("train")]
    text = lines(bitext_pairs(), arguments.lines)
    rule = Aligner(random_state=0).fit([], None, text)
    other = text_pairs(DATA / "parallel" / "train.norm.en.gz", DATA / "parallel" / "train.norm.fr.gz")
    ours = Aligner(random_state=0).fit([], None, lines(other, arguments.lines))
    voters: dict[str, list[Voter]] = {"no votes": [], "our aligner of other text": [ours.predict(pairs)]}
    if arguments.eflomal:
        both = eflomal(arguments.eflomal, pairs, text)
        voters["eflomal, two directions"] = both
        voters["eflomal, intersection"] = [[one & two for one, two in zip(*both)]]
    voters["made up, good"] = [made_up(pairs, links)]
    for name, given in voters.items():
        alone = [alignment_scores(links, voter).aer for voter in given]
        aer = held_out_error(pairs, links, rule, given, arguments.seeds)
        note(what=f"{arguments.lines} lines, {name}", aer=aer, votes_alone=min(alone, default=None))
        said = ", ".join(f"{one:.2%}" for one in alone) or "-"
        print(f"{name}: votes alone {said}, with gold links and votes {aer:.2%}", flush=True)


if __name__ == "__main__":
    recorded(main)
