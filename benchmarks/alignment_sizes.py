"""Word alignment with little text: AER of Italian, Dutch and Hungarian, and of cuts of the Hansards.

    python benchmarks/alignment_sizes.py [--eflomal COMMAND] [--sizes 300 1000 ...]

XL-WA: statistics of the text of train and dev, scored on dev, without gold links and with those of train.
Hansards: statistics of so many lines, the gold text among them, scored on the 200 pairs without gold links.
`--eflomal` names an `eflomal-align` for the same text; the best of four ways to join its directions is shown.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from alignment_statistics import bitext_pairs, gold_links, gold_pairs, read_links
from common import DATA, machine

from structlearn.apps.alignment.aligner import Aligner
from structlearn.apps.alignment.links import Links
from structlearn.apps.alignment.metrics import alignment_scores
from structlearn.apps.alignment.symmetrize import grow_diag, grow_diag_final_and, intersection, union

WAYS = (intersection, union, grow_diag, grow_diag_final_and)


def xlwa(language: str, part: str) -> tuple[list[Any], list[Links]]:
    with gzip.open(DATA / "xlwa" / f"en-{language}.{part}.tsv.gz", "rt") as file:
        rows = [line.rstrip("\n").lower().split("\t") for line in file]
    links = [Links.of(tuple(map(int, one.split("-"))) for one in row[2].split()) for row in rows]
    return [(row[0].split(), row[1].split()) for row in rows], links


def eflomal(command: str, text: list[Any], links: list[Links]) -> str:
    """Its best error rate on the first pairs of the text."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("e", "f", "forward", "reverse")]
        for k in (0, 1):
            paths[k].write_text("".join(f"{' '.join(pair[k])}\n" for pair in text))
        options = [part for pair in zip(("-s", "-t", "-f", "-r"), paths) for part in pair]
        subprocess.run([command, *options, "--overwrite"], check=True, stderr=subprocess.DEVNULL)
        both = list(zip(*(read_links(path)[: len(links)] for path in paths[2:])))
    rates = {way.__name__: alignment_scores(links, [way(*one) for one in both]).aer for way in WAYS}
    best = min(rates, key=lambda name: rates[name])
    return f"eflomal {rates[best]:.1%} ({best})"


def row(name: str, text: list[Any], links: list[Links], gold: Any, command: str | None) -> None:
    """One line; the scored pairs come first in the text."""
    begin = time.process_time()
    rule = Aligner(random_state=0).fit([], None, text)
    asked = text[: len(links)]
    told = [f"without gold {alignment_scores(links, rule.predict(asked)).aer:.1%}"]
    if gold is not None:
        taught = Aligner(random_state=0).fit(*gold, statistics=rule.statistics_)
        told.append(f"with gold {alignment_scores(links, taught.predict(asked)).aer:.1%}")
    told += [eflomal(command, text, links)] if command else []
    print(
        f"{name}, {len(text):,} pairs: {', '.join(told)}; {time.process_time() - begin:.1f} s CPU", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eflomal", metavar="COMMAND", help="the eflomal-align to compare with")
    parser.add_argument("--sizes", type=int, nargs="*", default=[300, 1000, 3000, 20_000, 100_000])
    arguments = parser.parse_args()
    print(machine())
    for language in ("it", "nl", "hu"):
        (train, known), (dev, links) = xlwa(language, "train"), xlwa(language, "dev")
        row(language, [*dev, *train], links, (train, known), arguments.eflomal)
    gold, links = gold_pairs("train"), [Links.of(sure, possible) for sure, possible in gold_links("train")]
    for size in arguments.sizes:
        more = (pair for pair in bitext_pairs() if pair[0] and pair[1])
        text = [*gold, *islice(more, max(0, size - len(gold)))]
        row("hansards", text, links, None, arguments.eflomal)


if __name__ == "__main__":
    main()
