"""SparseMAP by an active set: the projection of any structure that can maximise.

    max_{z in M} <theta, z> + <shared, z> - 1/2 ||z||^2,   the norm over local parts only

The answer is a mixture z = sum_i p_i v_i of a few points of M, its *atoms*. Over their weights it is a small
quadratic program, max_p <s, p> - 1/2 p' G p with the scores s_i of the atoms and the Gram matrix G of their
local parts. New atoms come from `maximize` at the gradient (theta - z, shared). (Niculae,
Martins, Blondel and Cardie 2018, "SparseMAP"; Wolfe 1976, "Finding the nearest point in a polytope".)

The atoms' local parts are kept affinely independent: then G + 1 1', the Gram matrix of the atoms with a one
in front, has a Cholesky factor, which is kept up to date row by row.

A structure takes part with `register(Record)`; where it has shared parts, it implements `shared_parts`.
"""

from __future__ import annotations

from math import hypot, sqrt
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, maximize, project, project_workspace, shared_parts, workspace
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import assign

MOST_ATOMS = 512
#: The optimality at which we stop, relative to the atoms' scores: 10^4 rounding errors.
TOLERANCE = 1e-12
#: The same where more atoms than `MOST_ATOMS` would be needed, relative also to the square of a vertex: flat
#: scores of trees of more than about 30 words are such a case.
ROUGH_TOLERANCE = 1e-4
#: The same where outputs nearly tie, so that vertices come in by thousands for next to no gain. Then the best
#: point hardly has a better value; how far it is at most is known, and added to the value.
STALLED_TOLERANCE = 1e-5
#: Rounds are stalled if at the pace of the last ones (as many as atoms, and at least `LEAST_ROUNDS`) the
#: value would not rise by what is missing in `PATIENCE` times as many rounds as there have been, or if there
#: have been `PATIENCE` times as many as those last ones.
LEAST_ROUNDS, PATIENCE = 100, 20
#: An atom is dependent if its squared distance from the others' affine hull is less, relative to its own.
DEPENDENT = 1e-11
#: Weights below this are rounding errors.
NO_WEIGHT = 1e-14


class VertexMixture(NamedTuple):
    """A mixture of points of M. Atom i is in row slot[i] of `parts`; the other arrays are ordered by i."""

    parts: Array
    slot: Array
    #: <theta, v_i> + <shared, v_i>, relative to the first vertex's
    score: Array
    weight: Array
    #: lower Cholesky factor of G + 1 1'
    factor: Array
    #: the weights that would be best without their bounds
    target: Array
    #: room for solving with the factor
    row: Array


class SparseMAPScratch(NamedTuple):
    """Scratch memory: the mixture; z and theta - z over local parts; that of the structure's own oracle."""

    atoms: VertexMixture
    mean: Array
    gradient: Array
    oracle: object


def register(record: type) -> None:
    """Let every NamedTuple of class `record` implement `project` through its `maximize`."""
    implements(project_workspace, record)(active_set_workspace)
    implements(project, record)(active_set_project)


class SparseMAP(NamedTuple):
    """Any structure, to be projected onto in this way."""

    inner: tuple[object, ...]


@jitable
def active_set_workspace(structure: Any, shape: Any) -> Any:
    """Implements `project_workspace`."""
    n_local = shape[0] * shape[1]
    return sparsemap_scratch(n_local, n_local + shared_parts(structure), workspace(structure, shape))


@jitable
def sparsemap_scratch(n_curved: Any, n_parts: Any, oracle: Any, most: Any = MOST_ATOMS) -> Any:
    """For a norm over `n_curved` parts: independent atoms are at most one more, and at most `most`."""
    atoms = make_atoms(min(n_curved + 2, most), n_parts)
    return SparseMAPScratch(atoms, np.empty(n_curved), np.empty(n_curved), oracle)


@jitable
def make_atoms(most: Any, n_parts: Any) -> Any:
    parts, factor = np.empty((most, n_parts)), np.empty((most, most))
    rows = np.empty((4, most))
    return VertexMixture(parts, np.arange(most), rows[0], rows[1], factor, rows[2], rows[3])


