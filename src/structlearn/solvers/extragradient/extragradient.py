"""The dual extragradient (Taskar, Lacoste-Julien and Jordan 2006) with one answer per step, and adaptive.

An extragradient step asks for z twice. Its relative, the primal-dual hybrid gradient (Chambolle and Pock
2011; in Bregman distances 2016), extrapolates w instead, and asks once. On the saddle point of `saddle.py`,
from (w, z), with the dual map u(z):

    w+ = prox_{tau R}(w + tau u(z)),                               tau = eta / omega
    z+ = T(z, eta+ omega+ (Phi e + c)),  e = w+ + theta (w+ - w),  theta = tau+ / tau

No parameter is set by hand:

* Steps are those of Malitsky and Pock (2018) for a strongly convex R: omega+^2 = (1 + lambda tau) omega^2,
  and eta+ is searched for. It counts if it is at most `DELTA` sqrt(2 B_z(z+, z)) / ||u(z+) - u(z)||, and at
  most sqrt(1 + theta) eta: all that their proof needs. If not, z+ is asked for once more with a shorter one.
  Which eta+ to try is the rule of PDLP (Applegate et al. 2021).
* omega, the balance of w and z, starts at how far z can be from its start, over how far w can be (`farthest`,
  and R(w*) <= P(0)): the two distances in the papers' bound.
* Restarts are PDLP's: omega and the averages of w and z start afresh, the iterates go on. The averages and
  the last w and z are certified.
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
from structlearn.solvers.extragradient.plain import farthest
from structlearn.solvers.extragradient.saddle import Point, Saddle, ScoreTarget
from structlearn.solvers.extragradient.saddle_solver import SaddleSolver, first_iterate
from structlearn.solvers.extragradient.spectral import spectral_norm
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate

#: Malitsky and Pock's delta: how near the longest step may come.
DELTA = 0.99
#: PDLP's exponents: the step tried as the k-th is at most 1 - k^-.3 of the longest, 1 + k^-.6 of the last.
REDUCTION, GROWTH = 0.3, 0.6
#: PDLP's restarts: when the gap has fallen to this part of what it was at the last one, ...
SUFFICIENT = 0.2
#: ... when it is below this part and rising, ...
NECESSARY = 0.8
#: ... or when this part of all iterations has been made since.
LONGEST_EPOCH = 0.36


class Epoch(NamedTuple):
    """What has happened since the last restart."""

    average: Average
    steps: int = 0
    #: the gap at the first evaluation, and at the last
    first_gap: float = np.inf
    last_gap: float = np.inf


class ExtragradientState(NamedTuple):
    """The iterate (w, v), step lengths, and counts. Nothing is changed in place."""

    saddle: Saddle
    w: Array
    v: Point
    #: of the last step, its theta, and what to try next
    eta: float
    theta: float
    next_eta: float
    omega: float
    #: omega after a restart
    balance: float
    #: no optimal w is longer than this
    radius: float
    epoch: Epoch
    iterations: int
    #: steps that counted or not; with `next_check`, when to certify
    tries: int
    next_check: float
    oracle_calls: int
    #: what was certified after the last step, if anything
    found: tuple[Candidate, ...]


@dataclass(frozen=True)
class Extragradient(SaddleSolver[ExtragradientState]):
    """Adaptive dual extragradient for the hinge: a pass per step.

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
        distance = sqrt(2 * farthest(saddle, point))
        balance = distance / radius if radius > 0 and distance > 0 else 1.0
        norm = spectral_norm(objective, rng)
        eta = DELTA / norm if norm > 0 else 1.0
        epoch = Epoch(Average.empty(w.size))
        lengths = (eta, 1.0, eta, balance, balance)
        return ExtragradientState(saddle, w, point, *lengths, radius, epoch, 0, 0, 0.0, 0, ())

    def step(
        self, objective: Objective, state: ExtragradientState, rng: np.random.Generator
    ) -> ExtragradientState:
        state = _advance(radial(objective.penalty, "extragradient"), state)
        if state.tries < state.next_check:
            return state
        found, next_check = self._certify(objective, state), max(state.tries + 1, 1.1 * state.tries)
        return _restart_if_due(state._replace(found=found, next_check=next_check))

    def candidates(self, objective: Objective, state: ExtragradientState) -> list[Candidate]:
        return list(state.found or self._certify(objective, state))

    @staticmethod
    def _certify(objective: Objective, state: ExtragradientState) -> tuple[Candidate, ...]:
        """Return the last iterate and, with its restricted gap, the average."""
        penalty = radial(objective.penalty, "extragradient")
        last = Average.empty(state.w.size).with_point(state.w, state.v, 1.0)
        means = [last, state.epoch.average] if state.epoch.steps > 1 else [last]
        return tuple(mean.candidate(objective, penalty, state.radius) for mean in means)

    def settle(
        self, objective: Objective, state: ExtragradientState
    ) -> tuple[ExtragradientState, Array | None]:
        return state, state.epoch.average.z if state.epoch.steps else state.v.z


