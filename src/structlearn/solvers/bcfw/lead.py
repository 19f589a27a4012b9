"""Scores that run ahead of w(z): what makes block-coordinate Frank-Wolfe a stochastic extragradient.

Frank-Wolfe scores a block at w(z). The stochastic primal-dual hybrid gradient (Chambolle et al. 2018) scores
it at weights of its own, which follow w(z) by steps of length tau and are extrapolated by what the last visit
has changed. With v = w(z) they are v + rho e, where a visit of block i by V = Phi_i^T (z_i' - z_i) does

    rho <- rho / (1 + lambda tau),  v <- v - p_i V / lambda,  e <- e + p_i (1/lambda - n tau) V / rho

so that only the support of V is touched. The step inside a block is that of Frank-Wolfe with cc / (n tau) in
place of lambda. For tau = 1 / (lambda n) and cc = 1, e is zero, and so is the difference.

In a round of K threads (see `rounds`) each has an e and a rho of its own, and a visit multiplies its rho K
times, for those of the others too: the order is that of visits in turn, of which a thread sees its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, add_pullback, score, score_subset
from structlearn.core.kernels import implements, kernel, operation
from structlearn.core.vectors import assign

#: Below this rho moves into e.
TINY = 1e-100


class NoLead(NamedTuple):
    """Of Frank-Wolfe: scores are those of w(z)."""

    #: lambda
    metric: float

    @property
    def size(self) -> int:
        """How many numbers a thread has of its own."""
        return 0

    def copied(self) -> NoLead:
        return self


class Lead(NamedTuple):
    """How far, and at which pace, scores are ahead of w(z)."""

    #: e
    ahead: Array
    #: rho, one number
    scale: Array
    #: 1 / (1 + lambda tau)
    shrink: float
    #: what stands in the place of lambda inside a block
    metric: float
    #: 1/lambda - n tau
    rate: float

    @property
    def size(self) -> int:
        return self.ahead.size

    def copied(self) -> Lead:
        return self._replace(ahead=self.ahead.copy(), scale=self.scale.copy())


class SweepSums(NamedTuple):
    """Sums over the ends of sweeps: of the scoring weights, of w(z), and of the cost of z."""

    weights: Array
    followed: Array
    #: the cost, how many sweeps are summed, how many there were, the gap when the sums began
    scalars: Array


#: Places of the scalars of an average.
SUM_COST, SUMMED, SWEEPS, FIRST_GAP = range(4)


# ---- what a pass asks of either --------------------------------------------------------------------------


@operation
def shared_scores(lead: NoLead | Lead, w: Array, n_shared: int) -> Any:
    """Where the scores of the shared parts are at a visit."""


@operation
def follow(lead: NoLead | Lead, w: Array, shared: Array) -> None:
    """The step of the scoring weights that a visit begins with; shared <- scores of the shared parts."""


@operation
def score_ahead(lead: NoLead | Lead, scoring: Any, i: int, tools: Any, more: Array, theta: Array) -> None:
    """theta <- theta + rho Phi_i e; `more` is scratch."""


@operation
def score_subset_ahead(
    lead: NoLead | Lead, scoring: Any, i: int, wanted: Array, tools: Any, more: Array, theta: Array
) -> None:
    """The same for the parts that are wanted."""


@operation
def move_ahead(lead: NoLead | Lead, scoring: Any, i: int, delta: Array, scale: float, tools: Any) -> None:
    """What e gains where z_i moves by `delta` and p_i is `scale`."""


@implements(shared_scores, NoLead)
@kernel
def _shared_weights(lead: Any, w: Any, n_shared: Any) -> Any:
    return w[w.size - n_shared :]


@implements(follow, NoLead)
@kernel
def _stay(lead: Any, w: Any, shared: Any) -> None:
    pass


@implements(score_ahead, NoLead)
@kernel
def _score_nothing(lead: Any, scoring: Any, i: Any, tools: Any, more: Any, theta: Any) -> None:
    pass


@implements(score_subset_ahead, NoLead)
@kernel
def _score_no_subset(lead: Any, scoring: Any, i: Any, wanted: Any, tools: Any, more: Any, theta: Any) -> None:
    pass


@implements(move_ahead, NoLead)
@kernel
def _move_nothing(lead: Any, scoring: Any, i: Any, delta: Any, scale: Any, tools: Any) -> None:
    pass


@implements(shared_scores, Lead)
@kernel
def _shared_room(lead: Any, w: Any, n_shared: Any) -> Any:
    return np.empty(n_shared)


@implements(follow, Lead)
@kernel
def _follow(lead: Any, w: Any, shared: Any) -> None:
    lead.scale[0] *= lead.shrink
    if lead.scale[0] < TINY:
        for j in range(lead.ahead.size):
            lead.ahead[j] *= lead.scale[0]
        lead.scale[0] = 1.0
    first = w.size - shared.size
    for j in range(shared.size):
        shared[j] = w[first + j] + lead.scale[0] * lead.ahead[first + j]


@implements(score_ahead, Lead)
@kernel
def _score_ahead(lead: Any, scoring: Any, i: Any, tools: Any, more: Any, theta: Any) -> None:
    score(scoring, i, lead.ahead, tools, more)
    _add(lead.scale[0], more, theta)


@implements(score_subset_ahead, Lead)
@kernel
def _score_subset_ahead(
    lead: Any, scoring: Any, i: Any, wanted: Any, tools: Any, more: Any, theta: Any
) -> None:
    score_subset(scoring, i, lead.ahead, wanted, tools, more)
    _add(lead.scale[0], more, theta)


@implements(move_ahead, Lead)
@kernel
def _move_ahead(lead: Any, scoring: Any, i: Any, delta: Any, scale: Any, tools: Any) -> None:
    add_pullback(scoring, i, delta, scale * lead.rate / lead.scale[0], lead.ahead, tools)


@kernel
def _add(scale: Any, more: Any, theta: Any) -> None:
    for j in range(theta.size):
        theta[j] += scale * more[j]


# ---- what a round of threads asks of either --------------------------------------------------------------


@operation
def scoring_weights(lead: NoLead | Lead, w: Array) -> Array:
    """v + rho e."""


@operation
def own_lead(lead: NoLead | Lead, room: Array, n_threads: int, caution: float) -> Any:
    """The lead of one of so many threads, whose own steps count `caution` times; its e is in `room`."""


@operation
def bring_lead(lead: NoLead | Lead, own: NoLead | Lead, visits: int, caution: float) -> None:
    """The e of a thread after so many visits becomes what it brings to the end of the round: d(rho e)."""


@operation
def join_leads(lead: NoLead | Lead, brought: Array, fractions: Array, visits: int) -> None:
    """After so many visits of all threads, e with fractions of what they have brought; rho is 1."""


@implements(scoring_weights, NoLead)
@kernel
def _weights(lead: Any, w: Any) -> Any:
    return w


@implements(own_lead, NoLead)
@kernel
def _same_lead(lead: Any, room: Any, n_threads: Any, caution: Any) -> Any:
    return NoLead(lead.metric / caution)


@implements(bring_lead, NoLead)
@kernel
def _bring_nothing(lead: Any, own: Any, visits: Any, caution: Any) -> None:
    pass


@implements(join_leads, NoLead)
@kernel
def _join_nothing(lead: Any, brought: Any, fractions: Any, visits: Any) -> None:
    pass


@implements(scoring_weights, Lead)
@kernel
def _weights_ahead(lead: Any, w: Any) -> Any:
    x = w.copy()
    _add(lead.scale[0], lead.ahead, x)
    return x


@implements(own_lead, Lead)
@kernel
def _own_lead(lead: Any, room: Any, n_threads: Any, caution: Any) -> Any:
    assign(room, lead.ahead)
    shrink = lead.shrink**n_threads
    return Lead(room, lead.scale.copy(), shrink, lead.metric / caution, lead.rate * caution)


@implements(bring_lead, Lead)
@kernel
def _bring_lead(lead: Any, own: Any, visits: Any, caution: Any) -> None:
    left = lead.scale[0] * own.shrink**visits
    for j in range(own.ahead.size):
        own.ahead[j] = (own.scale[0] * own.ahead[j] - left * lead.ahead[j]) / caution


@implements(join_leads, Lead)
@kernel
def _join_leads(lead: Any, brought: Any, fractions: Any, visits: Any) -> None:
    left = lead.scale[0] * lead.shrink**visits
    for j in range(lead.ahead.size):
        lead.ahead[j] *= left
    lead.scale[0] = 1.0
    for k in range(fractions.size):
        _add(fractions[k], brought[k], lead.ahead)
