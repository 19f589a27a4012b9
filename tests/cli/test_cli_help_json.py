"""`--help --json`: what a program reads is what people read."""

import json

import pytest

from structlearn.cli.tasks.registry import TASKS


def described(run, *words):
    return json.loads(run(*words, "--help", "--json").stdout)


def test_all_commands_are_described(run):
    found = described(run)
    shown = run("--help").stdout.partition("Commands:\n")[2].splitlines()
    names = [line.split()[0] for line in shown if line.startswith("  ") and line[2:3].isalpha()]
    found_names = [one["command"].split()[-1] for one in found["commands"]]
    assert found_names == names[: len(found_names)]
    (train,) = [one for one in found["commands"] if one["command"] == "structlearn train"]
    assert [one["command"].split()[-1] for one in train["commands"]] == list(TASKS)


@pytest.mark.parametrize("words", [("train", "ner"), ("tune", "regress"), ("align", "train"), ("solve",)])
def test_options_are_those_of_the_help(run, words):
    found = described(run, *words)
    shown = run(*words, "--help").stdout
    flags = [flag for one in found["options"] for flag in one["flags"]]
    assert flags
    assert all(flag in shown for flag in flags)
    assert "{" not in "".join(one["help"] for one in found["options"])
    assert found["command"] == " ".join(["structlearn", *words])
    assert all(one["required"] for one in found["arguments"])


def test_a_required_option_says_so(run):
    (out,) = [one for one in described(run, "train", "classify")["options"] if one["flags"] == ["--out"]]
    assert out == {"flags": ["--out"], "help": "Model file to write.", "value": "MODEL", "required": True}
