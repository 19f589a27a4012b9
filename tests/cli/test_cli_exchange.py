"""`structlearn export` and `structlearn import`."""

import numpy as np
import pytest

DATA = "The D B-NP\ndog N I-NP\nruns V O\n\nA D B-NP\ncat N I-NP\n"


@pytest.fixture
def made(run, tmp_path):
    """Data, and a model of patterns without constraints."""
    data, template, model = tmp_path / "d.txt", tmp_path / "x.template", tmp_path / "m.st"
    data.write_text(DATA)
    template.write_text("U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[0,1]\nB\n")
    run("train", "chunk", data, "--templates", template, "--out", model, "--constraints", "none")
    return data, template, model


def test_a_model_goes_to_wapiti_and_back(run, made, tmp_path):
    data, _, model = made
    there, back, again = tmp_path / "m.wapiti", tmp_path / "back.st", tmp_path / "again.wapiti"
    run("export", model, "--format", "wapiti", "--out", there)
    run("import", there, "--out", back)
    assert run("predict", back, data).stdout == DATA
    assert "task: chunk" in run("info", back).stdout
    run("export", back, "--format", "wapiti", "--out", again)
    assert again.read_bytes() == there.read_bytes()


def test_a_model_goes_to_crfsuite_and_back(run, made, tmp_path):
    _, _, model = made
    there, back, items = tmp_path / "m.crf", tmp_path / "back.st", tmp_path / "items.txt"
    said = run("export", model, "--format", "crfsuite", "--out", there).stderr
    assert "attribute intercept" in said
    run("import", there, "--format", "crfsuite", "--out", back)
    rows = ["U00:_B-1 U01:The U02:D intercept", "U00:The U01:dog U02:N intercept"]
    items.write_text("".join(f"_\t{row}\n".replace(":", r"\:").replace(" ", "\t") for row in rows))
    assert run("predict", back, items).stdout == "B-NP\nI-NP\n"


def test_an_imported_model_is_a_start(run, made, tmp_path):
    data, template, model = made
    there, back, out = tmp_path / "m.wapiti", tmp_path / "back.st", tmp_path / "o.st"
    run("export", model, "--format", "wapiti", "--out", there)
    run("import", there, "--columns", 2, "--out", back)
    run("train", "chunk", data, "--templates", template, "--continue", back, "--out", out)
    assert run("predict", out, data).stdout == DATA


def test_refusals(refused, run, made, tmp_path):
    data, template, model = made
    out = tmp_path / "o"
    assert "an ONNX graph takes numbers" in refused("export", model, "--format", "onnx", "--out", out)
    assert "is no model file of crfsuite or wapiti" in refused("import", data, "--out", out)
    problem = refused("import", data, "--format", "wapiti", "--out", out)
    assert "cannot be read as a model of wapiti: it does not begin" in problem
    run("train", "chunk", data, "--templates", template, "--out", model)
    assert "constraints on labels" in refused("export", model, "--format", "crfsuite", "--out", out)
    run("train", "ner", data, "--out", model, "--max-passes", 2)
    assert "Wapiti needs patterns" in refused("export", model, "--format", "wapiti", "--out", out)
    run("train", "chunk", data, "--model", "segments", "--out", model, "--max-passes", 2)
    assert "models of segments" in refused("export", model, "--format", "crfsuite", "--out", out)
    assert not out.exists()


def test_models_of_numbers_are_written_as_onnx(run, refused, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    data, model, out = tmp_path / "d.csv", tmp_path / "m.st", tmp_path / "m.onnx"
    data.write_text("a,b,y\n1,0,yes\n0,1,no\n2,,yes\n0,3,no\n")
    run("train", "classify", data, "--out", model)
    run("export", model, "--format", "onnx", "--out", out)
    X = np.array([[1, 0], [0, 1], [2, np.nan], [0, 3]], dtype=np.float32)
    found = runtime.InferenceSession(out).run(["labels"], {"X": X})[0].tolist()
    assert found == run("predict", model, data).stdout.split()[-4:]
    assert "only these are exported to crfsuite" in refused(
        "export", model, "--format", "crfsuite", "--out", out
    )
