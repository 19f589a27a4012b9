"""From the start of a process to its first answer, by each way to deploy a model: CPU seconds and memory.

python benchmarks/deploying.py

A tagger of words (CoNLL-2000's tags, 500 sentences) runs in the library, in `structlearn.runtime` (NumPy
alone) and in python-crfsuite; a chain over arrays (handwritten digits) in the library and in onnxruntime.
Each row is the median of three processes, after one that fills caches. The speed is measured in the
same process, on all sentences at once.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from common import DATA, machine, note, recorded

WAYS = {
    "tagger, structlearn": "from structlearn import Tagger; predict = Tagger.load('tagger.st').predict",
    "tagger, NumPy alone": "from structlearn.runtime import load; predict = load('tagger.st').predict",
    "tagger, python-crfsuite": """
import pycrfsuite
tagger = pycrfsuite.Tagger()
tagger.open('tagger.crfsuite')
predict = lambda X: [tagger.tag(one) for one in X]
X = [[[f'word={word}', 'intercept'] for word in one] for one in X]
""",
    "chain over arrays, structlearn": "import structlearn; predict = structlearn.load('digits.st').predict",
    "chain over arrays, onnxruntime": """
import onnxruntime
session = onnxruntime.InferenceSession('digits.onnx')
predict = lambda X: [session.run(['labels'], {'X': one})[0] for one in X]
""",
}
MEASURE = """
import json, time
{read}
begin = time.process_time()
{way}
predict(X[:1])
first = time.process_time() - begin
begin = time.process_time()
predict(X)
rest = time.process_time() - begin
peak = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM')) / 1e3
print(json.dumps([first, sum(map(len, X)) / rest, peak]))
"""
WORDS, ARRAYS = (
    "X = json.load(open('words.json'))",
    "import numpy; X = list(numpy.load('digits.npz').values())",
)


def sentences(n=500):
    """Words and tags of the first sentences of CoNLL-2000."""
    with gzip.open(DATA / "conll2000" / "train.txt.gz", "rt", encoding="utf-8") as lines:
        blocks = lines.read().split("\n\n")[:n]
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    return [[row[0] for row in one] for one in rows], [[row[1] for row in one] for one in rows]


def make_models(folder):
    """Train both models, and write them for every way."""
    import numpy as np

    from structlearn import ChainClassifier, Tagger
    from structlearn.data import digit_sequences
    from structlearn.onnx import export_onnx
    from structlearn.tagging.exchange.formats import export_tagger

    X, y = sentences()
    (folder / "words.json").write_text(json.dumps(X))
    tagger = Tagger(templates="word", random_state=0).fit(X, y)
    tagger.save(folder / "tagger.st")
    export_tagger(tagger, folder / "tagger.crfsuite", "crfsuite")
    X, y = digit_sequences(noise=0.4)
    X = [one.astype(np.float32) for one in X]
    np.savez(folder / "digits.npz", **{f"x{i}": one for i, one in enumerate(X)})
    chain = ChainClassifier(tol=0.05, random_state=0).fit(X, y)
    chain.save(folder / "digits.st")
    export_onnx(chain, folder / "digits.onnx")


def run(way, folder):
    read = WORDS if way.startswith("tagger") else ARRAYS
    source = MEASURE.format(read=read, way=WAYS[way])
    done = subprocess.run([sys.executable, "-c", source], cwd=folder, capture_output=True, check=True)
    return json.loads(done.stdout)


def main():
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_models(folder)
        for way in WAYS:
            run(way, folder)
            first, speed, peak = map(median, zip(*(run(way, folder) for _ in range(3))))
            note(what=way, cpu_seconds_to_first_answer=first, tokens_per_second=speed, peak_mb=peak)
            print(f"{way}: {first:.3f} CPU s to the first answer, {speed:.0f} tokens/s, {peak:.0f} MB")


if __name__ == "__main__":
    recorded(main, peers=["python-crfsuite", "onnxruntime"])
