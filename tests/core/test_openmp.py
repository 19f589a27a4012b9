"""Teams on the threads of OpenMP, which PyTorch brings along on Linux."""

import threading

import pytest

from structlearn.core import openmp
from structlearn.core.threads import Team


@pytest.fixture
def team():
    pytest.importorskip("torch")
    found = openmp.team_of(2)
    if not isinstance(found, openmp.OpenMPTeam):
        pytest.skip("PyTorch has no libgomp here")
    return found


def test_every_item_is_worked_on_once_and_results_are_in_order(team):
    seen = []
    assert team.deal(lambda k: (seen.append(k), k * k)[1], list(range(50))) == [k * k for k in range(50)]
    assert sorted(seen) == list(range(50))


def test_calls_run_side_by_side(team):
    """Each waits for the other, so that one thread alone would never end."""
    meeting = threading.Barrier(2, timeout=60)
    assert team.together([lambda: meeting.wait() >= 0 and 1, lambda: meeting.wait() >= 0 and 2]) == [1, 2]


def test_a_failure_is_raised_and_ends_the_work(team):
    done = []

    def work(k):
        if k == 3:
            raise KeyError(k)
        done.append(k)

    with pytest.raises(KeyError, match="3"):
        team.deal(work, list(range(10_000)))
    assert len(done) < 9_999


class Interrupted(list):
    """Calls, of which looking for the second one is interrupted."""

    def __iter__(self):
        self.given = iter(self[:1])
        return self

    def __next__(self):
        for call in self.given:
            return call
        raise KeyboardInterrupt


def test_an_interrupt_between_two_calls_is_raised(team):
    stopped = []
    with pytest.raises(KeyboardInterrupt):
        team.together(Interrupted([lambda: 1, lambda: 2]), stop=lambda: stopped.append(True))
    assert stopped


def test_an_interrupt_that_ctypes_has_swallowed_is_raised(team, monkeypatch):
    """Before the first line of what this thread runs: there nothing can catch it."""
    monkeypatch.setattr(openmp, "_parallel", lambda: lambda work, *rest: None)
    with pytest.raises(KeyboardInterrupt):
        team.together([lambda: 1])


def test_other_processes_have_threads_of_their_own(team, monkeypatch):
    monkeypatch.setattr(openmp, "_FIRST", -1)
    openmp._team.cache_clear()
    assert type(openmp.team_of(2)) is Team
    openmp._team.cache_clear()
