"""Packed rows whose notes are damaged are refused before anything is trained."""

import pytest

from structlearn.cli.tasks.registry import TASKS
from structlearn.cli.tasks.task import PACKED, Task, Training

DAMAGED = {
    "without a format": {"n_features": 2},
    "an unknown format": {"format": "punch cards", "n_features": 2},
    "a table without columns": {"format": "table", "targets": ["y"]},
    "rows without a number": {"format": "libsvm"},
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("task", ["classify", "regress"])
def test_notes_that_do_not_name_the_columns_are_refused(name, task, tmp_path, monkeypatch):
    found = Training(None, None, DAMAGED[name], {}, "")
    monkeypatch.setattr(Task, "training", lambda self, path, target: found)
    with pytest.raises(ValueError, match=r"is damaged: .*notes\."):
        TASKS[task].task.training(tmp_path, None)


def test_data_that_never_was_a_file_has_no_columns(tmp_path, monkeypatch):
    found = Training(None, None, {"format": PACKED}, {}, "")
    monkeypatch.setattr(Task, "training", lambda self, path, target: found)
    assert TASKS["classify"].task.training(tmp_path, None) is found
