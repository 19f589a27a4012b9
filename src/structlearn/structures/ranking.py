"""The k best outputs and exact samples of any structure, by questions about parts that are on or off.

A structure that has a better way of its own (`k_best`, `sample`: chains, segments, trees) is asked for it.
Else a part is forbidden by the score -inf, and demanded by a score so large that every output with it comes
before, and is more probable by e^50 than, every output without it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Protocol, runtime_checkable

import numpy as np

from structlearn.core.contract import Array, marginals
from structlearn.core.kernels import is_implemented
from structlearn.structures.base import Structure

#: Marginals this near to 0 or 1 are those of parts that are decided.
DECIDED = 1e-12


@runtime_checkable
class Ranks(Protocol):
    """A structure that finds its k best outputs itself."""

    def k_best(self, theta: Array, k: int) -> tuple[Sequence[Any], Array]: ...


@runtime_checkable
class Samples(Protocol):
    """A structure that draws outputs itself."""

    def sample(self, theta: Array, n: int, random_state: np.random.Generator) -> Sequence[Any]: ...


def best_outputs(structure: Structure, theta: Array, k: int) -> tuple[list[Any], Array]:
    """argmax^(1..k)_y <theta, z(y)>: the k best outputs and their scores, best first; fewer if there are.

    `theta` is one part vector, as in `maximize`. Without a way of the structure's own, after Lawler (1972)
    and Murty (1968): what is left beside the best output of a set falls into one set for each of its
    parts, which is off while those before it are on.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}.")
    if isinstance(structure, Ranks):
        outputs, scores = structure.k_best(theta, k)
        return list(outputs), scores
    if not structure.exact or structure.bounded or structure.signed:
        kind = type(structure).__name__
        raise TypeError(f"{kind} has no k best outputs: what it finds best need not be the best output.")
    found = _k_best_vertices(structure, np.asarray(theta, dtype=np.float64), k)
    return [structure.decode(z) for z, _ in found], np.array([score for _, score in found])


def draw_outputs(structure: Structure, theta: Array, n: int, rng: np.random.Generator) -> list[Any]:
    """Draw `n` independent outputs of p(y) ~ exp <theta, z(y)>; TypeError where there is no exact way.

    Without a way of the structure's own one part after the other is switched on or off, by its probability
    given those before: one question about marginals for each part that is not decided.
    """
    if isinstance(structure, Samples):
        return list(structure.sample(theta, n, rng))
    if not is_implemented(marginals, structure.record) or structure.marginals_accuracy or structure.signed:
        kind = type(structure).__name__
        raise TypeError(
            f"{kind} has no exact samples, since it has no exact marginals; use PerturbedLayer, or the k "
            "best outputs."
        )
    draw = _draw_vertex(structure, np.asarray(theta, dtype=np.float64))
    return [structure.decode(draw(rng)) for _ in range(n)]


def _k_best_vertices(structure: Structure, theta: Array, k: int) -> list[tuple[Array, float]]:
    """Return vertices and their scores, best first."""
    demand, local = _demand(structure, theta), structure.n_local(structure.shape(theta))

    def best(on: list[int], off: list[int]) -> tuple[float, int, Array, list[int], list[int]] | None:
        scores = theta.copy()
        scores.reshape(-1)[on] += demand
        scores.reshape(-1)[off] = -np.inf
        try:
            z = structure.maximize(scores)
        except ValueError:  # no output is left
            return None
        inside = z.reshape(-1)
        if not (inside[on] > 0.5).all() or (inside[off] > 0.5).any():
            return None
        return -_inner(theta, z), next(ages), z, on, off

    ages = count()
    first = best([], [])
    heap = [] if first is None else [first]
    found: list[tuple[Array, float]] = []
    while heap and len(found) < k:
        loss, _, z, on, off = heapq.heappop(heap)
        if (structure.encode(structure.decode(z), structure.shape(theta)) == z).all():  # some are no outputs
            found.append((z, -loss))
        # outputs differ in what is on, or, where they may have fewer parts, in what is off
        flat = z.reshape(-1)[:local]
        fixed = {*on, *off}
        free = [j for j in range(local) if j not in fixed and theta.reshape(-1)[j] > -np.inf]
        used, unused = ([j for j in free if (flat[j] > 0.5) == is_on] for is_on in (True, False))
        for i, j in enumerate(used):
            rest = best([*on, *used[:i]], [*off, j])
            if rest is not None:
                heapq.heappush(heap, rest)
        for i, j in enumerate(unused):
            rest = best([*on, *used, j], [*off, *unused[:i]])
            if rest is not None:
                heapq.heappush(heap, rest)
    return found


def _draw_vertex(structure: Structure, theta: Array) -> Callable[[np.random.Generator], Array]:
    """Return a function that draws vertices."""
    demand, local = _demand(structure, theta), structure.n_local(structure.shape(theta))
    mean = structure.marginals(theta).mean

    def draw(rng: np.random.Generator) -> Array:
        scores, p = theta.copy(), mean.copy()
        for j in range(local):
            on = p.reshape(-1)[j]
            if DECIDED < on < 1.0 - DECIDED:
                taken = rng.random() < on
                scores.reshape(-1)[j] = scores.reshape(-1)[j] + demand if taken else -np.inf
                p = structure.marginals(scores).mean
        return np.rint(p)

    return draw


def _demand(structure: Structure, theta: Array) -> float:
    """Return what a part must gain so that all outputs with it come before all others."""
    finite = np.abs(theta[np.isfinite(theta)])
    return 50.0 + 2.0 * float(finite.sum()) * max(1.0, structure.largest_entry)


def _inner(theta: Array, z: Array) -> float:
    used = z != 0
    return float(theta[used] @ z[used])
