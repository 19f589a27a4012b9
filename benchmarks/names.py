"""Names: how the defaults of `train ner` were chosen inside esp.train, and what they give on held-out files.

python benchmarks/names.py choose [TRIAL ...]   each half of esp.train tagged by a model of the other half
python benchmarks/names.py report      esp.testa, CoNLL-2000's test file and EWT dev, once, with the defaults
"""

from __future__ import annotations

import sys
import time

from common import DATA, machine, note, recorded

from structlearn.data import read_tokens, split_rows
from structlearn.tagging import Tagger, default_templates, span_scores, spans
from structlearn.tagging.features import context, default_usual

BENCH = [["choose"], ["report"]]

COLUMNS = ("word", "pos")
OLD, NEW, USUAL = default_templates(COLUMNS), default_templates(COLUMNS, "ner"), default_usual(task="ner")
FIRST = context.MIN_COUNT, context.TOL
SHORT = " ".join(one for one in NEW.split() if "quoted" not in one and "lower[-4" not in one)
#: parameters of `Tagger`, and `times` (regularization * n), `bioes`, `first` (see `tried`)
TRIALS = {
    "defaults of tag": {"templates": OLD, "usual": ""},
    "templates of ner": {"templates": NEW, "usual": ""},
    "old templates, usual labels of words": {"templates": OLD, "usual": "word"},
    "old templates, usual labels of ner": {"templates": OLD, "usual": USUAL},
    "without quotations and far words": {"templates": SHORT, "usual": USUAL},
    "without context": {"task": "ner", "context": 0},
    "without context, regularization 2 / n": {"task": "ner", "context": 0, "times": 2.0},
    "without context, regularization 0.5 / n": {"task": "ner", "context": 0, "times": 0.5},
    "without context, min_count 2": {"task": "ner", "context": 0, "min_count": 2},
    "without context, B, I, E, S, O": {"task": "ner", "context": 0, "bioes": True},
    "without context, span lexicon": {"task": "ner", "context": 0, "span_lexicon": True},
    "context 10": {"task": "ner", "context": 10},
    "defaults of ner": {"task": "ner"},
    "context 40": {"task": "ner", "context": 40},
    "first pass to a gap of 0.01, all features": {"task": "ner", "first": (1, 0.01)},
    "first pass to a gap of 0.2, min_count 3": {"task": "ner", "first": (3, 0.2)},
    "span lexicon": {"task": "ner", "span_lexicon": True},
    "segments, without context": {"task": "ner", "context": 0, "model": "segments"},
    "segments": {"task": "ner", "model": "segments"},
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


def tried(X, y, *, times=1.0, bioes=False, first=None, **parameters):
    """F1 of the halves, each tagged by a model of the other; `first`: min_count and gap of a first pass."""
    half = len(X) // 2
    context.MIN_COUNT, context.TOL = first or FIRST
    gold, found = [], []
    for train, test in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        labels = [with_ends(one) for one in y[train]] if bioes else y[train]
        own = {"regularization": times / len(labels), "random_state": 0, **parameters}
        tagger = Tagger(columns=COLUMNS, **own).fit(X[train], labels)
        gold += y[test]
        found += [one.tolist() for one in tagger.predict(X[test])]
    return 100 * span_scores(gold, found)["all"].f1


def choose(names):
    X, y = read(DATA / "conll2002" / "esp.train.gz")
    for name in names or TRIALS:
        used = time.process_time()
        f1 = tried(X, y, **TRIALS[name])
        note(what=name, f1=f1, cpu_seconds=time.process_time() - used)
        print(f"{name:40} F1 {f1:.2f}   {time.process_time() - used:.0f} s of the processor", flush=True)


def report(_):
    spanish = "conll2002/esp.train.gz", "conll2002/esp.testa.gz"
    files = {
        "names": ("ner", "chain", *spanish),
        "names, segments": ("ner", "segments", *spanish),
        "chunks": ("chunk", "chain", "conll2000/train.txt.gz", "conll2000/test.txt.gz"),
    }
    for name, (task, model, train, test) in files.items():
        used = time.process_time()
        tagger = Tagger(columns=COLUMNS, task=task, model=model, random_state=0).fit(*read(DATA / train))
        spent = time.process_time() - used
        X, y = read(DATA / test)
        scores = span_scores(y, [one.tolist() for one in tagger.predict(X)])
        told = ", ".join(f"{kind} {100 * one.f1:.2f}" for kind, one in scores.items())
        note(what=name, f1=100 * scores["all"].f1, cpu_seconds=spent)
        print(f"{name}: {tagger.features_.n_features} features, {spent:.0f} s of the processor; F1 {told}")
    import tagging

    tagging.main()


def main():
    print(f"# Names\n# {machine()}, {time.strftime('%Y-%m-%d')}")
    {"choose": choose, "report": report}[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    recorded(main)
