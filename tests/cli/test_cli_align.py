"""`structlearn align clean` and `structlearn align evaluate`."""

import gzip
import subprocess

import pytest
from cli_cases import command, values


@pytest.fixture
def texts(tmp_path):
    """Raw English and French sentences, the last English one empty."""
    source, target = tmp_path / "raw.en", tmp_path / "raw.fr"
    source.write_text("I don't see the house.\nYes!\n\n")
    target.write_text("Je ne vois pas l'église.\nOui !\nNon.\n")
    return source, target


@pytest.fixture
def links(tmp_path):
    hypothesis, gold = tmp_path / "mine.pharaoh", tmp_path / "gold.wa"
    hypothesis.write_text("0-0 2-1 0-2\n\n")
    gold.write_text("1 1 1 S\n1 2 2 S\n1 3 2 P\n1 3 3 P\n")
    return hypothesis, gold


def test_clean(run, texts, tmp_path):
    options = ["--tokenize", "simple", "--lowercase", "--strip-accents"]
    result = run("align", "clean", "--src", texts[0], "--tgt", texts[1], "--out", tmp_path / "new", *options)
    assert (tmp_path / "new.en").read_text() == "i do n't see the house .\nyes !\n"
    assert (tmp_path / "new.fr").read_text() == "je ne vois pas l' eglise .\noui !\n"
    counted = values(result.stdout)
    assert (counted["pairs_read"], counted["pairs_written"], counted["dropped_empty"]) == ("3", "2", "1")


@pytest.mark.parametrize(
    ("names", "written"),
    [
        (["a.x.en.gz", "b.fr"], ["new.en.gz", "new.fr"]),
        (["a.txt", "b.txt"], ["new.src", "new.tgt"]),
        (["a", "b.fr"], ["new.src", "new.tgt"]),
    ],
)
def test_names_of_cleaned_files(run, tmp_path, names, written):
    folder = tmp_path / "out"
    folder.mkdir()
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.write_bytes(gzip.compress(b"a\n") if path.suffix == ".gz" else b"a\n")
    run("align", "clean", "--src", paths[0], "--tgt", paths[1], "--out", folder / "new")
    assert sorted(path.name for path in folder.iterdir()) == written


def test_clean_from_standard_input(texts, tmp_path):
    arguments = command("align", "clean", "--src", "-", "--tgt", texts[1], "--out", tmp_path / "new")
    result = subprocess.run(arguments, input="a\nb\nc\n", capture_output=True, text=True, check=True)
    assert values(result.stdout)["pairs_written"] == "2"
    assert (tmp_path / "new.src").read_text() == "b\nc\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-ratio", "0"], "The maximum ratio must be at least 1"),
        (["--min-length", "9", "--max-length", "3"], "but they are 9 and 3"),
        (["--tgt", "nowhere.fr"], "File nowhere.fr does not exist."),
    ],
)
def test_refusals_of_clean(refused, texts, tmp_path, options, said):
    out = tmp_path / "new"
    assert said in refused("align", "clean", "--src", texts[0], "--tgt", texts[1], "--out", out, *options)
    assert not list(tmp_path.glob("new*"))


def test_clean_never_writes_over_its_input(refused, texts, tmp_path):
    said = refused("align", "clean", "--src", texts[0], "--tgt", texts[1], "--out", tmp_path / "raw")
    assert "the command uses this file already" in said


def test_languages_must_be_known(refused, run, texts, tmp_path):
    other = tmp_path / "text"
    other.write_text("l'a vu\nb\nc\n")
    arguments = ["align", "clean", "--src", texts[0], "--tgt", other, "--out", tmp_path / "new"]
    assert "give it with --tgt-language en" in refused(*arguments, "--tokenize", "simple")
    run(*arguments, "--tokenize", "simple", "--tgt-language", "fr")
    assert (tmp_path / "new.tgt").read_text() == "l' a vu\nb\n"


def test_evaluate(run, links):
    result = run("align", "evaluate", "--hyp", links[0], "--gold", links[1])
    assert result.stdout.splitlines() == [
        "precision: 0.666667", "recall: 0.5", "aer: 0.4", "f1: 0.571429", "links: 3", "sure: 2", "pairs: 2",
    ]  # fmt: skip


def test_refusals_of_evaluate(refused, links, tmp_path):
    assert "nowhere does not exist" in refused("align", "evaluate", "--hyp", "nowhere", "--gold", links[1])
    links[0].write_text("0-0 1:2\n")
    said = refused("align", "evaluate", "--hyp", links[0], "--gold", links[1])
    assert 'mine.pharaoh, line 1: "1:2" is not a link such as 0-1' in said
    links[0].write_text("0-0\n")
    links[1].write_text("2 1 1 S\n")
    assert "has 1 lines, but there are 2" in refused(
        "align", "evaluate", "--hyp", links[0], "--gold", links[1]
    )


def test_help(run):
    assert run("align").stdout == run("align", "--help").stdout
    for name in ("train", "apply", "show", "clean", "evaluate"):
        assert name in run("align").stdout
        assert f"Example: structlearn align {name}" in run("align", name, "--help").stdout
