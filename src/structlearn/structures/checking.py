"""A report on what can be found out about a structure before training with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, marginals
from structlearn.core.errors import OracleError
from structlearn.core.kernels import is_implemented
from structlearn.core.rounding import MATERIAL
from structlearn.structures.base import Structure
from structlearn.structures.own import OwnStructure, as_structure, python_path
from structlearn.structures.questions import KnownOutputs, ask, findings, known_outputs, questions
from structlearn.structures.soft_questions import marginals_problem, projection_problem


@dataclass(frozen=True)
class StructureReport:
    """The findings of `check_structure`.

    Attributes
    ----------
    structure : name of its class or function
    checks : what was checked
    problems : what is wrong, a sentence each; empty if nothing was found
    """

    structure: str
    checks: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether no problem was found, which does not prove that there is none."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"{self.structure}: checked {', '.join(self.checks)}."]
        return "\n".join([*lines, *(f"- {one}" for one in self.problems or ("No problem was found.",))])


class Case(NamedTuple):
    """What is asked: a structure, outputs that are known, and how many questions to draw from `rng`."""

    structure: Structure
    known: list[KnownOutputs]
    n_questions: int
    rng: np.random.Generator

    def scores(self, most: int) -> list[Array]:
        """Return a few random scores of each shape."""
        return [theta for thetas in self.scores_of_shapes(most) for theta in thetas]

    def scores_of_shapes(self, most: int) -> list[list[Array]]:
        """Return the same, a list for each shape."""
        each = max(most // len(self.known), 2)
        return [questions(outputs.points, each, self.rng) for outputs in self.known]

    def pairs(self) -> Iterator[tuple[int, Array, Array]]:
        """Yield examples, their gold outputs, and answers to random scores of the same shape."""
        for outputs in self.known:
            answers = ask(self.structure, questions(outputs.points, 8, self.rng)).found
            yield from ((i, mu, z) for i, mu in zip(outputs.examples[:4], outputs.points) for z in answers)


def check_structure(
    structure: object,
    X: Sequence[Any],
    y: Sequence[Any],
    *,
    n_questions: int = 200,
    random_state: int = 0,
    raise_errors: bool = False,
) -> StructureReport:
    """Ask a structure about random scores, and look for answers that contradict one another.

    Parameters
    ----------
    structure : object
        Anything that `StructuredPredictor` takes.
    X : list of arrays
        Features of each example as for `StructuredPredictor`, (n_parts, d); only their shapes are used.
    y : list of outputs
    n_questions : int
        About how many scores `maximize` is asked for; the other checks ask some dozens more.
    random_state : int
    raise_errors : bool
        Whether to raise `OracleError` with the first problem instead of reporting it.

    Returns
    -------
    StructureReport
        Printed, it lists checks and problems. Nothing found is no proof: a wrong answer that no known output
        beats is not noticed.
    """
    own = as_structure(structure)
    checks, problems = ["outputs"], []
    known, wrong = _run_check("outputs", partial(_outputs, own, X, y), [])
    problems += wrong
    case = Case(own, known, n_questions, np.random.default_rng(random_state))
    for name, check in _CHECKS.items() if known else ():
        done, wrong = _run_check(name, partial(check, case), True)
        checks += [name] if done else []
        problems += wrong
    if raise_errors and problems:
        raise OracleError(problems[0])
    name = own.name if isinstance(own, OwnStructure) else type(own).__name__
    return StructureReport(name, tuple(checks), tuple(problems))


def _run_check(
    name: str, check: Callable[[], tuple[Any, list[str]]], otherwise: Any
) -> tuple[Any, list[str]]:
    """Return what a check says; where the user's code raises, `otherwise` and a sentence about it."""
    try:
        return check()
    except Exception as error:
        return otherwise, [f"While {name} were checked, {type(error).__name__} was raised: {error}"]


