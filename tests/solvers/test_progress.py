"""Talk during training: bars on a terminal only, and a word about compilation."""

import io
import sys
import time

import pytest

from structlearn.core import progress as core_progress
from structlearn.core.kernel_cache import compilation
from structlearn.solvers import Row, Stopping, progress

STOPPING = Stopping(tol=1e-3, max_passes=100)


def row(seconds, gap=0.5, passes=1.0):
    return Row(0, passes, 10, seconds, 1.0, 1.0 - gap, gap)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def open_terminal(monkeypatch):
    """Makes stderr a terminal; to be called in the test, since pytest sets stderr anew before it."""

    def open_it():
        fake = Terminal()
        monkeypatch.setattr(sys, "stderr", fake)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "80")
        return fake

    return open_it


def test_without_a_terminal_nothing_is_said(capsys):
    with progress.report_progress(STOPPING) as report:
        for seconds in (0.0, 5.0, 50.0):
            report(row(seconds))
    assert capsys.readouterr() == ("", "")


def test_a_long_run_shows_a_bar_on_a_terminal(open_terminal):
    terminal = open_terminal()
    with progress.report_progress(STOPPING) as report:
        report(row(0.0))
        report(row(3.0, gap=0.02, passes=7))
    assert "training" in terminal.getvalue()
    assert "gap 0.02, pass 7" in terminal.getvalue()


def test_a_short_run_shows_no_bar(open_terminal):
    terminal = open_terminal()
    with progress.report_progress(STOPPING) as report:
        report(row(0.0))
        report(row(1.0))
    assert terminal.getvalue() == ""


def test_verbose_runs_write_lines_and_no_bar(open_terminal):
    terminal = open_terminal()
    with progress.report_progress(STOPPING, verbose=1) as report:
        report(row(3.0, gap=0.25, passes=4))
    assert terminal.getvalue() == "pass 4  seconds 3.00  primal 1  dual 0.75  gap 0.25\n"


@pytest.fixture
def untold(monkeypatch):
    """A process that has not announced a compilation yet."""
    monkeypatch.setattr(compilation, "_told", [])


@pytest.mark.parametrize(
    "waiting", [lambda: progress.report_progress(STOPPING), lambda: progress.count_steps("words", 2)]
)
@pytest.mark.usefixtures("untold")
def test_a_compilation_is_announced_once(capsys, waiting):
    for _ in range(2):
        with waiting():
            compilation.begins()
            compilation.begins()
    assert capsys.readouterr().err == "structlearn: compiling for the first use (cached afterwards) ...\n"


@pytest.mark.usefixtures("untold")
def test_time_alone_is_no_compilation(capsys):
    with progress.report_progress(STOPPING) as report:
        time.sleep(0.3)
        report(row(9.0))
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("untold")
def test_where_nobody_waits_nothing_is_said(capsys):
    compilation.begins()
    assert capsys.readouterr().err == ""


def test_the_users_callback_decides():
    seen = []
    with progress.report_progress(STOPPING, callback=lambda one: seen.append(one) or "stop") as report:
        assert report(row(0.0)) == "stop"
    assert seen == [row(0.0)]


def test_the_bar_ends_with_the_run_even_if_it_fails(open_terminal):
    terminal = open_terminal()

    def fail():
        with progress.report_progress(STOPPING) as report:
            report(row(3.0))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    written = terminal.getvalue()
    time.sleep(0.3)
    assert terminal.getvalue() == written


@pytest.mark.parametrize(
    ("gap", "passes", "done"), [(1.0, 0, 0.0), (1e-3, 3, 1.0), (1.0, 50, 0.5), (1e-1, 1, 1 / 3)]
)
def test_the_bar_counts_powers_of_the_gap_or_passes(gap, passes, done):
    bar = progress._Bar(STOPPING)
    bar.first = 1.0
    assert bar._fraction_done(row(3.0, gap=gap, passes=passes)) == pytest.approx(done)


def test_the_bar_moves_between_evaluations(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    bar = progress._Bar(STOPPING)
    bar.update(row(0.0, gap=1.0, passes=0))
    now[0] = 1.0
    bar.update(row(1.0, gap=0.1, passes=1))
    assert bar.estimate_done() == pytest.approx(1 / 3)
    now[0] = 1.5
    assert bar.estimate_done() == pytest.approx(1 / 2)
    now[0] = 100.0  # never more than half of what is left
    assert bar.estimate_done() == pytest.approx(2 / 3)


def test_the_bar_moves_on_the_terminal(open_terminal):
    terminal = open_terminal()
    with progress.report_progress(STOPPING) as report:
        report(row(3.0, gap=1.0, passes=0))
        time.sleep(0.02)
        report(row(3.0, gap=0.1, passes=1))
        end = time.monotonic() + 60  # it is drawn ten times a second, if the machine has time
        while terminal.getvalue().count("pass 1") < 3 and time.monotonic() < end:
            time.sleep(0.02)
        assert terminal.getvalue().count("pass 1") >= 3
    assert "gap ," not in terminal.getvalue()


def test_a_gap_that_is_not_known_is_not_shown(open_terminal):
    terminal = open_terminal()
    with progress.report_progress(STOPPING) as report:
        report(row(3.0, gap=float("inf"), passes=7))
    assert "pass 7" in terminal.getvalue()
    assert "gap" not in terminal.getvalue()


def test_a_counted_task_moves_a_bar(open_terminal, monkeypatch):
    terminal = open_terminal()
    monkeypatch.setattr(core_progress, "SECONDS", 0.0)
    monkeypatch.setattr(core_progress, "PAUSE", 0.0)
    with progress.count_steps("word pairs", 3) as advance:
        for _ in range(3):
            advance()
    assert "word pairs" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_a_counted_task_without_a_terminal_says_nothing(capsys):
    with progress.count_steps("word pairs", 2) as advance:
        advance()
    assert capsys.readouterr().err == ""
