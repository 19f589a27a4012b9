"""`structlearn align train`, `apply` and `show`, from files to files."""

import gzip
import os
import re
from itertools import islice
from pathlib import Path

import pytest
from cli_cases import values

from structlearn import load
from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.links import format_pharaoh, parse_pharaoh, write_naacl
from structlearn.alignment.text.clean import without_accents

N_GOLD = 20
SHARED = Path(os.environ.get("STRUCTLEARN_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Text, gold text and gold links of the embedded corpus."""
    folder = tmp_path_factory.mktemp("align")
    corpus = load_corpus()
    for name, part in (("text", corpus), ("gold", corpus[:N_GOLD])):
        (folder / f"{name}.en").write_text("".join(f"{' '.join(one.source)}\n" for one in part))
        (folder / f"{name}.fr").write_text("".join(f"{' '.join(one.target)}\n" for one in part))
    write_naacl(folder / "gold.wa", [one.links for one in corpus[:N_GOLD]])
    return folder


def sides(folder, name="text"):
    return ["--src", folder / f"{name}.en", "--tgt", folder / f"{name}.fr"]


def gold(folder):
    return [
        "--gold", folder / "gold.wa", "--gold-src", folder / "gold.en", "--gold-tgt", folder / "gold.fr",
    ]  # fmt: skip


@pytest.fixture
def model(run, files, tmp_path):
    """A model without gold links: quick to train."""
    run("align", "train", *sides(files), "--out", tmp_path / "model.st")
    return tmp_path / "model.st"


def test_train_apply_evaluate(run, files, tmp_path):
    model, links = tmp_path / "model.st", tmp_path / "links"
    printed = values(run("align", "train", *sides(files), *gold(files), "--out", model).stdout)
    assert float(printed["gap"]) <= 1e-2
    assert 0 < float(printed["cross_validated_aer"]) < 0.4
    run("align", "apply", model, *sides(files, "gold"), "--out", links)
    found = values(run("align", "evaluate", "--hyp", links, "--gold", files / "gold.wa").stdout)
    assert float(found["aer"]) < 0.25
    described = values(run("info", model).stdout)
    assert described["estimator"] == "Aligner"
    assert described["gap"] == printed["gap"]


def test_a_little_text_is_said_to_be_little(run, write, files, tmp_path):
    little = ["--src", write("a house\n", "s"), "--tgt", write("une maison\n", "t")]
    said = run("align", "train", *little, "--out", tmp_path / "m").stderr
    assert "Read 1 pair of text. That is little" in said
    said = run("align", "train", *sides(files), "--out", tmp_path / "m").stderr
    assert "pairs of text.\n" in said


def test_scores_stand_behind_the_same_links(run, files, model):
    plain = run("align", "apply", model, *sides(files)).stdout.splitlines()
    scored = run("align", "apply", model, *sides(files), "--scores").stdout.splitlines()
    assert len(plain) == len(load_corpus())
    assert [re.sub(r":[01]\.\d{3}", "", line) for line in scored] == plain
    assert [parse_pharaoh(line) for line in scored] == [parse_pharaoh(line) for line in plain]
    assert ":" in scored[0]


def test_empty_lines_give_empty_lines(run, model, write):
    source, target = write("i eat\n\n\nyes\n", "a"), write("je mange\n\noui\n\n", "b")
    lines = run("align", "apply", model, "--src", source, "--tgt", target).stdout.split("\n")
    assert lines[1:] == ["", "", "", ""]


@pytest.mark.filterwarnings("default::UserWarning")
def test_other_languages_are_noticed(run, files, model):
    exchanged = ["--src", files / "text.fr", "--tgt", files / "text.en"]
    assert "Warning: The two sides seem to be exchanged" in run("align", "apply", model, *exchanged).stderr
    french = ["--src", files / "text.fr", "--tgt", files / "text.fr"]
    assert (
        "of the source's words. They are words of its target" in run("align", "apply", model, *french).stderr
    )
    assert "does not know" not in run("align", "apply", model, *sides(files)).stderr


def test_show(run, files, model, tmp_path):
    page = tmp_path / "page.html"
    result = run("align", "show", model, *sides(files, "gold"), "--gold", files / "gold.wa", "--out", page)
    assert 0 < float(values(result.stdout)["aer"]) < 1
    assert page.read_text().count('<section class="pair">') == N_GOLD
    assert "aer" not in values(run("align", "show", model, *sides(files, "gold"), "--out", page).stdout)


def test_the_library_loads_aligners(model):
    assert type(load(model)) is Aligner


def test_refusals(run, refused, files, model, write, tmp_path):
    out = tmp_path / "new"
    short = write("one line\n", "short")
    said = refused("align", "train", "--src", short, "--tgt", files / "text.fr", "--out", out)
    assert "short, line 2: the file ends here" in said
    said = refused("align", "train", *sides(files), "--gold", files / "gold.wa", "--out", out)
    assert "--gold-src" in said
    both = refused("align", "train", *sides(files), *gold(files), "--pseudo-gold", "--out", out)
    assert "not both" in both
    wrong = write("1 99 1 S\n", "wrong.wa")
    options = [wrong if one == files / "gold.wa" else one for one in gold(files)]
    result = run("align", "train", *sides(files), *options, "--out", out, code=2)
    assert "wrong.wa, line 1" in result.stderr
    said = refused("align", "apply", files / "gold.wa", *sides(files), "--out", out)
    assert "is not a structlearn model" in said
    said = refused("align", "apply", model, "--src", short, "--tgt", files / "text.fr", "--out", out)
    assert "the file ends here" in said
    vectors = write("2 3\na 1 2\n", "wrong.vec")
    options = ["--vectors-src", vectors, "--vectors-tgt", vectors]
    assert "wrong.vec, line 2" in refused("align", "train", *sides(files), *options, "--out", out)
    assert "need both" in refused("align", "train", *sides(files), *options[:2], "--out", out)
    assert not out.exists()


def test_other_commands_point_to_align(refused, files, model, tmp_path):
    for said in (
        refused("predict", model, files / "text.en"),
        refused("show", model, files / "text.en", "--out", tmp_path / "page.html"),
        refused("train", "align", files / "text.en", "--out", tmp_path / "model"),
    ):
        assert "structlearn align --help" in said


def vector_options(write, dimension=3):
    """Vectors of a few words, source in three dimensions, target in `dimension`, and a dictionary."""
    words = {"src": ["the", "a", "house", "i"], "tgt": ["la", "une", "maison", "je"]}
    options = []
    for side, width in (("src", 3), ("tgt", dimension)):
        rows = "".join(
            f"{word} {' '.join(str(float(k == i % width)) for k in range(width))}\n"
            for i, word in enumerate(words[side])
        )
        options += [f"--vectors-{side}", write(f"4 {width}\n{rows}", f"{side}.vec")]
    pairs = "".join(f"{a}\t{b}\n" for a, b in zip(*words.values()))
    return options, ["--dictionary", write(pairs, "pairs.tsv")]


def test_vectors_and_a_dictionary(run, refused, files, write, tmp_path):
    vectors, dictionary = vector_options(write, 4)
    out = ["--out", tmp_path / "m.st"]
    found = run("align", "train", *sides(files), *vectors, *dictionary, *out)
    assert "Mapped the vectors by 4 word pairs" in found.stderr
    assert len(run("align", "apply", tmp_path / "m.st", *sides(files)).stdout.splitlines()) == 212
    said = refused("align", "train", *sides(files), *vectors, "--one-space", "--out", tmp_path / "n.st")
    assert "differ in dimension" in said
    mapped = run("align", "train", *sides(files), *vectors, *out)
    assert re.search(r"Mapped the vectors by \d word pairs of the text", mapped.stderr)


def test_options_of_learning(run, refused, files, write, tmp_path):
    vectors, dictionary = vector_options(write)
    out = ["--out", tmp_path / "m.st"]
    given = ["--regularization", "5", "--missed", "2", "--spurious", "1"]
    taught = values(run("align", "train", *sides(files), *gold(files), *given, *out).stdout)
    assert "cross_validated_aer" not in taught
    nearest = ["--nearest-gold", *vectors, *dictionary, *given, "--fertility", "1"]
    assert float(values(run("align", "train", *sides(files, "gold"), *nearest, *out).stdout)["gap"]) <= 1e-2
    for wrong, said in (
        (["--regularization", "0"], "regularization must be above 0"),
        (["--missed", "-1"], "missed must be at least 0"),
        (["--nearest-gold"], "--nearest-gold needs --vectors-src"),
        (["--one-space"], "need both"),
        ([*vectors, *dictionary, "--one-space"], "not both"),
        (["--pseudo-gold", *vectors, "--nearest-gold"], "not both"),
        (["--max-length", "1"], "The bitext has no pair with words on both sides"),
    ):
        assert said in refused("align", "train", *sides(files), *wrong, "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.filterwarnings("ignore:The model does not know")
def test_a_sentence_over_the_limit(run, files, model, write, tmp_path):
    """It has an empty line; one warning counts them all."""
    long = "word " * 201
    source = write(f"yes\n{long}\nyes\n{long}\n", "a")
    target = write(f"oui\n{long}\noui\noui\n", "b")
    both = ["--src", source, "--tgt", target]
    result = run("align", "apply", model, *both)
    assert result.stdout == "0-0\n\n0-0\n\n"
    (said,) = [line for line in result.stderr.splitlines() if "200" in line]
    assert said.startswith(
        "Warning: 2 of 4 pairs have more than 200 words on a side and were left unaligned; "
    )
    assert "line 2" in said
    row = run("align", "apply", model, *both, "--format", "tsv").stdout.splitlines()[1]
    assert row.split("\t") == [long.strip(), long.strip(), ""]
    page = run("align", "show", model, *both, "--out", tmp_path / "page.html")
    assert "are not drawn" in page.stderr
    assert (tmp_path / "page.html").read_text().count('<section class="pair">') == 2


def test_training_leaves_out_what_cannot_be_aligned(run, files, write, tmp_path):
    long = "word " * 201
    source, target = (
        write((files / f"text.{side}").read_text() + f"{long}\n\nx\n", side) for side in ("en", "fr")
    )
    target.write_text(target.read_text().removesuffix("x\n") + "\n")
    out = ["--out", tmp_path / "m.st"]
    result = run("align", "train", "--src", source, "--tgt", target, *out)
    assert "1 of 215 pairs have more than 200 words on a side and were left out" in result.stderr
    assert "Left out 2 of 215 pairs: a side is empty." in result.stderr
    assert values(result.stdout) == values(run("align", "train", *sides(files), *out).stdout)


def test_the_form_of_the_text_is_told(run, files, write, model):
    described = values(run("info", model).stdout)
    assert described["source words"].startswith("lower case, without accents")
    assert described["target words"].startswith("lower case, with accents")
    lines = (files / "text.en").read_text() * 3, (files / "text.fr").read_text() * 3
    source, target = write(lines[0], "x.en"), write(without_accents(lines[1]), "x.fr")
    said = run("align", "apply", model, "--src", source, "--tgt", target).stderr
    assert "Warning: the target text has no accents" in said
    assert "accents" not in run("align", "apply", model, *sides(files)).stderr


def test_text_in_one_file(run, refused, files, model, write, tmp_path):
    """Tab-separated, JSON lines and TMX give what two files give, for training and for applying."""
    plain = run("align", "apply", model, *sides(files)).stdout
    rows = [(" ".join(one.source), " ".join(one.target), one.links) for one in load_corpus()]
    for name in ("x.tsv", "x.jsonl.gz", "x.tmx"):
        run("align", "apply", model, *sides(files), "--out", tmp_path / name)
        assert run("align", "apply", model, "--text", tmp_path / name).stdout == plain
        run("align", "train", "--text", tmp_path / name, "--out", tmp_path / "m.st")
        assert run("align", "apply", tmp_path / "m.st", *sides(files)).stdout == plain
    gold = "".join(f"{e}\t{f}\t{format_pharaoh(links, possible=True)}\n" for e, f, links in rows[:N_GOLD])
    given = ["--regularization", "5", "--missed", "2"]
    taught = run(
        "align", "train", *sides(files), "--gold", write(gold, "g.tsv"), *given, "--out", tmp_path / "m.st"
    )
    assert f"Read {N_GOLD} pairs with gold links" in taught.stderr
    wrong = write("a b\tc\t0-0\na\tb\n", "g.tsv")
    said = refused("align", "train", *sides(files), "--gold", wrong, "--out", tmp_path / "new")
    assert "g.tsv, line 2: the pair has no links" in said
    out = ["--out", tmp_path / "new"]
    for text, name, message in (
        ("a\n", "t.tsv", "t.tsv, line 1: 2 or 3 columns"),
        ('{"en": "a"}\n', "t.jsonl", "t.jsonl, line 1: the keys source and target are wanted"),
        ("<!DOCTYPE tmx [<!ENTITY a 'b'>]><tmx>&a;</tmx>", "t.tmx", "t.tmx, line 1: it declares entities"),
    ):
        path = write(text, name)
        for command in (["train"], ["apply", model], ["phrases", model]):
            assert message in refused("align", *command, "--text", path, *out)
    assert "Give the text as --src and --tgt, or as --text" in refused("align", "apply", model, *out)
    assert not (tmp_path / "new").exists()


def test_an_encoding_error_in_an_archive_leaves_no_output(refused, files, model, write, tmp_path):
    lines = (files / "text.en").read_bytes().splitlines(keepends=True)
    lines[100] = b"caf\xe9\n"
    source = write(gzip.compress(b"".join(lines)), "broken.gz")
    for command in ("apply", "phrases"):
        said = refused(
            "align", command, model, "--src", source, "--tgt", files / "text.fr", "--out", tmp_path / "new"
        )
        assert "broken.gz, line 101: byte 4 is not UTF-8 text" in said
    assert not [name for name in os.listdir(tmp_path) if "new" in name]


def test_vectors_and_dictionaries_of_other_languages(refused, files, write, tmp_path):
    vectors, _ = vector_options(write)
    out = ["--out", tmp_path / "new"]
    other = write("2 3\nxyzzy 1 2 3\nplugh 3 2 1\n", "other.vec")
    said = refused("align", "train", *sides(files), *vectors[:2], "--vectors-tgt", other, *out)
    assert "other.vec: vectors of 0.00% of the words of the target text" in said
    pairs = write("".join(f"a{k}\tb{k}\n" for k in range(200)) + "house\tmaison\n", "pairs.tsv")
    said = refused("align", "train", *sides(files), *vectors, "--dictionary", pairs, *out)
    assert "pairs.tsv: 1 of 201 word pairs have vectors on both sides" in said
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(not (SHARED / "vectors").exists(), reason="the data is not here")
def test_real_vectors_and_dictionary(run, files, write, tmp_path):
    vectors = ["--dictionary", SHARED / "dictionary" / "train.en-fr.tsv"]
    for option, language in (("--vectors-src", "en"), ("--vectors-tgt", "fr")):
        with gzip.open(SHARED / "vectors" / f"{language}.vec.gz", "rt", encoding="utf-8") as file:
            dimension = next(file).split()[1]
            rows = list(islice(file, 1500))
        vectors += [option, write(f"{len(rows)} {dimension}\n{''.join(rows)}", f"{language}.vec")]
    found = run("align", "train", *sides(files), *vectors, "--out", tmp_path / "m.st")
    patterns = (r"(\d+) word pairs", r"(\d+) held-out", r"(\d+)%")
    known, asked, percent = (int(re.search(pattern, found.stderr)[1]) for pattern in patterns)
    assert known > 300
    assert asked > 30
    assert percent > 10
