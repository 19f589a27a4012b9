"""The dual extragradient method as published (Taskar, Lacoste-Julien and Jordan 2006; Nesterov 2007).

With u = (w, z), the operator G(u) = (grad_w, -grad_z) of the saddle function and one fixed step eta = 1/L:

    v = T(u_hat, eta s)          lookahead from the accumulated gradient
    u = T(v, -eta G(v))          the gradient step from the lookahead
    s = s - G(u);                the answer is the average of the u's

T_w projects onto the ball, where there is one, and is the identity otherwise; T_z is the geometry's. After
tau iterations the restricted gap of the average is at most (D_w + D_z) L / tau, where D_w and D_z bound the
distances from the start u_hat to the points w and z over which the gap is taken.

Distances are sums over blocks, B_z = n sum_i p_i B(x_i, y_i): with equal weights the papers' sum of the
blocks' distances. So the step of a block is eta p_i / (n p_i) = eta / n times (Phi_i w + c_i).

The constant L. The square of the norm of (w, z) is ||w||^2 + n sum_i p_i ||z_i||_F^2, with a norm ||.||_F in
which F is strongly convex: B(x, y) >= 1/2 ||x - y||_F^2. If ||sum_i p_i Phi_i^T z_i||^2 is at most
sigma^2 sum_i p_i ||z_i||_F^2, then G changes by at most the norm of [[lambda, s], [s, 0]] times the
change of (w, z), s = sigma / sqrt(n):

    L = (lambda + sqrt(lambda^2 + 4 sigma^2 / n)) / 2

Euclidean: sigma = ||A||, the largest singular value of (sqrt(p_i) Phi_i). Entropic: by Pinsker's inequality F
is strongly convex in the L1 norm of distributions over outputs, ||z - z'||_F = min ||q - q'||_1 over
distributions with these marginals. ||Phi_i^T (z - z')|| is at most rho_i ||q - q'||_1 where
rho_i >= max_v ||Phi_i^T v||; we take rho_i = max_v sum_j v_j ||Phi_i^T e_j||, by one oracle call. By
Cauchy-Schwarz sigma = sqrt(sum_i p_i rho_i^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import loss_chunk
from structlearn.problem.penalties import radial
from structlearn.solvers.extragradient.average import Average
from structlearn.solvers.extragradient.saddle import Point, Saddle, ScoreTarget, add_gold
from structlearn.solvers.extragradient.saddle_solver import SaddleSolver, first_iterate
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate


class PlainState(NamedTuple):
    """The accumulated gradient: s_w itself, and s_z as the last lookahead v with what was added since."""

    saddle: Saddle
    s_w: Array
    v: Point
    #: what is to be added to v's scores: (a, b)
    a: Array
    b: float
    average: Average
    lipschitz: float
    #: no optimal w is longer than this
    radius: float
    #: D_w + D_z
    distance: float
    iterations: int
    oracle_calls: int


@dataclass(frozen=True)
class PlainExtragradient(SaddleSolver[PlainState]):
    """Dual extragradient with a fixed step, as in the papers, with their bound on the restricted gap.

    Parameters
    ----------
    geometry, full : as for `Extragradient`
    """

    kind: ClassVar[type[PlainState]] = PlainState

    def _begin(
        self, saddle: Saddle, at_zero: float, radius: float, rng: np.random.Generator, warm: Solution | None
    ) -> PlainState:
        objective = saddle.objective
        _, point = first_iterate(saddle, at_zero, None)
        lam, sigma = objective.regularization, saddle.geometry.coupling(objective, rng)
        lipschitz = (lam + sqrt(lam**2 + 4 * sigma**2 / objective.n_active)) / 2 or 1.0
        distance = radius**2 / 2 + objective.n_active * farthest(saddle, point)
        nothing = np.zeros(objective.n_weights)
        average = Average.empty(nothing.size)
        return PlainState(saddle, nothing, point, nothing, 0.0, average, lipschitz, radius, distance, 0, 0)

    def step(self, objective: Objective, state: PlainState, rng: np.random.Generator) -> PlainState:
        lam, prox = objective.regularization, objective.penalty.prox
        eta, old = 1 / state.lipschitz, state.v
        eta_z = eta / objective.n_active
        v_w = prox(eta * state.s_w, 0.0)
        first = ScoreTarget(old.a + state.a, old.b + state.b)
        second = ScoreTarget(eta_z * v_w, eta_z, after=True)  # from the point v itself
        if state.saddle.geometry.keeps_scores:
            second = ScoreTarget(first.a + eta_z * v_w, first.b + eta_z)
        v, u = state.saddle.move(old, [first, second])
        u_w = prox(v_w - eta * (lam * v_w - v.dual_map), 0.0)
        return state._replace(
            s_w=state.s_w - (lam * u_w - u.dual_map),
            v=v,
            a=eta_z * u_w,
            b=eta_z,
            average=state.average.with_point(u_w, u, 1.0),
            iterations=state.iterations + 1,
            oracle_calls=state.oracle_calls + 2 * objective.n_active,
        )

    def candidates(self, objective: Objective, state: PlainState) -> list[Candidate]:
        penalty, average = radial(objective.penalty, "extragradient"), state.average
        if not state.iterations:
            average = average.with_point(np.zeros(objective.n_weights), state.v, 1.0)
        found = average.candidate(objective, penalty, state.radius)
        limit = state.distance * state.lipschitz / state.iterations if state.iterations else np.inf
        return [found._replace(extra={**found.extra, "bound": limit})]

    def settle(self, objective: Objective, state: PlainState) -> tuple[PlainState, Array | None]:
        return state, state.average.z if state.iterations else state.v.z


def farthest(saddle: Saddle, point: Point) -> float:
    """Bound sum_i p_i max_v B(v, z_i) from above at the first point, whose scores are kappa (mu - h).

    B is convex in v, so that its maximum is at a vertex, where F(v) <= e <1, v> (`Geometry.height`):
    F*(kappa (mu - h)) + max_v <e - kappa (mu - h), v>, with the shared parts' - kappa mu left out.
    """
    objective, scoring = saddle.objective, saddle.objective.scoring
    oracle = objective.oracle
    e = saddle.geometry.height(objective.structure, oracle.layout.largest[0])
    shared = np.full(scoring.n_shared, e)

    def one(chunk: tuple[int, int]) -> float:
        theta = np.full(scoring.start[chunk[1]] - scoring.start[chunk[0]], e)
        start, h = scoring.start, saddle.geometry.centre
        add_gold(objective.gold, start, start, *chunk, -saddle.kappa, h, theta)
        gold, weight = oracle.no_gold, objective.weight
        return oracle.run(loss_chunk, oracle.layout, gold, weight, *chunk, theta, shared)[0]

    return max(0.0, point.value + float(sum(oracle.each_chunk(one))))  # rounding may go below
