"""Processes of our own: they never hear Ctrl-C, and end when the one that started them does."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from multiprocessing.resource_tracker import ensure_running


@contextmanager
def ctrl_c_kept_back() -> Iterator[None]:
    """Keep Ctrl-C from processes that start inside: this process hears it, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    ensure_running()  # where it starts it lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # new processes keep it blocked
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_method() -> BaseContext:
    """Return how processes start: from a server that has no threads, where the system has one."""
    server = "forkserver" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if server else "spawn")


def end_with_parent() -> None:
    """End this child process when its parent ends, even if that was killed: nobody waits for an answer."""
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
