"""Finding the example whose answer was not maximal, when a duality gap comes out negative.

For every w and every dual point z, as far as answers are maximal,

    P(w) - D(z) >= sum_i p_i { max_y <theta_i + c_i, y> - <theta_i + c_i, z_i> } >= 0

So below zero some z_i, a mixture of outputs that were seen, has a higher score than the answer at w.
"""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import MATERIAL
from structlearn.problem.objective import Objective
from structlearn.problem.problem import Problem


def refutation(objective: Problem, w: Array, z: Array | None, gap: float) -> str:
    """Write a sentence for a negative gap, which names an example if one is found.

    `z` is a dual point, examples end to end; without one, answers at other weights are compared.
    """
    found = _beaten(objective, w, z) if isinstance(objective, Objective) else None
    if found is None:
        return (
            f"The duality gap came out as {gap:.3g}, which no exact oracle allows: some answer of `maximize` "
            "is not maximal, or not an output."
        )
    i, own, known = found
    return (
        f"The answer for example {i} is not maximal: its score is {own:.6g}, that of outputs seen before is "
        f"{known:.6g} (so that the duality gap came out as {gap:.3g}); correct `maximize`."
    )


def _beaten(objective: Objective, w: Array, z: Array | None) -> tuple[int, float, float] | None:
    """Find an example, the score of its answer at w, and a higher one of another point."""
    others = [_points(objective, z)] if z is not None else []
    others += [dict(objective.each_prediction(at, objective.active)) for at in (0 * w, w / 2, 2 * w, -w)]
    for i, own in objective.each_prediction(w, objective.active):
        theta = _scores(objective, w, i)
        known = max(float(theta @ other[i]) for other in others)
        if known > float(theta @ own) + MATERIAL * float(np.abs(theta * own).sum()):
            return i, float(theta @ own), known
    return None


def _points(objective: Objective, z: Array) -> dict[int, Array]:
    blocks = np.split(z, objective.point_start[1:-1])
    return {int(i): blocks[i] for i in objective.active}


def _scores(objective: Objective, w: Array, i: int) -> Array:
    """Return theta_i + c_i, local and then shared parts."""
    scoring = objective.scoring
    cost = objective.cost[scoring.start[i] : scoring.start[i + 1]]
    return np.concatenate([scoring.scores(w, i, i + 1) + cost, scoring.shared(w)])
