"""Answers of a user's object in plain Python: checked, and counted.

`maximize(theta)` may become `maximize(theta, x)`, with what belongs to the example, and an object may have a
`maximize_many(thetas)`, or `maximize_many(thetas, xs)`, which answers for several examples at once. Where all
examples are asked together, answers are made beforehand (`prepare`), by that method, by several
threads or, with `parallel = "processes"`, by several processes. The object may have `marginals` and
`project`, too (see `soft_answers`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import Parameter, signature
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape
from structlearn.core.errors import OracleError
from structlearn.core.rounding import MATERIAL
from structlearn.core.threads import in_order
from structlearn.structures.oracle_processes import OracleProcesses, Question
from structlearn.structures.soft_answers import checked_marginals, checked_projection, projected_value


class CheckedAnswer(NamedTuple):
    """A vertex, its score, and a bound on the score of all others."""

    vertex: Array
    score: float
    bound: float


class PythonOracle:
    """Answers for a structure through a plain `maximize(theta) -> vertex`.

    Parameters
    ----------
    inner : object with `maximize` and perhaps `maximize_many`, `marginals`, `project` and `parallel`, which
        is "threads" or "processes"; or that function
    part_ndim : int
        The number of axes of the scores.
    bounded : bool
        Whether it returns (vertex, bound), a vertex that may be below the maximum and a bound above it.
    instances : sequence, optional
        What belongs to each example: shapes are then (parts, number of the instance).
    """

    def __init__(
        self,
        inner: Any,
        part_ndim: int,
        *,
        bounded: bool = False,
        instances: Sequence[object] | None = None,
    ) -> None:
        self._inner = inner
        self._maximize: Callable[..., Any] = getattr(inner, "maximize", inner)
        self._many: Callable[..., Any] | None = getattr(inner, "maximize_many", None)
        self._part_ndim = part_ndim
        self._bounded = bounded
        self._instances = instances
        self._parallel = _checked_parallel(getattr(inner, "parallel", "threads"))
        self._prepared: dict[tuple[int, int, bytes], CheckedAnswer] = {}
        #: answers to the next questions, in their order
        self._in_turn: deque[Any] = deque()
        #: how many contexts of `working` are open, and the processes that they end
        self._depth = 0
        self._processes: OracleProcesses | None = None
        #: how many answers the user's object has made
        self.calls = 0

    def __call__(self, shape: Shape, theta: Array, shared: Array, vertex: Array) -> float:
        found = self._answer(shape, theta)
        vertex[:] = found.vertex
        return found.score

    def bound(self, shape: Shape, theta: Array, shared: Array, vertex: Array) -> float:
        """Return the maximum, or its bound where answers may be below it."""
        return self(shape, theta, shared, vertex) if not self._bounded else self._answer(shape, theta).bound

    def marginals(self, shape: Shape, theta: Array, shared: Array, mean: Array) -> float:
        """Write the marginals; return log Z."""
        self.calls += 1
        found = checked_marginals(self._ask(self._inner.marginals, shape, self._asked(shape, theta)), theta)
        mean[:] = found.parts
        return found.log_partition

    def project(self, shape: Shape, theta: Array, shared: Array, point: Array) -> float:
        """Write the projection; return the maximum of <theta, z> - 1/2 ||z||^2, or a bound of it."""
        self.calls += 1
        answer = self._ask(self._inner.project, shape, self._asked(shape, theta))
        point[:] = checked_projection(answer, theta)
        highest = self._answer(shape, theta - point).bound
        return projected_value(theta, point, highest, is_bound=self._bounded)

    @property
    def in_processes(self) -> bool:
        """Whether other processes may answer now."""
        return self._parallel == "processes" and self._many is None and self._depth > 0

    @contextmanager
    def working(self) -> Iterator[None]:
        """Have other processes answer inside, if the object says so; they end with the outermost context."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and self._processes is not None:
                self._processes.close()
                self._processes = None

    def prepare(
        self, shapes: Sequence[Shape], thetas: Sequence[Array], n_jobs: int, *, in_turn: bool = False
    ) -> None:
        """Answer questions that will be asked next, `in_turn` where they are asked in this order."""
        self.forget()
        if self._many is None and n_jobs == 1:
            return
        asked = [self._asked(shape, theta) for shape, theta in zip(shapes, thetas)]
        answers = self._ask_all(shapes, asked, n_jobs)
        self.calls += len(asked)
        if in_turn:
            self._in_turn.extend(answers)
            return
        for shape, theta, answer in zip(shapes, thetas, answers):
            key = (*shape, np.asarray(theta).tobytes())
            self._prepared[key] = _checked(answer, theta, self._bounded)

    def forget(self) -> None:
        """Leave no prepared answer."""
        self._prepared = {}
        self._in_turn.clear()

    def _ask_all(self, shapes: Sequence[Shape], asked: Sequence[Array], n_jobs: int) -> Sequence[Any]:
        """Return the answers of `maximize_many`, of other processes, or of threads."""
        if self._many is not None:
            return self._ask_many(shapes, asked)
        if self.in_processes:
            if self._processes is None:
                self._processes = OracleProcesses(self._maximize, self._instances, n_jobs)
            return self._processes.answer([Question(*one) for one in zip(asked, (k for _, k in shapes))])
        with in_order(n_jobs) as run:
            return list(run(lambda one: self._ask(self._maximize, *one), list(zip(shapes, asked))))

    def _ask_many(self, shapes: Sequence[Shape], asked: Sequence[Array]) -> Sequence[Any]:
        many, given = cast(Callable[..., Any], self._many), [theta.copy() for theta in asked]
        others = [] if self._instances is None else [[self._instances[which] for _, which in shapes]]
        answers: Sequence[Any] = many(given, *others)
        if len(answers) != len(asked):
            raise OracleError(
                f"maximize_many must return one answer per question ({len(asked)}); got {len(answers)}."
            )
        return answers

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_depth": 0, "_processes": None}

    def _asked(self, shape: Shape, theta: Array) -> Array:
        return theta.reshape(shape if self._part_ndim == 2 else theta.shape)

    def _ask(self, method: Callable[..., Any], shape: Shape, asked: Array) -> Any:
        if self._instances is None:
            return method(asked.copy())  # the user may write to it
        return method(asked.copy(), self._instances[shape[1]])

    def _answer(self, shape: Shape, theta: Array) -> CheckedAnswer:
        if self._in_turn:
            return _checked(self._in_turn.popleft(), theta, self._bounded)
        if self._prepared:
            found = self._prepared.get((*shape, theta.tobytes()))
            if found is not None:
                return found
        self.calls += 1
        return _checked(self._ask(self._maximize, shape, self._asked(shape, theta)), theta, self._bounded)


