"""What the loop asks of a solver: a frozen record of options that neither prints, times nor stops itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import Bound
from structlearn.problem.problem import Problem
from structlearn.solvers.solution import DualPoint, Solution


class Counting(Protocol):
    """The part that all states have in common."""

    @property
    def oracle_calls(self) -> int:
        """Oracle answers used for steps so far."""


State = TypeVar("State", bound=Counting)
#: The problems that a solver is made for.
Kind = TypeVar("Kind", bound=Problem, contravariant=True)


class Candidate(NamedTuple):
    """A pair to be certified: weights, and what is known of their values."""

    w: Array
    #: P(w) where the solver knows it already
    primal: float | None = None
    #: D of a dual feasible point z, where the solver has one, as the objective bounds it
    dual: Bound | None = None
    #: ||w(z)||^2, where the solver says so
    dual_norm: float = np.nan
    #: lambda/2 ||w - w(z)||^2 where blocks were scored at other weights than w(z): the gaps of blocks lack it
    ahead: float = 0.0
    #: further columns for the history
    extra: Mapping[str, float] = MappingProxyType({})


class Progress(NamedTuple):
    """What the loop must know of a solver's state."""

    #: oracle answers used for steps so far
    oracle_calls: int
    #: what the gap may be, at no cost; the loop evaluates the exact one when this is near tol
    estimate: float = np.inf
    #: a sentence, where the solver has nothing left to do
    finished: str = ""
    #: whether steps that need no oracle are under way: evaluations, and budgets of answers, wait for them
    pending: bool = False


class Solver(Protocol[Kind, State]):
    """An algorithm that minimises a kind of problem, by states of its own; derive it from `SolverBase`."""

    #: what it needs of its problem beside that (see `needs`)
    needs: ClassVar[frozenset[str]]

    #: False where the objective's own minimum means nothing (the perceptron): then the last weights count
    certifies: ClassVar[bool]
    #: True where w(z) and the cost of z are added up step by step, with a dual that never decreases: then
    #: only the dual value of a settled state, which has no drift, counts in the end
    accumulates: ClassVar[bool]
    #: True where a run may go on from the last state of another run on an equal problem
    resumes: ClassVar[bool]

    def start(self, objective: Kind, rng: np.random.Generator, warm: Solution | None) -> State:
        """Return the first state. Compile what `step` will need, so that the clock starts after it."""

    def step(self, objective: Kind, state: State, rng: np.random.Generator) -> State:
        """Return the next state; arrays may be changed in place."""

    def progress(self, state: State) -> Progress:
        """Return how far the state has come."""

    def candidates(self, objective: Kind, state: State) -> list[Candidate]:
        """Return what may be certified now."""

    def settle(self, objective: Kind, state: State) -> tuple[State, DualPoint | None]:
        """Make a state consistent again after the last step (or an interruption); its dual point, if kept."""

    def saved(self, objective: Kind, state: State) -> State:
        """Return the state as a checkpoint holds it: a record of arrays and plain values (see `states`)."""

    def restored(self, objective: Kind, saved: State) -> State:
        """Return the state that was `saved`; ValueError if it is not one of this objective."""


class SolverBase(Generic[State]):
    """What most solvers have in common: they certify, keep no z, and their states are written as they are."""

    needs: ClassVar[frozenset[str]] = frozenset()
    #: names of the penalties R that it can minimise with
    penalties: ClassVar[tuple[str, ...]] = ("l2",)
    #: names of fields that are no options of the solver where users name it
    not_options: ClassVar[frozenset[str]] = frozenset()
    #: whether its steps are sums over all examples, so that neither their order nor repetitions matter
    takes_all_at_once: ClassVar[bool] = False
    certifies: ClassVar[bool] = True
    accumulates: ClassVar[bool] = False
    resumes: ClassVar[bool] = False

    def progress(self, state: State) -> Progress:
        return Progress(state.oracle_calls)

    def settle(self, objective: Any, state: State) -> tuple[State, DualPoint | None]:
        return state, None

    def saved(self, objective: Any, state: State) -> State:
        return state

    def restored(self, objective: Any, saved: State) -> State:
        return saved
