"""Chains with many labels: 1,000 made-up ones, and the full morphological labels of UD English EWT.

python benchmarks/many_labels.py made | ewt | crfsuite [--loss softmax | hinge] [--regularization LAMBDA] ...

Each run is a process of its own, for its peak memory. "made": 1,000 sentences of 20 words from a vocabulary
of 5,000 words, each with a usual and two rarer labels of 1,000. "ewt": XPOS and features of a word joined to
one label; the training part trains, the development part is scored. --candidates w restricts words to the
labels that a tag dictionary of the training part has. "crfsuite" trains python-crfsuite on the
same features for a number of iterations; its seconds are per iteration, since hundreds would take days.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import time

import numpy as np
from common import DATA, machine, note, recorded

from structlearn import ChainClassifier

N_LABELS, N_WORDS, N_SENTENCES, LENGTH = 1_000, 5_000, 1_000, 20


def features(words):
    """Features of each word of a sentence: itself, its affixes, its neighbours."""
    around = ["^", *words, "$"]
    for before, word, after in zip(around, words, around[2:]):
        yield [
            *("bias", f"w={word}", f"l={word.lower()}"),
            *(f"p{n}={word[:n]}" for n in (1, 2, 3)),
            *(f"s{n}={word[-n:]}" for n in (1, 2, 3)),
            *(f"-1={before}", f"+1={after}", f"-1s={before[-2:]}", f"+1s={after[-2:]}"),
        ]


def made():
    """Return sentences and labels whose words have a usual label and two rarer ones."""
    rng = np.random.default_rng(0)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    words = np.array(["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(N_WORDS)])
    usual = rng.integers(0, N_LABELS, (N_WORDS, 3))
    usual[:N_LABELS, 0] = np.arange(N_LABELS)
    often = 1 / (np.arange(N_WORDS) + 20.0)
    chosen = rng.choice(N_WORDS, (N_SENTENCES, LENGTH), p=often / often.sum())
    labels = usual[chosen, rng.choice(3, chosen.shape, p=[0.8, 0.15, 0.05])]
    return words[chosen].tolist(), [[f"L{k}" for k in row] for row in labels.tolist()]


def ewt(part):
    """Return sentences and labels of a part of UD English EWT."""
    sentences, labels = [[]], [[]]
    with gzip.open(DATA / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if cells[0].isdigit():
                sentences[-1].append(cells[1])
                labels[-1].append(f"{cells[4]}|{cells[5]}")
            elif not line.strip():
                sentences.append([])
                labels.append([])
    return [one for one in sentences if one], [one for one in labels if one]


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def right(given, found):
    """Share of the tokens that are right."""
    pairs = [a == b for one, other in zip(given, found) for a, b in zip(one, other)]
    return sum(pairs) / len(pairs)


def train(X, y, X_test, y_test, **options):
    """Train and say what it took."""
    begin = time.process_time()
    model = ChainClassifier(random_state=0, **options).fit(X, y)
    seconds, found = time.process_time() - begin, model.certificate_
    begin = time.process_time()
    accuracy = right(y_test, [one.tolist() for one in model.predict(X_test)])
    speed = sum(map(len, X_test)) / (time.process_time() - begin)
    row = {"labels": len(model.classes_), "weights": model.weights_.size, "cpu_seconds": seconds}
    row |= {"passes": found.passes, "relative_gap": found.gap / found.primal, "primal": found.primal}
    row |= {"accuracy": accuracy, "tokens_per_second": speed, "peak_gb": peak()}
    name = f"structlearn, {model.loss_}, lambda {model.regularization:g}"
    name += f", candidates by {model.candidates}" if model.candidates else ""
    note(what=name, **row)
    print(
        f"{name}: {len(model.classes_)} labels, {model.weights_.size} weights, {seconds:.1f} CPU s in "
        f"{found.passes:.0f} passes, P {found.primal:.4f}, relative gap {found.gap / found.primal:.2%}, "
        f"{accuracy:.2%} of the tokens right at {speed:.0f} tokens per second; peak memory {peak():.2f} GB"
    )
    print(found.status)


def crfsuite(X, y, X_test, y_test, strength, iterations):
    """Train python-crfsuite for some iterations, and say what each took."""
    from tempfile import TemporaryDirectory

    import pycrfsuite

    options = {"c2": strength * len(X) / 2, "max_iterations": iterations}
    trainer = pycrfsuite.Trainer("lbfgs", options, verbose=False)
    for sentence, labels in zip(X, y):
        trainer.append(sentence, labels)
    with TemporaryDirectory() as folder:
        begin = time.process_time()
        trainer.train(f"{folder}/model")
        seconds = time.process_time() - begin
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
        begin = time.process_time()
        accuracy = right(y_test, [tagger.tag(one) for one in X_test])
        speed = sum(map(len, X_test)) / (time.process_time() - begin)
    row = {"cpu_seconds": seconds, "iterations": iterations, "accuracy": accuracy}
    note(what="CRFsuite", **row, tokens_per_second=speed, peak_gb=peak())
    print(
        f"CRFsuite: {seconds:.1f} CPU s in {iterations} iterations, {accuracy:.2%} of the tokens right at "
        f"{speed:.0f} tokens per second; peak memory {peak():.2f} GB"
    )


def main(what, **options):
    print(machine())
    (X, y), (X_test, y_test) = (made(),) * 2 if what == "made" else (ewt("train"), ewt("dev"))
    X, X_test = ([list(features(one)) for one in sentences] for sentences in (X, X_test))
    if what == "crfsuite":
        crfsuite(X, y, X_test, y_test, options["regularization"], int(options["max_passes"]))
    else:
        train(X, y, X_test, y_test, **options)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("made", "ewt", "crfsuite"))
    parser.add_argument("--loss", default="softmax")
    parser.add_argument("--tol", type=float, default=0.1)
    parser.add_argument("--regularization", type=float, default=0.01)
    parser.add_argument("--transitions", default="auto")
    parser.add_argument("--candidates", help="the key of a tag dictionary: w (the word) or l (in lower case)")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--passes", dest="max_passes", type=float, default=100)
    options = vars(parser.parse_args())
    recorded(main, options.pop("what"), peers=["python-crfsuite"], **options)
