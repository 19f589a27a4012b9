"""Statistics of text that streams from disk: time, peak memory, and AER on the Hansards.

python benchmarks/alignment_streaming.py [--pairs N,N,...] [--memory SIZE] [--jobs N] [--eflomal COMMAND]
                                         [--eflomal-pairs N] [--hansards SIZE,SIZE,...]

`--pairs` trains on so many generated pairs with `structlearn align train --memory SIZE`, a process each. It
is measured from outside: processor time of all of it, and peak resident memory. Words follow Zipf's law,
200,000 types a side; sentences have 4 to 12 words. Each source word has one translation, a tenth of the
target words are others, and neighbours are exchanged now and then. `--eflomal` runs an `eflomal-align`.
`--hansards` trains on the Hansards within these limits, and in memory, and scores the 200 gold pairs.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from alignment_statistics import aer, bitext_pairs, gold_links, gold_pairs, read_links
from common import machine, note, recorded

N_TYPES = 200_000
AT_ONCE = 50_000


class Used(NamedTuple):
    """What a command took."""

    cpu: float
    wall: float
    peak: float

    def by_pair(self, n_pairs):
        return (
            f"{n_pairs:>10,} pairs: {self.cpu:7.1f} s CPU ({1e6 * self.cpu / n_pairs:.0f} us a pair), "
            f"{self.wall:.1f} s wall, peak {self.peak:.0f} MB"
        )


def measured(command):
    """Run a command, and see what it took."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen([str(part) for part in command], stdout=told, stderr=told)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            told.seek(0)
            raise SystemExit(f"{command[:4]} failed: {told.read()[-500:]}")
    return Used(used.ru_utime + used.ru_stime, time.perf_counter() - begin, used.ru_maxrss / 1024)


def words(seed):
    """Different words of letters, longer ones as they are rarer."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    found = {}
    while len(found) < N_TYPES:
        length = 2 + int(np.log2(1 + len(found)) / 2)
        found["".join(rng.choice(letters, size=length))] = None
    return np.array(list(found), dtype=object)


def generate(path, n_pairs, seed=0):
    """Write `path`.en.gz and `path`.fr.gz."""
    rng = np.random.default_rng(seed)
    source, target = words(1), words(2)[np.random.default_rng(3).permutation(N_TYPES)]
    weight = np.cumsum(1 / (np.arange(N_TYPES) + 2.7))
    with gzip.open(f"{path}.en.gz", "wt", 1) as left, gzip.open(f"{path}.fr.gz", "wt", 1) as right:
        for first in range(0, n_pairs, AT_ONCE):
            lengths = rng.integers(4, 13, size=min(AT_ONCE, n_pairs - first))
            drawn = np.searchsorted(weight, rng.random((2, lengths.sum())) * weight[-1])
            other = np.where(rng.random(drawn.shape[1]) < 0.1, drawn[1], drawn[0])
            swap = np.flatnonzero(rng.random(other.size - 1) < 0.1)[::2]
            other[swap], other[swap + 1] = other[swap + 1].copy(), other[swap].copy()
            ends = np.cumsum(lengths)
            for file, side in ((left, source[drawn[0]].tolist()), (right, target[other].tolist())):
                file.writelines(f"{' '.join(side[a:b])}\n" for a, b in zip(ends - lengths, ends))


def structlearn(*arguments):
    return [sys.executable, "-m", "structlearn", *arguments]


def streaming(sizes, memory, jobs, folder):
    print(f"# generated text, --memory {memory}, --jobs {jobs}, {machine()}, {time.strftime('%Y-%m-%d')}")
    for n_pairs in sizes:
        path = folder / f"text{n_pairs}"
        generate(path, n_pairs)
        sides = ["--src", f"{path}.en.gz", "--tgt", f"{path}.fr.gz"]
        command = ["align", "train", *sides, "--memory", memory, "--jobs", jobs, "--out", folder / "model"]
        used = measured(structlearn(*command))
        size = (folder / "model").stat().st_size / 1e6
        note(what=f"{n_pairs} pairs, {memory}", cpu_seconds=used.cpu, peak_mb=used.peak)
        print(f"  {used.by_pair(n_pairs)}, model {size:.0f} MB", flush=True)
        for side in ("en", "fr"):
            os.unlink(f"{path}.{side}.gz")


def eflomal(command, n_pairs, folder):
    path = folder / "eflomal"
    generate(path, n_pairs)
    for side in ("en", "fr"):
        with gzip.open(f"{path}.{side}.gz") as packed, open(f"{path}.{side}", "wb") as plain:
            plain.writelines(packed)
    files = ["-s", f"{path}.en", "-t", f"{path}.fr", "-f", folder / "forward", "-r", folder / "reverse"]
    print(f"eflomal: {measured([command, *files, '--overwrite']).by_pair(n_pairs)}", flush=True)


def write_sides(path, pairs):
    with open(f"{path}.en", "w") as left, open(f"{path}.fr", "w") as right:
        for e, f in pairs:
            print(*e, file=left)
            print(*f, file=right)
    return ["--src", f"{path}.en", "--tgt", f"{path}.fr"]


def hansards(limits, jobs, folder):
    print(f"# Hansards, {machine()}, {time.strftime('%Y-%m-%d')}")
    gold = gold_pairs("train")
    text = write_sides(folder / "text", chain(bitext_pairs(), gold_pairs("trial"), gold))
    asked = write_sides(folder / "gold", gold)
    for limit in (None, *limits):
        memory = [] if limit is None else ["--memory", limit]
        train = ["align", "train", *text, *memory, "--jobs", jobs, "--out", folder / "model"]
        used = measured(structlearn(*train))
        measured(structlearn("align", "apply", folder / "model", *asked, "--out", folder / "links"))
        error, precision, recall = aer(read_links(folder / "links"), gold_links("train"))
        scores = f"AER {error:.2f} (precision {precision:.1f}, recall {recall:.1f})"
        note(what=f"Hansards, {limit or 'in memory'}", aer=error, cpu_seconds=used.cpu, peak_mb=used.peak)
        print(
            f"  {limit or 'in memory'}: {scores}, {used.cpu:.1f} s CPU, peak {used.peak:.0f} MB", flush=True
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", default="", help="how many generated pairs, such as 100000,500000")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--eflomal", help="the eflomal-align to compare with")
    parser.add_argument("--eflomal-pairs", type=int, default=500_000)
    parser.add_argument("--hansards", default="", help="limits on memory, such as 400MB,1GB")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.eflomal:
            eflomal(arguments.eflomal, arguments.eflomal_pairs, folder)
        if arguments.hansards:
            hansards(arguments.hansards.split(","), arguments.jobs, folder)
        if arguments.pairs:
            streaming(map(int, arguments.pairs.split(",")), arguments.memory, arguments.jobs, folder)


if __name__ == "__main__":
    recorded(main)
