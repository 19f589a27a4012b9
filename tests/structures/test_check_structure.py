"""Wrong oracles are found out at `fit` and reported by `check_structure`; right ones are left in peace."""

import itertools
import re

import numba
import numpy as np
import pytest

from own_structures import ChooseTwo, CompiledChooseTwo, PlainViterbi, choose_two
from structlearn import OracleError, StructuredPredictor
from structlearn.structures import (
    Chain,
    Cut,
    LabelGraph,
    LabelledTree,
    Matching,
    NonProjectiveTree,
    ProjectiveTree,
    Simplex,
    as_structure,
    check_structure,
)
from structlearn.structures.refusing import FEWEST_QUESTIONS, MOST_QUESTIONS, refuse_wrong_oracle

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(size, 3)) for size in [5, 6] * 20]
Y = [ChooseTwo().maximize(x @ [1.0, -1.0, 0.5]) for x in X]


class Fewest:
    """The argmin: two parts of the lowest scores."""

    def maximize(self, theta):
        return ChooseTwo().maximize(-theta)


class ForgetsTheLast:
    """Never chooses the last part."""

    def maximize(self, theta):
        return np.append(ChooseTwo().maximize(theta[:-1]), 0.0)


class Moody:
    """Right every other time."""

    def __init__(self):
        self.asked = 0

    def maximize(self, theta):
        self.asked += 1
        return ChooseTwo().maximize(theta if self.asked % 2 else -theta)


class NotANumber:
    def maximize(self, theta):
        return np.where(ChooseTwo().maximize(theta) > 0, np.nan, 0.0)


class WrongValue:
    def maximize(self, theta):
        return ChooseTwo().maximize(theta), theta.max()


@numba.njit
def clips(theta, out):
    """Treats negative scores as zero."""
    choose_two(np.maximum(theta, 0.0), out)
    return (theta * out).sum()


@numba.njit
def clips_the_value_too(theta, out):
    return choose_two(np.maximum(theta, 0.0), out)


@numba.njit
def writes_nan(theta, out):
    value = choose_two(theta, out)
    out[0] = np.nan
    return value


@numba.njit
def returns_another_value(theta, out):
    return choose_two(theta, out) + 1.0


@numba.njit
def writes_to_theta(theta, out):
    value = choose_two(theta, out)
    theta[0] = 0.0
    return value


#: Wrong oracle -> what the sentence must say
WRONG = {
    "argmin": (Fewest(), "seems to minimise"),
    "a part that is never chosen": (ForgetsTheLast(), "is not maximal"),
    "moods": (Moody(), "Asked twice for the same scores|is not maximal"),
    "NaN in Python": (NotANumber(), "NaN or inf"),
    "another value in Python": (WrongValue(), "returned the value"),
    "clipped scores": (clips, "parts of negative scores"),
    "clipped scores and values": (clips_the_value_too, "must return <theta, out>"),
    "NaN": (writes_nan, "NaN or inf"),
    "another value": (returns_another_value, "must return <theta, out>"),
    "theta written": (writes_to_theta, "writes to theta"),
}
each_wrong = pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)


@each_wrong
@pytest.mark.parametrize("solver", ["bcfw", "cutting-plane"])
def test_fit_refuses_a_wrong_oracle(case, solver):
    oracle, named = case
    with pytest.raises(OracleError, match=named):
        StructuredPredictor(oracle, solver=solver, random_state=0).fit(X, Y)


@each_wrong
def test_the_report_names_what_is_wrong(case):
    oracle, named = case
    report = check_structure(oracle, X, Y)
    assert not report.ok
    assert re.search(named, str(report))
    with pytest.raises(OracleError):
        check_structure(oracle, X, Y, raise_errors=True)


class Relaxed:
    """Parts between 0 and 1 that add up to at most 1.5: an outer polytope, whose vertices are fractional."""

    exact = False

    def maximize(self, theta):
        order = np.argsort(-theta)
        vertex = np.zeros(theta.size)
        vertex[order[0]], vertex[order[1]] = 1.0, 0.5
        return np.where(theta > 0, vertex, 0.0)


class Rough:
    """Scores are rounded to three digits first: values are right to some thousandths."""

    accuracy = 0.01

    def maximize(self, theta):
        return ChooseTwo().maximize(np.round(theta, 3))


class Counted(ChooseTwo):
    asked = 0

    def maximize(self, theta):
        self.asked += 1
        return super().maximize(theta)


class WritesToItsCopy:
    """In Python an oracle gets scores of its own."""

    def maximize(self, theta):
        theta *= 2.0
        return ChooseTwo().maximize(theta)


def plain_function(theta):
    return ChooseTwo().maximize(theta)


def with_value(theta):
    vertex = ChooseTwo().maximize(theta)
    return vertex, theta @ vertex


