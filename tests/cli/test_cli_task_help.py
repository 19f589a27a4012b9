"""`train TASK --help`: that task's options, and examples that run."""

import pytest

from structlearn.cli.support.task_help import said_for
from structlearn.cli.tasks.registry import TASKS


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


def test_help_without_a_task_has_all_of_them(run):
    shown = run("train", "--help").stdout
    assert all(f"--{flag}" in shown for entry in TASKS.values() for flag in entry.flags)


@pytest.mark.parametrize(
    ("task", "text", "told"),
    [
        ("tag", "For all.  [default: 1]", "For all.  [default: 1]"),
        ("tag", "tag, chunk: words.", "words."),
        ("parse", "tag, chunk: words.", ""),
        ("parse", "a or b; tag: c.  [default: a; tag: c]", "a or b  [default: a]"),
        ("tag", "a or b; tag: c.  [default: a; tag: c]", "c.  [default: c]"),
        ("tag", "a or b; tag: also c.", "a or b, also c."),
        ("regress", "regress with --penalty group: the group.", "with --penalty group: the group."),
    ],
)
def test_what_is_said_of_other_tasks_is_left_out(task, text, told):
    assert said_for(task, text) == told
