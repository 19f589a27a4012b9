"""Networks against linear models, trained by the commands of the shell, with no outside resource.

    python benchmarks/neural.py names [THREADS]   CoNLL-2002 (Spanish), testa: train ner
    python benchmarks/neural.py chunks [THREADS]  CoNLL-2000, test: train chunk
    python benchmarks/neural.py trees [THREADS]   UD English EWT, dev, gold tags: train parse

Each trains the linear model and then --model neural, both with their defaults and --jobs 2 unless THREADS
says otherwise. Defaults were chosen inside the training files (a part of them held out). Reading, features
and writing the model count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import DATA, machine, note, recorded

BENCH = [["names"], ["chunks"], ["trees"]]

JOBS = sys.argv[2] if len(sys.argv) > 2 else "2"
#: task, training file, file to evaluate on, figure
RUNS = {
    "names": ("ner", "conll2002/esp.train.gz", "conll2002/esp.testa.gz", "f1"),
    "chunks": ("chunk", "conll2000/train.txt.gz", "conll2000/test.txt.gz", "f1"),
    "trees": (
        "parse",
        "ud_english_ewt/en_ewt-ud-train.conllu.gz",
        "ud_english_ewt/en_ewt-ud-dev.conllu.gz",
        "las",
    ),
}
TARGETS = {
    "names": "at least 1.0 above the linear model, in 20 minutes",
    "chunks": "at least 94.3, in 20 minutes",
    "trees": "at least 2.5 above the linear model, in 40 minutes",
}


def shell(*arguments):
    """Run a command of the shell; its figures, seconds by the clock and of the processor."""
    begin, before = time.perf_counter(), os.times()
    program = [sys.executable, "-m", "structlearn", *map(str, arguments), "--json"]
    found = subprocess.run(program, check=True, capture_output=True, text=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return json.loads(found.stdout), time.perf_counter() - begin, used


def run(what, flags, name, folder):
    task, train, test, figure = RUNS[what]
    out = Path(folder) / f"{name}.safetensors"
    told, clock, used = shell("train", task, DATA / train, "--out", out, "--jobs", JOBS, *flags)
    scores, answering, _ = shell("evaluate", out, DATA / test, "--jobs", JOBS)
    score = 100 * scores[figure]
    size = out.stat().st_size / 1e6
    note(
        what=f"{what}, {name}",
        threads=int(JOBS),
        **{figure: score},
        clock_seconds=clock,
        cpu_seconds=used,
        evaluate_seconds=answering,
        file_mb=size,
        status=told["status"],
    )
    others = {key: round(100 * scores[key], 2) for key in ("uas", "precision", "recall") if key in scores}
    print(
        f"{what}, {name}: {figure} {score:.2f} {others}; training {clock:.0f} s by the clock, {used:.0f} "
        f"CPU seconds; evaluation {answering:.0f} s; file {size:.1f} MB",
        flush=True,
    )
    return score


def main():
    chosen = sys.argv[1:2] or list(RUNS)
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    for what in chosen:
        with tempfile.TemporaryDirectory() as folder:
            linear = run(what, [], "linear", folder)
            neural = run(what, ["--model", "neural"], "neural", folder)
        print(f"{what}: {neural - linear:+.2f}; wanted: {TARGETS[what]}", flush=True)


if __name__ == "__main__":
    recorded(main, peers=("torch",))