RIGHT = [ChooseTwo(), choose_two, CompiledChooseTwo(), Rough(), WritesToItsCopy(), plain_function, with_value]


@pytest.mark.parametrize("oracle", RIGHT, ids=lambda one: getattr(one, "__name__", type(one).__name__))
@pytest.mark.parametrize("seed", range(3))
def test_right_oracles_pass(oracle, seed):
    report = check_structure(oracle, X, Y, random_state=seed)
    assert report.ok, report
    assert "No problem was found." in str(report)


@pytest.mark.parametrize("oracle", RIGHT[:-2], ids=lambda one: getattr(one, "__name__", type(one).__name__))
@pytest.mark.filterwarnings("ignore:Stopped after max_passes")
def test_fit_leaves_right_oracles_in_peace(oracle):
    StructuredPredictor(oracle, max_passes=1, random_state=0).fit(X, Y)


@pytest.mark.filterwarnings("ignore:Stopped after max_passes")
def test_a_relaxation_is_compared_with_outputs_that_it_contains():
    y = [np.eye(len(x))[int(np.argmax(x[:, 0]))] for x in X]
    report = check_structure(Relaxed(), X, y)
    assert report.ok, report
    StructuredPredictor(Relaxed(), max_passes=1, random_state=0).fit(X, y)


@pytest.mark.parametrize("n_examples", [1, 4, 20, 40])
def test_fit_asks_a_bounded_number_of_questions(n_examples):
    oracle, n = Counted(), n_examples
    structure, shapes = as_structure(oracle), np.array([(len(x), 1) for x in X[:n]])
    refuse_wrong_oracle(structure, shapes, structure.encode_many(Y[:n], shapes))
    assert FEWEST_QUESTIONS <= oracle.asked <= min(max(n, 2 * FEWEST_QUESTIONS), MOST_QUESTIONS)


def test_outputs_that_no_vertex_is_are_named():
    y = [np.ones(len(x)) for x in X]
    report = check_structure(ChooseTwo(), X, y)
    assert "the gold output" in report.problems[0]


class Halves(PlainViterbi):
    """Decodes to another output than it encodes."""

    def decode(self, vertex):
        return super().decode(vertex) // 2


class Rewarding(ChooseTwo):
    """Pays for wrong parts."""

    def cost(self, mu):
        return mu - 0.5


class TwoMinds:
    """In Python it chooses two parts; compiled, the first and the second."""

    def maximize(self, theta):
        return ChooseTwo().maximize(theta)

    @staticmethod
    @numba.njit
    def oracle(theta, out):
        out[0] = 1.0
        out[1] = 1.0
        return theta[0] + theta[1]


def test_the_report_covers_more_than_answers():
    chains = [np.zeros((3 * 4 + 9, 2)) for _ in range(6)]
    labels = [RNG.integers(3, size=4) for _ in chains]
    assert any(
        "decoded and encoded" in one for one in check_structure(Halves(Chain(3)), chains, labels).problems
    )
    assert any("less than 0" in one for one in check_structure(Rewarding(), X, Y).problems)
    assert any("the compiled oracle" in one for one in check_structure(TwoMinds(), X, Y).problems)
    raises = type("Raises", (), {"maximize": lambda self, theta: 1 / 0})()
    assert "ZeroDivisionError was raised" in check_structure(raises, X, Y).problems[0]
    assert "give one output per example" in check_structure(ChooseTwo(), X, Y[:-1]).problems[0]


OURS = {
    "simplex": (Simplex(3), (3,), [0, 2, 1]),
    "chain": (Chain(2), (3 * 2 + 4,), [[0, 1, 1], [1, 1, 0], [0, 0, 0]]),
    "label graph": (LabelGraph(3), (15,), list(itertools.islice(itertools.product([0, 1], repeat=3), 3))),
    "matching": (Matching(), (3, 2), [np.eye(3)[:, :2], np.zeros((3, 2)), np.eye(3)[::-1, :2]]),
    "projective trees": (ProjectiveTree(), (4, 3), [[2, 0, 2], [0, 1, 2], [0, 1, 1]]),
    "trees": (NonProjectiveTree(), (4, 3), [[2, 0, 2], [0, 1, 2], [0, 1, 1]]),
    "labelled trees": (LabelledTree(ProjectiveTree(), 2), (3, 2, 2), [[[0, 1], [1, 0]]] * 3),
    "cut": (Cut(3, [(0, 1), (1, 2)]), (5,), [[0, 1, 1], [0, 0, 0], [1, 0, 1]]),
}


@pytest.mark.parametrize("case", OURS.values(), ids=OURS)
def test_the_structures_of_the_library_pass(case):
    structure, axes, y = case
    report = check_structure(structure, [np.zeros((*axes, 2))] * len(y), y)
    assert report.ok, report
