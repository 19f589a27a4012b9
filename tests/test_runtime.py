"""The tagger of NumPy alone answers as the whole library does, and runs without the rest of it."""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import structlearn.runtime
from structlearn import BinaryClassifier, ChainClassifier, Tagger
from structlearn.runtime import load
from structlearn.storage import compact
from structlearn.tagging import small

FILE = Path(structlearn.runtime.__file__)
WORDS = ("The", "a", "dog", "Cats", "runs", "U.S.", "1987", "état", "x-Ray", "the")
TAGS = ("D", "D", "N", "N", "V", "N", "C", "N", "N", "D")
LABELS = ("B-NP", "I-NP", "O")


def sentences(n, seed, least=1):
    rng = random.Random(seed)
    X = [[rng.choice(list(zip(WORDS, TAGS))) for _ in range(rng.randint(least, 7))] for _ in range(n)]
    y = []
    for one in X:
        y.append([])
        for t in range(len(one)):
            inside = t > 0 and y[-1][-1] != "O" and rng.random() < 0.5
            y[-1].append("I-NP" if inside else rng.choice(("B-NP", "O")))
    return X, y


def named(X):
    return [[{"w": w, "t": {"pos": t}, "n": len(w) / 7, "flags": [w[:1]]} for w, t in one] for one in X]


def words(X):
    return [[word for word, _ in one] for one in X]


def same(X):
    return X


PATTERNS = ["u:%x[-1,0]/%X[0,0]", "u:%x[1,1]", "u:%x[@-1,0]", "*:%x[0,1]", "u:%x[-9,0]", "*:c", "b"]
MODELS = {
    "words": ({}, words),
    "columns": ({"columns": ("word", "pos")}, same),
    "constraints": ({"columns": ("word", "pos"), "constraints": "bio"}, same),
    "second column": ({"columns": ("word", "pos"), "templates": "pos[-1..1] word.norm&pos"}, same),
    "hashes": ({"hash_bits": 6}, words),
    "transitions": ({"columns": ("word", "pos"), "transitions": "pos", "constraints": "bio"}, same),
    "boundaries": ({"chain_options": {"start": True, "end": True}, "constraints": "bio"}, words),
    "no intercept": ({"chain_options": {"fit_intercept": False}, "templates": "word.pattern"}, words),
    "seen": ({"features": "seen"}, words),
    "seen pairs": ({"features": "seen", "columns": ("word", "pos"), "transitions": "pos"}, same),
    "few weights": ({"penalty": "elasticnet"}, words),
    "CRF++": ({"columns": ("word", "pos"), "templates": ["U0:%x[-2,0]", "U1:%x[0,1]/%x[1,0]"]}, same),
    "Wapiti": ({"columns": ("word", "pos"), "templates": PATTERNS}, same),
    "one column of two": ({"columns": ("word", "pos"), "templates": ["U:%x[0,1]", "B"]}, same),
    "named": ({}, named),
    "keys": ({"keep_names": False}, named),
    "named hashes": ({"hash_bits": 5}, named),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_it_answers_as_the_whole_library(tmp_path, name):
    parameters, form = MODELS[name]
    X, y = sentences(40, seed=0)
    path = tmp_path / "m.safetensors"
    Tagger(random_state=0, **parameters).fit(form(X), y).save(path)
    whole, alone, new = Tagger.load(path), load(path), sentences(300, seed=1, least=0)[0]
    new = [[tuple(reversed(one)) if i % 3 == 0 else one for i, one in enumerate(some)] for some in new]
    if whole.columns and len(whole.columns) == 1 and name == "second column":
        new = words(new)
    given = form(new)
    assert [one.tolist() for one in alone.predict(given)] == [one.tolist() for one in whole.predict(given)]


def test_small_files_are_read_too(tmp_path, monkeypatch):
    monkeypatch.setattr(small, "FEW", 10)
    monkeypatch.setattr(small, "NEAR_ZERO", 0.3)
    monkeypatch.setattr(compact, "LEAST", 10)
    X, y = sentences(400, seed=0)
    path = tmp_path / "m.safetensors"
    Tagger(random_state=0, templates="word[-2..2] word[-1]&word word&word[1]").fit(words(X), y).save(path)
    assert b"weights:gaps" in path.read_bytes()
    new = words(sentences(200, seed=1)[0])
    for a, b in zip(load(path).predict(new), Tagger.load(path).predict(new), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_chain_of_named_features(tmp_path):
    X, y = sentences(30, seed=0)
    chain = ChainClassifier(random_state=0).fit(named(X), y)
    chain.save(tmp_path / "m.safetensors")
    for a, b in zip(load(tmp_path / "m.safetensors").predict(named(X)), chain.predict(named(X))):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (lambda X, y: Tagger(task="ner").fit(words(X), y), "no lexicons, context"),
        (lambda X, y: Tagger(task="chunk", model="segments").fit(words(X), y), "reads chains"),
        (lambda X, y: Tagger(templates="word.before").fit(words(X), y), "no template 'word.before'"),
        (lambda X, y: Tagger(templates=['u:%m[0,0,"^."]']).fit(words(X), y), "no regular expressions"),
        (lambda X, y: ChainClassifier().fit([np.ones((len(one), 2)) for one in X], y), "words or of named"),
        (lambda X, y: BinaryClassifier().fit([[0.0], [1.0]], [0, 1]), "reads chains"),
    ],
)
def test_what_it_does_not_know_is_refused(tmp_path, model, problem):
    X, y = sentences(30, seed=0)
    model(X, y).save(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match=problem):
        load(tmp_path / "m.safetensors")


def test_other_files_are_refused(tmp_path):
    for data in (b"", b"\xff" * 40, b"\2\0\0\0\0\0\0\0{}", b"\2\0\0\0\0\0\0\0[]"):
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(ValueError, match="no model file"):
            load(tmp_path / "x")


ALONE = """
import sys

class Forbid:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"numba", "scipy", "sklearn", "safetensors", "structlearn"}:
            raise ImportError(name)

sys.meta_path.insert(0, Forbid())
from copied import load
print(" ".join(load(sys.argv[1]).predict([["The", "dog"]])[0]))
"""


def test_a_copy_of_its_file_runs_alone(tmp_path):
    X, y = sentences(40, seed=0)
    tagger = Tagger(random_state=0).fit(words(X), y)
    tagger.save(tmp_path / "m.safetensors")
    shutil.copy(FILE, tmp_path / "copied.py")
    command = [sys.executable, "-c", ALONE, str(tmp_path / "m.safetensors")]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.split() == tagger.predict([["The", "dog"]])[0].tolist()


def test_it_is_short():
    assert len(FILE.read_text().splitlines()) <= 300
