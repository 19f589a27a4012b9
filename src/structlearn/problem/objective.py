"""The objective: binds structure, scoring and costs; primal, dual, certificate. All scaling lives here.

With example weights p_i (1/n each, or sample weights over their sum), gold vertices mu_i, costs c_i, the
regulariser Omega of the prediction and the penalty R on the weights (lambda/2 ||w||^2 unless said otherwise):

    P(w) = R(w) + sum_i p_i { Omega*(Phi_i w + c_i) + Omega(mu_i) - <Phi_i w + c_i, mu_i> }
           Omega*(theta) = max_{z in M_i} <theta, z> - Omega(z)
    D(z) = -R*(u(z)) + sum_i p_i { <c_i, z_i - mu_i> - Omega(z_i) + Omega(mu_i) }
    u(z) = sum_i p_i Phi_i^T (mu_i - z_i), the *dual map* of z; with the squared norm w(z) = u(z) / lambda

The second sum of D is called the *cost* of z here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeVar

import numpy as np

from structlearn.core.content import NoContentError, content_hash
from structlearn.core.contract import Array, gram, project, strong_convexity
from structlearn.core.errors import OracleError
from structlearn.core.kernels import implementation, is_implemented
from structlearn.core.memory import Memory
from structlearn.core.rounding import MATERIAL, Bound, Magnitude
from structlearn.core.threads import Team
from structlearn.problem.oracle import ExampleBlocks, GoldVertices, Losses, Oracle, pullback_shared
from structlearn.problem.penalties import Penalty, SquaredL2, squared_part
from structlearn.problem.problem import Predictions as Predictions
from structlearn.problem.regularizers import Regularizer, Zero
from structlearn.problem.vertices import dense_blocks, vertices_fit
from structlearn.scoring.base import Scoring
from structlearn.structures import Cube
from structlearn.structures.base import SparseVertices, Structure
from structlearn.structures.sparsemap import active_set_project

Result = TypeVar("Result")


def best_step(slope: float, steep: float) -> float:
    """argmax_{0 <= s <= 1} slope s - steep/2 s^2; zero where rounding makes a slope negative."""
    if steep <= slope:
        return 1.0
    return slope / steep if slope > 0.0 else 0.0


class Objective:
    """P(w) and D(z) of one data set: a `Problem`.

    Parameters
    ----------
    structure : Structure
    scoring : Scoring
    gold : Vertices
        The gold vertices mu_i.
    cost : ndarray
        Costs of the local parts, examples end to end.
    regularization : float
        lambda; of an elastic net, its part of the squared norm is kept. Zero leaves the penalty out.
    regularizer : Regularizer
        Omega; zero unless given.
    penalty : Penalty
        R; lambda/2 ||w||^2 unless given.
    sample_weight : ndarray of shape (n_examples,), optional
        Only proportions matter. An example of weight zero takes no part.
    active : int array, optional
        Which examples to visit, and in which order a permutation counts them (all, in their order).
    n_jobs : int
        Threads for what is asked of all examples at once, and for passes over blocks.
    memory : Memory, optional
        Where dual points go.
    """

    def __init__(
        self,
        structure: Structure,
        scoring: Scoring,
        gold: SparseVertices,
        cost: Array,
        *,
        regularization: float,
        regularizer: Regularizer | None = None,
        penalty: Penalty | None = None,
        sample_weight: Array | None = None,
        active: Array | None = None,
        n_jobs: int = 1,
        memory: Memory | None = None,
    ) -> None:
        self.memory = memory or Memory()
        self.structure = structure
        self.scoring = scoring
        self.regularizer = regularizer or Zero()
        self.penalty = penalty or SquaredL2(float(regularization))
        record = self.regularizer.record(structure)
        self.oracle = Oracle(record, scoring, structure=structure, n_jobs=n_jobs)
        self.gold = SparseVertices(*map(np.ascontiguousarray, gold))  # others would compile anew
        self.cost = cost
        self.regularization = squared_part(self.penalty, regularization)
        n = scoring.n_examples
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        active = np.arange(n) if active is None else active
        self.active = active[weight[active] > 0]
        self.weight = np.zeros(n)
        self.weight[self.active] = weight[self.active] / weight[self.active].sum()
        fits = vertices_fit(self.gold, np.diff(self.point_start), scoring.chunks())
        if cost.shape != (scoring.start[-1],) or not fits:
            raise ValueError("Gold vertices and costs must be those of the examples' parts, end to end.")

    # ---- sizes -------------------------------------------------------------------------------------

    @property
    def n_weights(self) -> int:
        return self.scoring.n_weights

    @property
    def n_jobs(self) -> int:
        """The number of threads for passes over blocks: one where the structure is plain Python."""
        return self.team.n_jobs

    @property
    def team(self) -> Team:
        return self.oracle.team

    @property
    def n_active(self) -> int:
        return self.active.size

    @property
    def exact(self) -> bool:
        return self.structure.exact

    @property
    def python_calls(self) -> int:
        """How often a `maximize` in plain Python has answered."""
        return 0 if self.structure.python is None else self.structure.python.calls

    @cached_property
    def polytopes(self) -> str:
        structure, scoring = self.structure, self.scoring
        kind = f"{type(structure).__module__}.{type(structure).__qualname__}"
        try:
            return content_hash(kind, structure.content, scoring.shapes, scoring.start, scoring.n_shared)
        except NoContentError:
            return ""

    @cached_property
    def content_hash(self) -> str:
        return content_hash(*self.content) if self.polytopes else ""

    @property
    def content(self) -> tuple[object, ...]:
        return (
            *(self.regularization, self.regularizer, self.oracle.n_jobs),
            *(type(self.penalty).__name__, *vars(self.penalty).values()),
            *(type(self.structure).__qualname__, self.structure.content),
            *(type(self.scoring).__qualname__, self.scoring.record, self.scoring.start, self.scoring.shapes),
            *(self.gold, self.cost, self.weight, self.active),
        )

    @cached_property
    def _n_curved_parts(self) -> Array:
        """The number of local parts of each example, the first ones, that the squared norm covers."""
        return np.ascontiguousarray(self.structure.n_curved(self.scoring.shapes.T), dtype=np.int64)

    @cached_property
    def blocks(self) -> ExampleBlocks:
        return ExampleBlocks(*self.oracle.layout, self.cost, self.weight, *self.gold, self._n_curved_parts)

    @cached_property
    def most_entries(self) -> Array:
        """The most entries that a vertex of each example may have; a gold mixture may have more."""
        most = self.structure.most_entries_many(self.scoring.shapes)
        return np.maximum(most, np.diff(self.gold.start))

    def run_pass(self, function: Callable[..., Result], *args: object) -> Result:
        """Call `function(structure, scoring, *args)`, a kernel."""
        return self.oracle.run(function, self.scoring.for_pass(function), *args)

    @property
    def no_gradient(self) -> str:
        """The squared norm leaves pairs of labels out: their prediction jumps where vertices tie."""
        bent = strong_convexity(self.oracle.record) > 0
        if self.regularizer.smooth and not (bent and self.structure.has_linear_parts):
            return ""
        return (
            f"needs a smooth loss; that of {type(self.structure).__name__} with {self.regularizer} is not, "
            "in its pairs of labels: use {solver=sdca}"
        )

    @property
    def is_hinge(self) -> bool:
        return not self.regularizer.smooth

    @property
    def couples_labels(self) -> bool:
        """Whether the labels of a row exclude each other, so that the score of one moves all."""
        return not isinstance(self.structure, Cube)

    @property
    def is_local(self) -> bool:
        return not self.scoring.n_shared

    @property
    def has_exact_blocks(self) -> bool:
        plain = self.is_hinge or strong_convexity(self.oracle.record) > 0
        direct = implementation(project, self.structure.record) is not active_set_project
        return self.scoring.isotropic and self.structure.compiled and plain and direct

    @property
    def has_products(self) -> bool:
        """Whether the scoring tells inner products of pulled-back vertices, which active sets need."""
        return is_implemented(gram, self.scoring.record)

    # ---- gold --------------------------------------------------------------------------------------

    def weighted_gold(self, first: int, last: int) -> Array:
        """Return the local parts of p_i mu_i of a range of examples, end to end."""
        return self._spread(self.gold, first, last)[0]

    @cached_property
    def gold_map(self) -> Array:
        """sum_i p_i Phi_i^T mu_i."""

        def one(first: int, last: int, out: Array) -> None:
            local, shared_sum = self._spread(self.gold, first, last)
            self.scoring.pullback(local, first, last, out)
            shared = self.scoring.shared(out)
            shared += shared_sum

        return self.oracle.added_up(one)

    @cached_property
    def gold_cost(self) -> float:
        """sum_i p_i <c_i, mu_i>."""
        start, total = self.scoring.start, 0.0
        for first, last in self.scoring.chunks():
            local, _ = self._spread(self.gold, first, last)
            total += float(local @ self.cost[start[first] : start[last]])
        return total

    @cached_property
    def gold_omegas(self) -> Array:
        """Omega(mu_i) of every example."""
        return self.regularizer.of_gold(self.gold, self._n_curved_parts)

    @property
    def gold_omega(self) -> float:
        """sum_i p_i Omega(mu_i)."""
        return float(self.weight @ self.gold_omegas)

    def _spread(self, vertices: SparseVertices, first: int, last: int) -> tuple[Array, Array]:
        """Return a range of weighted vertices: dense local parts end to end, and shared parts summed."""
        start = self.scoring.start
        entries = slice(vertices.start[first], vertices.start[last])
        owner = np.repeat(np.arange(first, last), np.diff(vertices.start[first : last + 1]))
        index, value = vertices.index[entries], vertices.value[entries] * self.weight[owner]
        n_local = np.diff(start)[owner]
        is_local = index < n_local
        parts = np.zeros(start[last] - start[first])
        parts[start[owner[is_local]] - start[first] + index[is_local]] = value[is_local]
        shared = np.bincount(
            (index - n_local)[~is_local], weights=value[~is_local], minlength=self.scoring.n_shared
        )
        return parts, shared

    @cached_property
    def gold_vertices(self) -> GoldVertices:
        """The gold vertices as the oracle compares answers with them."""
        return GoldVertices(*self.gold, self._n_curved_parts, self.structure.accuracy / MATERIAL)

    # ---- values ------------------------------------------------------------------------------------

    def primal(self, w: Array) -> float:
        """Return P(w), by one oracle value per example."""
        return self._primal_from(w, self.oracle.losses(w, self.cost, self.weight, self.gold_vertices))

    def _primal_from(self, w: Array, losses: Losses) -> float:
        if losses.least < -MATERIAL:
            raise OracleError(
                f"The answer for example {losses.example} is not maximal: its gold output has a higher "
                "score; correct `maximize`, or the output."
            )
        return self.penalty.value(w) + losses.total

    @cached_property
    def magnitude(self) -> Magnitude:
        """What P and D add up, for bounds of their rounding errors."""
        entries = self.most_entries + self.scoring.shapes[:, 0]  # an entry may be as large as there are rows
        accuracy, most = self.regularizer.accuracy(self.structure), max(self.structure.largest_entry, 1.0)
        return Magnitude.of_examples(
            self.scoring, entries, self.cost, most * self.weight, accuracy, self.n_jobs
        )

    def primal_rounding(self, w: Array, value: float) -> float:
        return self.magnitude.primal(w, value)

    def dual(self, w: Array, cost: float, steps: float = 0.0) -> Bound:
        """D of any dual point z, from w(z) and the cost of z; for the squared norm.

        It is lowered by what rounding may have added, also in `steps` single changes of w and z.
        """
        return self.magnitude.lower_bound(float(w @ w), cost, self.regularization, steps)

    def best_fraction(self, w: Array, cost: float) -> float:
        """argmax_{0 <= s <= 1} s cost - s^2 lambda/2 ||w||^2: how far from mu towards z the dual is best.

        Where z comes from a larger lambda, w(z) is too long here.
        """
        return best_step(cost, self.regularization * float(w @ w))

    def dual_of_map(self, dual_map: Array, cost: float) -> Bound:
        """D of z, or of the furthest point from mu towards z where D is finite, from u(z) and the cost of z.

        The cost is concave in z and zero at mu, so that a share s of the way costs at least s of it.
        """
        fraction = self.penalty.shrink(dual_map)
        penalty = self.penalty.conjugate(fraction * dual_map)
        rounding = self.magnitude.dual(self.penalty.slope(dual_map, cost), penalty)
        return Bound(fraction * cost - penalty - rounding, rounding)

    def predictions(self, w: Array) -> Predictions:
        """Ask the oracle of every example at w."""
        pulled = self.gold_map.copy()
        shared = self.scoring.shared(pulled)
        start, cost, losses = self.scoring.start, -self.gold_cost, Losses()
        asked = self.oracle.maximizers(w, self.cost, self.weight, gold=self.gold_vertices)
        for first, last, vertices, shared_sum, found in asked:
            cost += float(vertices @ self.cost[start[first] : start[last]])
            self.scoring.pullback(-vertices, first, last, pulled)
            shared -= shared_sum
            losses = losses.plus(found)
        bounded = self.structure.bounded  # answers may be below the maximum, of which there is a bound
        primal = self.primal(w) if bounded else self._primal_from(w, losses)
        return Predictions(pulled, cost + losses.gain, primal)

    # ---- single examples ---------------------------------------------------------------------------

    def each_prediction(self, w: Array, examples: Array) -> Iterator[tuple[int, Array]]:
        """Yield (i, s_i) for the given examples: the oracle's answer at w, local and then shared parts."""
        ones = np.ones(self.scoring.n_examples)
        alone = [(int(i), int(i) + 1) for i in examples]
        for one in self.oracle.maximizers(w, self.cost, ones, alone):
            yield one.first, np.concatenate([one.vertices, one.shared])

    def plane(self, i: int, parts: Array) -> tuple[Array, float]:
        """p_i Phi_i^T (mu_i - z_i) and p_i <c_i, z_i - mu_i> (without Omega), for parts = z_i."""
        delta = self.weight[i] * (self.gold.dense(i, parts.size) - parts)
        dual_map = np.zeros(self.n_weights)
        own = slice(self.scoring.start[i], self.scoring.start[i + 1])
        local = delta[: own.stop - own.start]
        self.scoring.pullback(local, i, i + 1, dual_map)
        shared = self.scoring.shared(dual_map)
        shared += delta[local.size :]
        return dual_map, -float(local @ self.cost[own])

    # ---- dual points -------------------------------------------------------------------------------

    def gold_point(self) -> Array:
        """Return z = mu, dense: examples end to end, each its local and then its shared parts."""
        z, start = self.memory.empty(self.point_start[-1]), self.point_start
        for first, last in self.scoring.chunks():
            z[start[first] : start[last]] = self.gold_blocks(first, last)
        return z

    def gold_blocks(self, first: int, last: int) -> Array:
        """Return mu of examples first .. last - 1."""
        return dense_blocks(self.gold, self.point_start, first, last)

    @cached_property
    def point_start(self) -> Array:
        """Where each example begins in a dense dual point."""
        return self.scoring.start + np.arange(self.scoring.n_examples + 1) * self.scoring.n_shared

    def weights_of(self, z: Array) -> tuple[Array, float]:
        """Compute w(z) and sum_i p_i <c_i, z_i - mu_i> (without Omega) afresh from a dense dual point."""

        def spread(first: int, last: int, local: Array, shared: Array) -> None:
            pullback_shared(self.blocks, first, last, z, local, shared)

        return self.weights_from(spread)

    def weights_from(self, spread: Callable[[int, int, Array, Array], None]) -> tuple[Array, float]:
        """Do the same where `spread(first, last, local, shared)` does to a point as `pull_shared` does."""
        start, costs = self.scoring.start, dict[int, float]()

        def one(first: int, last: int, out: Array) -> None:
            local = np.empty(start[last] - start[first])
            spread(first, last, local, self.scoring.shared(out))
            costs[first] = float(local @ self.cost[start[first] : start[last]])
            self.scoring.pullback(-local, first, last, out)

        pulled = self.gold_map + self.oracle.added_up(one)
        pulled /= self.regularization
        return pulled, sum((costs[first] for first, _ in self.scoring.chunks()), -self.gold_cost)
