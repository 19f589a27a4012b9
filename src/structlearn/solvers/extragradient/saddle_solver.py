"""What both forms of the extragradient share: the start, and how a state that knows its saddle is saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.problem.penalties import radial
from structlearn.solvers.extragradient.geometry import Geometry, geometry_for
from structlearn.solvers.extragradient.saddle import Point, Saddle
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import SolverBase

if TYPE_CHECKING:
    from typing import Self

#: No entropic start is nearer to the vertex mu than with this kappa.
STEEPEST = 40.0


class SaddleState(Protocol):
    """A record with a saddle; in a checkpoint that is its kappa, which the objective does not tell."""

    @property
    def saddle(self) -> Any: ...

    @property
    def oracle_calls(self) -> int: ...

    def _replace(self, *, saddle: Any = ..., oracle_calls: int = ...) -> Self: ...


OwnState = TypeVar("OwnState", bound=SaddleState)


@dataclass(frozen=True)
class SaddleSolver(SolverBase[OwnState], Generic[OwnState]):
    """A solver of the saddle point.

    kind : the class of its states
    """

    geometry: Geometry | None = None
    full: bool | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"regularization", "hinge"})
    kind: ClassVar[type[Any]]
    resumes: ClassVar[bool] = True

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> OwnState:
        penalty = radial(objective.penalty, "extragradient")
        saddle = self._saddle(objective)
        known = None if warm is None else warm.state
        if isinstance(known, self.kind) and known.saddle.goes_on(saddle):
            saddle.kappa = known.saddle.kappa
            return known._replace(saddle=saddle, oracle_calls=0)
        at_zero = objective.primal(np.zeros(objective.n_weights))
        return self._begin(saddle, at_zero, penalty.reach(at_zero), rng, warm)

    def _begin(
        self, saddle: Saddle, at_zero: float, radius: float, rng: np.random.Generator, warm: Solution | None
    ) -> OwnState:
        """Return the first state; no optimal w is longer than `radius`, and `at_zero` is P(0)."""
        raise NotImplementedError

    def saved(self, objective: Objective, state: OwnState) -> OwnState:
        return state._replace(saddle=state.saddle.kappa)

    def restored(self, objective: Objective, saved: OwnState) -> OwnState:
        saddle = self._saddle(objective)
        saddle.kappa = saved.saddle
        return saved._replace(saddle=saddle)

    def _saddle(self, objective: Objective) -> Saddle:
        """Make the saddle in the given geometry and form or, where none is given, in chosen ones."""
        geometry = self.geometry or geometry_for(objective.structure)
        geometry.require(objective.structure)
        small = bool(objective.point_start[-1] <= objective.n_weights)
        return Saddle(objective, geometry, full=small if self.full is None else self.full)


def first_iterate(saddle: Saddle, at_zero: float, warm: Solution | None) -> tuple[Array, Point]:
    """Return w and z to start from: those of `warm` where they can be used, else w = 0 and z near mu.

    Entropic scores are kappa (mu - 1/2), kappa the least of 0, 1, 2, ... for which D >= -P(0): near the
    vertices the geometry is slow, and the uniform point may be far below any use.
    """
    objective = saddle.objective
    w = np.zeros(objective.n_weights)
    if warm is not None:
        w = objective.penalty.prox(warm.w.copy(), 0.0)
    if not saddle.geometry.keeps_scores:
        point = saddle.first_point()
        z = None if warm is None else warm.z
        return w, saddle.point_at(z) if z is not None and point.z is not None else point
    saddle.kappa = 0.0
    point = saddle.first_point()
    while objective.dual_of_map(point.dual_map, point.cost).value < -at_zero and saddle.kappa < STEEPEST:
        saddle.kappa += 1.0
        point = saddle.first_point()
    return w, point
