"""What is said while a long file is read."""

import gzip
import io
from types import SimpleNamespace

import pytest

from structlearn.data import read_libsvm, read_table
from structlearn.data import watched as module


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_WITHOUT_WORDS", 0)
    monkeypatch.setattr(module, "_PAUSE", 0)
    shown = Terminal()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=shown))
    return shown


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_how_much_is_read_is_said_and_wiped_out(tmp_path, terminal, ending):
    path = tmp_path / f"x\x1b.csv{ending}"
    content = b"a,b,t\n" + b"".join(b"%d,%d,x\n" % (k, k * k % 17) for k in range(40_000))
    path.write_bytes(gzip.compress(content) if ending else content)
    read_table(path)
    said = terminal.getvalue().split("\r")
    assert any(one.startswith("Reading x") and one.endswith("%") for one in said)
    assert any(one.endswith(" 100%") for one in said)
    assert "\x1b" not in terminal.getvalue()
    assert not said[-2].strip()


def test_every_reader_says_it(tmp_path, terminal):
    (tmp_path / "x.libsvm").write_text("1 1:2\n2 1:3\n")
    read_libsvm(tmp_path / "x.libsvm")
    assert "Reading x.libsvm 100%" in terminal.getvalue()


def test_nothing_is_said_elsewhere(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(module, "SECONDS_WITHOUT_WORDS", 0)
    (tmp_path / "x.csv").write_text("a,t\n1,x\n2,y\n")
    read_table(tmp_path / "x.csv")
    assert capsys.readouterr().err == ""
