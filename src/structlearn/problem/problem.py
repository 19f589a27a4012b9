"""What training may ask of a problem, whatever its kind: a data set, least squares, workers on a cluster.

    min_w P(w), and lower bounds D on the minimum

A solver is made for one kind of problem and asks it for more. What it needs of a problem that not every one
of its kind has, its class declares (`structlearn.solvers.needs`), and `solve` checks it before it starts.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.core.rounding import Bound
from structlearn.problem.penalties import Penalty


@runtime_checkable
class Problem(Protocol):
    """P(w) with its rounding errors, and what a run of a solver must know of it."""

    @property
    def n_weights(self) -> int:
        """The size of w."""

    @property
    def n_active(self) -> int:
        """The number of oracle answers that make a pass."""

    @property
    def exact(self) -> bool:
        """False where the oracle is a relaxation, whose problem is then the one solved."""

    @property
    def memory(self) -> Memory:
        """Where large arrays go."""

    @property
    def content(self) -> tuple[object, ...]:
        """All that makes the problem what it is."""

    @property
    def content_hash(self) -> str:
        """A hash of `content`; empty where no run goes on from the state of another."""

    @property
    def polytopes(self) -> str:
        """A hash of the outputs that each example has, whatever its features, costs and gold output.

        Dual points of one problem are feasible in another with the same hash, and in no other. Empty where
        that cannot be told.
        """

    def primal(self, w: Array) -> float:
        """Return P(w)."""

    def primal_rounding(self, w: Array, value: float) -> float:
        """Return an upper bound on the rounding error of P(w), whose computed value is `value`."""

    # ---- what some solvers need ----------------------------------------------------------------------

    @property
    def no_gradient(self) -> str:
        """Why P has no gradient, after the name of a solver that needs it; empty where it has one."""

    @property
    def is_hinge(self) -> bool:
        """Whether Omega = 0, so that the dual cost is linear."""

    @property
    def is_local(self) -> bool:
        """Whether there are no shared parts: each block's scores come from its own features alone."""

    @property
    def has_exact_blocks(self) -> bool:
        """Whether maximising the dual over one block is a Euclidean projection."""


class Predictions(NamedTuple):
    """What the oracle's answers s_i at one w add up to."""

    #: sum_i p_i Phi_i^T (mu_i - s_i): lambda times the weights of the dual point s
    dual_map: Array
    #: sum_i p_i { <c_i, s_i - mu_i> - Omega(s_i) + Omega(mu_i) }
    cost: float
    #: P at the w that was asked about
    primal: float


class Composite(Problem, Protocol):
    """P(w) = R(w) + losses, with any penalty R: what proximal steps ask."""

    @property
    def penalty(self) -> Penalty:
        """R."""

    def predictions(self, w: Array) -> Predictions:
        """Add up the oracle's answers at w: the dual map is minus the gradient of the losses."""

    def dual_of_map(self, dual_map: Array, cost: float) -> Bound:
        """Return D of the dual point of this dual map and cost, or of one on the way where D is finite."""