def _outputs(
    structure: Structure, X: Sequence[Any], y: Sequence[Any]
) -> tuple[list[KnownOutputs], list[str]]:
    """Check that outputs have as many parts as their examples, and survive decode and encode."""
    if len(X) != len(y):
        return [], [f"X has {len(X)} examples but y has {len(y)}: give one output per example."]
    shapes = [structure.shape(np.broadcast_to(0.0, x.shape[: structure.part_ndim])) for x in X]
    points = [structure.encode(one, shape) for one, shape in zip(y, shapes)]
    for i, (mu, shape) in enumerate(zip(points, shapes)):
        size = structure.n_local(shape) + structure.n_shared
        if mu.size != size or not np.isfinite(mu).all():
            return [], [f"Example {i} has {size} parts; its output is encoded as {mu.size} numbers: {mu}."]
    changed = [i for i, mu in enumerate(points) if not _is_kept(structure, mu, shapes[i])]
    problems = [f"The output of example {i} changes when it is decoded and encoded." for i in changed[:1]]
    return known_outputs(np.array(shapes), lambda i: points[i].reshape(X[i].shape[:-1])), problems


def _is_kept(structure: Structure, z: Array, shape: tuple[int, int]) -> bool:
    """Return whether a part vector is the same after decode and encode."""
    again = structure.encode(structure.decode(z), shape)
    return again.size == z.size and np.allclose(again.ravel(), z.ravel())


# ---- checks: whether one applies, and the problems found -------------------------------------------------

Found = tuple[bool, list[str]]


def _answers(case: Case) -> Found:
    return True, findings(case.structure, case.known, case.n_questions, int(case.rng.integers(1 << 31)))


def _check_decoding(case: Case) -> Found:
    """Check that the outputs of answers are the same after encode and decode."""
    if not case.structure.exact:
        return False, []
    for i, mu, z in case.pairs():
        shape = case.structure.shape(mu)
        if not _is_kept(case.structure, case.structure.encode(case.structure.decode(z), shape), shape):
            return True, [f"An answer for example {i} changes when it is decoded and encoded again."]
    return True, []


def _costs(case: Case) -> Found:
    """Check that Delta(z) = <c, z - mu> is finite, and not negative at any answer."""
    for i, mu, z in case.pairs():
        c = case.structure.cost(mu)
        if c.shape != mu.shape or not np.isfinite(c).all():
            return True, [f"The cost of example {i} must be finite numbers of shape {mu.shape}; got {c}."]
        delta = float(np.sum(c * (z - mu)))
        if delta < -MATERIAL * (1 + np.abs(c).sum()):
            return True, [f"With the gold output of example {i} another one costs {delta:.6g}, less than 0."]
    return True, []


def _projections(case: Case) -> Found:
    """Check that no output beats the projection at the gradient of <theta, z> - 1/2 ||z||^2 there."""
    found = (projection_problem(case.structure, thetas) for thetas in case.scores_of_shapes(8))
    return True, [sentence for sentence in found if sentence][:1]


def _marginals(case: Case) -> Found:
    """Check that log Z is not below the maximum, and that marginals are its derivatives."""
    if not is_implemented(marginals, case.structure.record):
        return False, []
    found = (marginals_problem(case.structure, thetas, case.rng) for thetas in case.scores_of_shapes(8))
    return True, [sentence for sentence in found if sentence][:1]


def _two_paths(case: Case) -> Found:
    """Check that `maximize` in Python and the compiled `oracle` reach the same scores."""
    python = python_path(case.structure)
    if python is None:
        return False, []
    for theta in case.scores(32):
        plain, compiled = (float(np.sum(theta * one.maximize(theta))) for one in (python, case.structure))
        if abs(plain - compiled) > MATERIAL * (1 + np.abs(theta).sum()):
            return True, [
                f"For one theta `maximize` reaches {plain:.6g}, the compiled oracle {compiled:.6g}."
            ]
    return True, []


_CHECKS: dict[str, Callable[[Case], Found]] = {
    "answers to random scores": _answers,
    "their outputs after encode and decode": _check_decoding,
    "costs": _costs,
    "projections": _projections,
    "marginals": _marginals,
    "Python and compiled answers": _two_paths,
}
