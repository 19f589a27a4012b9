"""--model neural: the commands with networks, and without PyTorch."""

import subprocess
import sys

import pytest
from cli_cases import values
from test_cli_tagging import phrases, plain

TREES = """1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\truns\t_\tVERB\tVB\t_\t0\troot\t_\t_

"""


@pytest.fixture
def chunks(write):
    return write(plain(phrases()), "train.txt")


def test_taggers(run, refused, chunks, write, tmp_path):
    pytest.importorskip("torch")
    out, words = tmp_path / "chunker.st", tmp_path / "words.st"
    found = run("train", "chunk", chunks, "--model", "neural", "--epochs", "3", "--out", out)
    assert values(found.stdout)["status"].startswith("No certificate")
    text = plain(phrases(5, seed=1))
    data, bare = write(text, "new.txt"), write(plain(phrases(5, seed=1), n_columns=2), "bare.txt")
    assert run("predict", out, bare).stdout == text
    assert values(run("evaluate", out, data).stdout)["f1"] == "1"
    assert run("predict", out, data, "--spans").stdout.startswith("sentence\tstart")
    assert "networks=B-NP" in run("weights", out, "--top", "1").stdout
    assert "task: chunk" in run("info", out).stdout
    run("show", out, data, "--out", tmp_path / "page.html")
    run("calibrate", out, data, "--out", tmp_path / "calibrated.st")
    assert run("predict", tmp_path / "calibrated.st", bare).stdout == text
    one_column = ["--columns", "0", "--epochs", "1", "--networks", "2"]
    run("train", "tag", chunks, "--model", "neural", *one_column, "--out", words)
    raw = write("the dog runs", "raw.txt")
    assert run("tag", words, raw).stdout.splitlines()[0].split("\t")[0] == "the"
    assert "use structlearn.load" in refused(
        "train", "chunk", chunks, "--with", words, "--out", tmp_path / "with.st"
    )


def test_parsers(run, write, tmp_path):
    pytest.importorskip("torch")
    data, out = write(TREES * 10, "trees.conllu"), tmp_path / "parser.st"
    run("train", "parse", data, "--model", "neural", "--epochs", "1", "--out", out)
    assert "ArcConf=" in run("predict", out, data, "--marginals").stdout
    assert values(run("evaluate", out, data).stdout)["words"] == "30"
    assert "estimator: NeuralParser" in run("info", out).stdout
    run("show", out, data, "--out", tmp_path / "page.html")


def test_flags_of_linear_models_are_refused(refused, chunks, write, tmp_path):
    pytest.importorskip("torch")
    base = ["train", "chunk", chunks, "--out", tmp_path / "m.st"]
    for flags in (["--solver", "bcfw"], ["--penalty", "l1"], ["--no-intercept"], ["--tol", "0.1"]):
        assert f"{flags[0]} goes with linear models" in refused(*base, "--model", "neural", *flags)
    assert "--epochs goes with --model neural" in refused(*base, "--epochs", "2")
    for command in (["tune"], ["compare", "--solvers", "bcfw,sdca"]):
        first, *rest = command
        told = refused(first, "chunk", chunks, *rest, "--model", "neural", "--out", tmp_path / "out")
        assert f"{first} is for linear models" in told
    trees = ["train", "parse", write(TREES, "trees.conllu"), "--out", tmp_path / "p.st"]
    assert "--vectors goes with --model neural" in refused(*trees, "--vectors", chunks)
    assert "--loss goes with linear models" in refused(*trees, "--model", "neural", "--loss", "hinge")


def test_without_torch_a_sentence_names_the_extra(chunks):
    """In a process of its own, which has no torch, and whose other commands do not look for it."""
    arguments = ["structlearn", "train", "chunk", str(chunks), "--model", "neural", "--out", "m.st"]
    program = (
        "import sys; sys.modules['torch'] = None; import structlearn.neural, structlearn.cli as cli; "
        f"sys.argv = {arguments!r}; cli.main()"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr == "Error: NeuralTagger needs the package torch: pip install 'structlearn[torch]'.\n"
