"""Markov random fields in files: the UAI format, its labellings, and weighted constraint networks (.wcsp).

Tables are logarithms, so that the score of a labelling is a sum and 0 in a file is -inf, a forbidden state.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data.text import open_text, written_text
from structlearn.storage.errors import DataError, StrPath
from structlearn.structures.graphs import Graph

if TYPE_CHECKING:
    from structlearn.structures.factors.factor_graph import FactorGraph

#: The most entries of all tables together (512 MB), and variables of a file.
MOST_ENTRIES, MOST_VARIABLES = 1 << 26, 1 << 24


class Factors(NamedTuple):
    """Variables with states, and tables over some of them.

    n_states : how many states each variable has
    scopes : of each table, its variables
    tables : logarithms, one axis per variable of the scope; -inf is forbidden
    """

    n_states: list[int]
    scopes: list[tuple[int, ...]]
    tables: list[Array]

    def score(self, states: Sequence[int] | Array) -> float:
        """Return the sum of all tables at a labelling."""
        return float(
            sum(table[tuple(states[v] for v in scope)] for scope, table in zip(self.scopes, self.tables))
        )

    @property
    def order(self) -> int:
        """The most variables of a table."""
        return max(map(len, self.scopes), default=0)

    @property
    def is_pairwise(self) -> bool:
        """Whether `pairwise` has room for its tables, all of which have as many states as the largest."""
        n, k = len(self.n_states), max(self.n_states, default=1)
        pairs = sum(len(scope) == 2 for scope in self.scopes)
        return self.order <= 2 and n * k + pairs * k * k <= MOST_ENTRIES

    def factor_graph(self) -> tuple[FactorGraph, Array, float]:
        """Return the same scores as a factor graph, its scores, and a constant."""
        from structlearn.structures.factors.factor_graph import FactorGraph

        states, constant = [np.zeros(size) for size in self.n_states], 0.0
        scopes, tables = [], []
        for scope, table in zip(self.scopes, self.tables):
            if len(scope) > 1:
                scopes.append(scope)
                tables.append(table.ravel())
            elif scope:
                states[scope[0]] += table
            else:
                constant += float(table)
        return FactorGraph(self.n_states, scopes), np.concatenate([*states, *tables]), constant

    def pairwise(self) -> PairwiseScores:
        """Return the same scores by nodes and edges; ValueError for a table over more than two variables."""
        n, k = len(self.n_states), max(self.n_states, default=1)
        node = np.full((n, k), -np.inf)
        for v, size in enumerate(self.n_states):
            node[v, :size] = 0.0
        constant, edges = 0.0, dict[tuple[int, int], Array]()
        for number, (scope, table) in enumerate(zip(self.scopes, self.tables)):
            if len(scope) > 2:
                raise ValueError(
                    f"Factor {number} is over {len(scope)} variables; ask `factor_graph` for more than two."
                )
            if len(scope) == 2:
                low, high = sorted(scope)
                pair = edges.setdefault((low, high), np.zeros((k, k)))
                rows, columns = self.n_states[low], self.n_states[high]
                pair[:rows, :columns] += table if scope == (low, high) else table.T
            elif scope:
                node[scope[0], : table.size] += table
            else:
                constant += float(table)
        ends = np.array(list(edges), dtype=np.int32).reshape(-1, 2)
        tables = np.array(list(edges.values())).reshape(-1, k, k)
        return PairwiseScores(Graph(n, ends), node, tables, constant)


class PairwiseScores(NamedTuple):
    """Scores of states and of pairs of states: those of `PairwiseGraph`, and a constant."""

    graph: Graph
    node: Array  # (n, K)
    table: Array  # (m, K, K)
    constant: float

    @property
    def theta(self) -> Array:
        """The scores as one vector."""
        return np.concatenate([self.node.ravel(), self.table.ravel()])


# ---- reading ---------------------------------------------------------------------------------------------


class _Numbers:
    """The words of a file, one after the other, each with its line."""

    def __init__(self, path: StrPath) -> None:
        self.path = path
        self._words: Iterator[tuple[int, str]] = (
            (number, word) for number, line in open_text(path) for word in line.split()
        )
        self.line = 1
        self.entries = 0

    def make_room(self, n_entries: int, what: str) -> None:
        """Refuse more entries, of all tables together, than memory has room for."""
        self.entries += n_entries
        if self.entries > MOST_ENTRIES:
            raise self.wrong(
                f"with {what} there are {self.entries} numbers in all tables, more than {MOST_ENTRIES}."
            )

    def word(self, what: str) -> str:
        found = next(self._words, None)
        if found is None:
            raise DataError.at(self.path, self.line, f"the file ends before {what}.")
        self.line, word = found
        return word

    def count(self, what: str, most: int) -> int:
        """Return a whole number from 0 to `most`."""
        word = self.word(what)
        if not word.isascii() or not word.isdigit() or len(word) > 12 or int(word) > most:
            raise self.wrong(f"{quote(word)} is not {what}, a whole number from 0 to {most}.")
        return int(word)

    def number(self, what: str) -> float:
        word = self.word(what)
        try:
            if word.isascii() and "_" not in word:
                return float(word)
        except ValueError:
            pass
        raise self.wrong(f"{quote(word)} is not {what}.")

    def cost(self, what: str) -> float:
        """Return a number or inf."""
        found = self.number(what)
        if not found > -np.inf:
            raise self.wrong(f"{what} is {found:g}; it is a number or inf.")
        return found

    def wrong(self, sentence: str) -> DataError:
        return DataError.at(self.path, self.line, sentence)

    def end(self) -> None:
        found = next(self._words, None)
        if found is not None:
            self.line, word = found
            raise self.wrong(f"{quote(word)} stands behind the last table.")


def read_uai(path: StrPath) -> Factors:
    """Read a MARKOV or BAYES file of the UAI competitions, plain, .gz or .zst.

    Raises
    ------
    DataError
        A file that is truncated or has something else, tables of another size than their variables say,
        entries that are negative or no numbers.
    """
    words = _Numbers(path)
    kind = words.word("MARKOV or BAYES")
    if kind not in ("MARKOV", "BAYES"):
        raise words.wrong(f"the file begins with MARKOV or BAYES, not {quote(kind)}.")
    n_states = _sizes(words, words.count("the number of variables", MOST_VARIABLES))
    scopes = [
        _scope(words, len(n_states), k) for k in range(words.count("the number of factors", MOST_VARIABLES))
    ]
    tables = [_table(words, k, [n_states[v] for v in scope]) for k, scope in enumerate(scopes)]
    words.end()
    return Factors(n_states, scopes, tables)


def _sizes(words: _Numbers, n: int) -> list[int]:
    sizes = [words.count("a number of states", MOST_ENTRIES) for _ in range(n)]
    if 0 in sizes:
        raise words.wrong(f"variable {sizes.index(0)} has no states.")
    words.make_room(sum(sizes), "the states of variables")
    return sizes


def _scope(words: _Numbers, n: int, factor: int) -> tuple[int, ...]:
    size = words.count(f"the number of variables of factor {factor}", n)
    found = tuple(words.count("the number of a variable", n - 1) for _ in range(size))
    if len(set(found)) < size:
        raise words.wrong(f"factor {factor} names a variable twice.")
    return found


def _table(words: _Numbers, factor: int, sizes: list[int]) -> Array:
    """Return the logarithms of one table."""
    size = words.count(f"the size of the table of factor {factor}", MOST_ENTRIES)
    if size != prod(sizes):
        raise words.wrong(
            f"the table of factor {factor} has {size} entries; its variables make {prod(sizes)}."
        )
    words.make_room(size, f"factor {factor}")
    values = np.array([_weight(words, factor) for _ in range(size)])
    with np.errstate(divide="ignore"):
        return np.log(values).reshape(sizes)


def _weight(words: _Numbers, factor: int) -> float:
    found = words.number(f"an entry of factor {factor}")
    if not 0.0 <= found < np.inf:
        raise words.wrong(f"an entry of factor {factor} is {found:g}; entries are finite and not negative.")
    return found


def read_wcsp(path: StrPath) -> Factors:
    """Read a weighted constraint network; scores are minus the costs, and costs from the top on are -inf."""
    words = _Numbers(path)
    words.word("the name of the problem")
    n = words.count("the number of variables", MOST_VARIABLES)
    words.count("the largest number of states", MOST_ENTRIES)
    n_tables = words.count("the number of tables", MOST_VARIABLES)
    top = words.cost("the cost that is forbidden")
    n_states = _sizes(words, n)
    scopes, tables = [], []
    for k in range(n_tables):
        scopes.append(_scope(words, n, k))
        sizes = [n_states[v] for v in scopes[-1]]
        words.make_room(prod(sizes), f"table {k}")
        costs = np.full(sizes, words.cost("the usual cost of a table"))
        for _ in range(words.count("the number of other costs", MOST_ENTRIES)):
            place = tuple(words.count("a state", size - 1) for size in sizes)
            costs[place] = words.cost("a cost")
        tables.append(np.where(costs >= top, -np.inf, -costs))
    words.end()
    return Factors(n_states, scopes, tables)


# ---- writing ---------------------------------------------------------------------------------------------


def write_uai(path: StrPath, factors: Factors) -> None:
    """Write factors as a MARKOV file, whole or not at all."""
    with written_text(path) as stream:
        stream.write(f"MARKOV\n{len(factors.n_states)}\n{' '.join(map(str, factors.n_states))}\n")
        stream.write(f"{len(factors.scopes)}\n")
        for scope in factors.scopes:
            stream.write(" ".join(map(str, (len(scope), *scope))) + "\n")
        for table in factors.tables:
            entries = " ".join(format(value, ".17g") for value in np.exp(table).ravel().tolist())
            stream.write(f"\n{table.size}\n{entries}\n")


def read_labelling(path: StrPath) -> list[int]:
    """Read a labelling of the UAI form: the word MAP, then n and n states."""
    words = _Numbers(path)
    if words.word("MAP") != "MAP":
        raise words.wrong("a labelling begins with the word MAP.")
    n = words.count("the number of variables", MOST_VARIABLES)
    return [words.count("a state", MOST_ENTRIES) for _ in range(n)]


def labelling_text(states: Sequence[int] | Array) -> str:
    """Return a labelling in the UAI form."""
    return f"MAP\n{len(states)} {' '.join(str(int(state)) for state in states)}\n"


def read_factors(path: StrPath) -> Factors:
    """Read factors by the ending of the file's name: .uai or .wcsp, packed or not."""
    from structlearn.data.compression import inner_name

    name = inner_name(os.fspath(path)).lower()
    if name.endswith(".wcsp"):
        return read_wcsp(path)
    if name.endswith(".uai"):
        return read_uai(path)
    raise DataError(f"{os.fspath(path)}: the name of a file of factors ends in .uai or .wcsp.")
