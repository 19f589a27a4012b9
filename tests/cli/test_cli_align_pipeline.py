"""`structlearn align run`, `serve` and `shortlist`: from raw text to links and lexical shortlists."""

import json
import re

import pytest
from typer.testing import CliRunner

from structlearn import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.cli import app
from structlearn.data import open_text, write_lines


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The embedded corpus as words between blanks."""
    folder = tmp_path_factory.mktemp("align")
    corpus = load_corpus()
    write_lines(folder / "text.en", (" ".join(one.source) for one in corpus))
    write_lines(folder / "text.fr", (" ".join(one.target) for one in corpus))
    return folder


def sides(folder):
    return ["--src", folder / "text.en", "--tgt", folder / "text.fr"]


@pytest.fixture(scope="module")
def model(files, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.st"
    Aligner(tokenize="simple").fit(
        [(" ".join(one.source), " ".join(one.target)) for one in load_corpus()]
    ).save(path)
    return path


def raw_files(folder, ending=""):
    """The embedded corpus as people write, each mark at the word before it."""
    paths = []
    for k, name in enumerate(("raw.en", "raw.fr")):
        paths.append(folder / f"{name}{ending}")
        lines = (" ".join((one.source, one.target)[k]) for one in load_corpus())
        write_lines(paths[-1], (line.replace(" .", ".").replace("' ", "'") for line in lines))
    return ["--src", paths[0], "--tgt", paths[1]]


def links_of(path):
    return [line for _, line in open_text(path)]


def test_run_trains_and_aligns_raw_text(run, tmp_path):
    text, packed = raw_files(tmp_path), raw_files(tmp_path, ".gz")
    out, model = tmp_path / "links.gz", tmp_path / "model.st"
    told = run("align", "run", *packed, "--tokenize", "auto", "--scores", "--out", out, "--model", model)
    assert "tokenizers simple (source) and simple (target)" in told.stderr
    applied = tmp_path / "applied"
    run("align", "apply", model, *text, "--scores", "--out", applied)
    assert links_of(out) == links_of(applied)
    sides = [[line.split() for line in links_of(path)] for path in (text[1], text[3])]
    for line, source, target in zip(links_of(out), *sides, strict=True):
        for link in line.split():
            i, j = map(int, link.partition(":")[0].split("-"))
            assert i < len(source)
            assert j < len(target)
    row = run(
        "align", "apply", model, *text, "--links-of", "tokens", "--format", "jsonl"
    ).stdout.splitlines()[0]
    found, line = json.loads(row), links_of(text[1])[0]
    assert [line[a:b] for a, b in found["source_spans"]] == found["source"]
    assert len(found["source"]) > len(line.split())


def test_run_takes_a_model_of_other_text_as_a_prior(run, files, model, tmp_path):
    with_prior, alone = tmp_path / "with", tmp_path / "alone"
    few = []
    for flag, name in (("--src", "few.en"), ("--tgt", "few.fr")):
        write_lines(tmp_path / name, links_of(files / f"text.{name[-2:]}")[:5])
        few += [flag, tmp_path / name]
    run("align", "run", *few, "--priors", model, "--out", with_prior)
    run("align", "run", *few, "--out", alone)
    assert len(" ".join(links_of(with_prior)).split()) > len(" ".join(links_of(alone)).split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--src", "-", "--tgt", "TEXT.fr"], "read twice; give files"),
        (["--src", "TEXT.en", "--tgt", "TEXT.fr", "--symmetrize", "grow"], "Did you mean 'grow-diag'"),
        (
            ["--src", "TEXT.en", "--tgt", "TEXT.fr", "--links-of", "words"],
            "'blanks', 'tokens'",
        ),
        (["--src", "TEXT.en", "--tgt", "TEXT.fr", "--tokenize", "a,b,c"], "one per side; got 3"),
    ],
)
def test_run_refuses_at_the_door(refused, files, arguments, said):
    given = [one.replace("TEXT", str(files / "text")) for one in arguments]
    assert re.search(said, refused("align", "run", *given))


def test_serve_answers_line_by_line(model):
    lines = [
        '{"source": "the house", "target": ["la", "maison"], "id": 7}',
        "nonsense",
        '{"source": "the house"}',
        '{"source": [], "target": []}',
    ]
    printed = CliRunner().invoke(app, ["align", "serve", str(model)], input="\n".join(lines)).stdout
    answers = [json.loads(line) for line in printed.splitlines()]
    (links,) = Aligner.load(model).predict([(["the", "house"], ["la", "maison"])])
    assert answers[0]["id"] == 7
    assert {tuple(link) for link in answers[0]["links"]} == links
    assert answers[0]["source_spans"] == [[0, 3], [4, 9]]
    assert "no JSON object" in answers[1]["error"]
    assert "a text or a list of words" in answers[2]["error"]
    assert answers[3] == {"links": [], "confidence": []}


def test_shortlists_have_the_form_that_marian_reads(run, files, model, tmp_path):
    run("align", "shortlist", model, *sides(files), "--out", tmp_path / "lex", "--most", "3")
    for name in ("lex.s2t", "lex.t2s"):
        rows = [line.split(" ") for line in links_of(tmp_path / name)]
        totals = {}
        for _, word, probability in rows:
            totals.setdefault(word, []).append(float(probability))
        assert all(0 < sum(one) <= 1 + 1e-6 and len(one) <= 3 for one in totals.values())
        assert ["la", "the"] in [row[:2] for row in rows] or ["the", "la"] in [row[:2] for row in rows]


def test_unequal_numbers_of_lines_leave_no_half_file(run, files, tmp_path):
    write_lines(tmp_path / "short.fr", links_of(files / "text.fr")[:-3])
    out = tmp_path / "links"
    told = run(
        "align", "run", "--src", files / "text.en", "--tgt", tmp_path / "short.fr", "--out", out, code=2
    )
    assert "the file ends here, but" in told.stderr
    assert not out.exists()


def test_clean_by_score(files, model, tmp_path):
    scores, page = tmp_path / "scores", tmp_path / "cut.html"
    more = ["--score", "--model", model, "--keep", "0.8", "--scores", scores, "--page", page, "--json"]
    done = CliRunner().invoke(
        app, [str(one) for one in ["align", "clean", *sides(files), "--out", tmp_path / "kept", *more]]
    )
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert len(scores.read_text().splitlines()) == said["pairs_read"] == len(load_corpus())
    assert len((tmp_path / "kept.en").read_text().splitlines()) == said["pairs_written"]
    assert abs(said["pairs_written"] / said["pairs_read"] - 0.8) < 0.02
    assert "Just above the cut" in page.read_text()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--precision", "0.9"], "go with --score"),
        (["--score", "--precision", "0.9", "--keep", "0.5"], "not both"),
        (["--score", "--keep", "1.5"], "a share above 0"),
    ],
)
def test_clean_refuses_scores_that_do_not_fit(files, tmp_path, more, sentence):
    done = CliRunner().invoke(
        app, [str(one) for one in ["align", "clean", *sides(files), "--out", tmp_path / "kept", *more]]
    )
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.split())
    assert not list(tmp_path.iterdir())


def test_scores_need_files_not_a_stream(files, tmp_path):
    asked = [
        "align",
        "clean",
        "--src",
        "-",
        "--tgt",
        files / "text.fr",
        "--out",
        tmp_path / "kept",
        "--score",
    ]
    done = CliRunner().invoke(app, [str(one) for one in asked], input="a\n")
    assert done.exit_code == 2
    assert "read more than once" in " ".join(done.output.split())
