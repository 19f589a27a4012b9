"""Names: how the defaults of `train ner` were chosen inside esp.train, and what they give on held-out files.

python benchmarks/names.py choose    each half of esp.train tagged by a model of the other half
python benchmarks/names.py report    esp.testa, CoNLL-2000's test file and EWT dev, once, with the defaults
"""

from __future__ import annotations

import sys
import time

from common import DATA, machine

from structlearn.apps.tagging import Tagger, default_templates, span_scores, spans
from structlearn.apps.text import default_usual
from structlearn.data import read_tokens, split_rows

COLUMNS = ("word", "pos")
OLD, NEW, USUAL = default_templates(COLUMNS), default_templates(COLUMNS, "ner"), default_usual(task="ner")
SHORT = " ".join(one for one in NEW.split() if "quoted" not in one and "lower[-4" not in one)
TRIALS = {
    "defaults of tag": {"templates": OLD, "usual": ""},
    "templates of ner": {"templates": NEW, "usual": ""},
    "old templates, usual labels of words": {"templates": OLD, "usual": "word"},
    "old templates, usual labels of ner": {"templates": OLD, "usual": USUAL},
    "without quotations and far words": {"templates": SHORT, "usual": USUAL},
    "defaults of ner": {"task": "ner"},
    "regularization 2 / n": {"task": "ner", "times": 2.0},
    "regularization 0.5 / n": {"task": "ner", "times": 0.5},
    "min_count 2": {"task": "ner", "min_count": 2},
    "B, I, E, S, O": {"task": "ner", "bioes": True},
}


def read(path, columns=COLUMNS, label=-1):
    tokens = read_tokens(path)
    cells = [tokens.column(name).cells for name in tokens.layout.names]
    rows = [split_rows(cells[j], tokens.lengths) for j in range(len(columns))]
    X = [list(zip(*(one.tolist() for one in parts))) for parts in zip(*rows)]
    return X, [one.tolist() for one in split_rows(cells[label], tokens.lengths)]


def with_ends(labels):
    """B, I, E, S, O of B, I, O."""
    found = ["O"] * len(labels)
    for kind, a, b in spans(labels):
        found[a:b] = [f"B-{kind}", *[f"I-{kind}"] * (b - a - 2), f"E-{kind}"] if b > a + 1 else [f"S-{kind}"]
    return found


def tried(X, y, *, times=1.0, bioes=False, **parameters):
    """F1 of the halves, each tagged by a model of the other."""
    half = len(X) // 2
    gold, found = [], []
    for train, test in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        labels = [with_ends(one) for one in y[train]] if bioes else y[train]
        own = {"regularization": times / len(labels), "random_state": 0, **parameters}
        tagger = Tagger(columns=COLUMNS, **own).fit(X[train], labels)
        gold += y[test]
        found += [one.tolist() for one in tagger.predict(X[test])]
    return 100 * span_scores(gold, found)["all"].f1


def choose():
    X, y = read(DATA / "conll2002" / "esp.train.gz")
    for name, parameters in TRIALS.items():
        used = time.process_time()
        f1 = tried(X, y, **parameters)
        print(f"{name:40} F1 {f1:.2f}   {time.process_time() - used:.0f} s of the processor", flush=True)


def report():
    files = {
        "names": ("ner", "conll2002/esp.train.gz", "conll2002/esp.testa.gz"),
        "chunks": ("chunk", "conll2000/train.txt.gz", "conll2000/test.txt.gz"),
    }
    for name, (task, train, test) in files.items():
        used = time.process_time()
        tagger = Tagger(columns=COLUMNS, task=task, random_state=0).fit(*read(DATA / train))
        spent = time.process_time() - used
        X, y = read(DATA / test)
        scores = span_scores(y, [one.tolist() for one in tagger.predict(X)])
        told = ", ".join(f"{kind} {100 * one.f1:.2f}" for kind, one in scores.items())
        print(f"{name}: {tagger.features_.n_features} features, {spent:.0f} s of the processor; F1 {told}")
    import tagging

    tagging.main()


if __name__ == "__main__":
    print(f"# Names\n# {machine()}, {time.strftime('%Y-%m-%d')}")
    {"choose": choose, "report": report}[sys.argv[1]]()
