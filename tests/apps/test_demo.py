import csv
import io
import re

import numpy as np
import pytest
from matplotlib.image import imread

import structlearn
from structlearn.apps.alignment import demonstration
from structlearn.apps.alignment.aligner import Aligner
from structlearn.apps.demo import HEADER, run

FIGURES = ("gap", "sequences", "transitions")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder and the words of one small run."""
    out = tmp_path_factory.mktemp("demo") / "a folder" / "new"
    words = io.StringIO()
    run(out, stream=words, n_train=60, n_test=60)
    return out, words.getvalue()


def read_certificate(words):
    return dict(re.findall(r"(?m)^(\w+): (.+)$", words))


def read_table(words):
    header, *rows = [re.split(r"\s{2,}", line) for line in words.split("\n\n")[0].splitlines()]
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}


def test_all_files_are_written(demo):
    out, _ = demo
    pictures = {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")}
    assert {path.name for path in out.iterdir()} == {
        "history.csv",
        "model.safetensors",
        "index.html",
        *pictures,
    }
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
        single, chain = (float(table[name][error].rstrip("%")) for name in ("single digits", "chain"))
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
    out, words = demo
    lines = words.splitlines()
    assert lines[-1] == f"page: {out / 'index.html'}"
    commands = [line.strip() for line in lines if line.startswith("  structlearn ")]
    assert len(commands) == 2
    assert commands[0] == f"structlearn info '{out / 'model.safetensors'}'"  # quoted: the folder has a space


def test_the_page_stands_alone(demo):
    out, words = demo
    html = (out / "index.html").read_text(encoding="utf-8")
    sources = re.findall(r'(?:src|href)="([^"]{20})', html)
    assert len(sources) == len(FIGURES)
    assert all(source.startswith("data:image/png") for source in sources)
    assert str(out) not in html
    for value in (read_table(words)["chain"]["digit error"], read_certificate(words)["gap"]):
        assert f">{value}<" in html


def test_stdout_has_results_and_stderr_has_talk(demo, tmp_path, capsys):
    run(tmp_path, n_train=60, n_test=60)
    said = capsys.readouterr()
    assert "Training on 60 sequences" in said.err
    assert "Training" not in said.out

    def timeless(words):
        lines = words.split("page:")[0].splitlines()
        kept = [line for line in lines if not re.match(r"seconds|  structlearn", line)]
        return [re.sub(r"\s+[\d.]+$", "", line) if "%" in line else line for line in kept]

    assert timeless(said.out) == timeless(demo[1])  # the same whenever it is run


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(NotADirectoryError, match="it is a file, not a folder"):
        run(path)
    assert path.read_text() == "mine"


def test_the_aligner_learns_from_gold_links(tmp_path):
    words = io.StringIO()
    demonstration.run(tmp_path, stream=words)
    printed = read_certificate(words.getvalue())
    assert 0 < float(printed["supervised_aer"]) < float(printed["unsupervised_aer"]) < 1
    certificate = Aligner.load(tmp_path / "aligner.safetensors").certificate_
    assert float(printed["gap"]) == pytest.approx(certificate.gap, rel=1e-5)
    assert certificate.gap <= 1e-2
    html = (tmp_path / "alignment.html").read_text(encoding="utf-8")
    assert html.count('<section class="pair">') == 212 - demonstration.N_TRAIN
