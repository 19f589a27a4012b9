"""Word alignment with little text: AER of Italian, Dutch and Hungarian, and of cuts of the Hansards.

    python benchmarks/alignment_sizes.py [--eflomal COMMAND] [--sizes 300 1000 ...] [--only xlwa|hansards]
    python benchmarks/alignment_sizes.py --draw docs/images/alignment-sizes.png

XL-WA: statistics of the text of train and dev, scored on dev, without gold links and with those of train.
Hansards: statistics of so many lines, the gold text among them, scored on the 200 pairs without gold links.
`--eflomal` names an `eflomal-align` for the same text; the best of four ways to join its directions is shown.
Error rates go into `alignment_sizes.tsv` beside this file; what is not measured stays. `--draw` draws it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import subprocess
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from alignment_statistics import bitext_pairs, gold_links, gold_pairs, read_links
from common import DATA, machine, note, recorded

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.links import Links
from structlearn.alignment.metrics import alignment_scores
from structlearn.alignment.symmetrize import grow_diag, grow_diag_final_and, intersection, union
from structlearn.reports.plots import COLOURS, MARKERS, new_figure, save_figure

TABLE = Path(__file__).with_suffix(".tsv")
COLUMNS = ("text", "lines", "without gold", "with gold", "eflomal")
WAYS = (intersection, union, grow_diag, grow_diag_final_and)


def xlwa(language: str, part: str) -> tuple[list[Any], list[Links]]:
    with gzip.open(DATA / "xlwa" / f"en-{language}.{part}.tsv.gz", "rt") as file:
        rows = [line.rstrip("\n").lower().split("\t") for line in file]
    links = [Links.of(tuple(map(int, one.split("-"))) for one in row[2].split()) for row in rows]
    return [(row[0].split(), row[1].split()) for row in rows], links


def eflomal(command: str, text: list[Any], links: list[Links]) -> float:
    """Its best error rate on the first pairs of the text."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("e", "f", "forward", "reverse")]
        for k in (0, 1):
            paths[k].write_text("".join(f"{' '.join(pair[k])}\n" for pair in text))
        options = [part for pair in zip(("-s", "-t", "-f", "-r"), paths) for part in pair]
        subprocess.run([command, *options, "--overwrite"], check=True, stderr=subprocess.DEVNULL)
        both = list(zip(*(read_links(path)[: len(links)] for path in paths[2:])))
    return min(alignment_scores(links, [way(*one) for one in both]).aer for way in WAYS)


def row(name: str, text: list[Any], links: list[Links], gold: Any, command: str | None) -> None:
    """One line; the scored pairs come first in the text."""
    begin = time.process_time()
    rule = Aligner(random_state=0).fit([], None, text)
    asked = text[: len(links)]
    rates = {"without gold": alignment_scores(links, rule.predict(asked)).aer}
    if gold is not None:
        taught = Aligner(random_state=0).fit(*gold, statistics=rule.statistics_)
        rates["with gold"] = alignment_scores(links, taught.predict(asked)).aer
    seconds = time.process_time() - begin
    if command:
        rates["eflomal"] = eflomal(command, text, links)
    told = ", ".join(f"{kind} {rate:.1%}" for kind, rate in rates.items())
    note(what=f"{name}, {len(text)} pairs", **rates, cpu_seconds=seconds)
    print(f"{name}, {len(text):,} pairs: {told}; {seconds:.1f} s CPU", flush=True)
    enter(name, len(text), {kind: f"{100 * rate:.2f}" for kind, rate in rates.items()})


def read_table() -> list[dict[str, str]]:
    if not TABLE.is_file():
        return []
    with open(TABLE, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def enter(name: str, lines: int, rates: dict[str, str]) -> None:
    """Put error rates, in percent, into the table."""
    rows = {(one["text"], int(one["lines"])): one for one in read_table()}
    rows.setdefault((name, lines), {"text": name, "lines": str(lines)}).update(rates)
    with open(TABLE, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))


def draw(path: str) -> None:
    """Error rates of the Hansards against lines of text."""
    rows = [one for one in read_table() if one["text"] == "hansards"]
    figure = new_figure(7, 4)
    axes = figure.subplots()
    for k, (column, label) in enumerate(
        (("without gold", "structlearn, no gold links"), ("eflomal", "eflomal"))
    ):
        points = [(int(one["lines"]), float(one[column])) for one in rows if one[column]]
        axes.plot(*zip(*points), marker=MARKERS[k], color=COLOURS[k], label=label)
        for lines, rate in points:
            axes.annotate(f"{rate:.1f}", (lines, rate), (0, 6), textcoords="offset points", ha="center")
    axes.set(xscale="log", xlabel="lines of text", ylabel="alignment error rate, percent")
    axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
    sizes = [int(one["lines"]) for one in rows]
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_title("English-French Hansards, 200 pairs")
    axes.legend()
    save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eflomal", metavar="COMMAND", help="the eflomal-align to compare with")
    parser.add_argument("--sizes", type=int, nargs="*", default=[300, 1000, 3000, 20_000, 100_000, 359_795])
    parser.add_argument("--only", choices=["xlwa", "hansards"], help="one of them")
    parser.add_argument("--draw", metavar="FILE", help="draw the table")
    arguments = parser.parse_args()
    if arguments.draw:
        draw(arguments.draw)
        return
    print(machine())
    if arguments.only != "hansards":
        languages(arguments.eflomal)
    if arguments.only != "xlwa":
        hansards(arguments.sizes, arguments.eflomal)


def languages(command: str | None) -> None:
    for language in ("it", "nl", "hu"):
        (train, known), (dev, links) = xlwa(language, "train"), xlwa(language, "dev")
        row(language, [*dev, *train], links, (train, known), command)


def hansards(sizes: list[int], command: str | None) -> None:
    gold, links = gold_pairs("train"), [Links.of(sure, possible) for sure, possible in gold_links("train")]
    for size in sizes:
        more = (pair for pair in bitext_pairs() if pair[0] and pair[1])
        text = [*gold, *islice(more, max(0, size - len(gold)))]
        row("hansards", text, links, None, command)


if __name__ == "__main__":
    recorded(main)
