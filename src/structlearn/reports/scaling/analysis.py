"""What a study says: exponents of growth, and who is quickest where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structlearn.reports.scaling.grid import Cell, known_lambdas
from structlearn.reports.scaling.results import NOT_RUN, Results

#: A line through fewer points says nothing of its error.
_FEWEST_POINTS = 3


class Exponent(NamedTuple):
    """An effort that grows like n^exponent.

    error : standard error of the exponent
    points : how many sizes it was fitted to
    whole : whether these are all sizes; if not, the largest were out of reach, and growth is no slower
    """

    exponent: float
    error: float
    points: int
    whole: bool = True


def fitted_exponent(n: Sequence[float], effort: Sequence[float]) -> Exponent | None:
    """Fit log(effort) = exponent * log(n) + constant by least squares; None for fewer than three points."""
    if len(n) < _FEWEST_POINTS:
        return None
    x, y = np.log(n), np.log(effort)
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    rest = y - y.mean() - slope * x
    return Exponent(slope, float(np.sqrt(rest @ rest / (len(n) - 2) / (x @ x))), len(n))


def growth(
    results: Results, solver: str, lam: str, gap: float, effort: str = "cpu_seconds"
) -> Exponent | None:
    """Return how an effort to a gap (a field of `Effort`) grows with the number of examples."""
    sizes = [n for n in results.sizes if lam in known_lambdas(n)]
    took = {n: results.effort(Cell(solver, n, lam), gap) for n in sizes}
    points = [(n, getattr(one, effort)) for n, one in took.items() if one is not None]
    points = [(n, value) for n, value in points if value]
    found = fitted_exponent(*zip(*points, strict=True)) if points else None
    return None if found is None else found._replace(whole=len(points) == len(sizes))


class Winner(NamedTuple):
    """The quickest solver of a cell; how many times as long the next one took (None if none came there)."""

    solver: str
    cpu_seconds: float
    ahead: float | None


def winner(results: Results, n: int, lam: str, gap: float) -> Winner | None:
    """Return the solver with the fewest processor seconds to a gap; None if no solver came there."""
    times = [(results.seconds(Cell(solver, n, lam), gap), solver) for solver in results.solvers]
    ranked = sorted((seconds, solver) for seconds, solver in times if seconds is not None)
    if not ranked:
        return None
    (least, solver), *others = ranked
    return Winner(solver, least, others[0][0] / max(least, 1e-9) if others else None)


def last_winner(results: Results, lam: str, gap: float) -> tuple[int, Winner | None]:
    """Return the largest number of examples with which any solver reached a gap, and the winner there.

    If no solver came there, all examples and None.
    """
    found = ((n, winner(results, n, lam, gap)) for n in reversed(results.sizes))
    return next((one for one in found if one[1] is not None), (results.sizes[-1], None))


def without_winner(results: Results, n: int, lam: str, gap: float) -> str:
    """Return why there is no winner: "none" came there, or some solver was "not run"."""
    said = [results.seconds_text(Cell(solver, n, lam), gap, str) for solver in results.solvers]
    return NOT_RUN if NOT_RUN in said else "none"
