"""Universal parts of speech of UD English EWT with the default templates.

python benchmarks/tagging.py
"""

from __future__ import annotations

import resource
import time

from common import DATA, machine, note, recorded

from structlearn.data import read_tokens, split_rows
from structlearn.tagging import Tagger

QUICK = [[]]


def read(name):
    path = DATA / "ud_english_ewt" / f"en_ewt-ud-{name}.conllu.gz"
    tokens = read_tokens(path, lambda names: ("form", "upos"))
    return tokens, split_rows(tokens.column("upos").cells, tokens.lengths)


def main():
    print(f"# UPOS of UD English EWT\n# {machine()}, {time.strftime('%Y-%m-%d')}")
    begin, used = time.perf_counter(), time.process_time()
    train, dev = read("train"), read("dev")
    tagger = Tagger(columns=("form",), random_state=0).fit(*train)
    found, score = tagger.certificate_, tagger.score(*dev)
    note(
        what="UPOS of EWT",
        accuracy=score,
        gap=found.gap,
        passes=found.passes,
        cpu_seconds=time.process_time() - used,
    )
    print(
        f"{tagger.features_.n_features} features, {len(tagger.classes_)} labels: accuracy on dev "
        f"{100 * score:.2f}%, gap {found.gap:.4f} after {found.passes:.0f} passes; "
        f"{time.perf_counter() - begin:.1f} s with reading and compiling, {time.process_time() - used:.1f} s "
        f"of the processor; peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB"
    )


if __name__ == "__main__":
    recorded(main)