@kernel
def active_set_project(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, point: Any) -> Any:
    """Answers `project`: exact but for rounding, after finitely many vertices.

    Where atoms must be merged it ends at `ROUGH_TOLERANCE`, where rounds are stalled at `STALLED_TOLERANCE`;
    the maximum is then an upper bound, so that what is certified by it holds.
    """
    atoms = work.atoms
    mean = work.mean[: theta.size]
    gradient = work.gradient[: theta.size]
    # 1. Start at the best vertex.
    if maximize(structure, shape, theta, shared, work.oracle, point) == -np.inf:
        point[:] = 0.0
        return -np.inf
    first, scale = _score(theta, shared, point)
    n = _start(atoms, point, theta.size)
    new_factor = True
    full = False
    square = _inner(point[: theta.size], point)
    bound, before, last, due = np.inf, -np.inf, 0, LEAST_ROUNDS
    for round_ in range(100 * (theta.size + 10)):
        # 2. The vertex that is best at the gradient; done where it is no better than the mixture.
        level = _climb(atoms, n, theta, mean, gradient)
        maximize(structure, shape, gradient, shared, work.oracle, point)
        score, size = _score(theta, shared, point)
        scale = max(scale, size)
        gain = score - first - _inner(mean, point) - level
        value = level + 0.5 * _inner(mean, mean)
        bound = min(bound, value + gain)
        full = full or n == atoms.slot.size
        if gain <= TOLERANCE * (1.0 + scale):
            bound = -np.inf  # what is missing is a rounding error
            break
        if full and gain <= ROUGH_TOLERANCE * (1.0 + scale + square):
            break
        if round_ == due:
            missing = bound - value
            recent = round_ - last
            stalled = PATIENCE * round_ * (value - before) < missing * recent or round_ > PATIENCE * recent
            if stalled and missing <= STALLED_TOLERANCE * (1.0 + scale + square):
                break
            before, last, due = value, round_, round_ + max(n, LEAST_ROUNDS)
        # 3. Take it in and find the best weights. Where that leads nowhere, rounding errors have the upper
        #    hand: once more with a new factor, then no more.
        if n == atoms.slot.size:
            n = _merge_lightest(atoms, n, theta.size)
        n, entered = _enter(atoms, n, point, score - first, gain, theta.size)
        if entered:
            n, entered = _best_weights(atoms, n)
        if not entered:
            if new_factor:
                break
            for i in range(n):
                _grow(atoms, i, theta.size)
            n, _ = _best_weights(atoms, n)
        new_factor = not entered
    atoms.weight[n:] = 0.0  # whoever reads the atoms finds those of the answer
    return first + max(_mix(atoms, n, theta.size, point), bound)


@implements(project, SparseMAP)
@kernel
def sparsemap_project(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, point: Any) -> Any:
    return active_set_project(structure.inner, shape, theta, shared, work, point)


@kernel
def _score(theta: Any, shared: Any, vertex: Any) -> Any:
    """<theta, v> + <shared, v>, and the sum of its terms' sizes. -inf * 0 is 0 here."""
    value, size = 0.0, 0.0
    for k in range(vertex.size):
        if vertex[k] != 0.0:
            term = vertex[k] * (theta[k] if k < theta.size else shared[k - theta.size])
            value += term
            size += abs(term)
    return value, size


@kernel
def _inner(a: Any, b: Any) -> Any:
    """<a, b> over the entries that a has."""
    value = 0.0
    for k in range(a.size):
        value += a[k] * b[k]
    return value


@kernel
def _start(atoms: Any, vertex: Any, n_local: Any) -> Any:
    assign(atoms.parts[atoms.slot[0]], vertex)
    atoms.score[0] = 0.0
    atoms.weight[0] = 1.0
    _grow(atoms, 0, n_local)
    return 1


