"""How the marginals of a chain move with its scores: forward-backward twice, exactly.

    J v = Cov(z) v = E[z <v, z>] - E[z] E[<v, z>]

The posterior is a Markov chain, so that E[<v, z> | y_t] is what the parts up to t and what those after t are
expected to add: two more recursions over the same conditional probabilities. All of these are ratios within
one sum, which large scores, and masks of -inf or -1e9, leave exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.structures.chain.chain import Chain


class Posterior(NamedTuple):
    """Of n chains: p(y_t), (L, n, K); p(y_(t-1), y_t) and p(y_(t-1) | y_t), both (L, n, K, K), from t = 1."""

    labels: Array
    pairs: Array
    before: Array


def chain_derivative(chain: Chain, theta: Array, v: Array) -> Array:
    """Return J v of the marginals of `chain`, for stacks of n score vectors and directions, (n, n_parts)."""
    scores, tilt = _Tables.of(chain, theta).mask_forbidden(chain), _Tables.of(chain, v)
    p = _posterior(scores)
    past, future = _past(p, tilt), _future(p, tilt)
    mean = (p.labels[-1] * past[-1]).sum(axis=1)
    labels = p.labels * (past + future - mean[:, None])
    pairs = np.zeros_like(tilt.step)
    for t in range(1, len(labels)):
        through = past[t - 1][:, :, None] + tilt.step + (tilt.unary[t] + future[t])[:, None, :]
        pairs += p.pairs[t] * (through - mean[:, None, None])
    ends = [labels[at] for at, there in ((0, chain.start), (-1, chain.end)) if there]
    n = len(theta)
    return np.concatenate([labels.swapaxes(0, 1).reshape(n, -1), pairs.reshape(n, -1), *ends], axis=1)


class _Tables(NamedTuple):
    """Unary parts (L, n, K), start and end included, and transitions (n, K, K)."""

    unary: Array
    step: Array

    @classmethod
    def of(cls, chain: Chain, parts: Array) -> _Tables:
        n, k = len(parts), chain.n_labels
        n_local = parts.shape[1] - chain.n_shared
        unary = parts[:, :n_local].reshape(n, -1, k).swapaxes(0, 1).copy()
        shared = [chain.shared_tables(row[n_local:]) for row in parts]
        for name, at in (("start", 0), ("end", -1)):
            if name in shared[0]:
                unary[at] += np.stack([tables[name] for tables in shared])
        return cls(unary, np.stack([tables["transitions"] for tables in shared]))

    def mask_forbidden(self, chain: Chain) -> _Tables:
        """Return the tables as scores, -inf where the chain forbids."""
        if chain.forbidden is None:
            return self
        step, first, last = chain.masks
        unary = self.unary.copy()
        unary[0] += first
        unary[-1] += last
        return _Tables(unary, self.step + step)


def _posterior(scores: _Tables) -> Posterior:
    unary, step = scores
    before = np.zeros((len(unary), *step.shape))
    ahead = unary[0]
    for t in range(1, len(unary)):
        total, before[t] = _log_sum(ahead[:, :, None] + step)
        ahead = unary[t] + total
        ahead = ahead - ahead.max(axis=1, keepdims=True)
    labels, pairs = np.zeros_like(unary), np.zeros_like(before)
    labels[-1] = _log_sum(ahead[:, :, None])[1][:, :, 0]
    for t in range(len(unary) - 1, 0, -1):
        pairs[t] = before[t] * labels[t][:, None, :]
        labels[t - 1] = pairs[t].sum(axis=2)
    return Posterior(labels, pairs, before)


def _log_sum(exponents: Array) -> tuple[Array, Array]:
    """Return log sum_j exp e_jk, and exp(e_jk) over that sum, along axis 1; -inf and 0 where all are -inf."""
    top = exponents.max(axis=1, keepdims=True)
    terms = np.exp(exponents - np.where(np.isneginf(top), 0.0, top))
    total = terms.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return (top + np.log(total))[:, 0], _ratio(terms, total)


def _ratio(part: Array, whole: Array) -> Array:
    """Divide the part by the whole; 0 where the whole is."""
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


def _past(p: Posterior, tilt: _Tables) -> Array:
    """Return E[what <v, z> has gathered up to t | y_t]."""
    found = tilt.unary.copy()
    for t in range(1, len(found)):
        found[t] += (p.before[t] * (found[t - 1][:, :, None] + tilt.step)).sum(axis=1)
    return found


def _future(p: Posterior, tilt: _Tables) -> Array:
    """Return E[what <v, z> gathers after t | y_t]."""
    found = np.zeros_like(tilt.unary)
    for t in range(len(found) - 1, 0, -1):
        after = _ratio(p.pairs[t], p.labels[t - 1][:, :, None])
        found[t - 1] = (after * (tilt.step + (tilt.unary[t] + found[t])[:, None, :])).sum(axis=2)
    return found
