"""Few long documents: headers of papers, as GROBID trains them, to a relative gap of 1%; beside CRFsuite.

python benchmarks/grobid.py [fit|large|peer ...]

fit: 100 documents, by the default solver and by whole sequences; large: all, on two threads, with the model
file; peer: token accuracy and field F1 of documents that were not trained on (each fifth trains once, to a
relative gap of 0.2%, and the other four test), beside CRFsuite (python-crfsuite with its default L-BFGS,
until it stops by itself), where it is installed. Features are those of the file's template, given by name to
both. Lambda is 0.01 per document; CRFsuite's c2 is the same penalty.
"""

from __future__ import annotations

import gzip
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import DATA, machine, note, recorded

from structlearn import ChainClassifier

QUICK = [["fit"]]
LAMBDA, CLOSE = 0.01, 0.01
FOLDS = 5
CELL = re.compile(r"%x\[(-?\d+),(\d+)\]")


def documents():
    """Return the documents, each a list of rows of cells."""
    found, rows = [], []
    with gzip.open(DATA / "grobid" / "header.train.txt.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                rows.append(line.split())
            elif rows:
                found.append(rows)
                rows = []
    return [*found, rows] if rows else found


def templates():
    """Return the name and the cells, as (offset, column), of each template of labels."""
    lines = (DATA / "grobid" / "header.template").read_text().splitlines()
    given = [line.strip().partition(":") for line in lines if line.startswith("U")]
    return [(name, [(int(a), int(b)) for a, b in CELL.findall(text)]) for name, _, text in given]


def features(rows, given):
    """Return the features of each row, by name; cells beyond the borders have names of their own."""

    def cell(t, column):
        return rows[t][column] if 0 <= t < len(rows) else f"_B{t if t < 0 else t - len(rows) + 1}"

    return [
        [f"{name}:" + "/".join(cell(t + offset, column) for offset, column in cells) for name, cells in given]
        for t in range(len(rows))
    ]


def load():
    """Return features and labels of all documents, in an order that does not depend on that of the file."""
    given, found = templates(), documents()
    order = np.random.default_rng(0).permutation(len(found))
    return [features(found[i], given) for i in order], [[row[-1] for row in found[i]] for i in order]


def trained(X, y, near=CLOSE, **parameters):
    """Train to a relative gap of 1%, or `near`; return the model, CPU seconds and seconds."""

    def close(row):
        return row.gap <= near * row.primal

    options = {"loss": "softmax", "regularization": LAMBDA, "tol": 1e-9, "random_state": 0, **parameters}
    cpu, clock = time.process_time(), time.perf_counter()
    model = ChainClassifier(callback=close, **options).fit(X, y)
    return model, time.process_time() - cpu, time.perf_counter() - clock


def fields(labels):
    """Return (begin, end, name) of the fields of a document: I-<name> begins one, another name ends it."""
    found, begin = [], 0
    for t in range(1, len(labels) + 1):
        ends = t == len(labels) or labels[t].startswith("I-") or labels[t] != labels[t - 1].removeprefix("I-")
        if ends:
            found.append((begin, t, labels[begin].removeprefix("I-")))
            begin = t
    return found


def scores(gold, answers):
    """Return the share of tokens that are right, and the F1 of fields."""
    right = np.mean(np.concatenate([np.array(a) == np.array(b) for a, b in zip(gold, answers)]))
    pairs = [(set(fields(list(a))), set(fields(list(b)))) for a, b in zip(gold, answers)]
    both = sum(len(a & b) for a, b in pairs)
    return float(right), 2 * both / sum(len(a) + len(b) for a, b in pairs)


def tell(what, **figures):
    note(what=what, **figures)
    shown = (f"{name.replace('_', ' ')} {one:.4g}" for name, one in figures.items())
    print(f"{what}: " + ", ".join(shown), flush=True)


def tell_fit(what, model, cpu, clock, **others):
    found = model.certificate_
    gaps = {"primal": found.primal, "dual": found.dual, "passes": found.passes}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    tell(
        what, **gaps, cpu_seconds=cpu, seconds=clock, gigabytes=memory, weights=model.weights_.size, **others
    )


def fit(X, y):
    warm = trained(X[:3], y[:3], max_passes=5)  # compiles
    del warm
    tell_fit("100 documents", *trained(X[:100], y[:100]))
    tell_fit("100 documents, weights for all pairs", *trained(X[:100], y[:100], features="all"))
    tell_fit("100 documents, whole sequences", *trained(X[:100], y[:100], solver="seg"))


def large(X, y):
    trained(X[:3], y[:3], max_passes=5, n_jobs=2)  # compiles
    model, *times = trained(X, y, n_jobs=2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        tell_fit(
            f"all {len(y)} documents, two threads", model, *times, megabytes_of_file=path.stat().st_size / 1e6
        )


def split(X, y, fold):
    """Return documents and labels of one fifth, and those of the other four."""
    own = np.arange(len(y)) % FOLDS == fold
    return tuple(
        ([X[i] for i in np.flatnonzero(part)], [y[i] for i in np.flatnonzero(part)]) for part in (own, ~own)
    )


def peer(X, y):
    """Train on each fifth of the documents in turn, with weights for the pairs that CRFsuite has, too."""
    ours, theirs = [], []
    for fold in range(FOLDS):
        (X_train, y_train), (X_test, y_test) = split(X, y, fold)
        model, cpu, _ = trained(X_train, y_train, CLOSE / 5, features="seen")
        ours.append((*scores(y_test, model.predict(X_test)), cpu))
        found = crfsuite(X_train, y_train, X_test)
        if found is not None:
            theirs.append((*scores(y_test, found[0]), found[1]))
    names = "token_accuracy", "field_f1", "cpu_seconds"
    tell("a fifth to train, the rest to test, five times", **dict(zip(names, np.mean(ours, axis=0))))
    if theirs:
        tell("the same by CRFsuite", **dict(zip(names, np.mean(theirs, axis=0))))


def crfsuite(X, y, asked):
    """Return CRFsuite's labels and the CPU seconds of its training; None where it is not installed."""
    try:
        import pycrfsuite
    except ImportError:
        print("python-crfsuite is not installed.")
        return None
    trainer = pycrfsuite.Trainer(verbose=False)
    for rows, labels in zip(X, y):
        trainer.append(rows, labels)
    trainer.set_params({"c1": 0.0, "c2": LAMBDA * len(y) / 2, "feature.possible_transitions": True})
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "peer")
        begin = time.process_time()
        trainer.train(path)
        cpu = time.process_time() - begin
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        return [tagger.tag(rows) for rows in asked], cpu


PARTS = {"fit": fit, "large": large, "peer": peer}


def main():
    print(f"# headers of papers; {machine()}, {time.strftime('%Y-%m-%d')}")
    X, y = load()
    for name in sys.argv[1:] or PARTS:
        PARTS[name](X, y)


if __name__ == "__main__":
    recorded(main, peers=["python-crfsuite"])
