"""Scoring weights together with what they follow (see `lead`): their pace, their means, their certificate.

The step tau balances what w and z have to travel: n tau is a fraction of |w| over the square root of
sum_i p_i^2 ||Phi_i^T (mu_i - z_i)||^2. P is taken at a mean of the scoring weights, D at z and at the mean of
z, of which w(z) and the cost are enough. Means begin anew when the blocks' gaps have halved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import Bound, Magnitude
from structlearn.core.threads import Team
from structlearn.problem.penalties import Penalty, dead_zone
from structlearn.solvers.bcfw.lead import (
    FIRST_GAP,
    FOLLOWED,
    MEAN_COST,
    MEANT,
    SWEEPS,
    Lead,
    Pace,
    follow,
    join_means,
    squares,
)

#: The fraction of the step in a block that would be exact if w followed at once.
CAUTION = 0.9
#: The factor of n tau where all weights are zero, though z has travelled: none wants to be positive.
SHORTER = 0.01
#: The least number of weights per thread.
WEIGHTS_SHARED = 1 << 18
#: A mean that spans more than this fraction of all sweeps begins anew.
LONGEST_MEAN = 0.36


class LedProblem(Protocol):
    """What is asked of a problem: on one machine, or of all workers together."""

    @property
    def regularization(self) -> float: ...
    @property
    def penalty(self) -> Penalty: ...
    @property
    def magnitude(self) -> Magnitude: ...
    @property
    def n_active(self) -> int: ...
    @property
    def team(self) -> Team: ...


@dataclass(frozen=True)
class LedWeights:
    """Views of a solver's state; arrays are changed in place, a new pace is returned.

    Parameters
    ----------
    problem : LedProblem
    w : the scoring weights
    lead : Lead
    pace : Pace
    """

    problem: LedProblem
    w: Array
    lead: Lead
    pace: Pace

    @property
    def ratio(self) -> float:
        """1 / (lambda n tau)."""
        return self.pace.strength / float(self.problem.regularization)

    @property
    def w_of_z(self) -> Array:
        """v."""
        return self.lead.anchor + self.ratio * self.w

    @property
    def ahead(self) -> float:
        """lambda/2 ||w - v||^2; 0 where w(z) is not v."""
        if dead_zone(self.problem.penalty).threshold or dead_zone(self.problem.penalty).positive:
            return 0.0
        away = self.w - self.w_of_z
        return 0.5 * float(self.problem.regularization) * float(away @ away)

    def anchor_at(self, v: Array) -> None:
        """Set w(z) to v, which was found afresh."""
        np.multiply(self.w, -self.ratio, out=self.lead.anchor)
        self.lead.anchor[:] += v

    # ---- moving --------------------------------------------------------------------------------------

    def follow(self, visits: float) -> None:
        """Let the scoring weights follow w(z) after a number of visits."""
        left = (1.0 + 1.0 / (self.ratio * self.problem.n_active)) ** -visits
        self._towards(left, self.ratio)
        self.lead.scalars[FOLLOWED] += 1.0

    def set_pace(self, pace: float, left: float = 1.0) -> Pace:
        """Return the pace with n tau = `pace` (Frank-Wolfe: 1 / lambda); unless all is left, follow w(z)."""
        changed = Pace(1.0 / pace, CAUTION / pace)
        self._towards(left, changed.strength / float(self.problem.regularization))
        return changed

    def balance_pace(self, travelled: float, balance: float, passes: int) -> Pace:
        """Return a better pace, from the sum over blocks of what z has travelled, squared."""
        far, long = np.sqrt(travelled), float(np.linalg.norm(self.w))
        if far > 0.0 and long == 0.0 and dead_zone(self.problem.penalty).positive:
            return self.set_pace(SHORTER / self.pace.strength)
        if not (far > 0.0 and long > 0.0):
            return self.pace
        pace = balance * long / far  # n tau
        if passes > 1:
            pace = np.sqrt(pace / self.pace.strength)
        return self.set_pace(float(f"{pace:.3g}"))  # the order of sums shall not show

    def _towards(self, left: float, then: float) -> None:
        """Follow w(z) (see `lead.follow`)."""
        ratio, zone = self.ratio, dead_zone(self.problem.penalty)
        self._by_ranges(
            lambda w, anchor: follow(w, anchor, ratio, left, then, *zone), self.w, self.lead.anchor
        )

    # ---- means and certificates ----------------------------------------------------------------------

    def join(self, cost: float, gap: float, full: bool) -> None:
        """Add the end of a sweep, a full pass or another, to the means, or begin them anew."""
        lead, ratio = self.lead, self.ratio
        scalars = lead.scalars
        halved = full and gap < 0.5 * scalars[FIRST_GAP]
        if halved or scalars[MEANT] > LONGEST_MEAN * scalars[SWEEPS]:
            scalars[MEANT], scalars[FIRST_GAP] = 0.0, gap
        scalars[[MEANT, SWEEPS]] += 1.0
        share = 1.0 / scalars[MEANT]
        scalars[MEAN_COST] = (1.0 - share) * scalars[MEAN_COST] + share * cost
        self._by_ranges(
            lambda w, anchor, mean, followed: join_means(w, anchor, mean, followed, ratio, share),
            *(self.w, lead.anchor, lead.weights, lead.followed),
        )

    def forget_means(self) -> None:
        self.lead.scalars[MEANT] = 0.0

    @property
    def certified_weights(self) -> Array:
        """The weights of which P is taken."""
        return self.lead.weights if self.lead.scalars[MEANT] else self.w

    def dual(self, cost: float, steps: float) -> tuple[Bound, float]:
        """Return the better D of z, whose cost is given after `steps`, and of its mean; and ||w(z)||^2."""
        lead, ratio = self.lead, self.ratio
        long = ratio * float(np.linalg.norm(self.w))
        square, whole = self._squares(self.w, lead.anchor, ratio)
        points = [(square, cost, self._roundings(steps, square, whole, long))]
        meant = lead.scalars[MEANT]
        if meant:
            mean, whole = self._squares(lead.followed, lead.followed, 0.0)
            points.append(
                (mean, lead.scalars[MEAN_COST], self._roundings(steps, mean, whole, long, 3.0 * meant))
            )
        lower_bound, strength = self.problem.magnitude.lower_bound, self.problem.regularization
        return max((lower_bound(square, cost, strength, steps), square) for square, cost, steps in points)

    def _roundings(self, steps: float, square: float, whole: float, long: float, means: float = 0.0) -> float:
        """Bound the number of roundings of v, in units of the length of w(z), the root of `square`.

        `whole` is ||v||^2, and `long` the length of w, whose roundings are magnified.
        """
        times = float(steps + 4.0 * self.lead.scalars[FOLLOWED] + 4.0)
        longer = np.sqrt(whole) * (times + means) + long * times
        return float(longer / np.sqrt(square)) if square > 0.0 else times

    # ---- all weights ---------------------------------------------------------------------------------

    def _by_ranges(self, work: Callable[..., None], *vectors: Array) -> None:
        """Call `work` on the same ranges of all vectors, by all threads where they are long."""

        def part(first: int, last: int) -> None:
            work(*(one[first:last] for one in vectors))

        self.problem.team.share_out(self.w.size, part, WEIGHTS_SHARED)

    def _squares(self, w: Array, anchor: Array, ratio: float) -> tuple[float, float]:
        """Compute `lead.squares`; the order of sums does not depend on the number of threads."""
        zone, firsts = dead_zone(self.problem.penalty), range(0, w.size, WEIGHTS_SHARED)
        ranges = [slice(first, first + WEIGHTS_SHARED) for first in firsts]
        found = self.problem.team.deal(lambda some: squares(w[some], anchor[some], ratio, *zone), ranges)
        return sum(one for one, _ in found), sum(whole for _, whole in found)
