"""The dual extragradient method (Taskar, Lacoste-Julien and Jordan 2006) with adaptive steps: mirror-prox.

On the saddle point of `saddle.py`, from the state v = (w, z), with the dual map u(z):

    u_w  = prox_{tau_w R}(w + tau_w u(z))             u_z  = T(z, tau_z (Phi w + c))
    v+_w = prox_{tau_w R}(w + tau_w u(u_z))           v+_z = T(z, tau_z (Phi u_w + c))

The answer is the average of the u's. u_w needs nothing of u_z, so both maps T of an iteration share one pass
over the data. No parameter is set by hand:

* tau_w = eta / omega and tau_z = eta omega. eta starts at 1/||A|| (`spectral_norm`). An iteration counts if
  <G(u) - G(v), u - v+> <= B(u, v) + B(v+, u), where B = ||dw||^2 / (2 tau_w) + B_z / tau_z; then eta may
  grow, else it shrinks and the iteration is made again. This is all that the convergence proof needs.
* omega, the balance of w and z, is set afresh by how far each has travelled.
* The averages start afresh now and then; the iterates go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.problem.penalties import RadialPenalty, radial
from structlearn.solvers.extragradient.average import Average
from structlearn.solvers.extragradient.geometry import Geometry, geometry_for
from structlearn.solvers.extragradient.saddle import Point, Saddle, Target
from structlearn.solvers.extragradient.spectral import spectral_norm
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase

#: No entropic start is nearer to the vertex mu than with this kappa.
STEEPEST = 40.0
#: After a step that was accepted with room to spare, eta grows by at most this.
GROWTH = 1.2
#: A step that was refused shrinks eta by at least .9 and at most this.
SHRINKAGE = 0.3
#: Averages start afresh when the gap has halved, ...
HALVED = 0.5
#: ... when it is below this part of its start and rising, ...
ENOUGH = 0.8
#: ... or when they have taken in so much of all iterations.
LONGEST_EPOCH = 0.36


class Epoch(NamedTuple):
    """What has happened since the averages were last begun afresh."""

    average: Average
    #: where w and z were then
    w: Array
    point: Point
    steps: int = 0
    #: the gap at the first evaluation, and at the last
    first_gap: float = np.inf
    last_gap: float = np.inf


class State(NamedTuple):
    """v = (w, v), the last u, step lengths, and counts. Nothing is changed in place."""

    saddle: Saddle
    w: Array
    v: Point
    u_w: Array
    u: Point
    eta: float
    omega: float
    #: no optimal w is longer than this
    radius: float
    epoch: Epoch
    iterations: int
    next_check: float
    oracle_calls: int
    #: what was certified after the last step, if anything
    found: tuple[Candidate, ...]


class Trial(NamedTuple):
    """An iteration from v: u, v+, and <G(u) - G(v), u - v+> over the distances travelled."""

    u_w: Array
    u: Point
    w: Array
    v: Point
    ratio: float


@dataclass(frozen=True)
class SaddleSolver(SolverBase[Any]):
    """What both forms of the extragradient share: the saddle, and how a state that knows it is written."""

    geometry: Geometry | None = None
    full: bool | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"hinge"})

    def saved(self, objective: Objective, state: Any) -> Any:
        """Of the saddle, only what the objective does not tell."""
        return state._replace(saddle=state.saddle.kappa)

    def restored(self, objective: Objective, state: Any) -> Any:
        saddle = make_saddle(objective, self.geometry, self.full)
        saddle.kappa = state.saddle
        return state._replace(saddle=saddle)


@dataclass(frozen=True)
class Extragradient(SaddleSolver):
    """Adaptive dual extragradient for the hinge.

    Parameters
    ----------
    geometry : Geometry, optional
        `EntropicGeometry()` or `EuclideanGeometry()`; entropic, unless given, where there are marginals.
    full : bool, optional
        Whether to keep z (and return it), or only vectors of the size of w; unless given, whether z is
        no larger than w.
    """

    # ---- start -------------------------------------------------------------------------------------

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> State:
        penalty = radial(objective.penalty, "extragradient")
        saddle = make_saddle(objective, self.geometry, self.full)
        if warm is not None and isinstance(warm.state, State) and warm.state.saddle.goes_on(saddle):
            saddle.kappa = warm.state.saddle.kappa
            return warm.state._replace(saddle=saddle, oracle_calls=0)
        nothing = np.zeros(objective.n_weights)
        at_zero = objective.primal(nothing)
        w, point = first_iterate(saddle, at_zero, warm)
        radius = penalty.reach(at_zero)
        omega = sqrt(2 * _gold_size(objective)) / radius if radius > 0 else 1.0
        norm = spectral_norm(objective, rng)
        eta = 1 / norm if norm > 0 else 1.0
        epoch = Epoch(Average.empty(w.size), w, point)
        return State(saddle, w, point, w, point, eta, omega, radius, epoch, 0, 0.0, 0, ())

    # ---- step --------------------------------------------------------------------------------------

    def step(self, objective: Objective, state: State, rng: np.random.Generator) -> State:
        penalty = radial(objective.penalty, "extragradient")
        state = _advance(penalty, state)
        if state.iterations < state.next_check:
            return state
        found = self._certified(objective, state)
        next_check = max(state.iterations + 1, 1.1 * state.iterations)
        return _begun_afresh(state._replace(found=found, next_check=next_check))

    # ---- the contract ------------------------------------------------------------------------------

    def progress(self, state: State) -> Progress:
        return Progress(state.oracle_calls)

    def candidates(self, objective: Objective, state: State) -> list[Candidate]:
        return list(state.found or self._certified(objective, state))

    @staticmethod
    def _certified(objective: Objective, state: State) -> tuple[Candidate, ...]:
        """The average and the last u; before the first step the start."""
        penalty = radial(objective.penalty, "extragradient")
        dual = objective.dual_of_map(state.u.dual_map, state.u.cost)
        now = Average.empty(state.w.size).with_point(state.u_w, state.u, 1.0)
        mean = state.epoch.average if state.epoch.steps else now
        found = mean.candidate(objective, penalty, state.radius)
        assert found.dual is not None  # noqa: S101
        return (found._replace(dual=max(found.dual, dual)),)

    def settle(self, objective: Objective, state: State) -> tuple[State, Array | None]:
        return state, state.epoch.average.z if state.epoch.steps else state.u.z


def make_saddle(objective: Objective, geometry: Geometry | None, full: bool | None) -> Saddle:
    """The saddle of an objective, in the geometry and form given or, where not, chosen."""
    structure, scoring = objective.structure, objective.scoring
    geometry = geometry or geometry_for(structure)
    geometry.require(structure)
    size = scoring.start[-1] + scoring.n_examples * scoring.n_shared
    return Saddle(objective, geometry, full=bool(size <= scoring.n_weights) if full is None else full)


def first_iterate(saddle: Saddle, at_zero: float, warm: Solution | None) -> tuple[Array, Point]:
    """w and z to start from: those of `warm` where they can be used, else w = 0 and z near mu.

    Entropic scores are kappa (mu - 1/2), kappa the least of 0, 1, 2, ... for which D >= -P(0): near the
    vertices the geometry is slow, and the uniform point may be far below any use.
    """
    objective = saddle.objective
    w = np.zeros(objective.n_weights)
    if warm is not None and warm.w.size == w.size:
        w = objective.penalty.prox(warm.w.copy(), 0.0)
    if not saddle.geometry.keeps_scores:
        point = saddle.first_point()
        z = None if warm is None else warm.z
        usable = z is not None and point.z is not None and z.shape == point.z.shape
        return w, saddle.point_at(z) if usable and z is not None else point
    saddle.kappa = 0.0
    point = saddle.first_point()
    while objective.dual_of_map(point.dual_map, point.cost).value < -at_zero and saddle.kappa < STEEPEST:
        saddle.kappa += 1.0
        point = saddle.first_point()
    return w, point


def _gold_size(objective: Objective) -> float:
    """sum_i p_i ||mu_i||^2 over local parts, at least 1: how many choices an example makes."""
    gold = objective.gold
    owner = np.repeat(np.arange(objective.scoring.n_examples), np.diff(gold.start))
    local = gold.index < np.diff(objective.scoring.start)[owner]
    return max(1.0, float(objective.weight[owner[local]] @ gold.value[local]))


def _advance(penalty: RadialPenalty, state: State) -> State:
    """One iteration, as often as it takes to be accepted."""
    eta, oracle_calls = state.eta, state.oracle_calls
    while True:
        trial = _try(penalty, state, eta)
        oracle_calls += 2 * state.saddle.objective.n_active
        if trial.ratio <= 1.0:
            break
        eta *= max(SHRINKAGE, 0.9 / trial.ratio)
    epoch = state.epoch
    average = epoch.average.with_point(trial.u_w, trial.u, eta)
    growth = min(GROWTH, max(1.0, 0.9 / max(trial.ratio, 1e-9)))
    return state._replace(
        w=trial.w,
        v=trial.v,
        u_w=trial.u_w,
        u=trial.u,
        eta=eta * growth,
        epoch=epoch._replace(average=average, steps=epoch.steps + 1),
        iterations=state.iterations + 1,
        oracle_calls=oracle_calls,
        found=(),
    )


def _try(penalty: RadialPenalty, state: State, eta: float) -> Trial:
    saddle, w, v = state.saddle, state.w, state.v
    tau_w, tau_z = eta / state.omega, eta * state.omega
    u_w = penalty.prox(w + tau_w * v.dual_map, tau_w)
    u, v_next = saddle.moved(
        v, [Target(v.a + tau_z * w, v.b + tau_z), Target(v.a + tau_z * u_w, v.b + tau_z)]
    )
    w_next = penalty.prox(w + tau_w * u.dual_map, tau_w)
    gain = float((u.dual_map - v.dual_map) @ (w_next - u_w)) + float(
        (u_w - w) @ (u.dual_map - v_next.dual_map)
    )
    travel = (_square(u_w - w) + _square(w_next - u_w)) / (2 * tau_w)
    travel += (saddle.divergence(u, v) + saddle.divergence(v_next, u)) / tau_z
    noise = 1e-14 * (1.0 + abs(v.value)) / tau_z
    return Trial(u_w, u, w_next, v_next, gain / travel if travel > noise else 0.0)


def _square(x: Array) -> float:
    return float(x @ x)


def _begun_afresh(state: State) -> State:
    """A new balance and empty averages, where the evaluation just made says that it is time."""
    (found,) = state.found
    assert found.primal is not None  # noqa: S101
    assert found.dual is not None  # noqa: S101
    epoch, gap = state.epoch, found.primal - found.dual.value
    first = gap if np.isinf(epoch.first_gap) else epoch.first_gap
    halved = gap <= HALVED * first
    rising = gap <= ENOUGH * first and gap > epoch.last_gap
    long = epoch.steps >= LONGEST_EPOCH * state.iterations and state.iterations > 10
    if not (halved or rising or long):
        return state._replace(epoch=epoch._replace(first_gap=first, last_gap=gap))
    travel_z = sqrt(2 * state.saddle.divergence(state.u, epoch.point))
    travel_w = sqrt(_square(state.u_w - epoch.w))
    omega = state.omega
    if travel_z > 1e-10 and travel_w > 1e-10:
        omega = sqrt(omega * travel_z / travel_w)
    fresh = Epoch(Average.empty(state.w.size), state.u_w, state.u, first_gap=gap)
    return state._replace(omega=omega, epoch=fresh)
