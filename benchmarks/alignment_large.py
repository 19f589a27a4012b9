"""Millions of real-like pairs: time per pair, memory, two threads, and a killed run that goes on.

    python benchmarks/alignment_large.py [--pairs N,N,...] [--jobs N,N] [--memory SIZE] [--resume N]

The Hansards are read again and again. In each reading but the first, one word type in five of those that are
not frequent is another word (the same one in all of that reading, on the other side another one), and a third
of the lines lack one word on either side. So the vocabulary grows with the text, as it does in real text.

`--pairs` trains on so many pairs by `structlearn align train --memory SIZE`, in a process for each number of
threads. It is measured from outside: processor time, time by the clock, and peak resident memory.
`--resume` kills a run with a checkpoint after its second pass, goes on with `--resume`, and compares the
model with that of a run in one go.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
from alignment_statistics import bitext_pairs
from alignment_streaming import measured, structlearn
from common import machine, note, recorded

#: Types that are as frequent keep their form; the share of the others that change; lines that lose a word.
FREQUENT, CHANGED, SHORTENED = 1000, 0.2, 1 / 3
Side = list[str]


def changed(types: list[str], reading: int, side: int) -> dict[str, str]:
    """The types that are other words in this reading."""
    rng = np.random.default_rng([reading, side])
    chosen = np.flatnonzero(rng.random(len(types)) < CHANGED)
    return {types[k]: f"{types[k]}{'aeiouy'[reading % 6]}{reading}" for k in chosen.tolist()}


def real_like(n_pairs: int) -> Iterator[tuple[Side, Side]]:
    pairs = [pair for pair in bitext_pairs() if pair[0] and pair[1]]
    counts = [Counter(word for pair in pairs for word in pair[side]) for side in (0, 1)]
    types = [[word for word, n in one.items() if n < FREQUENT and word.isalpha()] for one in counts]
    left = n_pairs
    for reading in count():
        if left <= 0:
            return
        forms = [changed(types[side], reading, side) if reading else {} for side in (0, 1)]
        rng = np.random.default_rng([reading, 2])
        short = rng.random(len(pairs)) < (SHORTENED if reading else 0.0)
        places = rng.random((len(pairs), 2))
        for pair, is_short, place in zip(pairs[:left], short.tolist(), places.tolist()):
            sides = [[form.get(word, word) for word in words] for form, words in zip(forms, pair)]
            for side, at in zip(sides, place):
                if is_short and len(side) > 3:
                    del side[int(at * len(side))]
            yield sides[0], sides[1]
        left -= len(pairs)


def write(n_pairs: int, folder: Path) -> list[str]:
    """Write the text; return the options that name it."""
    paths = [folder / f"text.{side}.gz" for side in ("en", "fr")]
    with gzip.open(paths[0], "wt", 1) as left, gzip.open(paths[1], "wt", 1) as right:
        for source, target in real_like(n_pairs):
            left.write(" ".join(source) + "\n")
            right.write(" ".join(target) + "\n")
    return ["--src", str(paths[0]), "--tgt", str(paths[1])]


def digest(path: Path) -> str:
    """Of a model without its header, which has the number of threads."""
    with open(path, "rb") as file:
        file.seek(int.from_bytes(file.read(8), "little") + 8)
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def train(n_pairs: int, jobs: list[int], memory: str, folder: Path) -> None:
    sides = write(n_pairs, folder)
    found = set()
    for n_jobs in jobs:
        model = folder / f"model{n_jobs}"
        used = measured(
            structlearn("align", "train", *sides, "--memory", memory, "--jobs", n_jobs, "--out", model)
        )
        found.add(digest(model))
        note(
            what=f"{n_pairs} pairs, {memory}, {n_jobs} threads",
            cpu_us_per_pair=1e6 * used.cpu / n_pairs,
            cpu_seconds=used.cpu,
            wall_seconds=used.wall,
            peak_mb=used.peak,
        )
        print(f"  {n_jobs} threads: {used.by_pair(n_pairs)}, load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"  models of all numbers of threads are the same: {len(found) == 1}", flush=True)


def kill_and_resume(n_pairs: int, memory: str, folder: Path) -> None:
    sides = write(n_pairs, folder)
    command = ["align", "train", *sides, "--memory", memory]
    measured(structlearn(*command, "--out", folder / "whole"))
    kept = folder / "kept"
    with_checkpoint = [*command, "--checkpoint", kept, "--out", folder / "resumed"]
    process = subprocess.Popen(
        [str(part) for part in structlearn(*with_checkpoint)],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    seen: dict[str, int] = {}  # files of the checkpoint, and when they were written
    n_passes = 0
    while process.poll() is None and n_passes < 2:
        time.sleep(0.1)
        now = {p.name: p.stat().st_mtime_ns for p in kept.glob("*") if p.is_file()} if kept.exists() else {}
        n_passes += bool(now) and now != seen
        seen = now
    process.send_signal(signal.SIGKILL)
    killed = process.wait() == -signal.SIGKILL
    is_whole = not (folder / "resumed").exists()
    used = measured(structlearn(*with_checkpoint, "--resume"))
    same = digest(folder / "whole") == digest(folder / "resumed")
    note(what=f"{n_pairs} pairs, killed and resumed", killed=killed, nothing_half=is_whole, same_bytes=same)
    print(f"{n_pairs:,} pairs: killed {killed}, nothing half-written {is_whole}, resumed in {used.cpu:.1f} s "
          f"CPU, same bytes {same}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", default="", help="how many pairs, such as 1000000,3000000")
    parser.add_argument("--jobs", default="1", help="numbers of threads, such as 1,2")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--resume", type=int, default=0, help="kill and go on with so many pairs")
    arguments = parser.parse_args()
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}, --memory {arguments.memory}")
    with tempfile.TemporaryDirectory() as name:
        for n_pairs in map(int, filter(None, arguments.pairs.split(","))):
            print(f"{n_pairs:,} pairs:")
            train(n_pairs, [int(one) for one in arguments.jobs.split(",")], arguments.memory, Path(name))
        if arguments.resume:
            kill_and_resume(arguments.resume, arguments.memory, Path(name))


if __name__ == "__main__":
    recorded(main)
