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
from typing import ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.problem.penalties import RadialPenalty, radial
from structlearn.solvers.extragradient.average import Average
from structlearn.solvers.extragradient.saddle import Point, Saddle, ScoreTarget
from structlearn.solvers.extragradient.saddle_solver import SaddleSolver, first_iterate
from structlearn.solvers.extragradient.spectral import spectral_norm
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate

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


class ExtragradientState(NamedTuple):
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


@dataclass(frozen=True)
class Extragradient(SaddleSolver[ExtragradientState]):
    """Adaptive dual extragradient for the hinge.

    Parameters
    ----------
    geometry : Geometry, optional
        `EntropicGeometry()` or `EuclideanGeometry()`; entropic, unless given, where there are marginals.
    full : bool, optional
        Whether to keep z (and return it), or only vectors of the size of w; unless given, whether z is
        no larger than w.
    """

    kind: ClassVar[type[ExtragradientState]] = ExtragradientState

    def _begin(
        self, saddle: Saddle, at_zero: float, radius: float, rng: np.random.Generator, warm: Solution | None
    ) -> ExtragradientState:
        objective = saddle.objective
        w, point = first_iterate(saddle, at_zero, warm)
        omega = sqrt(2 * _gold_size(objective)) / radius if radius > 0 else 1.0
        norm = spectral_norm(objective, rng)
        eta = 1 / norm if norm > 0 else 1.0
        epoch = Epoch(Average.empty(w.size), w, point)
        return ExtragradientState(saddle, w, point, w, point, eta, omega, radius, epoch, 0, 0.0, 0, ())

    def step(
        self, objective: Objective, state: ExtragradientState, rng: np.random.Generator
    ) -> ExtragradientState:
        state = _advance(radial(objective.penalty, "extragradient"), state)
        if state.iterations < state.next_check:
            return state
        found = self._certified(objective, state)
        next_check = max(state.iterations + 1, 1.1 * state.iterations)
        return _begun_afresh(state._replace(found=found, next_check=next_check))

    def candidates(self, objective: Objective, state: ExtragradientState) -> list[Candidate]:
        return list(state.found or self._certified(objective, state))

    @staticmethod
    def _certified(objective: Objective, state: ExtragradientState) -> tuple[Candidate, ...]:
        """The average and the last u; before the first step the start."""
        penalty = radial(objective.penalty, "extragradient")
        dual = objective.dual_of_map(state.u.dual_map, state.u.cost)
        now = Average.empty(state.w.size).with_point(state.u_w, state.u, 1.0)
        mean = state.epoch.average if state.epoch.steps else now
        found = mean.candidate(objective, penalty, state.radius)
        assert found.dual is not None  # noqa: S101
        return (found._replace(dual=max(found.dual, dual)),)

    def settle(
        self, objective: Objective, state: ExtragradientState
    ) -> tuple[ExtragradientState, Array | None]:
        return state, state.epoch.average.z if state.epoch.steps else state.u.z


def _gold_size(objective: Objective) -> float:
    """sum_i p_i ||mu_i||^2 over local parts, at least 1: how many choices an example makes."""
    gold = objective.gold
    owner = np.repeat(np.arange(objective.scoring.n_examples), np.diff(gold.start))
    local = gold.index < np.diff(objective.scoring.start)[owner]
    return max(1.0, float(objective.weight[owner[local]] @ gold.value[local]))


def _advance(penalty: RadialPenalty, state: ExtragradientState) -> ExtragradientState:
    """One iteration, as often as it takes to be accepted."""
    eta, oracle_calls = state.eta, state.oracle_calls
    while True:
        after, ratio = _try(penalty, state, eta)
        oracle_calls += 2 * state.saddle.objective.n_active
        if ratio <= 1.0:
            break
        eta *= max(SHRINKAGE, 0.9 / ratio)
    epoch = state.epoch
    average = epoch.average.with_point(after.u_w, after.u, eta)
    return after._replace(
        eta=eta * min(GROWTH, max(1.0, 0.9 / max(ratio, 1e-9))),
        epoch=epoch._replace(average=average, steps=epoch.steps + 1),
        iterations=state.iterations + 1,
        oracle_calls=oracle_calls,
        found=(),
    )


def _try(penalty: RadialPenalty, state: ExtragradientState, eta: float) -> tuple[ExtragradientState, float]:
    """An iteration from v: u and v+, and <G(u) - G(v), u - v+> over the distances travelled."""
    saddle, w, v = state.saddle, state.w, state.v
    tau_w, tau_z = eta / state.omega, eta * state.omega
    u_w = penalty.prox(w + tau_w * v.dual_map, tau_w)
    targets = [ScoreTarget(v.a + tau_z * at, v.b + tau_z) for at in (w, u_w)]
    u, v_next = saddle.moved(v, targets)
    w_next = penalty.prox(w + tau_w * u.dual_map, tau_w)
    gain = float((u.dual_map - v.dual_map) @ (w_next - u_w))
    gain += float((u_w - w) @ (u.dual_map - v_next.dual_map))
    travel = (_square(u_w - w) + _square(w_next - u_w)) / (2 * tau_w)
    travel += (saddle.divergence(u, v) + saddle.divergence(v_next, u)) / tau_z
    noise = 1e-14 * (1.0 + abs(v.value)) / tau_z
    return state._replace(w=w_next, v=v_next, u_w=u_w, u=u), gain / travel if travel > noise else 0.0


def _square(x: Array) -> float:
    return float(x @ x)


def _begun_afresh(state: ExtragradientState) -> ExtragradientState:
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
