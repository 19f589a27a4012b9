"""Training on data larger than the memory allowed: chains of 10 positions, 20 states, 64 float32 features.

python benchmarks/scale.py [--sizes 10000,100000,1000000] [--memory 1GB] [--jobs 2] [--folder DIR]

Chains are generated in batches and packed, then trained on in a process of its own, which reports the peak of
its anonymous memory (RssAnon, sampled) to a relative gap of 5%. A pass has up to eight cached ones after it,
the fewer the more examples there are; --plain leaves them out, to compare sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from common import machine, note, recorded

LENGTH, STATES, FEATURES = 10, 20, 64
RELATIVE_GAP = 0.05
#: Processor time is compared over so many passes: later ones have fewer blocks to go over again.
COMPARED_PASSES = 2
BATCH = 10_000


def generate(path: Path, n: int) -> None:
    """Batches of one hidden Markov model, packed."""
    from structlearn.data import PackedWriter

    rng = np.random.default_rng(0)
    thresholds = np.cumsum(rng.dirichlet(np.full(STATES, 0.3), size=STATES), axis=1)
    means = (rng.standard_normal((STATES, FEATURES)) / np.sqrt(FEATURES)).astype(np.float32)
    with PackedWriter(path, "chain") as writer:
        for first in range(0, n, BATCH):
            m = min(BATCH, n - first)
            y = np.empty((m, LENGTH), dtype=np.int64)
            y[:, 0] = rng.integers(STATES, size=m)
            for t in range(1, LENGTH):
                y[:, t] = (rng.random(m)[:, None] > thresholds[y[:, t - 1], :-1]).sum(axis=1)
            X = means[y] + rng.standard_normal((m, LENGTH, FEATURES), dtype=np.float32) * np.float32(0.5)
            writer.append(X, y)


class Peak(threading.Thread):
    """Samples the anonymous memory of this process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0

    def run(self) -> None:
        from structlearn.core.memory import anonymous_bytes

        while True:
            self.most = max(self.most, anonymous_bytes())
            time.sleep(0.02)


def train(path: Path, memory: str, jobs: int, plain: bool) -> None:
    """Train on packed data and print the figures as JSON."""
    from structlearn import ChainClassifier
    from structlearn.data import open_packed

    peak = Peak()
    peak.start()
    spent = []  # passes, and processor seconds until then

    def watch(row):
        spent.append((row.passes, time.process_time()))
        print(f"pass {row.passes:g} gap {row.gap / row.primal:.2%} {row.seconds:.0f} s", file=sys.stderr)
        return row.gap <= RELATIVE_GAP * row.primal

    begin = time.perf_counter()
    packed = open_packed(path)
    opened = time.perf_counter() - begin
    model = ChainClassifier(
        loss="hinge",
        regularization=1e-3,
        tol=0.0,
        max_passes=COMPARED_PASSES if plain else 100,
        solver_options={"cached_passes": 0} if plain else None,
        random_state=0,
        n_jobs=jobs,
        memory=memory,
        callback=watch,
    ).fit(packed.X, packed.y)
    certificate = model.certificate_
    early = max(one for one in spent if one[0] <= COMPARED_PASSES)
    print(
        json.dumps(
            {
                "examples": len(packed),
                "opened": opened,
                "seconds": certificate.seconds,
                "whole": time.perf_counter() - begin,
                "cpu": (early[1] - spent[0][1]) / early[0],
                "passes": certificate.passes,
                "relative_gap": certificate.gap / certificate.primal,
                "peak": peak.most,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--plain", action="store_true", help="two passes without cached ones")
    parser.add_argument("--train", type=Path, default=None)
    options = parser.parse_args()
    if options.train is not None:
        warnings.simplefilter("ignore")
        train(options.train, options.memory, options.jobs, options.plain)
        return
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f}")
    print(f"# memory {options.memory}, {options.jobs} threads, relative gap {RELATIVE_GAP:.0%}")
    print("examples  data GB  pack s  open s  train s  passes  gap %  CPU s/pass  us/example  anonymous MB")
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        for n in map(int, options.sizes.split(",")):
            measure(folder / str(n), n, options)
    finally:
        shutil.rmtree(folder)


def measure(path: Path, n: int, options: argparse.Namespace) -> None:
    begin = time.perf_counter()
    generate(path, n)
    packed = time.perf_counter() - begin
    size = sum(file.stat().st_size for file in path.iterdir())
    command = [sys.executable, __file__, "--train", str(path), "--memory", options.memory]
    command += ["--jobs", str(options.jobs), *(["--plain"] if options.plain else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    what, peak = f"{n} chains, {options.memory}", found["peak"] / 1e6
    note(what=what, seconds=found["seconds"], passes=found["passes"], gap=found["relative_gap"], peak_mb=peak)
    print(
        f"{n:8d} {size / 1e9:8.2f} {packed:7.1f} {found['opened']:7.1f} {found['seconds']:8.1f} "
        f"{found['passes']:7.0f} {found['relative_gap'] * 100:6.2f} {found['cpu']:11.2f} "
        f"{found['cpu'] / n * 1e6:11.1f} {found['peak'] / 1e6:13.0f}",
        flush=True,
    )
    shutil.rmtree(path)


if __name__ == "__main__":
    recorded(main)
