"""`structlearn solve`."""

import numpy as np
import pytest
from cli_cases import values

from structlearn.data import Factors, write_uai
from structlearn.data.uai import read_labelling
from structlearn.structures import PairwiseGraph
from structlearn.structures.base import NothingFound
from structlearn.structures.graphs import grid_graph


@pytest.fixture
def factors():
    rng = np.random.default_rng(0)
    edges = grid_graph(6, 6).edges.tolist()
    scopes = [*((v,) for v in range(36)), *map(tuple, edges)]
    return Factors([2] * 36, scopes, [2 * rng.normal(size=(2,) * len(scope)) for scope in scopes])


def test_solve_writes_a_labelling_and_prints_its_score(run, tmp_path, factors):
    write_uai(tmp_path / "x.uai", factors)
    out = tmp_path / "x.MAP"
    told = values(run("solve", tmp_path / "x.uai", "--out", out, "--seconds", "1").stdout)
    states = read_labelling(out)
    assert float(told["score"]) == pytest.approx(factors.score(states), rel=1e-5)
    assert float(told["bound"]) >= float(told["score"])
    assert told["exact"] == "True"
    assert run("solve", tmp_path / "x.uai").stdout == out.read_text()


def test_factors_of_three_by_enumeration(run, tmp_path):
    rng = np.random.default_rng(1)
    scopes = [(0,), (0, 1, 2), (1, 3, 2), (3, 4), ()]
    factors = Factors([2] * 5, scopes, [rng.normal(size=(2,) * len(scope)) for scope in scopes])
    write_uai(tmp_path / "x.uai", factors)
    told = values(run("solve", tmp_path / "x.uai", "--out", tmp_path / "x.MAP").stdout)
    best = max(factors.score(states) for states in np.ndindex(*[2] * 5))
    assert float(told["score"]) == pytest.approx(best, rel=1e-5)
    assert factors.score(read_labelling(tmp_path / "x.MAP")) == pytest.approx(best)
    assert told["exact"] == "True"


def test_what_cannot_be_solved_is_refused(refused, tmp_path):
    (tmp_path / "cut.uai").write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n1 2 3\n")
    assert "line 7: the file ends before an entry of factor 0" in refused("solve", tmp_path / "cut.uai")
    assert ".uai or .wcsp" in refused("solve", tmp_path / "x.txt")
    none = tmp_path / "none.uai"
    none.write_text("MARKOV\n1\n2\n1\n1 0\n2\n0 0\n")
    assert "score -inf" in refused("solve", none)


def test_what_has_no_room_as_pairs_or_no_labelling_is_a_factor_graph(run, tmp_path, factors, monkeypatch):
    write_uai(tmp_path / "x.uai", factors)
    command = ("solve", tmp_path / "x.uai", "--out", tmp_path / "x.MAP", "--seconds", "1")
    usual = values(run(*command).stdout)

    def fail(self, theta):
        raise NothingFound("none")

    with monkeypatch.context() as patch:
        patch.setattr(PairwiseGraph, "solve", fail)
        found = values(run(*command).stdout)
    assert found["method"] == "dual decomposition"
    assert float(found["bound"]) >= float(usual["score"]) - 1e-6
    monkeypatch.setattr(Factors, "is_pairwise", False)
    assert values(run(*command).stdout)["score"] == found["score"]
