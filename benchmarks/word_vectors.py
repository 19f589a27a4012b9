"""What word vectors are worth: as quantised columns (`--vectors`), or as arrays beside the words.

python benchmarks/word_vectors.py ewt|conll2000 [--ways none,quantised,arrays] [--sentences N] [--report]

Trains on nine tenths of the training file and judges by the last tenth, or, with --report, trains on all and
judges by dev (EWT) or test (CoNLL-2000). Vectors are the English ones of the shared data, 40,000 x 100; as
arrays they are of norm 1, zeros for words that have none. Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import DATA, machine, note, recorded

from structlearn.data import read_tokens, split_rows
from structlearn.data.word_vectors import read_vectors
from structlearn.tagging import Tagger, span_scores

BENCH = [["ewt"], ["conll2000"]]

VECTORS = DATA / "vectors" / "en.vec.gz"
#: folder, training file, the other one, columns, label
FILES = {
    "ewt": ("ud_english_ewt", "en_ewt-ud-train.conllu.gz", "en_ewt-ud-dev.conllu.gz", ("form",), "upos"),
    "conll2000": ("conll2000", "train.txt.gz", "test.txt.gz", ("0", "1"), "2"),
}


def read(data, which):
    """Sentences (words, or tuples with tags) and their labels."""
    folder, *names, columns, label = FILES[data]
    tokens = read_tokens(DATA / folder / names[which], lambda given: (*columns, label))
    cells = [split_rows(tokens.column(name).cells, tokens.lengths) for name in columns]
    labels = [one.tolist() for one in split_rows(tokens.column(label).cells, tokens.lengths)]
    rows = [list(zip(*(one.tolist() for one in parts))) for parts in zip(*cells)]
    return ([[word for (word,) in one] for one in rows] if len(columns) == 1 else rows), labels


def beside(sentences, vectors):
    """Pairs (tokens, array)."""
    found = []
    for one in sentences:
        words = [token if isinstance(token, str) else token[0] for token in one]
        known = [word if word in vectors.position else word.lower() for word in words]
        found.append((one, vectors.of(known)))
    return found


def judged(data, gold, found):
    if data == "ewt":
        pairs = [pair for one, other in zip(gold, found) for pair in zip(one, other)]
        return np.mean([a == b for a, b in pairs])
    return span_scores(gold, [one.tolist() for one in found])["all"].f1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", choices=FILES)
    parser.add_argument("--ways", default="none,quantised,arrays")
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    X, y = read(given.data, 0)
    n = len(X) if given.report else len(X) * 9 // 10
    (X_test, y_test) = read(given.data, 1) if given.report else (X[n:], y[n:])
    n = min(n, given.sentences or n)
    columns = ("word", "pos")[: len(FILES[given.data][3])]
    judge = "the other file" if given.report else "held-out ones"
    print(f"# {given.data}, {n} sentences, judged by {judge}; {machine()}, {time.strftime('%Y-%m-%d')}")
    vectors = read_vectors(VECTORS) if "arrays" in given.ways else None
    for way in given.ways.split(","):
        begin = time.process_time()
        options = {"vectors": VECTORS} if way == "quantised" else {}
        train, test = (beside(one, vectors) if way == "arrays" else one for one in (X[:n], X_test))
        tagger = Tagger(columns=columns, random_state=0, **options).fit(train, y[:n])
        score = judged(given.data, y_test, tagger.predict(test))
        note(what=way, score=score, cpu_seconds=time.process_time() - begin)
        print(
            f"{way}: {100 * score:.2f}; {tagger.chain_.n_features_in_} features, "
            f"{tagger.certificate_.passes:.0f} passes, {time.process_time() - begin:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    recorded(main)