@kernel
def _climb(atoms: Any, n: Any, theta: Any, mean: Any, gradient: Any) -> Any:
    """mean <- z, gradient <- theta - z; returns <s, p> - ||z||^2, the value of z at its own gradient."""
    mean[:] = 0.0
    level = 0.0
    for i in range(n):
        weight = atoms.weight[i]
        level += weight * atoms.score[i]
        atom = atoms.parts[atoms.slot[i]]
        for k in range(mean.size):
            mean[k] += weight * atom[k]
    for k in range(mean.size):
        gradient[k] = theta[k] - mean[k]
    return level - _inner(mean, mean)


@kernel
def _grow(atoms: Any, n: Any, n_local: Any) -> Any:
    """Factor row n <- that of the atom in slot[n]; returns the square of its distance from the others' hull.

    It is relative to the atom's own square. `row` keeps what `_dependence` needs.
    """
    newest = atoms.parts[atoms.slot[n], :n_local]
    row = atoms.factor[n]
    square = 1.0 + _inner(newest, newest)
    left = square
    for i in range(n):
        value = 1.0 + _inner(newest, atoms.parts[atoms.slot[i]])
        for j in range(i):
            value -= atoms.factor[i, j] * row[j]
        row[i] = value / atoms.factor[i, i]
        left -= row[i] * row[i]
    row[n] = sqrt(max(left, DEPENDENT * square))
    return left / square


@kernel
def _back(atoms: Any, n: Any, x: Any) -> None:
    """x <- L'^-1 x, by rows of L."""
    for i in range(n - 1, -1, -1):
        x[i] /= atoms.factor[i, i]
        for j in range(i):
            x[j] -= atoms.factor[i, j] * x[i]


@kernel
def _enter(atoms: Any, n: Any, vertex: Any, score: Any, gain: Any, n_local: Any) -> Any:
    """Take a vertex in, with weight 0 where its local parts are independent of the other atoms'.

    Else they are sum_i c_i v_i with sum_i c_i = 1, and weight can move from the atoms i to the new one, c_i
    for 1, at no change of z: only the score rises, by `gain` for 1. It moves until an atom is used up.
    Returns the number of atoms, and False if the scores say that there is nothing to gain.
    """
    assign(atoms.parts[atoms.slot[n]], vertex)
    atoms.score[n] = score
    atoms.weight[n] = 0.0
    c = atoms.row
    while _grow(atoms, n, n_local) <= DEPENDENT:
        for i in range(n):
            c[i] = atoms.factor[n, i]
        _back(atoms, n, c)
        rise = score
        leaving = 0
        for i in range(n):
            rise -= c[i] * atoms.score[i]
            if c[i] > 1e-9 and (
                c[leaving] <= 1e-9 or atoms.weight[i] * c[leaving] < atoms.weight[leaving] * c[i]
            ):
                leaving = i
        if atoms.weight[n] == 0.0 and rise < 0.5 * gain:
            return n, False
        move = atoms.weight[leaving] / c[leaving]
        for i in range(n):
            atoms.weight[i] = max(atoms.weight[i] - move * c[i], 0.0)
        atoms.weight[n] += move
        _remove(atoms, n + 1, leaving)
        n -= 1
    return n + 1, True


@kernel
def _best_weights(atoms: Any, n: Any) -> Any:
    """weight <- argmax_{p >= 0, sum p = 1} <s, p> - 1/2 p' G p, without the atoms that get nothing.

    Wolfe's minor cycle: go to the best weights without bounds or, if some are negative, as far towards them
    as the bounds allow, then drop the atom that is used up. Returns the number of atoms, and False if the
    newest, of weight 0 so far, should not have been taken in.
    """
    weight, target = atoms.weight, atoms.target
    _solve(atoms, n)
    if weight[n - 1] == 0.0 and target[n - 1] <= NO_WEIGHT:
        return n - 1, False
    while True:
        step, leaving = 1.0, -1
        for i in range(n):
            if target[i] <= NO_WEIGHT:
                room = weight[i] / max(weight[i] - target[i], NO_WEIGHT)
                if leaving < 0 or room < step:
                    step, leaving = min(room, 1.0), i
        for i in range(n):
            weight[i] += step * (target[i] - weight[i])
        if leaving < 0:
            return n, True
        _remove(atoms, n, leaving)
        n -= 1
        for i in range(n):
            weight[i] = max(weight[i], 0.0)
        _solve(atoms, n)


