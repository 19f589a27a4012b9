"""Block-coordinate descent on the dual of the linear program over the local polytope, compiled (MPLP).

Messages move scores between a factor and its variables. Factor by factor, they are set so that each of its
variables has an equal share of the factor's max-marginals (Globerson and Jaakkola 2008, "Fixing
max-product"); the factor's own maximum is then 0, and

    sum_v max_s belief_v(s)

is a bound on the score of any labelling, which no step raises. It is one of the allowed states after every
factor was visited since states were excluded or came back.
"""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.structures.factors.max_marginals import max_marginals
from structlearn.structures.factors.records import FactorRecord, FactorWork


@leaf
def start_messages(record: FactorRecord, work: FactorWork) -> None:
    """Set all messages to 0, and allow all states."""
    for m in range(work.message.size):
        work.message[m] = 0.0
    for s in range(work.belief.size):
        work.belief[s], work.gone[s] = work.score[s], 0


@leaf
def _share_out(record: FactorRecord, f: int, worst: float, work: FactorWork) -> bool:
    """Give the variables of factor f equal shares of its max-marginals; return False if it has none."""
    a, b = record.first[f], record.first[f + 1]
    origin = record.message[a]
    for e in range(a, b):
        s = record.state[record.variable[e]] - record.message[e]
        for m in range(record.message[e], record.message[e + 1]):
            excluded = work.gone[s + m] != 0
            work.cavity[m - origin] = -np.inf if excluded else work.belief[s + m] - work.message[m]
    max_marginals(record, f, work)
    top = -np.inf
    for m in range(record.message[a], record.message[b]):
        top = max(top, work.found[m - origin])
    if top == -np.inf:
        return False
    for e in range(a, b):
        s = record.state[record.variable[e]] - record.message[e]
        for m in range(record.message[e], record.message[e + 1]):
            if work.gone[s + m] == 0:
                now = max(work.found[m - origin], top + worst) / (b - a)
                work.message[m] += now - work.belief[s + m]
                work.belief[s + m] = now
    return True


@leaf
def sweep_factors(record: FactorRecord, forward: bool, worst: float, work: FactorWork) -> float:
    """Visit all factors; return the bound, -inf where a factor has no entry left."""
    n = record.table.size
    for k in range(n):
        if not _share_out(record, k if forward else n - 1 - k, worst, work):
            return -np.inf
    bound = 0.0
    for v in range(record.state.size - 1):
        bound += best_belief(record, v, work)
    return bound


@leaf
def best_belief(record: FactorRecord, v: int, work: FactorWork) -> float:
    """Return the largest belief among the states that variable v may have."""
    top = -np.inf
    for s in range(record.state[v], record.state[v + 1]):
        if work.gone[s] == 0:
            top = max(top, work.belief[s])
    return top


@leaf
def lift_forbidden(score: Array, n_addends: int) -> float:
    """Replace -inf by a score that no labelling makes up for; return the least score of those without."""
    largest = 1.0
    for j in range(score.size):
        if score[j] > -np.inf:
            largest = max(largest, abs(score[j]))
    least = -largest * (n_addends + 1.0)
    for j in range(score.size):
        score[j] = max(score[j], 3.0 * least)
    return least
