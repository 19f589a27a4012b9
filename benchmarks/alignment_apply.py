"""`align apply`: how long it takes to start, and pairs a second, from files to a file; processor time.

    python benchmarks/alignment_apply.py [MODEL]

Needs the Hansards. Without a model one is trained on all of the bitext first. Each figure is of processes of
their own, the least of three: one pair, 500 pairs and 20,000 pairs, with scores; the rate is that of the
difference of the last two. Then `Aligner.align` in this process on 5,000 pairs, with scores and without.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from alignment_statistics import bitext_pairs
from common import machine, note, recorded

from structlearn.alignment.aligner import Aligner

PROGRAM = "from structlearn.cli import main; main()"
SIZES = (1, 500, 20_000)


def cpu_seconds(arguments: list[str]) -> float:
    """Of a child, its own and the system's."""
    before = os.times()
    subprocess.run([sys.executable, "-c", PROGRAM, *arguments], check=True, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def shell(model: Path, pairs: list[Any], folder: Path) -> None:
    seconds = []
    for n in SIZES:
        for side, name in enumerate("ef"):
            (folder / name).write_text("".join(f"{' '.join(pair[side])}\n" for pair in pairs[:n]))
        files = ["--src", str(folder / "e"), "--tgt", str(folder / "f"), "--out", str(folder / "links")]
        seconds.append(min(cpu_seconds(["align", "apply", str(model), *files, "--scores"]) for _ in range(3)))
    rate = (SIZES[2] - SIZES[1]) / (seconds[2] - seconds[1])
    note(what="align apply --scores", cpu_seconds=seconds[0], pairs_per_second=rate)
    print(f"align apply --scores: start {seconds[0]:.2f} s, then {rate:,.0f} pairs/s", flush=True)


def library(model: Path, pairs: list[Any]) -> None:
    aligner = Aligner.load(model)
    for scores in (False, True):
        seconds = []
        for _ in range(4):
            begin = time.process_time()
            for _ in aligner.align(pairs, scores=scores):
                pass
            seconds.append(time.process_time() - begin)
        note(what=f"Aligner.align, scores={scores}", pairs_per_second=len(pairs) / min(seconds))
        print(f"Aligner.align, scores={scores}: {len(pairs) / min(seconds):,.0f} pairs/s", flush=True)


def main() -> None:
    print(machine())
    pairs = [pair for pair in islice(bitext_pairs(), SIZES[2] + 1000) if pair[0] and pair[1]]
    words = sum(len(pair[0]) for pair in pairs) / len(pairs)
    print(f"{words:.1f} source words a pair")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "model"
        if len(sys.argv) == 1:
            Aligner().fit([], None, bitext_pairs()).save(model)
        shell(model, pairs, folder)
        library(model, pairs[:5000])


if __name__ == "__main__":
    recorded(main)
