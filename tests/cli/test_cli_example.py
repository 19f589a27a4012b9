"""`structlearn example`: every task has one, and what it prints runs as printed."""

import json
import shlex

import pytest

from structlearn.cli.commands.example import example_names, example_of


@pytest.mark.parametrize("task", example_names())
def test_what_it_prints_runs_in_its_folder(run, task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, *commands = run("example", task).stdout.splitlines()
    assert first == f"cd {task}-example"
    monkeypatch.chdir(tmp_path / f"{task}-example")
    verbs = {shlex.split(line)[1] for line in commands}
    if task != "align":
        assert {"train", "evaluate", "predict"} <= verbs
        assert "show" in verbs or task == "match"  # which is not drawn
    for line in commands:
        program, *words = shlex.split(line)
        assert program == "structlearn"
        run(*words)


def test_every_example_says_what_it_is_and_whose():
    for name in example_names():
        found = example_of(name)
        assert found.licence, name
        assert found.what[0].isdigit(), name  # how many examples there are, first


def test_files_of_a_user_are_not_overwritten(run, refused, tmp_path):
    run("example", "ner", "--out", tmp_path / "names")
    run("example", "ner", "--out", tmp_path / "names")  # the same files
    own = tmp_path / "names" / "train.conll"
    own.write_text("mine O\n")
    assert "another file has this name already" in refused("example", "ner", "--out", tmp_path / "names")
    assert own.read_text() == "mine O\n"


def test_json_and_a_wrong_name(run, refused, tmp_path):
    found = json.loads(run("example", "tag", "--out", tmp_path / "a", "--json").stdout)
    assert found["files"] == ["train.conll", "test.conll", "text.txt"]
    assert len(found["commands"]) == 5
    assert "Did you mean 'classify'?" in refused("example", "clasify")
