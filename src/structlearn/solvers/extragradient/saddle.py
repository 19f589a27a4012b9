"""The saddle point of the hinge, and its maps T over all examples at once.

    min_w max_z  R(w) + sum_i p_i <Phi_i w + c_i, z_i - mu_i>

Distances between dual points weigh each block as the objective does, B_z(x, y) = sum_i p_i B(x_i, y_i). So
the weights p_i cancel in a step: every block adds tau (Phi_i w + c_i) to its scores, and a point is written

    theta_i = kappa (mu_i - h) + Phi_i a + b c_i

with one vector a of the size of w and one number b for all blocks; h is 0 (Euclidean) or 1/2 on local parts
(entropic), where kappa then draws the parts of mu in and the others out. The *efficient* form keeps only
those, and finds z afresh whenever it needs it. The *full* form keeps the scores and z themselves. Both have
the same iterates. Ranges of examples are scored, mapped and pulled back one after the other, so that in the
efficient form z is never whole in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import assign
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import Oracle, maximize_chunk
from structlearn.solvers.extragradient.geometry import Geometry
from structlearn.structures.base import SparseVertices


class Point(NamedTuple):
    """Blocks z as their scores, and what they add up to."""

    a: Array
    b: float
    #: u(z) = sum_i p_i Phi_i^T (mu_i - z_i)
    dual_map: Array
    #: sum_i p_i <c_i, z_i - mu_i>
    cost: float
    #: sum_i p_i F*(theta_i)
    value: float
    #: theta, examples end to end; full form only
    scores: Array | None = None
    #: z, examples end to end; full form only
    z: Array | None = None


class ScoreTarget(NamedTuple):
    """Scores to be mapped: those of a point's base, moved to (a, b).

    With `after`, for the last one, the base is the z of the target before it, and (a, b) is the move alone.
    """

    a: Array
    b: float
    after: bool = False


class ChunkAnswer(NamedTuple):
    """For a range of examples: p_i z_i over local parts, the sum over shared parts, sum_i p_i F*(theta_i)."""

    local: Array
    shared: Array
    value: float


class Saddle:
    """The maps T of one objective in one geometry.

    Parameters
    ----------
    objective : Objective
    geometry : Geometry
    full : bool
        Whether points keep their scores and z.
    kappa : float
        Where z starts: at the point whose scores are kappa (mu - h).
    """

    def __init__(self, objective: Objective, geometry: Geometry, *, full: bool, kappa: float = 1.0) -> None:
        self.objective = objective
        self.geometry = geometry
        self.full = full
        self.kappa = kappa
        scoring = objective.scoring
        #: each example scores its shared parts itself, after its local ones
        self.apart = scoring.n_shared > 0 and (full or geometry.separates)
        record = geometry.record(objective.structure, self.apart)
        n_jobs = objective.oracle.n_jobs
        self.oracle = Oracle(record, scoring, structure=objective.structure, n_jobs=n_jobs)
        self.layout = self.oracle.layout
        if self.apart:
            most = self.layout.most_parts + scoring.n_shared
            self.layout = self.layout._replace(start=objective.point_start, most_parts=most)

    # ---- points ------------------------------------------------------------------------------------

    def first_point(self) -> Point:
        """Return the point whose scores are kappa (mu - h)."""
        n_examples = self.objective.scoring.n_examples
        kept: tuple[Array, ...] = ()
        if self.full:
            scores = np.zeros(self.layout.start[-1])
            self._add_start(0, n_examples, scores)
            kept = (scores, self.objective.gold_point())
        nothing = np.zeros(self.objective.n_weights)
        point = Point(nothing, 0.0, nothing, 0.0, 0.0, *kept)
        if self.geometry.keeps_scores:
            return self.move(point, [ScoreTarget(nothing, 0.0)])[0]
        # the nearest point to mu is mu: nothing to ask, but the maps are compiled
        self._map(point, [ScoreTarget(nothing, 0.0)], [point], (0, 0))
        gold = self.objective.gold
        owner = np.repeat(np.arange(n_examples), np.diff(gold.start))
        return point._replace(value=float(self.objective.weight[owner] @ gold.value**2) / 2)

    def point_at(self, z: Array) -> Point:
        """Return the dense point z itself, in the full Euclidean form."""
        nothing = np.zeros(self.objective.n_weights)
        return self.move(Point(nothing, 0.0, nothing, 0.0, 0.0, z, z), [ScoreTarget(nothing, 0.0)])[0]

    def move(self, base: Point, targets: list[ScoreTarget]) -> list[Point]:
        """Return T of each target, in one pass over the data."""
        objective, scoring = self.objective, self.objective.scoring
        found = [self._room(base, target) for target in targets]
        costs, values = [-objective.gold_cost] * len(targets), [0.0] * len(targets)
        chunks = iter(scoring.chunks())
        for answers in self.oracle.each_chunk(lambda chunk: self._map(base, targets, found, chunk)):
            first, last = next(chunks)
            cost = objective.cost[scoring.start[first] : scoring.start[last]]
            for k, answer in enumerate(answers):
                scoring.shared(found[k].dual_map)[:] -= answer.shared
                costs[k] += float(cost @ answer.local)
                values[k] += answer.value
                scoring.pullback(np.negative(answer.local, out=answer.local), first, last, found[k].dual_map)
        return [point._replace(cost=c, value=f) for point, c, f in zip(found, costs, values)]

    def _room(self, base: Point, target: ScoreTarget) -> Point:
        """Make a point to be filled in. Examples of weight zero keep their z."""
        kept = (np.empty_like(base.scores), base.z.copy()) if self.full and base.z is not None else ()
        return Point(target.a, target.b, self.objective.gold_map.copy(), 0.0, 0.0, *kept)

    def goes_on(self, other: Saddle) -> bool:
        """Return whether points of this saddle are points of another, of an equal objective."""
        return self.geometry == other.geometry and self.full == other.full

    def divergence(self, x: Point, y: Point) -> float:
        """B_z(x, y) = sum_i p_i { F*(theta_y) - F*(theta_x) + <theta_x - theta_y, x> }."""
        pulled = self.objective.gold_map - x.dual_map
        cost = x.cost + self.objective.gold_cost
        return max(0.0, y.value - x.value + float((x.a - y.a) @ pulled) + (x.b - y.b) * cost)

    # ---- one range of examples ---------------------------------------------------------------------

    def _map(
        self, base: Point, targets: list[ScoreTarget], found: list[Point], chunk: tuple[int, int]
    ) -> list[ChunkAnswer]:
        """Answer the targets; in the full form, fill in their scores and z."""
        parts = slice(self.layout.start[chunk[0]], self.layout.start[chunk[1]])
        answers: list[ChunkAnswer] = []
        before = np.empty(0)
        for target, point in zip(targets, found):
            theta = self._scores(base, target, before, chunk)
            shared = target.a[:0] if self.apart else self.objective.scoring.shared(target.a)
            answer, weighted = self._ask(theta, shared, chunk)
            answers.append(answer)
            if point.scores is not None and point.z is not None:
                point.scores[parts] = theta
                before = self._divide_by_weights(weighted, chunk, point.z[parts])
            elif targets[-1].after:
                before = self._divide_by_weights(weighted, chunk, np.zeros(weighted.size))
        return answers

    def _scores(self, base: Point, target: ScoreTarget, before: Array, chunk: tuple[int, int]) -> Array:
        first, last = chunk
        if target.after:
            return self._rise(target.a, target.b, chunk) + before
        if base.scores is not None:
            kept = base.scores[self.layout.start[first] : self.layout.start[last]]
            return self._rise(target.a - base.a, target.b - base.b, chunk) + kept
        theta = self._rise(target.a, target.b, chunk)
        self._add_start(first, last, theta)
        return theta

    def _rise(self, a: Array, b: float, chunk: tuple[int, int]) -> Array:
        """Return Phi_i a + b c_i, with the shared parts of each example where they are apart."""
        scoring, (first, last) = self.objective.scoring, chunk
        theta = scoring.scores(a, first, last)
        if b:
            _add_scaled(b, self.objective.cost[scoring.start[first] : scoring.start[last]], theta)
        if not self.apart:
            return theta
        whole = np.empty(self.layout.start[last] - self.layout.start[first])
        _join_parts(scoring.start, first, last, theta, scoring.shared(a), whole)
        return whole

    def _add_start(self, first: int, last: int, theta: Array) -> None:
        """Theta <- theta + kappa (mu - h), over shared parts only where the geometry counts them."""
        sizes = self.layout.start if self.geometry.separates else self.objective.scoring.start
        if self.kappa:
            gold, h = self.objective.gold, self.geometry.centre
            add_gold(gold, sizes, self.layout.start, first, last, self.kappa, h, theta)

    def _ask(self, theta: Array, shared: Array, chunk: tuple[int, int]) -> tuple[ChunkAnswer, Array]:
        """Return the answer to scores, and p_i z_i as the layout has it."""
        weighted, shared_sum = np.empty(theta.size), np.zeros(shared.size)
        known = (self.layout, self.oracle.no_gold, self.objective.weight)
        value, *_ = self.oracle.run(maximize_chunk, *known, *chunk, theta, shared, weighted, shared_sum)
        local = weighted
        if self.apart:
            start = self.objective.scoring.start
            local = np.empty(start[chunk[1]] - start[chunk[0]])
            shared_sum = np.zeros(self.objective.scoring.n_shared)
            part(start, *chunk, weighted, local, shared_sum)
        return ChunkAnswer(local, shared_sum, float(value)), weighted

    def _divide_by_weights(self, weighted: Array, chunk: tuple[int, int], out: Array) -> Array:
        """Out <- z_i of the examples that have a weight."""
        first, last = chunk
        sizes = np.diff(self.layout.start[first : last + 1])
        p = np.repeat(self.objective.weight[first:last], sizes)
        return np.divide(weighted, p, where=p > 0, out=out)


@kernel
def _add_scaled(scale: float, x: Array, y: Array) -> None:
    """y <- y + scale x, with no array for the product."""
    for j in range(y.size):
        y[j] += scale * x[j]


@kernel
def add_gold(
    gold: SparseVertices,
    local: Array,
    start: Array,
    first: int,
    last: int,
    scale: float,
    h: float,
    theta: Array,
) -> None:
    """theta <- theta + scale (mu - h), over the first local[i + 1] - local[i] parts of each example."""
    for i in range(first, last):
        at, size = start[i] - start[first], local[i + 1] - local[i]
        for j in range(size):
            theta[at + j] -= scale * h
        for j in range(gold.start[i], gold.start[i + 1]):
            if gold.index[j] < size:
                theta[at + gold.index[j]] += scale * gold.value[j]


@kernel
def _join_parts(start: Array, first: int, last: int, local: Array, shared: Array, whole: Array) -> None:
    """whole <- each example's local parts, then the shared parts."""
    at = 0
    for i in range(first, last):
        a, b = start[i] - start[first], start[i + 1] - start[first]
        assign(whole[at:], local[a:b])
        at += b - a
        assign(whole[at:], shared)
        at += shared.size


@kernel
def part(start: Array, first: int, last: int, whole: Array, local: Array, shared: Array) -> None:
    """Apply the adjoint of `_join_parts`: local parts end to end, shared parts summed."""
    at = 0
    for i in range(first, last):
        a, b = start[i] - start[first], start[i + 1] - start[first]
        assign(local[a:], whole[at : at + b - a])
        at += b - a
        for j in range(shared.size):
            shared[j] += whole[at + j]
        at += shared.size
