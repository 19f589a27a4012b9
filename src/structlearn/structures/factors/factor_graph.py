"""Factor graphs: variables with states, tables of scores over some of them, and constraints that count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape, workspace
from structlearn.core.forms import count
from structlearn.core.wording import quote
from structlearn.structures.base import NothingFound, Structure, Weights, nothing_allowed
from structlearn.structures.constraints import Budget, Constraint, CountConstraint, Implies
from structlearn.structures.factors.records import FactorRecord
from structlearn.structures.factors.solving import solve_factors
from structlearn.structures.factors.written import factor_text, read_factors, write_factors
from structlearn.structures.registry import stored

#: Entries of one table, at most: 128 MB.
MOST_ENTRIES = 1 << 24
#: Subproblems of branch and bound, and entries of tables that these read: about half a second.
MOST_BRANCHES, MOST_READ = 20_000, 1 << 26


class FactorTable(NamedTuple):
    """A factor that scores all states of some variables together.

    variables : tuple of int
    """

    variables: tuple[int, ...]


class FactorAnswer(NamedTuple):
    """The best labelling that is known, its score, and an upper bound of all scores."""

    states: Array
    value: float
    bound: float

    @property
    def exact(self) -> bool:
        """Whether no labelling is better."""
        return bool(self.bound - self.value <= 1e-9 * (abs(self.bound) + abs(self.value)))


class _Limit(NamedTuple):
    """low <= sum_v cost_v[x_v] <= high."""

    variables: tuple[int, ...]
    costs: list[Array]
    low: int
    high: float


@stored(
    "states of variables under tables and constraints",
    {"n_states": [count], "factors": factor_text, "most_branches?": count},
)
class FactorGraph(Structure):
    """Labellings of variables, scored by tables over any number of them, within constraints.

        <theta, z(y)> = sum_v theta_v[y_v] + sum_f theta_f[y_u, y_v, ...]

    The parts are the states of all variables, one after the other, then the entries of each table in C order.

    `maximize` is the best labelling that descent on the dual of the local polytope and branch and bound find;
    the value of a loss comes from their bound. So P is never too low, and D, of real labellings, never too
    high. `project` is SparseMAP, with the squared norm over states.

    Parameters
    ----------
    n_states : sequence of int
        The number of states of each variable.
    factors : sequence
        Tuples of variables, for a table of scores each, and constraints of `structlearn.constraints`:
        `AtMost`, `AtLeast`, `Exactly`, `Xor`, `Budget`, `Implies`. A member of a constraint is a variable of
        two states, which counts if it has state 1, or a tuple (variable, state).
    most_branches : int
        Subproblems of branch and bound, at most; fewer where tables are large.
    """

    bounded = True
    no_marginals = " over cycles and constraints; use {loss=hinge} or {loss=sparsemax}"

    def __init__(
        self,
        n_states: Sequence[int],
        factors: Iterable[object] = (),
        *,
        most_branches: int = MOST_BRANCHES,
    ) -> None:
        self.n_states = [_positive(one) for one in n_states]
        if not self.n_states:
            raise ValueError("A factor graph needs at least one variable.")
        self.factors = list(factors)
        self.most_branches = most_branches
        self._read_factors = [self.read_factor(number, factor) for number, factor in enumerate(self.factors)]
        self.tables = [one.variables for one in self._read_factors if isinstance(one, FactorTable)]
        self.state_start = np.cumsum([0, *self.n_states])
        sizes = [prod(self.n_states[v] for v in variables) for variables in self.tables]
        self.table_start = self.state_start[-1] + np.cumsum([0, *sizes])
        self.n_parts = int(self.table_start[-1])

    def arguments(self) -> dict[str, object]:
        return {
            "n_states": self.n_states,
            "factors": write_factors(self.factors),
            "most_branches": self.most_branches,
        }

    @classmethod
    def from_arguments(cls, arguments: dict[str, Any]) -> Structure:
        return cls(**{**arguments, "factors": read_factors(arguments["factors"])})

    # ---- factors -----------------------------------------------------------------------------------

    def read_factor(self, number: int, factor: object) -> FactorTable | _Limit:
        """Check a factor over these variables; `number` is what to call it in errors."""
        if isinstance(factor, CountConstraint):
            low, high = factor.limits
            return self._limit(number, dict.fromkeys(factor.members, 1), int(low), high)
        if isinstance(factor, Budget):
            return self._limit(number, factor.costs, 0, factor.limit)
        if isinstance(factor, Implies):
            return self._implication(number, factor)
        if isinstance(factor, Constraint) or not isinstance(factor, tuple | list) or not factor:
            raise ValueError(
                f"Factor {number} is a tuple of variables or a constraint of structlearn.constraints; got "
                f"{quote(factor)}."
            )
        variables = tuple(self._variable(number, one) for one in factor)
        if len(set(variables)) < len(variables):
            raise ValueError(f"Factor {number} names a variable twice.")
        if prod(self.n_states[v] for v in variables) > MOST_ENTRIES:
            raise ValueError(f"The table of factor {number} would have more than {MOST_ENTRIES} entries.")
        return FactorTable(variables)

    def _variable(self, number: int, given: object) -> int:
        if not isinstance(given, int | np.integer) or not 0 <= given < len(self.n_states):
            raise ValueError(
                f"Factor {number} names {given!r}; variables are numbers from 0 to {len(self.n_states) - 1}."
            )
        return int(given)

    def _member(self, number: int, given: object) -> tuple[int, int]:
        """Return the variable and the state of a member of a constraint."""
        if not isinstance(given, tuple):
            v = self._variable(number, given)
            if self.n_states[v] != 2:
                raise ValueError(
                    f"Factor {number} names variable {v}, which has {self.n_states[v]} states: say which, as "
                    f"in ({v}, 1)."
                )
            return v, 1
        if len(given) != 2:
            raise ValueError(f"Factor {number} has the member {given!r}, which is not (variable, state).")
        v, state = self._variable(number, given[0]), given[1]
        if not isinstance(state, int | np.integer) or not 0 <= state < self.n_states[v]:
            raise ValueError(f"Factor {number} names state {state!r} of variable {v}, which it has not.")
        return v, int(state)

    def _limit(self, number: int, costs: Mapping[Any, int], low: int, high: float) -> _Limit:
        found: dict[int, Array] = {}
        for member, cost in costs.items():
            v, state = self._member(number, member)
            found.setdefault(v, np.zeros(self.n_states[v], dtype=np.int64))[state] = cost
        return _Limit(tuple(found), list(found.values()), low, high)

    def _implication(self, number: int, given: Implies) -> _Limit:
        """At least one of: not `first`, `then`."""
        (u, s), (v, t) = self._member(number, given.first), self._member(number, given.then)
        not_first = np.ones(self.n_states[u], dtype=np.int64)
        not_first[s] = 0
        if u == v:
            not_first[t] = 1
            return _Limit((u,), [not_first], 1, inf)
        then = np.zeros(self.n_states[v], dtype=np.int64)
        then[t] = 1
        return _Limit((u, v), [not_first, then], 1, inf)

    @cached_property
    def record(self) -> FactorRecord:
        factors, sizes = self._read_factors, np.array(self.n_states)
        variables = [np.array(one.variables, dtype=np.int64) for one in factors]
        first = np.cumsum([0, *map(len, variables)])
        variable = np.concatenate([*variables, np.empty(0, dtype=np.int64)])
        message = np.concatenate([[0], np.cumsum(sizes[variable])]).astype(np.int64)
        costs = [
            one.costs if isinstance(one, _Limit) else [np.zeros(s) for s in sizes[v]]
            for one, v in zip(factors, variables)
        ]
        cost = np.concatenate([np.empty(0), *(one for own in costs for one in own)]).astype(np.int64)
        limits = [_caps(one) for one in factors]
        low, cap, is_open = np.array(limits, dtype=np.int64).reshape(-1, 3).T.copy()
        tables = iter(self.table_start[:-1].tolist())
        table = np.array(
            [next(tables) if isinstance(one, FactorTable) else -1 for one in factors], dtype=np.int64
        )
        own_edge = np.argsort(variable, kind="stable")
        own_first = np.searchsorted(variable[own_edge], np.arange(len(sizes) + 1))
        arity = np.diff(first)
        room = (
            int(sizes.max()),
            int(arity.max(initial=1)),
            int(np.diff(message[first]).max(initial=1)),
            int(((arity + 1) * (cap + 1)).max(initial=1)),
        )
        factor = np.repeat(np.arange(len(factors)), arity)
        most_read = MOST_READ * max(1, self.most_branches // MOST_BRANCHES)
        return FactorRecord(
            *(self.state_start, first, variable, factor, message, cost, table, low, cap, is_open),
            *(own_first, own_edge, room, self.n_parts, self.most_branches, most_read),
        )

    # ---- answers -------------------------------------------------------------------------------------

    def solve(self, theta: ArrayLike) -> FactorAnswer:
        """Return the best labelling that is found, its score, and a bound; ValueError if there is none."""
        scores, shape = self.read_scores(theta)
        work: Any = workspace(self.record, shape)
        value, bound = solve_factors(self.record, scores, np.empty(0), work)
        if value == -np.inf:
            if bound == -np.inf:
                raise self._nothing(scores)
            raise NothingFound("No labelling within the constraints was found; raise most_branches.")
        return FactorAnswer(work.best.copy(), float(value), float(bound))

    def _bound(self, factors: list[object], scores: Array) -> float:
        """Return the bound of the same variables and tables under some of the constraints."""
        record = FactorGraph(self.n_states, factors, most_branches=self.most_branches).record
        work: Any = workspace(record, (self.n_parts, 1))
        return solve_factors(record, scores, np.empty(0), work)[1]

    def conflict(self, theta: Array) -> list[Constraint]:
        """Return the fewest constraints that exclude everything together at these scores."""
        needed = list(self.factors)
        for one in [factor for factor in needed if isinstance(factor, Constraint)]:
            fewer = [other for other in needed if other is not one]
            if self._bound(fewer, theta) == -np.inf:
                needed = fewer
        return [one for one in needed if isinstance(one, Constraint)]

    def _nothing(self, scores: Array) -> ValueError:
        """Return the error for scores and constraints that exclude everything, with the fewest of these."""
        named = [repr(one) for one in self.conflict(scores)]
        if not named:
            return nothing_allowed("The score vector")
        verb = "exclude" if len(named) > 1 else "excludes"
        return ValueError(f"{' and '.join(named)} {verb} every labelling.")

    # ---- sizes -----------------------------------------------------------------------------------------

    def shape(self, theta: Array) -> Shape:
        if theta.size != self.n_parts:
            raise ValueError(f"This factor graph has {self.n_parts} parts; got {theta.size}.")
        return self.n_parts, 1

    def fits(self, shape: Shape | Array) -> bool | Array:
        return (shape[0] == self.n_parts) & (shape[1] == 1)

    def n_curved(self, shape: Shape | Array) -> Any:
        return self.state_start[-1] + 0 * shape[0]

    @property
    def has_linear_parts(self) -> bool:
        return bool(self.tables)

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        return (self.n_parts,)

    @property
    def output_axes(self) -> tuple[int | str, ...]:
        return ()

    def most_entries(self, shape: Shape) -> int:
        return len(self.n_states) + len(self.tables)

    # ---- outputs ---------------------------------------------------------------------------------------

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return ones for the states y of the variables, and for the entries of tables that they make."""
        states = np.asarray(y)
        sizes = np.array(self.n_states)
        if states.shape != sizes.shape or states.dtype.kind not in "iub":
            raise ValueError(f"A labelling has {len(sizes)} states, whole numbers; got {quote(y)}.")
        states = states.astype(np.int64)
        if ((states < 0) | (states >= sizes)).any():
            v = int(np.argmax((states < 0) | (states >= sizes)))
            raise ValueError(f"Variable {v} has {sizes[v]} states, counted from 0; got state {states[v]}.")
        for limit, factor in zip(self._read_factors, self.factors):
            if isinstance(limit, _Limit):
                total = sum(cost[states[v]] for v, cost in zip(limit.variables, limit.costs))
                if not limit.low <= total <= limit.high:
                    raise ValueError(f"The labelling breaks {factor!r}, so it is not an output.")
        vertex = np.zeros(self.n_parts)
        vertex[self.state_start[:-1] + states] = 1.0
        for start, variables in zip(self.table_start, self.tables):
            own = list(variables)
            vertex[start + np.ravel_multi_index(tuple(states[own]), tuple(sizes[own]))] = 1.0
        return vertex

    def decode(self, vertex: Array) -> Array:
        """Return the states of the variables."""
        self.shape(vertex)
        pieces = np.split(vertex[: self.state_start[-1]], self.state_start[1:-1])
        return np.array([int(np.argmax(one)) for one in pieces])

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return 1 on each wrong state, over the number of variables where normalised; zero on tables.

        `nodes` of shape (n_variables,) multiplies it.
        """
        if weights is not None:
            raise ValueError("Variables of a factor graph have states of their own: weigh them by `nodes`.")
        states = self.decode(mu)
        costs = np.zeros(mu.size)
        own = np.ones(len(states)) if nodes is None else np.asarray(nodes, dtype=float)
        for v, (first, last) in enumerate(zip(self.state_start, self.state_start[1:])):
            costs[first:last] = own[v]
            costs[first + states[v]] = 0.0
        return costs / (len(states) if normalized else 1)


def _positive(given: object) -> int:
    if not isinstance(given, int | np.integer) or given < 1:
        raise ValueError(f"A variable has at least one state; got {quote(given)}.")
    return int(given)


def _caps(factor: FactorTable | _Limit) -> tuple[int, int, int]:
    """Return the least count, the largest that is told apart, and whether more is as good."""
    if isinstance(factor, FactorTable):
        return 0, 0, 0
    most = sum(int(cost.max()) for cost in factor.costs)
    if factor.high >= most:
        return factor.low, max(factor.low, 0), 1
    return factor.low, int(factor.high), 0
