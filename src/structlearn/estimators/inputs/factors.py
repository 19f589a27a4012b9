"""Factor graphs as users pass them: numbers of states, and factors with a type, a scope and features."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.estimators.inputs.checking import as_list
from structlearn.scoring.parts.sparse_parts import SparsePartScoring
from structlearn.structures.constraints import Constraint
from structlearn.structures.factors.factor_graph import FactorGraph
from structlearn.structures.factors.several import FactorGraphs
from structlearn.structures.factors.written import write_factors

#: (n_states, factors); a factor is (type, scope), (type, scope, features) or a constraint.
FactorExample: TypeAlias = tuple[Sequence[int], Sequence[Any]]


class FactorType(NamedTuple):
    """What all factors of one type have: how many features, and the numbers of states of their variables."""

    n_features: int
    n_states: tuple[int, ...]

    def n_rows(self, *, intercept: bool) -> int:
        """How many weights each entry of a table has: one for a constant where that is the only feature."""
        return self.n_features + (intercept or self.n_features == 0)

    @property
    def n_entries(self) -> int:
        return prod(self.n_states)


class TypedFactors(NamedTuple):
    """All factors of one type: where their parts begin, among those of all examples, and their features."""

    part: Array
    features: Array


class FactorExamples(NamedTuple):
    """All examples, read and checked."""

    structure: FactorGraphs
    which: Array
    types: dict[str, FactorType]
    factors: dict[str, TypedFactors]

    @property
    def shapes(self) -> Array:
        return np.stack([self.structure.n_parts[self.which], self.which], axis=1)

    def scoring(self, *, intercept: bool) -> SparsePartScoring:
        """Return theta = F w, with the weights of each type after those of the one before, by name.

        Those of one type are a table for each of its features, and one for a constant.
        """
        rows, columns, values, first = [], [], [], 0
        for name, kind in sorted(self.types.items()):
            part, features = self.factors.get(name, TypedFactors(np.empty(0), np.empty((0, kind.n_features))))
            if kind.n_rows(intercept=intercept) > kind.n_features:
                features = np.hstack([features, np.ones((len(features), 1))])
            entry = np.arange(kind.n_entries)
            column = first + kind.n_entries * np.arange(features.shape[1])[:, None] + entry
            shape = (*features.shape, kind.n_entries)
            rows.append(np.broadcast_to(part[:, None, None] + entry, shape).ravel())
            columns.append(np.broadcast_to(column, shape).ravel())
            values.append(np.broadcast_to(features[:, :, None], shape).ravel())
            first += column.size
        sizes = self.shapes[:, 0]
        at = np.concatenate(rows).astype(np.int64), np.concatenate(columns)
        F = sparse.csr_matrix((np.concatenate(values), at), shape=(int(sizes.sum()), first))
        F.sum_duplicates()
        return SparsePartScoring(F, self.shapes, sizes=sizes)


def read_factor_graphs(
    X: object, most_branches: int, types: dict[str, FactorType] | None = None
) -> FactorExamples:
    """Read a list of factor graphs; `types` are those of training, where these are of no training."""
    known = dict(types or {})
    graphs: dict[tuple[object, ...], int] = {}
    distinct, which = [], []
    found: dict[str, list[tuple[int, Array]]] = {}
    start = 0
    for i, example in enumerate(as_list(X, "X")):
        try:
            n_states, factors = _pair(example)
            n_states = [_size(one) for one in n_states]
            terms, constraints = _split(factors, n_states, known, types is None)
            tables = [scope for _, scope, _ in terms if len(scope) > 1]
            key = (*n_states, write_factors([*tables, *constraints]))
            if key not in graphs:
                graphs[key] = len(graphs)
                distinct.append(FactorGraph(n_states, [*tables, *constraints], most_branches=most_branches))
        except ValueError as error:
            raise ValueError(f"Example {i}: {error}") from None
        graph = distinct[graphs[key]]
        next_table = iter(graph.table_start.tolist())
        for name, scope, features in terms:
            part = graph.state_start[scope[0]] if len(scope) == 1 else next(next_table)
            found.setdefault(name, []).append((start + int(part), features))
        start += graph.n_parts
        which.append(graphs[key])
    typed = {name: TypedFactors(*map(np.array, zip(*own))) for name, own in found.items()}
    return FactorExamples(FactorGraphs(distinct), np.array(which), known, typed)


def _pair(example: object) -> tuple[Any, Any]:
    if not isinstance(example, tuple) or len(example) != 2:
        raise ValueError(f"A factor graph is a tuple (numbers of states, factors); got {quote(example)}.")
    return example


def _size(given: object) -> int:
    if not isinstance(given, int | np.integer) or given < 1:
        raise ValueError(f"A variable has at least one state; got {quote(given)}.")
    return int(given)


_Term = tuple[str, tuple[int, ...], Array]


def _split(
    factors: Sequence[object], n_states: list[int], types: dict[str, FactorType], new: bool
) -> tuple[list[_Term], list[Constraint]]:
    """Return factors with scores, and constraints; types that are `new` are added."""
    terms: list[_Term] = []
    constraints: list[Constraint] = []
    bare = FactorGraph(n_states)
    for number, factor in enumerate(factors):
        if isinstance(factor, Constraint):
            bare.read_factor(number, factor)
            constraints.append(factor)
            continue
        name, scope, features = _term(number, factor, len(n_states))
        kind = FactorType(features.size, tuple(n_states[v] for v in scope))
        if new:
            types.setdefault(name, kind)
        if name not in types:
            raise ValueError(f"Factor {number} has the type {name!r}, which training had not.")
        _check_type(number, name, kind, types[name])
        terms.append((name, scope, features))
    return terms, constraints


def _term(number: int, factor: object, n: int) -> _Term:
    if not isinstance(factor, tuple) or len(factor) not in (2, 3) or not isinstance(factor[0], str):
        raise ValueError(
            f"Factor {number} is a tuple (type, scope) or (type, scope, features), the type a name, or a "
            f"constraint of structlearn.constraints; got {quote(factor)}."
        )
    scope = factor[1] if isinstance(factor[1], tuple | list | np.ndarray) else ()
    if not len(scope) or not all(isinstance(v, int | np.integer) and 0 <= v < n for v in scope):
        raise ValueError(
            f"Factor {number} has the scope {quote(factor[1])}; a scope is a tuple of variables, numbers "
            f"from 0 to {n - 1}."
        )
    if len(set(scope)) < len(scope):
        raise ValueError(f"Factor {number} names a variable twice.")
    features = np.atleast_1d(np.asarray(factor[2] if len(factor) == 3 else []))
    if features.size == 0:
        features = np.empty(0)
    if features.ndim != 1 or features.dtype.kind not in "biuf" or not np.isfinite(features).all():
        raise ValueError(f"The features of factor {number} are not a row of finite numbers.")
    return factor[0], tuple(map(int, scope)), features.astype(np.float64)


def _check_type(number: int, name: str, kind: FactorType, known: FactorType) -> None:
    if kind.n_features != known.n_features:
        raise ValueError(
            f"Factor {number} has {kind.n_features} features, but others of type {name!r} have "
            f"{known.n_features}."
        )
    if kind.n_states != known.n_states:
        raise ValueError(
            f"Factor {number} has variables of {kind.n_states} states, but others of type {name!r} have "
            f"{known.n_states}: give it a type of its own."
        )
