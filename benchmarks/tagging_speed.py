"""Tagging: tokens per second from named features against python-crfsuite, from raw text, and the start.

python benchmarks/tagging_speed.py names | text | start [--model MODEL]

The data is CoNLL-2002 (Spanish): training on esp.train, tagging esp.testa. `names` tags from lists and from
dicts of feature strings, the same for both programs and made beforehand. `text` tags raw text with a model of
`structlearn train ner` (trained first unless given), its context included; the last of its figures is that
of sentences that are split already. `start` runs new processes that tag one sentence, with kernels
that were compiled before. Seconds are of the processor, the least of several runs; both programs run in turn.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from string import ascii_uppercase, digits

from common import DATA, machine, note, recorded

from structlearn import load
from structlearn.data import read_tokens, split_rows
from structlearn.tagging import Tagger

BENCH = [["names"], ["text"], ["start"]]
REPEATS = 5
SHAPE = str.maketrans({**dict.fromkeys(ascii_uppercase, "X"), **dict.fromkeys(digits, "d")})


def read(name):
    tokens = read_tokens(DATA / "conll2002" / f"esp.{name}.gz")
    words, tags = (split_rows(tokens.column(one).cells, tokens.lengths) for one in ("0", "1"))
    labels = split_rows(tokens.column("2").cells, tokens.lengths)
    return [(w.tolist(), t.tolist()) for w, t in zip(words, tags)], [one.tolist() for one in labels]


def token(words, tags, t):
    """The features of a token, as the tutorial of python-crfsuite writes them for these data."""
    found = {"bias": "1"}
    for step in (-1, 0, 1):
        at = t + step
        if not 0 <= at < len(words):
            found["BOS" if at < 0 else "EOS"] = "1"
            continue
        word, sign = words[at], f"{step:+d}" if step else ""
        found |= {
            f"{sign}word.lower": word.lower(),
            f"{sign}word.isupper": str(word.isupper()),
            f"{sign}word.istitle": str(word.istitle()),
            f"{sign}postag": tags[at],
            f"{sign}postag[:2]": tags[at][:2],
        }
    word = words[t]
    found |= {"word[-3:]": word[-3:], "word[-2:]": word[-2:], "word.isdigit": str(word.isdigit())}
    return found | {"word[:3]": word[:3], "shape": word.translate(SHAPE)}


def least_seconds(*ways):
    """Return the least CPU seconds of each way; the ways run in turn."""
    times = [[] for _ in ways]
    for _ in range(REPEATS):
        for way, found in zip(ways, times):
            begin = time.process_time()
            way()
            found.append(time.process_time() - begin)
    return [min(found) for found in times]


def names():
    import pycrfsuite

    (train, y), (test, _) = read("train"), read("testa")
    made = [[[token(*one, t) for t in range(len(one[0]))] for one in part] for part in (train, test)]
    n = sum(len(one) for one in made[1])
    trainer = pycrfsuite.Trainer(verbose=False)
    for one, labels in zip(made[0], y):
        trainer.append(one, labels)
    trainer.set_params({"max_iterations": 30})
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "peer")
        trainer.train(path)
        peer = pycrfsuite.Tagger()
        peer.open(path)
        for form, make in {"dicts": dict, "lists": as_list}.items():
            compare(
                form, [[[make(one) for one in sentence] for sentence in part] for part in made], y, peer, n
            )


def as_list(features):
    """The same features as strings, as CRFsuite names them."""
    return [f"{name}:{value}" for name, value in features.items()]


def compare(form, made, y, peer, n):
    """Tokens per second of both programs on the same features: all sentences at once, and one per call."""
    X, test = made
    ours = Tagger(task="ner", random_state=0).fit(X, y)
    ways = [
        lambda: ours.predict(test),
        lambda: [ours.predict([one]) for one in test[:300]],
        lambda: [peer.tag(one) for one in test],
    ]
    some = sum(map(len, test[:300]))
    ours_all, ours_single, theirs = (k / s for k, s in zip((n, some, n), least_seconds(*ways)))
    note(what=form, tokens_per_second=ours_all, one_sentence_per_call=ours_single, crfsuite=theirs)
    print(
        f"{form}: {ours_all:,.0f} tokens per second ({ours_single:,.0f} with one sentence per call), "
        f"CRFsuite {theirs:,.0f}",
        flush=True,
    )


def text(model):
    tagger, (sentences, _) = load(model), read("testa")
    n, lines = sum(len(words) for words, _ in sentences), "\n".join(" ".join(words) for words, _ in sentences)
    speeds = {}
    for tokenizer in ("blanks", "marks", "penn"):
        found = sum(map(len, tagger.tag(lines, tokenizer)))
        (seconds,) = least_seconds(lambda tokenizer=tokenizer: tagger.tag(lines, tokenizer))
        speeds[tokenizer] = found / seconds
    words = [words for words, _ in sentences]
    (seconds,) = least_seconds(lambda: tagger.predict(words))
    speeds["predict"] = n / seconds
    note(what="raw text, tokens per second", megabytes=Path(model).stat().st_size / 1e6, **speeds)
    print("tokens per second:", ", ".join(f"{name} {one:,.0f}" for name, one in speeds.items()))
    print(f"model file: {Path(model).stat().st_size / 1e6:.1f} MB")


def start(model):
    """CPU and wall seconds of processes that load a model and tag one sentence."""
    sentence = "El presidente del Gobierno viajó ayer a Madrid con José Luis García .\n"
    code = f"import structlearn; structlearn.load({str(model)!r}).predict([{sentence.split()!r}])"
    shell = ["-c", "from structlearn.cli import main; main()", "tag", str(model), "-", "--tokenizer"]
    commands = {"tag, blanks": [*shell, "blanks"], "tag, penn": [*shell, "penn"], "predict": ["-c", code]}
    for what, command in commands.items():
        runs = [_process(command, sentence) for _ in range(REPEATS + 1)][1:]
        wall, cpu = (min(one) for one in zip(*runs))
        note(what=f"start, {what}", seconds=wall, cpu_seconds=cpu)
        print(f"start to first tag, {what}: {wall:.2f} s, of the processor {cpu:.2f}")


def _process(command, given):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    # Bytecode is kept, as that of an installed package is, but not among the sources.
    kept = {"PYTHONPYCACHEPREFIX": tempfile.gettempdir() + "/bytecode", "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(
        [sys.executable, *command],
        input=given,
        text=True,
        check=True,
        capture_output=True,
        env={**os.environ, **kept},
    )
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["names", "text", "start"])
    parser.add_argument("--model")
    given = parser.parse_args()
    print(f"# {machine()}, load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}", flush=True)
    if given.part == "names":
        names()
        return
    with tempfile.TemporaryDirectory() as folder:
        model = given.model
        if model is None:
            model = str(Path(folder) / "ner.model")
            train, y = read("train")
            Tagger(task="ner", random_state=0).fit([words for words, _ in train], y).save(model)
        {"text": text, "start": start}[given.part](model)


if __name__ == "__main__":
    recorded(main, peers=["python-crfsuite"])
