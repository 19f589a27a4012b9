"""Answers of programs: solutions that were found before are tried first, then HiGHS is asked.

A mixed-integer program is first solved without whole numbers. That gives a bound, and often the answer: where
the vertex happens to be whole, or where the best solution found before is as good as the bound says. Only
then is branch and bound begun. So answers are right, or within the gap that was asked for, whatever was
found before.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import local

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.structures.decisions.highs import Polyhedron, ProgramAnswer, ProgramSolver, make_solver
from structlearn.structures.decisions.program_input import unsolvable

#: Relative errors of answers, of which certificates take account.
RELATIVE = 1e-9
#: Solutions of each program that are remembered, and answers to the last questions.
MOST_SOLUTIONS, MOST_ANSWERS = 256, 4096
#: A part so near to a whole number is one.
_NEAR = 1e-9


class ProgramOracle:
    """`maximize` and an upper bound of some programs.

    Parameters
    ----------
    programs : sequence of Polyhedron
    gap : float
        The relative gap at which mixed-integer programs stop.
    seconds : float or None
        When they must stop.
    bounded : bool
        Whether answers may be below the maximum.
    """

    def __init__(
        self, programs: Sequence[Polyhedron], gap: float, seconds: float | None, bounded: bool
    ) -> None:
        self.programs = programs
        self.gap = gap
        self.seconds = np.inf if seconds is None else seconds
        self.bounded = bounded
        #: how often HiGHS was asked
        self.calls = 0
        self._solvers = local()
        self._known = [SolutionPool(one.n_parts) for one in programs]
        self._answers: dict[tuple[int, bytes], tuple[Array, float, float]] = {}

    def __call__(self, shape: Shape, theta: Array, shared: Array, vertex: Array) -> float:
        point, value, _ = self.answer(shape[1], theta)
        vertex[:] = point
        return value

    def bound(self, shape: Shape, theta: Array, shared: Array, vertex: Array) -> float:
        """Return an upper bound of the maximum."""
        return self.answer(shape[1], theta)[2]

    def check_feasible(self) -> None:
        """ValueError where the first program has no solution; else remember one."""
        self.answer(0, np.zeros(self.programs[0].n_parts))

    def answer(self, which: int, theta: Array) -> tuple[Array, float, float]:
        """Return a solution, its score, and an upper bound; the score -inf where none is allowed."""
        key = which, theta.tobytes()
        found = self._answers.get(key)
        if found is None:
            found = self._solve(which, theta)
            if len(self._answers) >= MOST_ANSWERS:
                self._answers.clear()
            self._answers[key] = found
        return found

    def _solve(self, which: int, theta: Array) -> tuple[Array, float, float]:
        program, pool = self.programs[which], self._known[which]
        forbidden = np.isneginf(theta)
        lower, upper = program.lower, program.upper
        if forbidden.any():
            if (lower[forbidden] > 0.0).any() or (upper[forbidden] < 0.0).any():
                return np.zeros(theta.size), -np.inf, -np.inf
            lower, upper = np.where(forbidden, 0.0, lower), np.where(forbidden, 0.0, upper)
            theta = np.where(forbidden, 0.0, theta)
        size = float(np.abs(theta).max())
        scores = theta / size if size > 0.0 else theta
        answer = self._relaxed(which, scores, lower, upper)
        if answer.point.size == 0:
            if not forbidden.any():
                raise ValueError(unsolvable(answer.said))
            return np.zeros(theta.size), -np.inf, -np.inf
        point = _rounded(program, answer.point)
        if program.whole.any():
            point, bound = self._in_whole_numbers(which, scores, lower, upper, point, answer.bound)
            if not point.size:
                return np.zeros(theta.size), -np.inf, -np.inf
        else:
            bound = answer.bound
        pool.add(point)
        value = float(theta @ point)
        slack = RELATIVE * (1.0 + float(np.abs(point).sum()))
        if not self.bounded and bound <= float(scores @ point) + slack:
            return point, value, value
        return point, value, max(bound * size if size > 0.0 else value, value)

    def _relaxed(self, which: int, scores: Array, lower: Array, upper: Array) -> ProgramAnswer:
        self.calls += 1
        return self._solver(which).relaxed(scores, lower, upper)

    def _in_whole_numbers(
        self, which: int, scores: Array, lower: Array, upper: Array, vertex: Array, bound: float
    ) -> tuple[Array, float]:
        """Return a solution and a bound; the solution empty where there is none."""
        program, pool = self.programs[which], self._known[which]
        slack = RELATIVE
        if (vertex[program.whole] == np.rint(vertex[program.whole])).all():
            return vertex, bound
        best = pool.best(scores, lower, upper)
        if best.size and self._is_close(float(scores @ best), bound, slack):
            return best, bound
        self.calls += 1
        answer = self._solver(which).whole(scores, lower, upper, self.gap, self.seconds)
        bound = min(bound, answer.bound)
        if answer.point.size:
            found = _rounded(program, answer.point)
            if not best.size or scores @ found > scores @ best:
                best = found
        if not best.size and "nfeasible" not in answer.said:
            raise ValueError(f"HiGHS found no solution in time (it says: {answer.said}); raise time_limit.")
        if not best.size and lower is program.lower:
            raise ValueError(unsolvable(answer.said))
        return best, bound

    def _is_close(self, value: float, bound: float, slack: float) -> bool:
        """Whether a solution is as good as it must be."""
        return bound - value <= max(self.gap * abs(value), slack)

    def _solver(self, which: int) -> ProgramSolver:
        """Return the solver of this thread."""
        kept: dict[int, ProgramSolver] = self._solvers.__dict__.setdefault("of", {})
        if which not in kept:
            kept[which] = make_solver(self.programs[which])
        return kept[which]

    def __reduce__(self) -> tuple[type[ProgramOracle], tuple[object, ...]]:
        seconds = None if np.isinf(self.seconds) else self.seconds
        return ProgramOracle, (self.programs, self.gap, seconds, self.bounded)


class SolutionPool:
    """Solutions of one program that were found, the last ones."""

    def __init__(self, n_parts: int) -> None:
        self.points = np.empty((0, n_parts))
        self.count = 0
        self._places: dict[bytes, int] = {}

    def add(self, point: Array) -> None:
        """Remember a solution."""
        key = point.tobytes()
        if key in self._places:
            return
        if self.count == len(self.points) < MOST_SOLUTIONS:
            more = np.empty((min(2 * self.count + 8, MOST_SOLUTIONS), point.size))
            more[: self.count] = self.points
            self.points = more
        place = self.count if self.count < MOST_SOLUTIONS else len(self._places) % MOST_SOLUTIONS
        if self.count == MOST_SOLUTIONS:  # the oldest one makes room
            oldest = next(iter(self._places))
            place = self._places.pop(oldest)
        self.points[place] = point
        self._places[key] = place
        self.count = len(self._places)

    def best(self, scores: Array, lower: Array, upper: Array) -> Array:
        """Return the best solution within bounds; empty where none is known."""
        known = self.points[: self.count]
        values = known @ scores
        values[((known < lower - _NEAR) | (known > upper + _NEAR)).any(axis=1)] = -np.inf
        if not values.size or values.max() == -np.inf:
            return np.empty(0)
        return known[int(values.argmax())].copy()


def _rounded(program: Polyhedron, point: Array) -> Array:
    """Return a point whose parts that are whole, or must be, are exactly so."""
    near = np.rint(point)
    close = np.abs(point - near) <= np.where(program.whole, 1e-6, _NEAR)
    return np.where(close, near + 0.0, point)
