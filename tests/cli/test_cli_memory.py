"""Peak memory of commands that take text as a stream: what a line took is given back."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from structlearn.alignment.corpus import load_corpus
from structlearn.cli import app

#: Commands, one after the other in one process; the most memory that it has had, in KB, after each.
COMMANDS = """
import json, resource, sys
from structlearn.cli import main
unit = 1024 if sys.platform == "darwin" else 1
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        assert not end.code
    print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit, file=sys.stderr)
"""
#: A process begins with the peak of the one that started it, which tests make large: a small one is between.
BETWEEN = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', *sys.argv[1:]]).returncode)"
FEW, MANY = 3000, 6000


def write_text(folder, n):
    """Pairs of sentences, n lines on each side, and tags of the source words."""
    corpus = load_corpus()
    pairs = [corpus[i % len(corpus)] for i in range(n)]
    (folder / f"{n}.en").write_text("".join(" ".join(one.source) + "\n" for one in pairs))
    (folder / f"{n}.fr").write_text("".join(" ".join(one.target) + "\n" for one in pairs))
    tagged = (
        "".join(f"{word} {'N' if len(word) > 3 else 'D'}\n" for word in one.source) + "\n" for one in pairs
    )
    (folder / f"{n}.conll").write_text("".join(tagged))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Text, an aligner and a tagger."""
    made = tmp_path_factory.mktemp("streams")
    for n in (200, FEW, MANY):
        write_text(made, n)
    source, target, tags = (str(made / f"200.{suffix}") for suffix in ("en", "fr", "conll"))
    for words in (
        ["align", "train", "--src", source, "--tgt", target, "--out", str(made / "aligner")],
        ["train", "tag", tags, "--out", str(made / "tagger")],
    ):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
    return made


def sides(n):
    return ["--src", f"{n}.en", "--tgt", f"{n}.fr"]


#: A command for n lines, and KB that a line may take, of which the text and its labels are a part.
CASES = {
    "align apply": (lambda n: ["align", "apply", "aligner", *sides(n)], 4),
    "align project": (
        lambda n: ["align", "project", "aligner", "--labels", f"{n}.conll", "--tgt", f"{n}.fr"],
        4,
    ),
    "align phrases": (lambda n: ["align", "phrases", "aligner", *sides(n)], 4),
    "tag": (lambda n: ["tag", "tagger", f"{n}.en"], 3),
    # the file is in memory
    "predict": (lambda n: ["predict", "tagger", f"{n}.conll"], 8),
    "evaluate": (lambda n: ["evaluate", "tagger", f"{n}.conll"], 8),
}


@pytest.mark.parametrize("name", CASES)
def test_memory_does_not_grow_with_what_has_gone_through(folder, name):
    make, most = CASES[name]
    written = json.dumps([make(FEW), make(MANY)])
    program = [sys.executable, "-c", BETWEEN, COMMANDS, written]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    few, many = (int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("PEAK "))
    assert many - few <= most * (MANY - FEW)
