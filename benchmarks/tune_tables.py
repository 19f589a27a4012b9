"""What `structlearn tune` prints on the data of docs/tuning.md and docs/nonlinear.md, as a result.

python benchmarks/tune_tables.py chunk | scene | friedman

chunk: lambda on the first 1,000 sentences of CoNLL-2000; scene: pairs of labels on its training images;
friedman: curves and kernels on Friedman's first problem. A row per value that was tried.
"""

import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import DATA, note, recorded
from sklearn.datasets import make_friedman1

QUICK = [["friedman"]]


def tune(*arguments):
    """What `tune --json` prints, and the CPU seconds of the command."""
    import resource

    with tempfile.TemporaryDirectory() as folder:
        out = ("--out", str(Path(folder) / "model.safetensors"), "--json")
        begin = time.monotonic()
        command = [sys.executable, "-m", "structlearn", "tune", *map(str, arguments), *out]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} CPU seconds, {time.monotonic() - begin:.0f} by the clock")
    return found


def chunk(folder):
    """The table of lambda."""
    with gzip.open(DATA / "conll2000" / "train.txt.gz", "rt") as file:
        sentences = file.read().split("\n\n")[:1000]
    path = folder / "train.txt"
    path.write_text("\n\n".join(sentences) + "\n")
    found = tune("chunk", path)
    for row in found["results"]:
        star = " (chosen)" if row["chosen"] else ""
        note(
            what=f"lambda {row['regularization']:.2g}{star}",
            **{found["metric"]: row["mean"], "standard_error": row["standard_error"]},
        )


def scene(folder):
    """The gains of pairs of labels."""
    path = folder / "scene.libsvm"
    path.write_bytes(gzip.decompress((DATA / "scene" / "scene_train.gz").read_bytes()))
    gains(tune("multilabel", path, "--folds", "3", "--regularization", "0.1,0.01,0.001"))


def friedman(folder):
    """The gains of curves and of a kernel, beside a column of words that says nothing."""
    X, y = make_friedman1(2000, random_state=0)
    path = folder / "friedman.csv"
    names = [f"x{k}" for k in range(X.shape[1])]
    rows = (
        ",".join([*map(repr, one), "abc"[k % 3], repr(value)])
        for k, (one, value) in enumerate(zip(X.tolist(), y.tolist()))
    )
    path.write_text("\n".join([",".join([*names, "word", "y"]), *rows]) + "\n")
    gains(tune("regress", path, "--target", "y", "--nonlinear", "none,splines,nystroem"))


def gains(found):
    """Rows of the second table."""
    for row in found["gains"]:
        what = f"--{row['option'].replace('_', '-')} {row['value']}"
        gain = {f"gain_in_{found['metric']}": row["gain"], "standard_error": row["standard_error"]}
        note(what=what, **row["figures"], **gain)
        print(what, row["figures"], gain)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        recorded({"chunk": chunk, "scene": scene, "friedman": friedman}[sys.argv[1]], Path(name))
