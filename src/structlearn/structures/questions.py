"""Questions to an oracle whose answers tell whether it is right, as far as that can be told cheaply.

The maximum of <theta, z> over M is not below <theta, v> for any point v of M that is known: a gold output, or
an answer to another question of the same shape. So answers to random scores refute one another where they are
not maximal. Besides, an answer is finite and the same for the same scores, its value is <theta, z>, and the
scores are as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import MATERIAL
from structlearn.structures.base import Structure

#: Gold outputs of one shape that answers are compared with.
MOST_GOLD = 16


class KnownOutputs(NamedTuple):
    """Gold outputs of one shape: the numbers of their examples, and their part vectors."""

    examples: Sequence[int]
    points: Sequence[Array]


class Answers(NamedTuple):
    """Scores, the answers to them, the values that came with them, and the scores as they were afterwards."""

    asked: list[Array]
    found: list[Array]
    values: Array
    left: list[Array]


def findings(structure: Structure, known: Sequence[KnownOutputs], n_questions: int, seed: int) -> list[str]:
    """Return what is wrong with an oracle's answers, one sentence per kind of error; [] if nothing is.

    About `n_questions` are asked, shared among the shapes. Whatever the oracle raises is raised.
    """
    rng = np.random.default_rng(seed)
    each = max(n_questions // max(len(known), 1), 4)
    found: dict[str, str] = {}
    for outputs in known:
        answers = ask(structure, questions(outputs.points, each, rng))
        for kind, sentence in _problems(structure, outputs, answers):
            found.setdefault(kind, sentence)
    return list(found.values())


def questions(points: Sequence[Array], n: int, rng: np.random.Generator) -> list[Array]:
    """Return n scores of the shape of `points`: around some of them, all negative, random; the last again."""
    shape = points[0].shape
    near = [2 * point - 1 + 0.1 * rng.normal(size=shape) for point in points[: n // 4]]
    negative = [-0.1 - np.abs(rng.normal(size=shape)) for _ in range(max(n // 4, 1))]
    others = [rng.normal(size=shape) for _ in range(n - len(near) - len(negative) - 1)]
    asked = [*near, *negative, *others]
    return [*asked, asked[-1].copy()]


def ask(structure: Structure, asked: Sequence[Array]) -> Answers:
    """Ask for all scores in order."""
    left = [np.ascontiguousarray(theta, dtype=np.float64).copy() for theta in asked]
    found, values = structure.respond(structure.record, left)
    return Answers(list(asked), found, values, left)


def _problems(structure: Structure, known: KnownOutputs, answers: Answers) -> list[tuple[str, str]]:
    """Return the kind and the sentence of each error; of answers that are not finite, nothing but that."""
    if not all(np.isfinite(z).all() for z in answers.found):
        return [
            ("finite", "The oracle writes NaN or inf into the vertex, which holds numbers such as 0 and 1.")
        ]
    scores = np.array([np.sum(theta * z) for theta, z in zip(answers.asked, answers.found)])
    sizes = np.array([np.abs(theta * z).sum() for theta, z in zip(answers.asked, answers.found)])
    slack = (MATERIAL + structure.accuracy) * (1.0 + sizes)
    named = (
        ("written", _check_theta_unchanged(answers)),
        ("value", _wrong_value(answers, scores, slack)),
        ("repeated", _not_repeated(scores, slack)),
        ("beaten", _beaten(structure, known, answers, scores, slack)),
    )
    return [(kind, sentence) for kind, sentence in named if sentence]


def _check_theta_unchanged(answers: Answers) -> str:
    if all(np.array_equal(now, before) for now, before in zip(answers.left, answers.asked)):
        return ""
    return "The oracle writes to theta, which solvers read afterwards; work on a copy, theta.copy()."


def _wrong_value(answers: Answers, scores: Array, slack: Array) -> str:
    wrong = np.flatnonzero(~(np.abs(answers.values - scores) <= slack))
    if not wrong.size:
        return ""
    k = wrong[0]
    return (
        f"The oracle returns {answers.values[k]:.6g} for a vertex whose score is {scores[k]:.6g}; it must "
        "return <theta, out>, the sum of the scores of the parts that it has chosen."
    )


def _not_repeated(scores: Array, slack: Array) -> str:
    """Return a sentence if the answers to the last two questions, which are the same, differ."""
    if abs(scores[-1] - scores[-2]) <= slack[-1]:
        return ""
    return (
        f"Asked twice for the same scores, the oracle returned outputs whose scores are {scores[-2]:.6g} and "
        f"{scores[-1]:.6g}; its answer must depend on the scores alone."
    )


def _beaten(structure: Structure, known: KnownOutputs, answers: Answers, scores: Array, slack: Array) -> str:
    """Return a sentence if some answer scores below a known point; of an approximation, if most do."""
    asked, found = (np.stack([one.ravel() for one in each]) for each in (answers.asked, answers.found))
    gold = np.stack([point.ravel() for point in known.points])
    rivals = asked @ np.concatenate([gold, found]).T
    beaten = rivals.max(axis=1) > scores + slack
    if beaten.sum() <= (0 if structure.exact and not structure.bounded else beaten.size / 2):
        return ""
    k = int(np.argmax(np.where(beaten, rivals.max(axis=1) - scores, -np.inf)))
    best = int(np.argmax(rivals[k]))
    rival = "its own answer for other scores" if best >= len(gold) else "the gold output"
    i = known.examples[best if best < len(gold) else 0]
    lowest = scores <= rivals.min(axis=1) + slack
    return (
        f"The answer for random scores of the parts of example {i} is not maximal: its score is "
        f"{scores[k]:.6g}, that of {rival} is {rivals[k, best]:.6g}; {_advice(asked, found, beaten, lowest)}"
    )


def _advice(asked: Array, found: Array, beaten: Array, lowest: Array) -> str:
    if lowest.mean() > 0.9:
        return "it seems to minimise: `maximize` must return the output of the highest score."
    if ((asked < 0) & (found > 0))[beaten].any(axis=1).all():
        return "it errs where it must choose parts of negative scores: do not treat these as zero."
    return "correct `maximize`, or the output."


# ---- of a data set ------------------------------------------------------------------------------------


def known_outputs(shapes: Array, point: Callable[[int], Array]) -> list[KnownOutputs]:
    """Return gold outputs of the most frequent shapes, at most four; `point(i)` is that of example i."""
    kinds, inverse, counts = np.unique(shapes, axis=0, return_inverse=True, return_counts=True)
    found = []
    for kind in np.argsort(-counts, kind="stable")[: min(len(kinds), 4)]:
        members = np.flatnonzero(inverse.ravel() == kind)[:MOST_GOLD].tolist()
        found.append(KnownOutputs(members, [point(i) for i in members]))
    return found
