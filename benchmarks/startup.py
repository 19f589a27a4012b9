"""Start-up: CPU seconds (user and system, kernels compiled before) of commands that have little to do.

python benchmarks/startup.py [OTHER_CHECKOUT] [--repeats 5]

Imports, the help, and `predict` and `evaluate` of a small file of every task. Each checkout trains its own
models first. With another checkout both are run in turn; printed are medians and their ratio.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

QUICK = [["--repeats", "3"]]

HERE = Path(__file__).resolve().parents[1]
WORDS = {"D": ["the", "a"], "N": ["cat", "dog", "tree", "house"], "V": ["sees", "likes", "finds"]}
ORDER = ["D", "N", "V", "D", "N"]
HEADS = [2, 3, 0, 5, 3]
RELATIONS = {"D": "det", "N": "nsubj", "V": "root"}
IMPORTS = {
    "python -c pass": "pass",
    "import structlearn": "import structlearn",
    "ChainClassifier": "import structlearn; structlearn.ChainClassifier",
}
#: The file that a task reads, and its flags.
TASKS = {
    "classify": ("rows.csv", ()),
    "classify, softmax": ("rows.libsvm", ("--loss", "softmax")),
    "multilabel": ("sets.libsvm", ()),
    "regress": ("numbers.csv", ()),
    "tag": ("words.txt", ()),
    "chunk": ("chunks.txt", ()),
    "ner": ("chunks.txt", ()),
    "parse": ("trees.conllu", ()),
    "match": ("pairs.npz", ()),
}


def write_files(folder: Path) -> None:
    """The data of all tasks, 30 small examples each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5)).round(3)
    y, on = X[:, :3].argmax(axis=1), X[:, :3] > 0
    cells = [",".join(map(str, row)) for row in X]
    pairs = [" ".join(f"{j + 1}:{value}" for j, value in enumerate(row)) for row in X]
    sentences = [[(str(rng.choice(WORDS[tag])), tag) for tag in ORDER] for _ in range(30)]
    lines = {
        "rows.csv": ["a,b,c,d,e,kind", *(f"{x},{'rgb'[k]}" for x, k in zip(cells, y))],
        "rows.libsvm": [f"{k} {x}" for x, k in zip(pairs, y)],
        "sets.libsvm": [f"{','.join(map(str, np.flatnonzero(row)))} {x}" for x, row in zip(pairs, on)],
        "numbers.csv": ["a,b,c,d,e,size", *(f"{x},{row[0] - row[1]}" for x, row in zip(cells, X))],
        "words.txt": [line for one in sentences for line in (*map(" ".join, one), "")],
        "chunks.txt": [line for one in sentences for line in (*map(_chunk, one), "")],
        "trees.conllu": [line for one in sentences for line in (*map(_word, one, range(5)), "")],
        "source.txt": [" ".join(word for word, _ in one) for one in sentences],
        "target.txt": [" ".join(word.upper() for word, _ in one) for one in sentences],
    }
    for name, content in lines.items():
        (folder / name).write_text("".join(f"{line}\n" for line in content))
    links = [(i, k, k) for i in range(30) for k in range(3)]
    np.savez(folder / "pairs.npz", features=rng.normal(size=(360, 4)), shapes=[(3, 4)] * 30, links=links)


def _chunk(token: tuple[str, str]) -> str:
    word, tag = token
    return f"{word} {tag} { ({'D': 'B-NP', 'N': 'I-NP', 'V': 'B-VP'}[tag]) }"


def _word(token: tuple[str, str], i: int) -> str:
    word, tag = token
    return "\t".join([str(i + 1), word, "_", tag, "_", "_", str(HEADS[i]), RELATIONS[tag], "_", "_"])


class Checkout:
    """A source tree, with models that it has trained."""

    def __init__(self, path: Path, data: Path, models: Path) -> None:
        # Bytecode is kept, as that of an installed package is, but not among the sources.
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(path / "src"),
            "PYTHONPYCACHEPREFIX": str(data / "bytecode"),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        self.data, self.models = data, models

    def shell(self, *arguments: str | Path) -> list[str]:
        return ["-c", "from structlearn.cli import main; main()", *map(str, arguments)]

    def commands(self) -> dict[str, list[str]]:
        """All that is timed, by name."""
        found = {name: ["-c", code] for name, code in IMPORTS.items()}
        found["structlearn --help"] = self.shell("--help")
        found["train chunk --help"] = self.shell("train", "chunk", "--help")
        for name, (file, _) in TASKS.items():
            model, data = self.models / name, self.data / file
            found[f"predict {name}"] = self.shell("predict", model, data)
            found[f"evaluate {name}"] = self.shell("evaluate", model, data)
        sides = ("--src", self.data / "source.txt", "--tgt", self.data / "target.txt")
        found["align apply"] = self.shell("align", "apply", self.models / "aligner", *sides)
        return found

    def train(self) -> None:
        """Models of all tasks, and the kernels that using them needs."""
        self.models.mkdir()
        for name, (file, flags) in TASKS.items():
            task = name.split(",")[0]
            self.seconds(self.shell("train", task, self.data / file, "--out", self.models / name, *flags))
        sides = ("--src", self.data / "source.txt", "--tgt", self.data / "target.txt")
        self.seconds(self.shell("align", "train", *sides, "--out", self.models / "aligner"))
        for command in self.commands().values():
            self.seconds(command)

    def seconds(self, command: list[str]) -> float:
        """CPU seconds of one process."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *command], env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    from common import machine, note

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        write_files(data)
        paths = [HERE, *([chosen.other.resolve()] if chosen.other else [])]
        checkouts = [Checkout(path, data, data / f"models{k}") for k, path in enumerate(paths)]
        for checkout in checkouts:
            checkout.train()
        print(f"# {machine()}: CPU seconds, medians of {chosen.repeats}")
        for name in checkouts[0].commands():
            runs = [[one.seconds(one.commands()[name]) for one in checkouts] for _ in range(chosen.repeats)]
            now, *before = (median(times) for times in zip(*runs))
            ratio = f"  (other {before[0]:.2f}, ratio {now / before[0]:.2f})" if before else ""
            note(what=name, cpu_seconds=now, **({"other_cpu_seconds": before[0]} if before else {}))
            print(f"{name:28} {now:.2f}{ratio}", flush=True)


if __name__ == "__main__":
    from common import recorded

    recorded(main)
