"""Dependency parsing: decoding times, and UD English EWT with gold tags.

    python benchmarks/parsing.py [decode|ewt|crf]

The data is expected in ud_english_ewt/ of the data folder.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from common import DATA, best_of, machine, note, recorded

from structlearn import TreeParser
from structlearn.core.contract import marginals, marginals_workspace, maximize, workspace
from structlearn.parsing import parsing_scores, read_conllu
from structlearn.structures import NonProjectiveTree, ProjectiveTree

QUICK = [["decode"]]

#: Milliseconds for the best tree at 40 and 100 words.
TARGETS = {ProjectiveTree: (0.1, 1.5), NonProjectiveTree: (0.05, 0.5)}


def decode():
    """The compiled oracle alone, on random scores, mean over 20 sentences."""
    rng = np.random.default_rng(0)
    for make, targets in TARGETS.items():
        for n, target in zip((40, 100), targets):
            record, shape = make().record, (n + 1, n)
            tables = [rng.normal(size=n * (n + 1)) for _ in range(20)]
            vertex = np.empty(n * (n + 1))
            spent = []
            for ask, room in ((maximize, workspace), (marginals, marginals_workspace)):
                work = room(record, shape)

                def seconds(theta, ask=ask, work=work, record=record, shape=shape, vertex=vertex):
                    return best_of(lambda: ask(record, shape, theta, theta[:0], work, vertex))

                spent.append(1e3 * np.mean([seconds(theta) for theta in tables]))
            note(what=f"{make.__name__}, {n} words", best_tree_ms=spent[0], marginals_ms=spent[1])
            print(
                f"{make.__name__}, {n} words: best tree {spent[0]:.3f} ms (target {target}), "
                f"marginals {spent[1]:.2f} ms"
            )


def read(split):
    return read_conllu(DATA / "ud_english_ewt" / f"en_ewt-ud-{split}.conllu.gz")


def train(name, **parameters):
    """Train on the treebank; attachment scores on dev."""
    document, dev = read("train"), read("dev")
    X, y = document.tokens(), document.trees(single_root=True)
    X_dev, y_dev = dev.tokens(), dev.trees()
    tags = [[tag for _, tag, _ in sentence] for sentence in X_dev]
    begin, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of crossing arcs
        model = TreeParser(random_state=0, **parameters).fit(X, y)
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    begin = time.process_time()
    predicted = model.predict(X_dev)
    spent = time.process_time() - begin
    scores = parsing_scores(y_dev, predicted, tags)
    found = model.certificate_
    note(what=name, uas=scores.uas, las=scores.las, gap=found.gap, passes=found.passes, cpu_seconds=cpu)
    print(f"{name}: training {wall:.0f} s, CPU {cpu:.0f} s (compilation included, if any)")
    print(f"  P {found.primal:.5f}  D {found.dual:.5f}  gap {found.gap:.5f}, {found.passes:.0f} passes")
    print(f"  labels: {model.label_certificate_['status']}")
    print(f"  dev UAS {100 * scores.uas:.2f}, LAS {100 * scores.las:.2f}, with subtypes ", end="")
    print(f"{100 * scores.las_full:.2f}; no punctuation {100 * scores.uas_no_punct:.2f}, ", end="")
    print(f"{100 * scores.las_no_punct:.2f}; {scores.words / spent:.0f} words a second of CPU")


def main():
    chosen = sys.argv[1] if len(sys.argv) > 1 else "all"
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    if chosen in ("decode", "all"):
        decode()
    if chosen in ("ewt", "all"):
        train("projective, hinge, defaults")
    if chosen in ("nonprojective",):
        train("non-projective, hinge", projective=False)
    if chosen in ("crf",):
        train("projective, softmax", loss="softmax")


if __name__ == "__main__":
    recorded(main)
