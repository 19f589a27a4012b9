"""What is said while a long file is read."""

import gzip
import io
import sys

import pytest

from structlearn.core import progress
from structlearn.data import read_libsvm, read_table


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0)
    monkeypatch.setattr(progress, "PAUSE", 0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")

    def open_it():
        shown = Terminal()
        monkeypatch.setattr(sys, "stderr", shown)
        return shown

    return open_it


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_how_much_is_read_is_said(tmp_path, terminal, ending):
    path = tmp_path / f"x\x1b.csv{ending}"
    content = b"a,b,t\n" + b"".join(b"%d,%d,x\n" % (k, k * k % 17) for k in range(40_000))
    path.write_bytes(gzip.compress(content) if ending else content)
    shown = terminal()
    read_table(path)
    assert "Reading x" in shown.getvalue()
    assert "100%" in shown.getvalue()
    assert "x\x1b" not in shown.getvalue()


def test_every_reader_says_it(tmp_path, terminal):
    (tmp_path / "x.libsvm").write_text("1 1:2\n2 1:3\n")
    shown = terminal()
    read_libsvm(tmp_path / "x.libsvm")
    assert "Reading x.libsvm" in shown.getvalue()
    assert "100%" in shown.getvalue()


def test_nothing_is_said_elsewhere(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "SECONDS", 0)
    (tmp_path / "x.csv").write_text("a,t\n1,x\n2,y\n")
    read_table(tmp_path / "x.csv")
    assert capsys.readouterr().err == ""
