"""Hashes of what values hold: equal for equal values, different for others, the same in every process."""

import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numba
import numpy as np
import pytest
from scipy import sparse

from structlearn.core.content import NoContentError, content_hash

FACTOR = 2


class Top:
    def __init__(self, k):
        self.k = k

    def maximize(self, theta):
        return theta >= np.sort(theta)[-self.k] * FACTOR


@dataclass(frozen=True)
class Options:
    step: float
    names: tuple[str, ...] = ()


class Cached(Top):
    """One whose calls are counted, which does not change its answers."""

    calls = 0

    def __getstate__(self):
        return {"k": self.k}


def scaled(factor):
    return lambda x: factor * x


@numba.njit
def compiled(x):
    return FACTOR * x


def values():
    """Pairs of equal values, all different from one another."""
    cyclic = [1]
    cyclic.append(cyclic)
    again = [1]
    again.append(again)
    return [
        (1, 1),
        (1.0, 1.0),
        (True, True),
        ("1", "1"),
        (None, None),
        ((1, 2), (1, 2)),
        ([1, 2], [1, 2]),
        (((1, 2), (1, 2)), ((1, 2), tuple(range(1, 3)))),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1, "b": 3}, {"a": 1, "b": 3}),
        ({1, 2, 3}, {3, 2, 1}),
        (np.arange(3), np.arange(3)),
        (np.arange(3.0), np.arange(3.0)),
        (np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3)),
        (np.arange(6).reshape(3, 2), np.asfortranarray(np.arange(6).reshape(3, 2))),
        (sparse.eye(3, format="csr"), sparse.eye(3, format="csr")),
        (Top(1), Top(1)),
        (Top(3), Top(3)),
        (Options(0.1), Options(0.1)),
        (Options(0.2, ("a",)), Options(0.2, ("a",))),
        (scaled(2), scaled(2)),
        (scaled(3), scaled(3)),
        (partial(pow, 2), partial(pow, 2)),
        (partial(pow, 3), partial(pow, 3)),
        (np.random.default_rng(0), np.random.default_rng(0)),
        (np.random.default_rng(1), np.random.default_rng(1)),
        (cyclic, again),
    ]


def test_equal_values_have_equal_hashes_and_others_have_others():
    pairs = [(content_hash(one), content_hash(other)) for one, other in values()]
    assert [one for one, _ in pairs] == [other for _, other in pairs]
    assert len({one for one, _ in pairs}) == len(pairs)


def test_functions_are_what_they_do(monkeypatch):
    before = content_hash(Top(1)), content_hash(compiled)
    assert before == (content_hash(Top(1)), content_hash(compiled))
    monkeypatch.setitem(globals(), "FACTOR", 3)
    assert content_hash(Top(1)) != before[0]
    assert content_hash(compiled) != before[1]
    monkeypatch.undo()
    monkeypatch.setattr(Top, "maximize", lambda self, theta: theta < 0)
    assert content_hash(Top(1)) != before[0]


def test_an_object_says_what_its_answers_depend_on():
    one = Cached(1)
    before = content_hash(one)
    one.calls = 5
    assert content_hash(one) == before
    assert content_hash(Cached(2)) != before


@pytest.mark.parametrize("value", [threading.Lock(), sys.stdout, (value for value in "ab")])
def test_what_has_no_state_is_refused(value):
    with pytest.raises(NoContentError, match="has no state that could be compared"):
        content_hash(Top(value))


def test_another_process_finds_the_same():
    command = "from test_content import *; print(content_hash(Top(3), scaled(2), compiled, {'b', 'a', 'c'}))"
    found = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, cwd=Path(__file__).parent
    )
    assert found.stdout.split() == [content_hash(Top(3), scaled(2), compiled, {"b", "a", "c"})], found.stderr
