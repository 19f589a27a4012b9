import csv
import io
import re
import shlex
from itertools import takewhile

import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

import structlearn
from html_reader import Reader
from structlearn.alignment import demonstration
from structlearn.alignment.aligner import Aligner
from structlearn.apps.demo import HEADER, run_demo
from structlearn.cli import app

FIGURES = ("gap", "sequences", "transitions")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder and the words of one small run."""
    out = tmp_path_factory.mktemp("demo") / "a folder" / "new"
    words = io.StringIO()
    run_demo(out, stream=words, n_train=60, n_test=60)
    return out, words.getvalue()


def read_certificate(words):
    """The values of the first block of lines "name: value"."""
    return dict(reversed(re.findall(r"(?m)^(\w+): (.+)$", words)))


def read_page(folder, name="index.html"):
    return Reader((folder / name).read_text(encoding="utf-8"))


def read_table(words):
    header, *rows = [re.split(r"\s{2,}", line) for line in words.split("\n\n")[0].splitlines()]
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}


def test_all_files_are_written(demo):
    out, _ = demo
    pictures = {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")}
    files = {path.name for path in out.iterdir()} - {"index.html"}
    assert files == {
        "history.csv",
        "model.safetensors",
        "aligner.safetensors",
        "alignment.html",
        *pictures,
    }
    assert {*read_page(out).attributes("href")} == files  # the page leads to all of them
    for name in FIGURES:
        pixels = imread(out / f"{name}.png")
        assert min(pixels.shape[:2]) > 300
        assert pixels[..., :3].std() > 0.01


def test_the_table_is_aligned(demo):
    _, words = demo
    lines = words.split("\n\n")[0].splitlines()
    assert len(lines) == 3
    assert len({len(line) for line in lines}) == 1
    assert tuple(re.split(r"\s{2,}", lines[0])) == HEADER


def test_the_chain_beats_the_classifier_of_single_digits(demo):
    table = read_table(demo[1])
    for error in ("digit error", "sequence error"):
        single, chain = (float(row[error].rstrip("%")) for row in table.values())
        assert chain < single / 3
    for row in table.values():
        assert float(row["gap"]) <= 1e-3


def test_the_certificate_is_the_saved_models(demo):
    out, words = demo
    printed = read_certificate(words)
    certificate = structlearn.load(out / "model.safetensors").certificate_
    for name in ("primal", "dual", "gap", "passes", "oracle_calls", "seconds"):
        assert float(printed[name]) == pytest.approx(getattr(certificate, name), rel=1e-5)
    assert printed["status"] == certificate.status
    assert printed["converged"] == "True"
    assert certificate.gap <= 1e-3


def test_the_history_is_the_chains(demo):
    out, _ = demo
    history = structlearn.load(out / "model.safetensors").history_
    with open(out / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_allclose([float(row["gap"]) for row in rows], history.gap)


def test_the_last_words_say_how_to_go_on(demo):
    """The commands exist, with all their options."""
    out, words = demo
    lines = words.splitlines()
    assert lines[-1] == f"page: {out / 'index.html'}"
    commands = [shlex.split(line) for line in lines if line.startswith("  structlearn ")]
    assert ["structlearn", "info", str(out / "model.safetensors")] in commands  # quoted: there is a space
    assert len(commands) == 5
    for _, *command in commands:
        names = list(takewhile(lambda word: not re.search(r"[-/.A-Z]|triplets", word), command))
        text = CliRunner().invoke(app, [*names, "--help"]).stdout
        assert all(option in text for option in command if option.startswith("--")), command
    shown = [text for text in read_page(out).texts if "structlearn info" in text]
    assert shown[0].splitlines()[0] == "structlearn info model.safetensors"  # in the folder of the page
    assert len(shown[0].splitlines()) == len(commands)


def test_the_page_holds_the_figures_that_were_printed(demo):
    out, words = demo
    html = (out / "index.html").read_text(encoding="utf-8")
    reader = Reader(html)
    pictures = [*reader.attributes("src"), *reader.attributes("srcset")]
    assert len(pictures) == len(FIGURES) + 1
    assert all(source.startswith("data:image/svg+xml;base64,") for source in pictures)
    assert str(out) not in html
    table, certificate = read_table(words), read_certificate(words)
    for value in (table["whole sequences"]["digit error"], certificate["gap"]):
        assert f">{value}<" in html
    cards = reader.definitions()
    error = float(table["single digits"]["digit error"].rstrip("%"))
    assert float(cards["digits wrong, read one at a time"].rstrip("%")) == pytest.approx(error, abs=0.051)
    aer = float(certificate["supervised_aer"])
    assert cards["link error (AER) with them"] == f"{aer:.1%}"
    assert read_page(out, "alignment.html").definitions()["AER"] == certificate["supervised_aer"]


def test_stdout_has_results_and_stderr_has_talk(demo, tmp_path, capsys):
    run_demo(tmp_path, n_train=60, n_test=60)
    said = capsys.readouterr()
    assert "training on 60 noisy sequences" in said.err
    assert "training" not in said.out

    def timeless(words):
        lines = words.split("page:")[0].splitlines()
        kept = [line for line in lines if not re.match(r"seconds|  structlearn", line)]
        return [re.sub(r"\s+[\d.]+$", "", line) if "%" in line else line for line in kept]

    assert timeless(said.out) == timeless(demo[1])  # the same whenever it is run


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(NotADirectoryError, match="it is a file, not a folder"):
        run_demo(path)
    assert path.read_text() == "mine"


def test_the_aligner_learns_from_gold_links(tmp_path):
    words = io.StringIO()
    result = demonstration.demonstrate(tmp_path, stream=words)
    printed = read_certificate(words.getvalue())
    assert 0 < float(printed["supervised_aer"]) < float(printed["unsupervised_aer"]) < 1
    assert float(printed["supervised_aer"]) == pytest.approx(result.supervised, abs=5e-5)
    certificate = Aligner.load(tmp_path / "aligner.safetensors").certificate_
    assert float(printed["gap"]) == pytest.approx(certificate.gap, rel=1e-5)
    assert certificate.gap <= 1e-2
    html = (tmp_path / "alignment.html").read_text(encoding="utf-8")
    assert html.count('<section class="pair">') == 212 - demonstration.N_TRAIN