@kernel
def _solve(atoms: Any, n: Any) -> None:
    """target <- argmax_{sum p = 1} <s, p> - 1/2 p' G p.

    That is (G + 1 1') p = s - tau 1, with tau such that sum p = 1.
    """
    factor, target, ones = atoms.factor, atoms.target, atoms.row
    for i in range(n):
        a, b = atoms.score[i], 1.0
        for j in range(i):
            a -= factor[i, j] * target[j]
            b -= factor[i, j] * ones[j]
        target[i] = a / factor[i, i]
        ones[i] = b / factor[i, i]
    tau = (_inner(ones[:n], target) - 1.0) / _inner(ones[:n], ones)
    for i in range(n):
        target[i] -= tau * ones[i]
    _back(atoms, n, target)


@kernel
def _remove(atoms: Any, n: Any, i: Any) -> None:
    """Forget atom i of n: the later ones move up, rotations make the factor triangular again."""
    factor = atoms.factor
    slot = atoms.slot[i]
    for r in range(i, n - 1):
        atoms.slot[r] = atoms.slot[r + 1]
        atoms.score[r] = atoms.score[r + 1]
        atoms.weight[r] = atoms.weight[r + 1]
        for c in range(r + 2):
            factor[r, c] = factor[r + 1, c]
    atoms.slot[n - 1] = slot
    # Row by row, since columns would be far apart in memory; the rotations are kept for the rows to come.
    cosine, sine = atoms.target, atoms.row
    for r in range(i, n - 1):
        carried = factor[r, i]
        for c in range(i, r):
            other = factor[r, c + 1]
            factor[r, c] = cosine[c] * carried + sine[c] * other
            carried = cosine[c] * other - sine[c] * carried
        length = hypot(carried, factor[r, r + 1])
        cosine[r], sine[r] = carried / length, factor[r, r + 1] / length
        factor[r, r] = length


@kernel
def _merge_lightest(atoms: Any, n: Any, n_local: Any) -> Any:
    """Make room in a full set: the two atoms of least weight become one, their mixture. z stays."""
    one, two = 0, 1
    for i in range(1, n):
        if atoms.weight[i] < atoms.weight[one]:
            one, two = i, one
        elif i > 1 and atoms.weight[i] < atoms.weight[two]:
            two = i
    one, two = min(one, two), max(one, two)
    weight = atoms.weight[one] + atoms.weight[two]
    share = atoms.weight[one] / weight
    score = share * atoms.score[one] + (1.0 - share) * atoms.score[two]
    a, b = atoms.parts[atoms.slot[one]], atoms.parts[atoms.slot[two]]
    for k in range(a.size):
        a[k] = share * a[k] + (1.0 - share) * b[k]
    _remove(atoms, n, two)
    _remove(atoms, n - 1, one)
    atoms.score[n - 2] = score
    atoms.weight[n - 2] = weight
    _grow(atoms, n - 2, n_local)
    return n - 1


@kernel
def _mix(atoms: Any, n: Any, n_local: Any, point: Any) -> Any:
    """point <- sum_i p_i v_i, no entry above its largest in the atoms; returns <s, p> - 1/2 ||z||^2."""
    total = 0.0
    for i in range(n):
        total += atoms.weight[i]
    value = 0.0
    for i in range(n):
        value += atoms.weight[i] / total * atoms.score[i]
    for k in range(point.size):
        mixed, most = 0.0, -np.inf
        for i in range(n):
            part = atoms.parts[atoms.slot[i], k]
            mixed += atoms.weight[i] / total * part
            most = max(most, part)
        point[k] = min(mixed, most)
    local = point[:n_local]
    return value - 0.5 * _inner(local, local)
