"""What a warm command imports: to predict takes no scikit-learn, and gives the same answers without."""

import json
import subprocess
import sys

import numpy as np
import pytest
from cli_cases import columns, label_sets, numbers, rows, sentences, table

from structlearn.data import make_shortest_paths, write_decisions, write_libsvm

#: What is only needed to train, to draw, to download or to search.
HEAVY = (
    *("sklearn", "pandas", "matplotlib", "jinja2", "rich", "pooch", "joblib", "distributed"),
    *("scipy.optimize", "scipy.stats", "scipy.special", "scipy.interpolate", "scipy.sparse.linalg"),
)
#: Commands, one after the other, and what they have imported.
PROGRAM = """
import json, sys
from structlearn.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        code = end.code
print('IMPORTED', *sys.modules, file=sys.stderr)
sys.exit(code)
"""
CHUNKS = {"D": "B-NP", "N": "I-NP", "V": "O"}
TREE = (
    "1\tthe\t_\tD\t_\t_\t2\tdet\t_\t_",
    "2\tcat\t_\tN\t_\t_\t3\tsubj\t_\t_",
    "3\truns\t_\tV\t_\t_\t0\troot\t_\t_",
)


def write_table(path):
    X, y = rows()
    path.write_text(table(X, "a,b,c,d,kind", [["red", "green", "blue"][k] for k in y]))


def write_chunks(path):
    path.write_text(columns([[(word, tag, CHUNKS[tag]) for word, _, tag in one] for one in sentences()]))


def write_pairs(path):
    links = [(i, k, k) for i in range(10) for k in range(3)]
    features = np.random.default_rng(0).normal(size=(120, 4))
    with open(path, "wb") as file:
        np.savez(file, features=features, shapes=[(3, 4)] * 10, links=links)


#: The task, its flags, and what writes a file for it.
CASES = {
    "classify": ("classify", (), write_table),
    "classify sparse": ("classify", ("--loss", "softmax"), lambda path: write_libsvm(path, *rows())),
    "multilabel": ("multilabel", (), lambda path: write_libsvm(path, *label_sets(), multilabel=True)),
    "regress": ("regress", (), lambda path: write_libsvm(path, *numbers())),
    "tag": ("tag", (), lambda path: path.write_text(columns(sentences()))),
    "chunk": ("chunk", (), write_chunks),
    "ner": ("ner", ("--loss", "hinge"), write_chunks),
    "parse": ("parse", (), lambda path: path.write_text("\n".join((*TREE, "", "")) * 5)),
    "match": ("match", (), write_pairs),
    "decide": (
        "decide",
        (),
        lambda path: write_decisions(path, *make_shortest_paths(20, rows=3, columns=3, random_state=0)),
    ),
}


def process(*commands):
    """`structlearn COMMAND` for each of them, in one process of its own."""
    written = json.dumps([[str(word) for word in command] for command in commands])
    program = [sys.executable, "-c", PROGRAM, written]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def started(*commands):
    """What they print, and the modules that they have imported."""
    done = process(*commands)
    (imported,) = [line for line in done.stderr.splitlines() if line.startswith("IMPORTED ")]
    assert done.returncode == 0, done.stderr
    return done.stdout, set(imported.split())


@pytest.mark.parametrize("name", CASES)
def test_models_are_used_without_what_trained_them(run, tmp_path, name):
    task, flags, write = CASES[name]
    data, model = tmp_path / ("data.csv" if write is write_table else "data"), tmp_path / "model"
    write(data)
    run("train", task, data, "--out", model, *flags)
    commands = [(command, model, data) for command in ("predict", "evaluate")]
    printed, imported = started(*commands)
    assert printed == "".join(run(*command).stdout for command in commands)
    assert not imported & set(HEAVY)


def test_text_is_aligned_without_what_trained_the_aligner(run, tmp_path):
    source, target, model = (tmp_path / name for name in ("source", "target", "model"))
    source.write_text("the cat\na dog\nthe dog\n" * 3)
    target.write_text("le chat\nun chien\nle chien\n" * 3)
    sides = ("--src", source, "--tgt", target)
    run("align", "train", *sides, "--out", model)
    printed, imported = started(("align", "apply", model, *sides))
    assert printed == run("align", "apply", model, *sides).stdout
    assert not imported & set(HEAVY)


def test_raw_text_is_tagged_without_what_trained_the_tagger(run, tmp_path):
    write_chunks(tmp_path / "data")
    (tmp_path / "text").write_text("the cat runs .\n")
    _, imported = started(("train", "ner", tmp_path / "data", "--out", tmp_path / "model", "--seed", 0))
    assert not imported & {"sklearn", "pandas", "scipy.stats", "matplotlib"}
    tagging = ("tag", tmp_path / "model", tmp_path / "text")
    expected = run(*tagging).stdout  # and kernels are compiled
    printed, imported = started(tagging)
    assert printed == expected
    assert not imported & set(HEAVY)


def test_a_refusal_of_scikit_learn_is_the_same_without_it(run, refused, tmp_path):
    write_libsvm(tmp_path / "data", *rows())
    X, y = rows(d=5)
    write_libsvm(tmp_path / "wide", X, y)
    run("train", "classify", tmp_path / "data", "--out", tmp_path / "model")
    run("data", "pack", "classify", tmp_path / "wide", "--out", tmp_path / "packed")
    expected = refused("predict", tmp_path / "model", tmp_path / "packed")
    done = process(("predict", tmp_path / "model", tmp_path / "packed"))
    assert done.returncode == 2
    assert expected in done.stderr.splitlines()
    assert "expecting 4 features" in expected
