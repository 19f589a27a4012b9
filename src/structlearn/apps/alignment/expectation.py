"""The E-step: posteriors of every cell of a range of sentence pairs, in both directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.apps.alignment.bitext import Array, Corpus
from structlearn.apps.alignment.hmm import Jumps, hmm_posteriors, make_room
from structlearn.apps.alignment.model1 import model1_posteriors
from structlearn.kernels import kernel


class Text(NamedTuple):
    source: Corpus
    target: Corpus
    cell_start: Array
    entry: Array
    entry_offset: int


class Direction(NamedTuple):
    translation: Array
    null: Array
    p0: float
    weight: Array


class Posteriors(NamedTuple):
    forward: Array
    reverse: Array
    forward_null: Array
    reverse_null: Array


@kernel
def expect(
    text: Text, forward: Direction, reverse: Direction, use_hmm: bool, agree: int, first: int, last: int,
    out: Posteriors, jumps_f: Jumps, jumps_r: Jumps,
) -> tuple[float, float]:
    m_max = n_max = 1
    for s in range(first, last):
        m_max = max(m_max, text.source.start[s + 1] - text.source.start[s])
        n_max = max(n_max, text.target.start[s + 1] - text.target.start[s])
    size = m_max * n_max
    em_f, em_r, post_f, post_r = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    null_f, null_r, pn_f, pn_r = np.empty(n_max), np.empty(m_max), np.empty(n_max), np.empty(m_max)
    room_f, room_r = make_room(n_max, m_max), make_room(m_max, n_max)
    ll_f = ll_r = 0.0
    base = text.cell_start[first]
    for s in range(first, last):
        a, b = text.source.start[s], text.target.start[s]
        m, n = text.source.start[s + 1] - a, text.target.start[s + 1] - b
        if m * n == 0:
            continue
        ef, er = em_f[: m * n].reshape(n, m), em_r[: m * n].reshape(m, n)
        gf, gr = post_f[: m * n].reshape(n, m), post_r[: m * n].reshape(m, n)
        cell = text.cell_start[s]
        for i in range(m):
            for j in range(n):
                k = text.entry[cell - text.entry_offset + i * n + j]
                ef[j, i] = forward.translation[k]
                er[i, j] = reverse.translation[k]
        for j in range(n):
            null_f[j] = forward.null[text.target.tokens[b + j]]
        for i in range(m):
            null_r[i] = reverse.null[text.source.tokens[a + i]]
        if use_hmm:
            ll_f += hmm_posteriors(ef, null_f[:n], forward.p0, jumps_f, room_f, gf, pn_f)
            ll_r += hmm_posteriors(er, null_r[:m], reverse.p0, jumps_r, room_r, gr, pn_r)
        else:
            ll_f += model1_posteriors(ef, null_f[:n], forward.p0, gf, pn_f)
            ll_r += model1_posteriors(er, null_r[:m], reverse.p0, gr, pn_r)
        at = cell - base
        for i in range(m):
            for j in range(n):
                x, y = gf[j, i], gr[i, j]
                if agree == 1:
                    x = y = x * y
                elif agree == 2:
                    x = y = np.sqrt(x * y)
                elif agree == 3:
                    x = y = 0.5 * (x + y)
                elif agree == 4:
                    x = y = 2 * x * y / (x + y + 1e-30)
                out.forward[at + i * n + j] = x
                out.reverse[at + i * n + j] = y
        fb, rb = b - text.target.start[first], a - text.source.start[first]
        for j in range(n):
            out.forward_null[fb + j] = pn_f[j]
        for i in range(m):
            out.reverse_null[rb + i] = pn_r[i]
    return ll_f, ll_r


@kernel
def accumulate(index: Array, values: Array, out: Array) -> None:
    for k in range(index.size):
        out[index[k]] += values[k]
