"""`train TASK --help`: that task's options, and examples that run."""

from dataclasses import fields

import pytest

from structlearn.cli.tasks.registry import TASKS
from structlearn.tagging.parameters import TaggerParameters


@pytest.mark.parametrize("task", TASKS)
def test_help_of_a_task_names_its_own_flags_and_no_others(run, task):
    shown = run("train", task, "--help").stdout
    assert f"train {task} DATA --out MODEL" in shown
    words = set(shown.split())
    theirs = {f"--{flag}" for other in TASKS.values() for flag in other.flags}
    own = {f"--{flag}" for flag in TASKS[task].flags}
    without = shown[: shown.index("Examples:")]
    assert own <= words
    assert not {flag for flag in theirs - own if f"  {flag} " in without}
    assert all(example in " ".join(shown.split()) for example in TASKS[task].examples)
    assert "{" not in without  # all places are filled in


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_few_options_that_are_not_its_own(run, task):
    shown = run("train", task, "--help").stdout
    flags = {line.split()[0] for line in shown.splitlines() if line.startswith("  --")}
    assert len(flags - {f"--{flag}" for flag in TASKS[task].flags} - {"--help"}) <= 15


def test_help_without_a_task_lists_the_tasks(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("train", "--help").stdout
    assert all(f"  {name} " in shown for name in TASKS)
    assert len(shown.splitlines()) <= 25


def test_parameters_of_taggers_are_options_without_being_named_twice(run):
    shown = " ".join(run("train", "ner", "--help").stdout.split())
    assert "--span-lexicon Take the phrases that are spans of the training text as a lexicon, too" in shown
    assert "--model MODEL" in shown
    assert "--model MODEL chain, or neural" in " ".join(run("train", "tag", "--help").stdout.split())
    flags = {one.name for one in fields(TASKS["ner"].options_class)}
    assert {"min_count", "hash_bits", "clusters", "vectors", "usual", "context", "transitions"} <= flags
    assert {"context", "span_lexicon"} <= {one.name for one in fields(TaggerParameters)}


def test_the_task_may_come_after_options(run, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("the D\ncat N\n\na D\ndog N\n\n" * 3)
    first = run("train", "--seed", "1", "--out", tmp_path / "a.st", "tag", words).stdout
    second = run("train", "tag", words, "--out", tmp_path / "a.st", "--seed", "1").stdout
    told = [[line for line in one.splitlines() if "seconds" not in line] for one in (first, second)]
    assert told[0] == told[1]
    run("train", "--out", tmp_path / "b.st", "--verbose", "tag", words)


def test_a_model_may_be_called_as_a_task_is(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("the D\ncat N\n\na D\ndog N\n\n" * 3)
    run("train", "--out", "ner", "tag", "words.txt")
    assert "task: tag" in run("info", "ner").stdout
