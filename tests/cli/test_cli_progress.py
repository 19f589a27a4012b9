"""On a terminal, a line says how far a command is, and nothing is left of it; elsewhere there is none.

The commands write to a pseudo-terminal, and every step is shown as if it had taken long enough. What a person
sees in the end is what a small terminal makes of the bytes.
"""

import io
import os
import pty
import re
import sys
import threading

import numpy as np
import pytest
from cli_cases import columns, sentences

from structlearn.cli import app
from structlearn.core import progress
from structlearn.data import read_libsvm

_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+")


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def terminal(monkeypatch, at_once):
    """Run a command (or a function) on a terminal; returns all that was written to it."""

    def run(*arguments):
        master, slave = pty.openpty()
        written = bytearray()

        def read():
            while True:
                try:
                    piece = os.read(master, 1 << 16)
                except OSError:  # the other end is closed
                    return
                if not piece:
                    return
                written.extend(piece)

        reader = threading.Thread(target=read)
        with open(slave, "w", encoding="utf-8", buffering=1) as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            reader.start()
            if callable(arguments[0]):
                arguments[0]()
            else:
                app([str(one) for one in arguments], standalone_mode=False)
        reader.join()
        os.close(master)
        return written.decode()

    return run


def screen(text):
    """What is to be seen of text in the end: lines without blanks behind them."""
    lines, row, column = [""], 0, 0
    for code in _CODE.findall(text):
        if code == "\r":
            column = 0
        elif code == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif code.startswith("\x1b") and code.endswith("A"):
            row -= int(code[2:-1] or 1)
        elif code == "\x1b[2K":
            lines[row] = ""
        elif not code.startswith("\x1b"):
            lines[row] = lines[row][:column].ljust(column) + code + lines[row][column + len(code) :]
            column += len(code)
    return [line.rstrip() for line in lines if line.strip()]


def test_the_small_terminal():
    assert screen("ab\rc\n\x1b[1mde\x1b[0m\r\x1b[1A\x1b[2Kx") == ["x", "de"]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "table.csv"
    rows = [
        f"{a:.3f},{'red' if b else 'blue'},{'yes' if a + b > 0.5 else 'no'}"
        for a, b in rng.random((90, 2)) > [2, 0.5]
    ]
    path.write_text("size,colour,y\n" + "\n".join(rows) + "\n")
    return path


def test_commands_of_tables(terminal, table, tmp_path):
    model = tmp_path / "m.st"
    shown = terminal("train", "classify", table, "--out", model)
    for words in ("Reading table.csv", "features", "training", "gap "):
        assert words in shown
    assert f"Wrote the model to {model}." in screen(shown)
    assert screen(shown)[-1].startswith("Next: ")
    assert not [one for one in screen(shown) if "━" in one]
    for command in (
        ["predict", "--out", tmp_path / "answers.txt"],
        ["evaluate"],
        ["show", "--out", tmp_path / "x.html"],
    ):
        shown = terminal(command[0], model, table, *command[1:])
        assert "Reading table.csv" in shown
        assert not [one for one in screen(shown) if "━" in one]


def test_tune_says_which_fold_and_value(terminal, table, tmp_path):
    shown = terminal(
        *("tune", "classify", table, "--out", tmp_path / "m.st", "--folds", "3"),
        *("--loss", "softmax,hinge", "--regularization", "0.1,0.01"),
    )
    for words in ("tuning", "fold 1 of 3, loss softmax, lambda 0.1", "fold 3 of 3, loss hinge, lambda 0.01"):
        assert words in shown
    assert not [one for one in screen(shown) if "━" in one]


def test_tagging(terminal, tmp_path):
    data, model = tmp_path / "tags.txt", tmp_path / "m.st"
    data.write_text(columns(sentences()))
    assert "training" in terminal("train", "tag", data, "--out", model)
    shown = terminal("predict", model, data, "--out", tmp_path / "answers.txt")
    n = sum(map(len, sentences()))
    assert f"{n}/{n}" in shown
    assert screen(shown) == []


def test_no_terminal_no_words(run, at_once, table, tmp_path):
    said = run("train", "classify", table, "--out", tmp_path / "m.st").stderr
    assert "Reading" not in said
    assert "training:" not in said
    assert "\x1b" not in said


def test_answers_on_the_same_terminal_are_not_drawn_over(terminal, run, table, tmp_path, monkeypatch):
    run("train", "classify", table, "--out", tmp_path / "m.st")

    class Screen(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Screen())
    assert "━" not in terminal("predict", tmp_path / "m.st", table)
    assert len(sys.stdout.getvalue().split()) == 90


def test_steps_lie_in_one_another(terminal):
    def work():
        with progress.show_progress("outer", 2) as outer:
            for _ in range(2):
                for _ in progress.counted("abc", "inner", 3):
                    pass
                outer.advance()
            raise RuntimeError

    def caught():
        with pytest.raises(RuntimeError):
            work()

    shown = terminal(caught)
    assert "outer" in shown
    assert "3/3" in shown
    assert "2/2" in shown
    assert screen(shown) == []


def test_what_takes_less_time_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 1e9)
    assert terminal(lambda: list(progress.counted("abc", "letters", 3))) == ""


def test_short_steps_of_a_long_command_are_shown(terminal, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress, "SECONDS", 2.0)
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])

    def steps(*ages):
        for age in ages:
            with progress.show_progress(f"step of {age}", 1) as step:
                now[0] += age
                step.advance()

    assert "step" not in terminal(lambda: steps(1.5, 1.5))

    def command():
        with progress.one_command():
            steps(1.5, 1.0, 0.1)

    shown = terminal(command)
    assert "step of 1.0" in shown
    assert "step of 1.5" not in shown
    assert "step of 0.1" not in shown


def test_names_of_files_are_no_markup_and_no_commands(terminal, tmp_path):
    path = tmp_path / "[red]\x1b[31m.libsvm"
    path.write_text("1 1:2\n2 1:3\n")
    shown = terminal(lambda: read_libsvm(path))
    assert "[red]\\x1b[31m.libsvm" in shown
