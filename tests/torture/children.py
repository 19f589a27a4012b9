"""Commands in forked processes, where all is imported and compiled: they may crash or take all memory."""

import json
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

from numba.core import event

from torture import bases

#: more address space than this is refused to the child, so that the machine outlives it
_ADDRESSES = 4 << 30
#: seconds after which a child is given up
_PATIENCE = 300


def in_a_child(command, meddle=None):
    """What a command does in a forked process, as a dict; `died` where it did not come to tell.

    `meddle` gets the child's id while it runs.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # no other thread holds what the child needs
        # Ctrl-C waits until the child is in `_tell`: raised before, it would go on as a copy of the tests.
        heard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        child = os.fork()
        if not child:
            _tell(command, writing, heard, whole=meddle is not None)
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)
    os.close(writing)
    if meddle is not None:
        meddle(child)
    told = _heard(reading, child)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"died": f"of {signal.Signals(os.WTERMSIG(status)).name}"}
    return json.loads(told) if told else {"died": f"with {os.WEXITSTATUS(status)}"}


def _heard(reading, child):
    """All that comes through the pipe; a child that says nothing for too long is killed."""
    with open(reading, "rb") as pipe:
        if not select.select([pipe], [], [], _PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
        return pipe.read()


def _tell(command, writing, heard, *, whole):
    """In the child: run the command, tell what it did through the pipe, and end without any cleaning up."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, heard - {signal.SIGINT})
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        with open(writing, "wb") as pipe:
            pipe.write(json.dumps(_measured(command, whole=whole)).encode())
    finally:
        os._exit(0)


def _measured(command, *, whole):
    warnings.resetwarnings()
    warnings.simplefilter("ignore", DeprecationWarning)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_addresses() + _ADDRESSES, hard))
    compiling = _Compiling()
    event.register("numba:compiler_lock", compiling)
    memory, begin = _peak(), time.process_time()
    result = bases.invoke(command, whole=whole)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seconds = time.process_time() - begin - compiling.seconds
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return {
        "code": result.code,
        "stderr": result.stderr,
        "stdout": result.stdout if command[0] in ("info", "evaluate", "train") else "",
        "error": "".join(traceback.format_exception(result.error)[-8:]) if result.error else "",
        "seconds": seconds,
        "bytes": _peak() - memory,
    }


class _Compiling(event.Listener):
    """Adds up the time in which kernels are compiled or loaded."""

    def __init__(self):
        self.seconds, self._depth, self._begin = 0.0, 0, 0.0

    def on_start(self, _):
        if not self._depth:
            self._begin = time.process_time()
        self._depth += 1

    def on_end(self, _):
        self._depth -= 1
        if not self._depth:
            self.seconds += time.process_time() - self._begin


def _addresses():
    if not Path("/proc/self/statm").exists():
        return 1 << 40
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _peak():
    """The most memory this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
