"""Decisions on a cluster: the optimum of one machine, packed costs, refusals."""

from functools import cache

import numpy as np
import pytest
from in_process import Here
from problems import TOL
from scipy import sparse

from structlearn import DecisionPredictor
from structlearn.data import DataError, make_shortest_paths, open_packed, pack
from structlearn.distributed import split
from structlearn.structures import Matching, Program, ShortestPath, TopK

PATHS = ShortestPath.grid(3, 3)


def rows():
    X, costs, _ = make_shortest_paths(24, 3, rows=3, columns=3, degree=3, random_state=0)
    return X, costs


def parts():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 6, 3))
    return X, np.abs(X @ rng.normal(size=3) + rng.normal(size=(20, 6)))


def sizes():
    """Tables of 2 x 2 to 4 x 4 pairs to match: the parts of an example have two axes."""
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(m, m, 2)) for m in (2, 3, 2, 4, 3, 2, 3, 4)]
    return X, [one @ [1.0, -2.0] + rng.normal(size=one.shape[:2]) for one in X]


PROBLEMS = {
    "a row per example": (PATHS, rows, {}),
    "a row per part": (TopK(6, 2), parts, {}),
    "values": (TopK(6, 2), parts, {"sense": "max", "alpha": 1.0}),
    "imitation": (PATHS, rows, {"loss": "imitation"}),
    "sparsemax": (PATHS, rows, {"loss": "sparsemax"}),
    "a program": (Program(A=np.ones((1, 6)), b=[2.0]), parts, {"sense": "max"}),
    "tables of other sizes": (Matching(), sizes, {"sense": "max"}),
}


def model(name, **parameters):
    structure, _, own = PROBLEMS[name]
    regular = {"regularization": 0.5, "tol": TOL, "random_state": 0, "max_passes": 20000}
    return DecisionPredictor(structure, **{**regular, **own, **parameters})


def data(name):
    return PROBLEMS[name][1]()


@cache
def alone(name):
    return model(name).fit(*data(name))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_that_of_one_machine(name):
    X, costs = data(name)
    found, here = model(name).fit(X, costs, client=Here(3)), alone(name)
    one, other = found.certificate_, here.certificate_
    assert one.converged
    assert one.primal >= one.dual
    assert (found.history_["dual"] <= other.primal + 1e-9).all()
    assert (found.history_["primal"] >= other.dual - 1e-9).all()
    assert (found.part_shape_, found.regularization_) == (here.part_shape_, here.regularization_)
    assert found.get_params() == here.get_params()
    assert found.score(X, costs) == pytest.approx(here.score(X, costs), abs=0.02)


@pytest.mark.parametrize("name", ["a row per example", "a row per part"])
def test_lambda_is_that_of_one_machine(name):
    X, costs = data(name)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, size=len(costs))
    models = [
        model(name, regularization="auto", tol=1e-5).fit(X, costs, weight, client=client)
        for client in (Here(2), None)
    ]
    assert models[0].regularization_ == models[1].regularization_
    assert models[0].regularization == "auto"
    one, other = (found.certificate_ for found in models)
    assert max(one.dual, other.dual) <= min(one.primal, other.primal)


def test_sparse_rows_and_lists_of_numbers():
    X, costs = data("a row per example")
    for given in (sparse.csr_matrix(X), X.tolist()):
        found = model("a row per example").fit(given, costs.tolist(), client=Here(2)).certificate_
        assert found.dual == pytest.approx(alone("a row per example").certificate_.dual, abs=2e-6)


def test_partitions_that_workers_see(tmp_path):
    X, costs = data("a row per part")
    given = split(tmp_path / "parts", "decisions", X, costs, parts=3)
    found = model("a row per part").fit(given, None, client=Here(3))
    assert found.certificate_.dual == pytest.approx(alone("a row per part").certificate_.dual, abs=2e-6)
    assert found.regularization_ == 0.5
    np.testing.assert_array_equal(found.predict(X).sum(axis=1), 2)
    with pytest.raises(ValueError, match="give regularization as a number"):
        model("a row per part", regularization="auto").fit(given, None, client=Here(3))


@pytest.mark.parametrize("name", ["a row per example", "a row per part", "tables of other sizes"])
def test_packed_costs_are_those_that_were_given(name, tmp_path):
    X, costs = data(name)
    pack(tmp_path / "packed", "decisions", X, costs, examples_at_once=3)
    found = open_packed(tmp_path / "packed")
    assert len(found) == len(costs)
    for i in range(len(costs)):
        np.testing.assert_array_equal(found.X[i], X[i])
        np.testing.assert_array_equal(found.y[i], costs[i])


def test_packed_costs_that_do_not_fit_are_refused(tmp_path):
    X, costs = data("a row per part")
    with pytest.raises(ValueError, match=r"Example 0 of a batch has features \(6, 3\) but costs \(5,\)"):
        pack(tmp_path / "packed", "decisions", X, costs[:, :5])
    pack(tmp_path / "infinite", "decisions", X, np.where(costs > 1, np.inf, costs))
    with pytest.raises(DataError, match="there is a NaN or an infinity"):
        open_packed(tmp_path / "infinite")


@pytest.mark.parametrize(
    ("parameters", "given", "sentence"),
    [
        ({"loss": "perturbed"}, {}, "A cluster trains decisions with loss='spo\\+'"),
        ({"loss": "two-stage"}, {}, "A cluster trains decisions with loss='spo\\+'"),
        ({"positive": True}, {}, "positive needs all examples in one place"),
        ({"early_stopping": True}, {}, "early_stopping needs all examples in one place"),
        ({}, {"instances": [PATHS] * 24}, "Instances of single examples are not split over a cluster"),
        ({}, {"known_costs": np.zeros((24, 12))}, "Known costs are not split over a cluster"),
        ({"solver": "fw"}, {}, "A cluster trains with"),
    ],
)
def test_refusals(parameters, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        model("a row per example", **parameters).fit(*rows(), **given, client=Here(2))


def test_data_that_does_not_fit():
    X, costs = rows()
    with pytest.raises(ValueError, match="X has 24 examples but costs has 23"):
        model("a row per example").fit(X, costs[1:], client=Here(2))
    with pytest.raises(ValueError, match="needs the same parts in all examples"):
        model("a row per example").fit(X, [one[: 12 - i % 2] for i, one in enumerate(costs)], client=Here(2))
    with pytest.raises(ValueError, match="there is nothing to learn"):
        model("a program", regularization="auto").fit(parts()[0], -parts()[1], client=Here(2))
