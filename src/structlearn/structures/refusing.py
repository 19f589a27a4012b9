"""What `fit` asks a user's own structure before it trains with it: a few questions, and a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.errors import OracleError
from structlearn.structures.base import SparseVertices, Structure
from structlearn.structures.own import OwnStructure
from structlearn.structures.questions import KnownOutputs, findings, known_outputs, questions
from structlearn.structures.soft_questions import marginals_problem, projection_problem

#: How many questions `fit` asks an oracle of the user's own: one per example, but within these bounds.
FEWEST_QUESTIONS, MOST_QUESTIONS = 8, 32
#: Examples whose instances are asked about, spread over all.
MOST_INSTANCES = 8
#: Scores of one shape for which `marginals` and `project` are asked.
SOFT_QUESTIONS = 4


class Asked(NamedTuple):
    """A structure, and outputs of it that are known."""

    structure: Structure
    known: list[KnownOutputs]


def refuse_wrong_oracle(structure: Structure, shapes: Array, gold: SparseVertices) -> None:
    """Raise an OracleError if answers to at most `MOST_QUESTIONS` questions show that an oracle is wrong.

    Where examples have instances of their own, some of these are asked about, each with its gold output.
    """
    asked = list(_by_instance(structure, shapes, gold))
    n_questions = min(max(len(shapes), FEWEST_QUESTIONS), MOST_QUESTIONS)
    for one in asked:
        found = findings(one.structure, one.known, n_questions // len(asked), seed=0)
        if found:
            raise OracleError(found[0])
    for one in asked:
        _refuse_wrong_soft_answers(one)


def _by_instance(structure: Structure, shapes: Array, gold: SparseVertices) -> Iterator[Asked]:
    """Yield the structure of all examples or, where they have instances, those of some."""

    def point(i: int) -> Array:
        shape = tuple(shapes[i].tolist())
        mu = gold.dense(i, structure.n_local(shape) + structure.n_shared)
        return mu.reshape(shape) if structure.part_ndim == 2 else mu

    if isinstance(structure, OwnStructure) and structure.instances is not None:
        few = min(len(shapes), MOST_INSTANCES)
        for i in np.unique(np.linspace(0, len(shapes) - 1, few).astype(int)).tolist():
            yield Asked(structure.of_example(i), [KnownOutputs([i], [point(i)])])
    else:
        yield Asked(structure, known_outputs(shapes, point))


def _refuse_wrong_soft_answers(asked: Asked) -> None:
    """Raise an OracleError if `marginals` or `project` of a user's own are seen to be wrong."""
    structure, rng = asked.structure, np.random.default_rng(0)
    if not isinstance(structure, OwnStructure):
        return
    for outputs in asked.known:
        thetas = questions(outputs.points, SOFT_QUESTIONS, rng)
        problems = [
            marginals_problem(structure, thetas, rng) if structure.has_marginals else "",
            projection_problem(structure, thetas) if structure.has_projection else "",
        ]
        for name, sentence in zip(("marginals", "project"), problems):
            if sentence:
                raise OracleError(f"{sentence} Correct `{name}`, or leave it out.")
