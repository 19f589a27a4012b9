"""Systems without what Linux has: its modules and calls are taken away, and the shell is used as ever."""

import os
import subprocess
import sys

import pytest

#: What neither macOS nor Windows has: /proc, and some calls. Other packages may look at the system as it is.
NO_LINUX = """
import builtins, io, multiprocessing, os, signal, sys, types
import numba, platformdirs, sklearn.base, typer

def remove(module, *names):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

opened = io.open

def without_proc(file, *more, **named):
    if str(file).startswith("/proc/") and str(file) != "/proc/self/maps":  # which others read
        raise FileNotFoundError(2, "No such file", str(file))
    return opened(file, *more, **named)

io.open = builtins.open = without_proc
remove(os, "posix_fallocate", "sched_getaffinity")
"""
#: What Windows lacks beside that, and its own locks.
WINDOWS = (
    NO_LINUX
    + """
locks = types.SimpleNamespace(LK_NBLCK=2, locking=lambda handle, mode, n: None)
sys.modules.update(fcntl=None, resource=None, msvcrt=locks)
remove(os, "geteuid", "getuid", "fork", "register_at_fork")
remove(signal, "pthread_sigmask", "SIGALRM", "SIGUSR1", "SIGHUP", "SIGKILL")
multiprocessing.get_all_start_methods = lambda: ["spawn"]
"""
)
COMMANDS = (
    "data pack tag data.txt --out packed",
    "train tag packed --out model.st --memory 1GB --checkpoint kept --jobs 2",
    "train tag packed --out model.st --memory 1GB --checkpoint kept --jobs 2 --resume",
    "evaluate model.st packed",
    "info",
)


@pytest.mark.parametrize("removed", [NO_LINUX, WINDOWS], ids=["macos", "windows"])
def test_the_shell_works_without_what_linux_alone_has(tmp_path, removed):
    (tmp_path / "data.txt").write_text("Ann A\nruns B\n\nBob A\nsees B\nZoe A\n\n" * 5)
    program = removed + (
        "from structlearn.cli import app\n"
        f"for line in {COMMANDS!r}:\n"
        "    try:\n"
        "        app(line.split())\n"
        "    except SystemExit as end:\n"
        "        assert not end.code, line\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, env=os.environ
    )
    assert found.returncode == 0, found.stderr[-2000:]
    assert "Traceback" not in found.stderr
    assert "gap:" in found.stdout
