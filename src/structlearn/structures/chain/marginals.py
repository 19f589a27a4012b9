"""Forward-backward: the marginals of p(y) ~ exp <theta, y> over label sequences, and log Z.

Two recursions. The fast one works with scaled probabilities and vectorises. It is exact as long as nothing
that matters can underflow, which `_scaled_forward` establishes; otherwise it hands over to the other one,
which works with logarithms, several times slower, and is safe for all scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.core.kernels import jitable, kernel
from structlearn.core.rounding import UNIT
from structlearn.core.vectors import assign
from structlearn.structures.chain.exponential import exponential
from structlearn.structures.chain.forbidden import add_masks
from structlearn.structures.chain.logarithms import LOWEST, log_backward, log_forward
from structlearn.structures.chain.viterbi import SequenceScores
from structlearn.structures.regularized import clip_entropy

if TYPE_CHECKING:
    from structlearn.structures.chain.chain import ChainRecord

_LANES = 4  # rows are padded with zeros to a multiple, so that vector loops have no remainder
_MORE = 7  # positions after the last, so that eight can be taken at a time

# With finite transition scores of a span S, exchanging one label changes a score by at most 2 S more than its
# unary part. A label whose unary score underflows has a probability below exp(2 S - 708) < 1e-46.
_WIDEST_SPAN = 300.0
# With forbidden transitions this fails, a bad label may be the only way. Then no step may scale a probability
# by less than exp(-300), and none may be below 1e-150: so none that is not zero ever becomes zero.
_WIDEST_MASKED_SPAN = 150.0
_SMALLEST_MASKED = 1e-150


class ChainScratch(NamedTuple):
    """Scratch memory of forward-backward. P is the number of labels, padded; what is padded is zero.

    known : (K * K,) the transition scores that `step` and `facts` are made of; a new w changes them.
    facts : (3,) their largest, the span of the finite ones, and whether some are -inf.
    found : (2,) log Z less all that is the largest, NaN after the recursion in logarithms; its entropy.
    step : (P, P) exp(transition - largest). below : (L, P) unary - largest of the position.
    unary : (L, P) its exponential.
    ahead : (L + 7, P) p(y_t | what is up to t). back : (L + 7, P) unary_t times what comes after t given y_t.
    row : (P,) for one position. The recursion in logarithms uses the last four in its own way.
    masked : room for masked scores of steps, start and end; empty where nothing is forbidden.
    """

    known: Array
    facts: Array
    found: Array
    step: Array
    below: Array
    unary: Array
    ahead: Array
    back: Array
    row: Array
    masked: Array


@jitable
def chain_marginals_workspace(structure: ChainRecord, shape: Shape) -> ChainScratch:
    length, n = shape[0], structure.n_labels
    padded = (n + _LANES - 1) // _LANES * _LANES
    return ChainScratch(
        np.full(n * n, np.nan),
        np.zeros(3),
        np.zeros(2),
        np.zeros((padded, padded)),
        np.zeros((length, padded)),
        np.zeros((length, padded)),
        np.zeros((length + _MORE, padded)),
        np.zeros((length + _MORE, padded)),
        np.zeros(padded),
        np.empty(structure.mask.size),
    )


@kernel
def chain_scores(
    structure: ChainRecord, length: int, theta: Array, shared: Array, room: Array
) -> SequenceScores:
    """Return the scores as tables: all steps share one. With forbidden pairs they are in `room`, masked."""
    n = structure.n_labels
    if structure.mask.size > 0:
        add_masks(structure, shared, room)
        steps = room[: n * n].reshape(1, n, n)
        return SequenceScores(theta.reshape(length, n), steps, room[n * n : n * n + n], room[n * n + n :])
    start = shared[n * n : n * n + (n if structure.start else 0)]
    end = shared[shared.size - (n if structure.end else 0) :]
    return SequenceScores(theta.reshape(length, n), shared[: n * n].reshape(1, n, n), start, end)


@kernel
def chain_marginals(
    structure: ChainRecord, shape: Shape, theta: Array, shared: Array, work: ChainScratch, mean: Array
) -> float:
    length, n = shape[0], structure.n_labels
    n_local = length * n
    local = mean[:n_local].reshape(length, n)
    transitions = mean[n_local : n_local + n * n].reshape(1, n, n)
    value = _scaled_forward(structure, length, theta, shared, work)
    if value > -np.inf:
        _scaled_backward(n, length, work, local, transitions[0])
    elif np.isnan(value):
        ahead, largest, total = work.ahead, work.back, work.unary
        scores = chain_scores(structure, length, theta, shared, work.masked)
        value = log_forward(scores, ahead, largest, total)
        work.found[0] = np.nan
        if value > -np.inf:
            work.found[1] = log_backward(scores.steps, ahead, largest, total, work.row, local, transitions)
    if value == -np.inf:
        mean[:] = 0.0
        return value
    if structure.start:
        assign(mean[n_local + n * n :], local[0])
    if structure.end:
        assign(mean[mean.size - n :], local[length - 1])
    return value


@kernel
def chain_log_partition(
    structure: ChainRecord, shape: Shape, theta: Array, shared: Array, work: ChainScratch, mean: Array
) -> float:
    value = _scaled_forward(structure, shape[0], theta, shared, work)
    if np.isnan(value):
        scores = chain_scores(structure, shape[0], theta, shared, work.masked)
        value = log_forward(scores, work.ahead, work.back, work.unary)
    return value


@kernel
def chain_entropy(
    structure: ChainRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: ChainScratch,
    mean: Array,
    log_z: float,
) -> float:
    """Return H after `chain_marginals`: log Z - <theta, mean>, largest scores taken off, or what it left.

    What is left of a score lies within [-708 - S, 0] wherever `mean` is not zero, so that the difference has
    an absolute error of some units in the last place of 708 L, which are subtracted.
    """
    length, n = shape[0], structure.n_labels
    if np.isnan(work.found[0]):
        return clip_entropy(work.found[1], length * np.log(n))
    inner = 0.0
    for t in range(length):
        for k in range(n):
            inner += max(work.below[t, k], LOWEST) * mean[t * n + k]
    if length > 1:
        for j in range(n * n):
            inner += max(shared[j] - work.facts[0], LOWEST) * mean[length * n + j]
    size = abs(work.found[0]) - inner + length
    return clip_entropy(work.found[0] - inner - 8.0 * (length + n) * UNIT * size, length * np.log(n))


# ---- scaled probabilities --------------------------------------------------------------------------


@kernel
def _scaled_forward(
    structure: ChainRecord, length: int, theta: Array, shared: Array, work: ChainScratch
) -> float:
    """ahead_t <- unary_t * (step^T ahead_(t-1)), scaled to sum 1; returns log Z, NaN where it is not safe."""
    unary, ahead, step = work.unary, work.ahead, work.step
    padded = step.shape[0]
    log_z = rest = 0.0
    masked = False
    if length > 1:
        _exponentiate_transitions(structure, shared, work)
        masked = work.facts[2] > 0.0
        if work.facts[1] > (_WIDEST_MASKED_SPAN if masked else _WIDEST_SPAN):
            return np.nan
        log_z = (length - 1) * work.facts[0]
    log_z += _exponentiate_unary(structure, length, masked, theta, shared, work.below, unary)
    if not log_z > -np.inf:
        return log_z
    product = 1.0  # of the sums, so that a logarithm is taken only now and then
    for t in range(length):
        for k in range(padded):
            ahead[t, k] = 1.0 if t == 0 else 0.0
        if t > 0:
            for j in range(0, padded - 4, 8):
                i = j + 4
                a, b, c, d = ahead[t - 1, j], ahead[t - 1, j + 1], ahead[t - 1, j + 2], ahead[t - 1, j + 3]
                e, f, g, h = ahead[t - 1, i], ahead[t - 1, i + 1], ahead[t - 1, i + 2], ahead[t - 1, i + 3]
                for k in range(padded):
                    one = a * step[j, k] + b * step[j + 1, k]
                    two = c * step[j + 2, k] + d * step[j + 3, k]
                    three = e * step[i, k] + f * step[i + 1, k]
                    four = g * step[i + 2, k] + h * step[i + 3, k]
                    ahead[t, k] += (one + two) + (three + four)
            if padded % 8 > 0:
                j = padded - 4
                a, b, c, d = ahead[t - 1, j], ahead[t - 1, j + 1], ahead[t - 1, j + 2], ahead[t - 1, j + 3]
                for k in range(padded):
                    one = a * step[j, k] + b * step[j + 1, k]
                    two = c * step[j + 2, k] + d * step[j + 3, k]
                    ahead[t, k] += one + two
        total = 0.0
        for k in range(padded):
            ahead[t, k] *= unary[t, k]
            total += ahead[t, k]
        if total == 0.0:
            return -np.inf
        scale = 1.0 / total
        for k in range(padded):
            ahead[t, k] *= scale
        if masked and _any_between(ahead[t], 0.0, _SMALLEST_MASKED):
            return np.nan
        product *= total
        if product < 1e-20 or product > 1e100:
            rest += np.log(product)
            product = 1.0
    work.found[0] = rest + np.log(product)
    return log_z + work.found[0]


@kernel
def _scaled_backward(n: int, length: int, work: ChainScratch, local: Array, transitions: Array) -> None:
    """p_(t-1) = ahead_(t-1) * (step back_t),   back_t = unary_t * p_t / ahead_t, scaled so that p sums to 1.

    The transitions' marginals, summed over positions, are step * sum_t ahead_(t-1) back_t^T.
    """
    ahead, back, unary, step, row = work.ahead, work.back, work.unary, work.step, work.row
    padded = step.shape[0]
    for k in range(padded):
        row[k] = 1.0
    for k in range(n):
        local[length - 1, k] = min(ahead[length - 1, k], 1.0)
    for t in range(length - 1, 0, -1):
        for k in range(padded):  # what cannot be reached has no bound on what comes after it
            back[t, k] = unary[t, k] * row[k] if ahead[t, k] > 0.0 else 0.0
        for j in range(0, padded, 4):
            a = b = c = d = 0.0
            for k in range(padded):
                a += step[j, k] * back[t, k]
                b += step[j + 1, k] * back[t, k]
                c += step[j + 2, k] * back[t, k]
                d += step[j + 3, k] * back[t, k]
            row[j], row[j + 1], row[j + 2], row[j + 3] = a, b, c, d
        total = 0.0
        for j in range(padded):
            total += ahead[t - 1, j] * row[j]
        scale = 1.0 / total
        for j in range(padded):
            row[j] *= scale
            back[t, j] *= scale
        for j in range(n):
            local[t - 1, j] = min(ahead[t - 1, j] * row[j], 1.0)
    _sum_transitions(n, length, work, transitions)


@kernel
def _sum_transitions(n: int, length: int, work: ChainScratch, transitions: Array) -> None:
    """transitions <- step * sum_t ahead_(t-1) back_t^T, eight positions at a time."""
    ahead, back, step = work.ahead, work.back, work.step
    ahead[length : length + _MORE] = 0.0  # whatever an earlier, longer chain has left there
    back[length : length + _MORE] = 0.0
    transitions[:] = 0.0
    for t in range(1, length, 8):
        for j in range(n):
            a, b, c, d = ahead[t - 1, j], ahead[t, j], ahead[t + 1, j], ahead[t + 2, j]
            e, f, g, h = ahead[t + 3, j], ahead[t + 4, j], ahead[t + 5, j], ahead[t + 6, j]
            for k in range(n):
                one = a * back[t, k] + b * back[t + 1, k]
                two = c * back[t + 2, k] + d * back[t + 3, k]
                three = e * back[t + 4, k] + f * back[t + 5, k]
                four = g * back[t + 6, k] + h * back[t + 7, k]
                more = step[j, k] * ((one + two) + (three + four))
                transitions[j, k] = min(transitions[j, k] + more, length - 1.0)


@kernel
def _exponentiate_transitions(structure: ChainRecord, shared: Array, work: ChainScratch) -> None:
    """step <- exp(transition - largest), and the facts about them, unless they are those of the last time."""
    n, known, facts, step = structure.n_labels, work.known, work.facts, work.step
    scores = shared[: n * n]
    changed = 0
    for i in range(n * n):
        changed += known[i] != scores[i]
    if changed == 0:
        return
    for i in range(n * n):
        known[i] = scores[i]
    if structure.mask.size > 0:
        add_masks(structure, shared, work.masked)
        scores = work.masked[: n * n]
    largest, smallest = _extremes(scores)
    masked = smallest == -np.inf
    if masked:
        smallest = np.inf
        for i in range(n * n):
            smallest = min(smallest, scores[i] if scores[i] > -np.inf else np.inf)
    facts[0] = largest if largest > -np.inf else 0.0
    facts[1] = max(largest - smallest, 0.0)
    facts[2] = 1.0 if masked else 0.0
    step[:] = -np.inf
    for j in range(n):
        for k in range(n):
            step[j, k] = scores[j * n + k]
    flat = step.reshape(step.size)
    for i in range(flat.size):
        flat[i] = exponential(flat[i] - facts[0])


@numba.njit(nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})  # no NaN: so it vectorises
def _extremes(scores: Any) -> Any:
    """Return the largest and the smallest score."""
    largest, smallest = -np.inf, np.inf
    for i in range(scores.size):
        largest = max(largest, scores[i])
        smallest = min(smallest, scores[i])
    return largest, smallest


@kernel
def _exponentiate_unary(
    structure: ChainRecord, length: int, masked: bool, theta: Array, shared: Array, below: Array, unary: Array
) -> float:
    """unary_t <- exp(below_t), below_t <- score - largest_t, start and end included; the sum of the largest.

    -inf where a position allows no label; NaN where `masked` asks for more care than it can give.
    """
    n, padded = structure.n_labels, unary.shape[1]
    value = 0.0
    for t in range(length):
        for k in range(n):
            unary[t, k] = theta[t * n + k]
        for k in range(n, padded):
            unary[t, k] = -np.inf
        if structure.start and t == 0:
            for k in range(n):
                unary[t, k] += shared[n * n + k]
        if structure.end and t == length - 1:
            for k in range(n):
                unary[t, k] += shared[shared.size - n + k]
        if structure.mask.size > 0 and t == 0:
            for k in range(n):
                unary[t, k] += structure.mask[n * n + k]
        if structure.mask.size > 0 and t == length - 1:
            for k in range(n):
                unary[t, k] += structure.mask[n * n + n + k]
        a = b = c = d = -np.inf
        for k in range(0, padded, 4):
            a, b = max(a, unary[t, k]), max(b, unary[t, k + 1])
            c, d = max(c, unary[t, k + 2]), max(d, unary[t, k + 3])
        largest = max(max(a, b), max(c, d))
        if largest == -np.inf:
            return largest
        if masked and _any_between(unary[t], -np.inf, largest - _WIDEST_MASKED_SPAN):
            return np.nan
        for k in range(padded):
            below[t, k] = unary[t, k] - largest
        value += largest
    flat, scores = unary.reshape(unary.size), below.reshape(below.size)
    for i in range(length * padded):
        flat[i] = exponential(scores[i])
    return value


@kernel
def _any_between(values: Array, low: float, high: float) -> bool:
    """Return whether any value is in the open interval (low, high)."""
    found = 0
    for i in range(values.size):
        found += (values[i] > low) & (values[i] < high)
    return found > 0
