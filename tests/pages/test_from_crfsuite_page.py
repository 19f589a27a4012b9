"""The code of docs/from-crfsuite.md runs, and both libraries reach the same model."""

import re
from pathlib import Path

import numpy as np
import pytest

import structlearn

PAGE = Path(__file__).parents[2] / "docs" / "from-crfsuite.md"


@pytest.fixture(scope="module")
def pieces():
    data, peer, ours, small = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return {"data": data, "peer": peer, "ours": ours, "small": small}


@pytest.fixture
def names(pieces, tmp_path, monkeypatch):
    """What our part of the page leaves behind."""
    monkeypatch.chdir(tmp_path)
    found = {}
    exec(pieces["data"] + pieces["ours"], found)  # noqa: S102  (our own page)
    return found


def test_our_part(names):
    model, X, y = names["model"], names["X"], names["y"]
    assert model.certificate_.converged
    assert [one.tolist() for one in model.predict(X)] == y
    known = model.features_.get_feature_names_out().tolist()
    assert {"lower:the", "suffix:he", "capital", "bias", "before:lower:the"} <= set(known)
    again = structlearn.load("model.safetensors")
    assert [one.tolist() for one in again.predict(X)] == y


def test_both_reach_the_same_model(names, pieces):
    pytest.importorskip("sklearn_crfsuite")
    exec(pieces["peer"], names)  # noqa: S102
    compare(names["model"], names, names["peer"].predict_marginals(names["X"]))


def test_python_crfsuite_reaches_the_same_model(names, tmp_path):
    compare(names["model"], names, marginals_of_crfsuite(names, tmp_path, 0.0, names["c2"]))


def test_python_crfsuite_reaches_the_same_small_model(names, pieces, tmp_path):
    exec(pieces["small"], names)  # noqa: S102
    small = names["small"]
    assert small.certificate_.converged
    assert (small.weights_ == 0).mean() > 0.3
    compare(small, names, marginals_of_crfsuite(names, tmp_path, names["c1"], names["c2"]))


def marginals_of_crfsuite(names, tmp_path, c1, c2):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence, labels in zip(names["X"], names["y"]):
        trainer.append(pycrfsuite.ItemSequence(sentence), labels)
    all_possible = {"feature.possible_states": True, "feature.possible_transitions": True}
    trainer.set_params({"c1": c1, "c2": c2, "epsilon": 1e-9, "delta": 1e-9, **all_possible})
    trainer.train(str(tmp_path / "crf"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "crf"))
    found = []
    for sentence in names["X"]:
        tagger.set(sentence)
        positions = range(len(sentence))
        found.append([{k: tagger.marginal(k, t) for k in tagger.labels()} for t in positions])
    return found


def compare(model, names, theirs):
    for own, other in zip(model.predict_marginals(names["X"]), theirs):
        table = [[row[label] for label in model.classes_.tolist()] for row in other]
        np.testing.assert_allclose(own, table, atol=5e-3)