def _advance(penalty: RadialPenalty, state: ExtragradientState) -> ExtragradientState:
    """Make one iteration: w+, and z+ as often as it takes to find a step that counts."""
    saddle, v, epoch = state.saddle, state.v, state.epoch
    objective, tries = saddle.objective, state.tries
    tau = state.eta / state.omega
    w = penalty.prox(state.w + tau * v.dual_map, tau)
    omega = state.omega * sqrt(1 + objective.regularization * tau)
    eta = min(state.next_eta, sqrt(1 + state.theta) * state.eta)
    while True:
        theta, tau_z = eta / omega / tau, eta * omega
        ahead = w + theta * (w - state.w)
        (z,) = saddle.move(v, [ScoreTarget(v.a + tau_z * ahead, v.b + tau_z)])
        tries, k = tries + 1, tries + 2
        longest = DELTA * _longest_step(saddle, z, v)
        next_eta = min((1 - k**-REDUCTION) * longest, (1 + k**-GROWTH) * eta)
        if eta <= longest:
            break
        eta = next_eta
    return state._replace(
        w=w,
        v=z,
        eta=eta,
        theta=theta,
        next_eta=next_eta,
        omega=omega,
        epoch=epoch._replace(average=epoch.average.with_point(w, z, tau_z), steps=epoch.steps + 1),
        iterations=state.iterations + 1,
        tries=tries,
        oracle_calls=state.oracle_calls + (tries - state.tries) * objective.n_active,
        found=(),
    )


def _longest_step(saddle: Saddle, z: Point, v: Point) -> float:
    """sqrt(2 B_z(z, v)) / ||u(z) - u(v)||: infinite where z is v, but for rounding errors."""
    change = float(np.linalg.norm(z.dual_map - v.dual_map))
    distance = saddle.divergence(z, v)
    if distance <= 1e-14 * (1.0 + abs(v.value)):
        return np.inf
    return sqrt(2 * distance) / change if change > 0 else np.inf


def _restart_if_due(state: ExtragradientState) -> ExtragradientState:
    """Begin a new epoch, where the evaluation just made says that it is time."""
    epoch = state.epoch
    primal = min(candidate.primal for candidate in state.found if candidate.primal is not None)
    gap = primal - max(candidate.dual.value for candidate in state.found if candidate.dual is not None)
    first = gap if np.isinf(epoch.first_gap) else epoch.first_gap
    fallen = gap <= SUFFICIENT * first
    rising = gap <= NECESSARY * first and gap > epoch.last_gap
    long = epoch.steps >= LONGEST_EPOCH * state.iterations and state.iterations > 10
    if not (fallen or rising or long):
        return state._replace(epoch=epoch._replace(first_gap=first, last_gap=gap))
    return state._replace(omega=state.balance, epoch=Epoch(Average.empty(state.w.size), first_gap=gap))
