"""Small models from the shell: --penalty elasticnet, smaller files, `info`."""

import re

import pytest

import structlearn

WORDS = ["The", "dog", "runs", "A", "cat", "sees", "Rome", "house", "tree", "blue"]
LINES = "".join(
    "\n" if i % 7 == 6 else f"{WORDS[i * 5 % 10]} {'B-NP' if i % 3 == 0 else 'O'}\n" for i in range(200)
)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(LINES)
    return path


def told(run, path):
    """weights and n_nonzero of `info`."""
    lines = dict(re.findall(r"^(weights|n_nonzero): (\d+)$", run("info", path).stdout, re.MULTILINE))
    return int(lines["weights"]), int(lines["n_nonzero"])


@pytest.mark.parametrize("options", [["elasticnet", "--l1-ratio", "0.8"], ["l1"]])
def test_features_without_weights_are_not_stored(run, data, tmp_path, options):
    whole, small = tmp_path / "whole", tmp_path / "small"
    strength = ["--regularization", "0.05"]
    run("train", "chunk", data, "--out", whole, *strength)
    run("train", "chunk", data, "--out", small, *strength, "--penalty", *options)
    n_whole, n_small = told(run, whole)[0], told(run, small)
    assert 0 < n_small[1] <= n_small[0] < n_whole
    model = structlearn.load(small).chain_
    assert model.weights_.size == n_small[0]
    assert (model.weights_ != 0).sum() == n_small[1]
    assert "f1" in run("evaluate", small, data, "--json").stdout


def test_predictions_are_those_of_all_features(run, data, tmp_path, monkeypatch):
    options = ["--regularization", "0.05", "--penalty", "elasticnet"]
    run("train", "chunk", data, "--out", tmp_path / "small", *options)
    monkeypatch.setattr("structlearn.tagging.tagger.drop_unused", lambda chain, n_last: None)
    run("train", "chunk", data, "--out", tmp_path / "same", *options)
    assert told(run, tmp_path / "small")[1] == told(run, tmp_path / "same")[1]
    assert told(run, tmp_path / "small")[0] < told(run, tmp_path / "same")[0]
    said = [run("predict", tmp_path / name, data, "--marginals").stdout for name in ("small", "same")]
    assert said[0] == said[1]
    said = [run("weights", tmp_path / name, "--top", "3").stdout for name in ("small", "same")]
    said = [re.sub(r"of \d+ weights", "of weights", one) for one in said]
    assert said[0] == said[1]  # names of features, too
    assert "word" in said[0]
