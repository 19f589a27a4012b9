"""Raw text to labels: tokens a second, tokenisation included, after start-up.

python benchmarks/raw_text.py MODEL DATA.conllu.gz
The text is that of the CoNLL-U file, its sentences joined by blanks, its documents by blank lines.
"""

import gzip
import sys
import time

from common import note, recorded

from structlearn import load
from structlearn.tagging.tokenizers import TOKENIZERS

BENCH = []


def text_of(path):
    pieces = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(("# newdoc", "# newpar")):
                pieces.append("\n\n")
            elif line.startswith("# text = "):
                pieces.append(line.removeprefix("# text = ").rstrip("\n") + " ")
    return "".join(pieces)


def main():
    model, path = sys.argv[1:3]
    tagger, text = load(model), text_of(path)
    tagger.tag(text[:10_000])
    begin = time.process_time()
    n = sum(map(len, TOKENIZERS["penn"].split(text)))
    split = time.process_time() - begin
    begin = time.process_time()
    assert sum(map(len, tagger.tag(text))) == n
    whole = time.process_time() - begin
    begin = time.process_time()
    pieces = (text[a : a + 65536] for a in range(0, len(text), 65536))
    assert sum(len(one) for part in tagger.tag_stream(pieces) for one in part) == n
    streamed = time.process_time() - begin
    speeds = {"splitting": n / split, "tag": n / whole, "streamed": n / streamed}
    note(what="tokens per second", **speeds)
    print(f"{n} tokens; tokens a second:", ", ".join(f"{name} {v:.0f}" for name, v in speeds.items()))


if __name__ == "__main__":
    recorded(main)
