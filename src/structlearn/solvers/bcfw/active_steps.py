"""Steps inside the active set of one block: no scores, no oracle, only the Gram matrix of its atoms.

The block's part of the dual, as a function of the weights alpha of its atoms, is a small quadratic program.
With the scores f_a = <theta_i + c_i, s_a> at alpha, the Gram matrix K and rate = p_i / lambda, a step d gives

    <f, d> gamma - rate/2 <d, K d> gamma^2,   f <- f - gamma rate K d

(Lacoste-Julien and Jaggi 2015 for away and pairwise steps; Osokin et al. 2016 for steps inside a block.)
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.solvers.bcfw.atoms import Atoms


class Steps(IntEnum):
    """Directions of steps: s the best atom, v the worst one that has weight."""

    #: s - z: towards the best
    PLAIN = 0
    #: s - z or z - v, whichever is steeper
    AWAY = 1
    #: s - v: weight goes from the worst to the best
    PAIRWISE = 2


PLAIN, AWAY, PAIRWISE = (int(kind) for kind in Steps)


class VisitRules(NamedTuple):
    """The rules by which a block is visited."""

    steps: int
    #: the most steps, until the gap inside the set is at most `accuracy` times that of the block
    inner_steps: int
    accuracy: float
    forget_after: int


class Bench(NamedTuple):
    """The workbench of inner steps: one entry per atom."""

    scores: Array
    #: the weights to be
    alpha: Array
    direction: Array
    #: K d
    image: Array


@kernel
def make_bench(most_atoms: int) -> Bench:
    rows = np.zeros((4, most_atoms))
    return Bench(rows[0], rows[1], rows[2], rows[3])


@kernel
def score_atoms(atoms: Atoms, count: int, theta: Array, shared: Array, bench: Bench) -> float:
    """Compute scores <theta + c, s_a> of all atoms; return <theta + c, z_i>."""
    here = 0.0
    for a in range(count):
        total = atoms.cost[a]
        for e in range(atoms.edge[a], atoms.edge[a + 1]):
            j = atoms.index[e]
            total += atoms.value[e] * (theta[j] if j < theta.size else shared[j - theta.size])
        bench.scores[a] = total
        bench.alpha[a] = atoms.weight[a]
        here += atoms.weight[a] * total
    return here


@kernel
def best_atom(bench: Bench, count: int) -> int:
    best = 0
    for a in range(1, count):
        if bench.scores[a] > bench.scores[best]:
            best = a
    return best


@kernel
def _worst_atom(bench: Bench, count: int) -> int:
    """Return the worst atom among those with weight."""
    worst = -1
    for a in range(count):
        if bench.alpha[a] > 0.0 and (worst < 0 or bench.scores[a] < bench.scores[worst]):
            worst = a
    return worst


@kernel
def _aim(steps: int, bench: Bench, count: int, best: int, worst: int, here: float) -> tuple[float, bool]:
    """Set the direction; return the longest step, and whether it would leave `worst` without weight."""
    alpha, d = bench.alpha, bench.direction
    if steps == PAIRWISE:
        for a in range(count):
            d[a] = 0.0
        d[best] += 1.0
        d[worst] -= 1.0
        return alpha[worst], True
    away = steps == AWAY and alpha[worst] < 1.0 and here - bench.scores[worst] > bench.scores[best] - here
    sign = 1.0 if away else -1.0
    for a in range(count):
        d[a] = sign * alpha[a]
    if away:
        d[worst] -= 1.0
        return alpha[worst] / (1.0 - alpha[worst]), True
    d[best] += 1.0
    return 1.0, False


@kernel
def _image(atoms: Atoms, bench: Bench, count: int) -> None:
    """Compute K d, for a d that is mostly zero."""
    for a in range(count):
        bench.image[a] = 0.0
    for b in range(count):
        if bench.direction[b] != 0.0:
            for a in range(count):
                bench.image[a] += bench.direction[b] * atoms.gram[b, a]


@kernel
def step_within(
    rules: VisitRules, atoms: Atoms, count: int, rate: float, first: int, gap: float, bench: Bench
) -> None:
    """Take up to `inner_steps` steps with exact line search, the first one towards the atom `first`."""
    scores, alpha, d, image = bench.scores, bench.alpha, bench.direction, bench.image
    best = first
    for step in range(rules.inner_steps):
        here = 0.0
        for a in range(count):
            here += alpha[a] * scores[a]
        best = first if step == 0 else best_atom(bench, count)
        worst = _worst_atom(bench, count)
        if best == worst or (step > 0 and scores[best] - here <= rules.accuracy * gap):
            break
        longest, empties = _aim(rules.steps, bench, count, best, worst, here)
        _image(atoms, bench, count)
        slope, steep = 0.0, 0.0
        for a in range(count):
            slope += scores[a] * d[a]
            steep += image[a] * d[a]
        steep *= rate
        gamma = 0.0  # where rounding makes the slope negative; steep may be zero then
        if slope >= steep * longest:
            gamma = longest
        elif slope > 0.0:
            gamma = slope / steep
        for a in range(count):
            alpha[a] = max(alpha[a] + gamma * d[a], 0.0)
            scores[a] -= gamma * rate * image[a]
        if empties and gamma == longest:
            alpha[worst] = 0.0


@kernel
def commit(atoms: Atoms, count: int, bench: Bench, used: int, now: int, delta: Array) -> float:
    """delta <- the change of z_i, whose weights change with it; returns <c_i, delta>."""
    delta[:] = 0.0
    paid = 0.0
    for a in range(count):
        change = bench.alpha[a] - atoms.weight[a]
        if atoms.weight[a] > 0.0 or bench.alpha[a] > 0.0 or a == used:
            atoms.last[a] = now
        if change != 0.0:
            atoms.weight[a] = bench.alpha[a]
            paid += change * atoms.cost[a]
            for e in range(atoms.edge[a], atoms.edge[a + 1]):
                delta[atoms.index[e]] += change * atoms.value[e]
    return paid
