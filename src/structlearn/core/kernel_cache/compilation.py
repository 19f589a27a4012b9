"""Announcing compilation: a user who waits for code that no cache holds is told so, once per process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_waiting: list[object] = []
_told: list[str] = []


@contextmanager
def announce_compilation() -> Iterator[None]:
    """Announce on stderr the first kernel that has to be compiled inside this context."""
    _waiting.append(None)
    try:
        yield
    finally:
        _waiting.pop()


def begins(obstacle: str = "") -> None:
    """Note that a kernel is about to be compiled; `obstacle` says why the result cannot be kept."""
    if not _waiting or _told:
        return
    why = f"since {obstacle}" if obstacle else "for the first use (cached afterwards)"
    _told.append(why)
    with suppress(OSError, ValueError):  # a closed stderr
        print(f"structlearn: compiling {why} ...", file=sys.stderr, flush=True)
