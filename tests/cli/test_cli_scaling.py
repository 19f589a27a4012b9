"""`structlearn compare scaling`: a study, ended and taken up again, and what is refused."""

import json
import time

import pytest

SMALL = ["--problem", "digits", "--solvers", "bcfw,cutting-plane", "--largest", "100", "--minutes", "2"]
CELLS = 6


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("STRUCTLEARN_DATA", str(tmp_path / "nothing"))


def kept(out):
    return {path.name: path.stat().st_mtime_ns for path in (out / "digits" / "cells").glob("*.json")}


def test_a_study_that_was_killed_goes_on(run, start, tmp_path):
    out = tmp_path / "study"
    process = start("compare", "scaling", *SMALL, "--out", out)
    end = time.monotonic() + 300
    while len(kept(out)) < 2 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    process.kill()
    process.wait()
    before = kept(out)
    assert len(before) >= 2
    found = run("compare", "scaling", *SMALL, "--out", out)
    assert found.stderr.count("digits, n = 100") == CELLS - len(before)
    after = kept(out)
    assert len(after) == CELLS
    assert before.items() <= after.items()
    header, *lines = found.stdout.splitlines()
    begun, _, _ = found.stderr.partition("Read ")
    assert "minutes with 1 process at once; earlier runs took" in begun  # it is said before it starts
    assert header.split() == ["problem", "n", "lambda", "gap", "solver", "seconds", "next"]
    assert len([line for line in lines if line.startswith("digits")]) == 9
    assert found.stdout.endswith(f"page: {out / 'index.html'}\n")
    assert "digits" in (out / "index.html").read_text()
    assert len(json.loads((out / "table.json").read_text())) == CELLS
    again = run("compare", "scaling", *SMALL, "--out", out)
    assert "digits, n = 100" not in again.stderr
    assert again.stdout == found.stdout


def test_a_changed_study_is_refused(refused, run, tmp_path):
    quick = ["--problem", "digits", "--solvers", "bcfw", "--largest", "100"]
    run("compare", "scaling", *quick, "--minutes", "0.01", "--out", tmp_path)
    assert "a study with other seed" in refused(
        "compare", "scaling", *quick, "--seed", "1", "--out", tmp_path
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scaling", "--problem", "leters"], "Did you mean 'letters'?"),
        (["scaling", "--problem", ","], "There is no problem"),
        (["scaling", "--problem", "letters"], "run `structlearn data fetch letters`"),
        (["scaling", "--problem", "parsing"], "en_ewt-ud-train.conllu, and put that into"),
        (["scaling", "--problem", "scene", "--data", "x"], "The data folder x does not exist."),
        (["scaling", "--solvers", "bcwf"], "Did you mean 'bcfw'?"),
        (["scaling", "--solvers", "lbfgs"], "Unknown solver 'lbfgs'"),
        (["scaling", "--minutes", "0"], "--minutes must be above 0"),
        (["scaling", "--jobs", "0"], "--jobs must be at least 1"),
        (["scaling", "--tol", "0.1"], "--tol does not go with scaling (it goes with classify"),
        (["scaling", "--regularization", "0.1"], "--regularization does not go with scaling"),
        (["scaling", "--loss", "softmax"], "--loss does not go with scaling"),
        (["scaling", "--no-intercept"], "--no-intercept does not go with scaling"),
        (["scaling", "--full"], "--full does not go with scaling"),
        (["letters", "--problem", "letters"], "--problem does not go with letters (it goes with"),
        (["letters", "--minutes", "3"], "--minutes does not go with letters"),
        (["scalling"], "Did you mean 'scaling'?"),
    ],
)
def test_refusals(refused, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert said in refused("compare", *arguments, "--out", tmp_path / "study")
    assert not (tmp_path / "study").exists()
