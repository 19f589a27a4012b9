"""Files of Markov random fields: what is written is read, and what is wrong is named with its line."""

import itertools

import numpy as np
import pytest

from structlearn.data import DataError, Factors, read_uai, read_wcsp, write_uai
from structlearn.data.uai import labelling_text, read_labelling
from structlearn.structures import PairwiseGraph

FILE = """MARKOV
3
2 2 3
4
1 0
2 0 1
2 2 1
0

2
 0.5 2
4
 1 2 3 4
6
 1 0 2 1 1 5

1
 7
"""


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="x.uai"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write_file


def every_labelling(factors):
    return itertools.product(*map(range, factors.n_states))


def test_the_last_variable_of_a_table_runs_fastest(write):
    found = read_uai(write(FILE))
    assert found.n_states == [2, 2, 3]
    assert found.scopes == [(0,), (0, 1), (2, 1), ()]
    np.testing.assert_allclose(np.exp(found.tables[1]), [[1, 2], [3, 4]])
    np.testing.assert_allclose(np.exp(found.tables[2]), [[1, 0], [2, 1], [1, 5]])
    assert found.score([1, 0, 1]) == pytest.approx(np.log(2 * 3 * 2 * 7))
    assert found.score([0, 1, 0]) == -np.inf


def test_what_is_written_is_read(write, tmp_path):
    rng = np.random.default_rng(0)
    scopes = [(0,), (1, 2), (2, 0, 1), ()]
    sizes = [3, 2, 4]
    tables = [rng.normal(size=[sizes[v] for v in scope]) for scope in scopes]
    tables[1][0, 2] = -np.inf
    write_uai(tmp_path / "y.uai.gz", Factors(sizes, scopes, tables))
    again = read_uai(tmp_path / "y.uai.gz")
    assert (again.n_states, again.scopes) == (sizes, scopes)
    for one, other in zip(again.tables, tables, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_pairwise_scores_are_those_of_the_factors(write):
    factors = read_uai(write(FILE))
    scores = factors.pairwise()
    structure = PairwiseGraph(*scores.graph, 3)
    for states in every_labelling(factors):
        vertex = structure.encode(list(states))
        value = scores.theta[vertex > 0].sum() + scores.constant
        assert value == pytest.approx(factors.score(states))
    best = max(every_labelling(factors), key=factors.score)
    assert structure.solve(scores.theta).states.tolist() == list(best)


def test_costs_become_scores(write):
    text = "toy 2 2 2 10\n2 2\n2 0 1 3 2\n0 0 0\n1 1 10\n1 0 1 1\n1 4\n"
    found = read_wcsp(write(text, "x.wcsp"))
    np.testing.assert_array_equal(found.tables[0], [[0, -3], [-3, -np.inf]])
    np.testing.assert_array_equal(found.tables[1], [-1, -4])


def test_labellings(write):
    assert labelling_text(np.array([0, 2])) == "MAP\n2 0 2\n"
    assert read_labelling(write("MAP\n2 0 2\n", "x.MAP")) == [0, 2]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("MARKOV", "FOREST", "line 1: the file begins with MARKOV or BAYES"),
        (" 7\n", "", "line 17: the file ends before an entry of factor 3"),
        ("6\n 1", "5\n 1", "line 14: the table of factor 2 has 5 entries; its variables make 6"),
        (" 1 0 2", " 1 -1 2", "line 15: an entry of factor 2 is -1; entries are finite and not negative"),
        (" 1 0 2", " 1 nan 2", "line 15: an entry of factor 2 is nan"),
        (" 1 0 2", " 1 x 2", 'line 15: "x" is not an entry of factor 2'),
        ("2 0 1", "2 0 3", 'line 6: "3" is not the number of a variable, a whole number from 0 to 2'),
        ("2 0 1", "2 1 1", "line 6: factor 1 names a variable twice"),
        ("2 2 3", "2 0 3", "variable 1 has no states"),
        ("\n3\n", "\n99999999999999999999\n", 'line 2: "9999999999.*" is not the number of variables'),
        (" 7\n", " 7 7\n", 'line 18: "7" stands behind the last table'),
    ],
)
def test_what_is_wrong_is_named_with_its_line(write, old, new, said):
    assert old in FILE
    with pytest.raises(DataError, match=said):
        read_uai(write(FILE.replace(old, new, 1)))


def test_factors_of_three_are_refused(write):
    factors = Factors([2, 2, 2], [(0, 1, 2)], [np.zeros((2, 2, 2))])
    with pytest.raises(ValueError, match="Factor 0 is over 3 variables"):
        factors.pairwise()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x 1 2 1 nan\n2\n", "line 1: the cost that is forbidden is nan"),
        ("x 1 2 1 9\n2\n1 0 nan 0\n", "line 3: the usual cost of a table is nan; it is a number or inf"),
        ("x 1 2 1 9\n2\n1 0 0 1\n1 -inf\n", "line 4: a cost is -inf"),
        ("x 1 2 1 9\n2\n1 0 1_0 0\n", 'line 3: "1_0" is not the usual cost'),
        ("x 3 9999 1 9\n9999 9999 9999\n3 0 1 2 0 0\n", "with table 0 there are .* in all tables, more than"),
        ("x 1 9 0 9\n99999999\n", "is not a number of states"),
    ],
)
def test_what_is_wrong_with_costs(write, text, said):
    with pytest.raises(DataError, match=said):
        read_wcsp(write(text, "x.wcsp"))
