"""Questions to `marginals` and `project` whose answers tell whether they are right, as far as they can.

A projection p of theta satisfies <theta - p, v - p> <= 0 for the best v of `maximize(theta - p)`. Marginals
are the gradient of log Z, which is convex and not below the score of any output; and neither a projection nor
marginals score above the best output for any scores, since both are mixtures of outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import MATERIAL
from structlearn.structures.base import Structure

#: Projections and slopes of log Z are checked to this, relative to the size of the scores.
ROUGHLY = 1e-5
#: Half of the distance between the two scores from which a slope of log Z is computed.
STEP = 1e-4


def projection_problem(structure: Structure, thetas: Sequence[Array]) -> str:
    """Return what is wrong with projections of scores of one shape, as a sentence; "" if nothing is."""
    points = [structure.project(theta) for theta in thetas]
    for theta, z in zip(thetas, points):
        gradient = theta.copy()
        curved = structure.n_curved(structure.shape(theta))
        gradient.reshape(-1)[:curved] -= z.ravel()[:curved]
        missing = np.sum(gradient * (structure.maximize(gradient) - z))
        if missing > ROUGHLY * (1 + np.abs(theta).sum()):
            return f"A projection falls short of the best one by up to {missing:.3g}."
    return _outside(structure, thetas, points, "A projection")


def marginals_problem(structure: Structure, thetas: Sequence[Array], rng: np.random.Generator) -> str:
    """Return what is wrong with the marginals of scores of one shape, as a sentence; "" if nothing is."""
    answers = [structure.marginals(theta) for theta in thetas]
    for theta, (mean, log_z) in zip(thetas, answers):
        best = float(np.sum(theta * structure.maximize(theta)))
        if log_z < best - MATERIAL * (1 + abs(best)):
            return f"log Z is {log_z:.6g}, below the score {best:.6g} of the best output."
        way = rng.normal(size=theta.shape)
        ahead, back = (structure.marginals(theta + h * way).log_partition for h in (STEP, -STEP))
        if abs((ahead - back) / (2 * STEP) - np.sum(mean * way)) > ROUGHLY * (1 + np.abs(way).sum()):
            return "Marginals are not the derivatives of log Z."
    return _outside(structure, thetas, [mean for mean, _ in answers], "A vector of marginals")


def _outside(structure: Structure, thetas: Sequence[Array], points: Sequence[Array], name: str) -> str:
    """Return a sentence if a point is no mixture of outputs: for some scores it is above the best of them."""
    if structure.bounded or not structure.exact:
        return ""
    best = [float(np.sum(theta * structure.maximize(theta))) for theta in thetas]
    for point in points:
        for theta, highest in zip(thetas, best):
            above = float(np.sum(theta * point)) - highest
            if above > ROUGHLY * (1 + np.abs(theta).sum()):
                return (
                    f"{name} is no mixture of outputs: for some scores its own is {highest + above:.6g}, "
                    f"that of the best output {highest:.6g}."
                )
    return ""
