"""Sums over projective trees in plain numbers, and their slopes: no logarithm and no exponential per split.

The spans of `eisner` with sums for maxima and products for sums, of the weights

    w(h, m) = exp(theta[h, m] - top_m),  top_m = max_h theta[h, m].

The halves of a span have different words, so that a sum over trees that is not 0 is at least the product of
the words' least weights, and at most 7^n. `weigh_arcs` says whether doubles can hold all such numbers and
their quotients; otherwise `eisner` works with logarithms.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.core.rounding import UNIT
from structlearn.structures.chain.exponential import exponential

if TYPE_CHECKING:
    from structlearn.structures.tree.eisner import SpanTables

#: Products and quotients of sums are normal numbers if logarithms of words' least weights, and of 7 per word,
#: add up to at most this.
WIDEST = 600.0
LOG_7 = 1.95


@leaf
def weigh_arcs(theta: Array, weights: Array, tops: Array) -> bool:
    """weights, tops <- w and top; return False if sums could underflow. theta : (n + 1, n)."""
    n = theta.shape[1]
    range_ = LOG_7 * n
    for m in range(n):
        top, least = -np.inf, np.inf
        for h in range(n + 1):
            score = theta[h, m] if h != m + 1 else -np.inf
            top = max(top, score)
            least = min(least, score if score > -np.inf else np.inf)
        tops[m] = top
        range_ += top - least if top > -np.inf else 0.0
    if not range_ <= WIDEST:
        return False
    for h in range(n + 1):
        for m in range(n):
            weights[h, m] = exponential(theta[h, m] - tops[m]) if tops[m] > -np.inf else 0.0
    return True


@leaf
def sum_spans(n: int, first: int, weights: Array, spans: SpanTables) -> None:
    """Fill all spans from `first` on with sums. Inner loops run over ends t, so that they vectorise."""
    right, left, joined = spans.right, spans.left, spans.joined
    for s in range(n, first - 1, -1):
        for t in range(s, n + 1):
            right[s, t] = left[s, t] = joined[s, t] = 0.0
        right[s, s] = left[s, s] = 1.0
        for r in range(s, n + 1):
            if r > s:
                there = joined[s, r] * weights[s, r - 1]
                back = joined[s, r] * weights[r, s - 1] if s > 0 else 0.0
                spans.rightward[s, r], spans.leftward[s, r] = there, back
                left[s, r] += back
                low = left[s, r]
                right[s, r] += there
                for t in range(r + 1, n + 1):
                    right[s, t] += there * right[r, t]
                    left[s, t] += low * spans.leftward[r, t]
            high = right[s, r]
            for t in range(r + 1, n + 1):
                joined[s, t] += high * left[r + 1, t]


@leaf
def root_sum(n: int, weights: Array, spans: SpanTables) -> float:
    """Return the sum over trees with one word under the root."""
    total = 0.0
    for r in range(1, n + 1):
        total += spans.left[1, r] * spans.right[r, n] * weights[0, r - 1]
    return total


@leaf
def spread_slopes(
    n: int, single_root: bool, weights: Array, spans: SpanTables, slopes: SpanTables, mean: Array
) -> None:
    """mean <- d log Z / d theta: the steps of `sum_spans` in reverse. `slopes` <- d log Z / d sums."""
    first = 1 if single_root else 0
    for s in range(first, n + 1):
        for t in range(s, n + 1):
            slopes.joined[s, t] = slopes.right[s, t] = slopes.left[s, t] = slopes.leftward[s, t] = 0.0
    if single_root:
        scale = 1.0 / root_sum(n, weights, spans)
        for r in range(1, n + 1):
            share = scale * weights[0, r - 1]
            slopes.left[1, r] += share * spans.right[r, n]
            slopes.right[r, n] += share * spans.left[1, r]
            mean[0, r - 1] = min(share * spans.left[1, r] * spans.right[r, n], 1.0)
    else:
        slopes.right[0, n] = 1.0 / spans.right[0, n]
    for s in range(first, n + 1):
        for r in range(n, s - 1, -1):
            slopes.right[s, r] += _pass_joined(n, s, r, spans, slopes)
            if r > s:
                slopes.left[s, r] += _pass_left(n, s, r, spans, slopes)
                of_back = slopes.left[s, r] + slopes.leftward[s, r]
                of_there = _pass_right(n, s, r, spans, slopes)
                slopes.joined[s, r] += of_there * weights[s, r - 1]
                mean[s, r - 1] = min(of_there * spans.rightward[s, r], 1.0)
                if s > 0:
                    slopes.joined[s, r] += of_back * weights[r, s - 1]
                    mean[r, s - 1] = min(of_back * spans.leftward[s, r], 1.0)


@leaf
def _pass_joined(n: int, s: int, r: int, spans: SpanTables, slopes: SpanTables) -> float:
    """Pass the slopes of joined[s, t] on to left[r + 1, t]; return what right[s, r] gets."""
    found, high = 0.0, spans.right[s, r]
    for t in range(r + 1, n + 1):
        slope = slopes.joined[s, t]
        found += slope * spans.left[r + 1, t]
        slopes.left[r + 1, t] += slope * high
    return found


@leaf
def _pass_left(n: int, s: int, r: int, spans: SpanTables, slopes: SpanTables) -> float:
    """Pass the slopes of left[s, t] on to leftward[r, t]; return what left[s, r] gets."""
    found, low = 0.0, spans.left[s, r]
    for t in range(r + 1, n + 1):
        slope = slopes.left[s, t]
        found += slope * spans.leftward[r, t]
        slopes.leftward[r, t] += slope * low
    return found


@leaf
def _pass_right(n: int, s: int, r: int, spans: SpanTables, slopes: SpanTables) -> float:
    """Pass the slopes of right[s, t] on to right[r, t]; return what rightward[s, r] gets."""
    found, there = slopes.right[s, r], spans.rightward[s, r]
    for t in range(r + 1, n + 1):
        slope = slopes.right[s, t]
        found += slope * spans.right[r, t]
        slopes.right[r, t] += slope * there
    return found


@leaf
def entropy_of_arcs(theta: Array, tops: Array, mean: Array, log_z: float) -> float:
    """Return log Z - <theta, mean> with the words' largest scores moved out of both, less possible rounding.

    log_z : that of the weights
    """
    n = theta.shape[1]
    value, size = log_z, 1.0 + abs(log_z)
    for h in range(n + 1):
        for m in range(n):
            if mean[h, m] > 0.0:
                term = mean[h, m] * (tops[m] - theta[h, m])
                value += term
                size += term
    return value - 8.0 * n * UNIT * size


@leaf
def take_logarithms(n: int, first: int, spans: SpanTables, tops: Array) -> None:
    """Replace sums by their logarithms, with the words' largest scores."""
    for s in range(first, n + 1):
        before = after = 0.0  # of the words s .. t - 1, and of s + 1 .. t
        for t in range(s, n + 1):
            if t > s:
                after += tops[t - 1]
                before += tops[t - 2] if t - 1 > 0 else 0.0
                spans.rightward[s, t] = _log(spans.rightward[s, t]) + after
                spans.leftward[s, t] = _log(spans.leftward[s, t]) + before
                spans.joined[s, t] = _log(spans.joined[s, t]) + after - tops[t - 1]
            spans.right[s, t] = _log(spans.right[s, t]) + after
            spans.left[s, t] = _log(spans.left[s, t]) + before


@leaf
def _log(x: float) -> float:
    return log(x) if x > 0.0 else -np.inf
