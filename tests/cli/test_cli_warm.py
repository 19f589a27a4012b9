"""`structlearn warm`: tiny runs of each task that compile what real ones need."""

import os
import shutil
import signal
import subprocess

import pytest
from cli_cases import await_end_of_group, command

from structlearn.cli.tasks.lookup import TASKS
from structlearn.cli.tasks.rehearsals import REHEARSALS, rehearse
from structlearn.core.kernel_cache.cache import cache_folder


def test_all_tasks_are_rehearsed():
    assert set(REHEARSALS) == {*TASKS, "align"}


@pytest.mark.parametrize(
    "rehearsal",
    [one for rehearsals in REHEARSALS.values() for one in rehearsals],
    ids=lambda one: " ".join([one.task, one.data, *one.flags[0]]),
)
def test_every_rehearsal_runs(rehearsal):
    rehearse(rehearsal._replace(flags=rehearsal.flags[:1]))


def test_a_rehearsal_that_fails_says_what_failed():
    with pytest.raises(ChildProcessError, match=r"train regress failed: .*Unknown penalty 'l7'"):
        rehearse(REHEARSALS["regress"][0]._replace(flags=[("--penalty", "l7")]))


def test_what_is_no_task_is_refused(refused):
    assert "Unknown task 'clasify'" in refused("warm", "regress", "clasify")


def test_what_is_there_is_not_compiled_again(start, tmp_path, monkeypatch):
    for rehearsal in REHEARSALS["regress"]:
        rehearse(rehearsal)
    common, own = cache_folder().parents[1], tmp_path / "own"  # other tests fill the common one
    shutil.copytree(common, own, ignore=shutil.ignore_patterns("*.part"))
    monkeypatch.setenv("STRUCTLEARN_CACHE", str(own))
    out, said = start("warm", "regress", "--jobs", 2).communicate()
    assert out == ""
    begin, end = said.splitlines()
    assert begin == "Compiling for regress in 2 processes ..."
    assert end.startswith("Added 0 kernels to ")


@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_ctrl_c_ends_all_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("STRUCTLEARN_CACHE", str(tmp_path))
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command("warm", "parse"), stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    assert process.stderr.readline().startswith("Compiling")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, error = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert len(error.splitlines()) == 1
    await_end_of_group(process)