def _checked(answer: Any, theta: Array, bounded: bool) -> CheckedAnswer:
    """Return what a `maximize` has returned, if it can be; ValueError or OracleError otherwise."""
    given, value = _without_value(answer)
    found = np.asarray(given, dtype=np.float64).ravel()
    if found.shape != theta.shape:
        raise ValueError(f"maximize must return a vector of {theta.size} parts; it returned {found.size}.")
    if not np.isfinite(found).all():
        raise OracleError("maximize must return a vertex, such as zeros and ones; it returned NaN or inf.")
    chosen = found != 0  # -inf * 0 is NaN
    terms = theta[chosen] * found[chosen]
    score = float(terms.sum())
    slack = MATERIAL * (1.0 + np.abs(terms).sum())
    if bounded:
        return CheckedAnswer(found, score, _checked_bound(value, score, slack))
    if value is not None and not abs(value - score) <= slack:
        raise OracleError(
            f"maximize returned the value {value:.6g}, but its vertex has the score {score:.6g}; if it is a "
            "bound on all scores, give the object the attribute bounded = True."
        )
    return CheckedAnswer(found, score, score)


def _checked_bound(value: float | None, score: float, slack: float) -> float:
    if value is None:
        raise OracleError("An oracle with bounded = True must return (vertex, bound); it returned no bound.")
    if not value >= score - slack:
        raise OracleError(
            f"maximize returned the bound {value:.6g}, but its own vertex has the score {score:.6g}, "
            "which is higher."
        )
    if value == np.inf:
        raise OracleError("maximize returned an infinite bound; return the bound that the solver has proved.")
    return max(value, score)


def _without_value(given: Any) -> tuple[ArrayLike, float | None]:
    """Return the vertex that a `maximize` has returned, and the value if it returned (vertex, value)."""
    if isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) and not np.ndim(given[1]):
        return given[0], float(given[1])
    return given, None


def _checked_parallel(given: object) -> str:
    if given in ("threads", "processes"):
        return str(given)
    raise ValueError(f"parallel must be 'threads' or 'processes'; got {given!r}.")


def takes_an_example(maximize: Callable[..., Any]) -> bool:
    """Whether a `maximize` asks for what belongs to the example, as a second argument."""
    try:
        known = signature(maximize).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in positional and one.default is Parameter.empty for one in known) == 2
