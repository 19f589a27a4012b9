"""Ctrl-C while compiled code makes a record that it returns: it comes again when it can be raised."""

import signal
import sys
from collections import namedtuple

import pytest

from structlearn.cli.support import errors

Pair = namedtuple("Pair", "a b")


def test_a_record_is_made_to_its_end(monkeypatch):
    later = []
    monkeypatch.setattr(errors, "again_soon", lambda: later.append(True))
    frames = []

    def look(frame, event, _):
        if event == "call" and frame.f_code.co_filename == "<string>":
            frames.append(frame)

    sys.setprofile(look)
    try:
        Pair(1, 2)
    finally:
        sys.setprofile(None)
    errors.hear(signal.SIGINT, frames[0])
    assert later == [True]
    with pytest.raises(KeyboardInterrupt):
        errors.hear(signal.SIGINT, sys._getframe())
    assert later == [True]
