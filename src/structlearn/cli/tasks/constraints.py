"""Constraints on label sequences, from --constraints or from the labels of a file themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from structlearn.cli.tasks.task import Training
from structlearn.core.contract import Array
from structlearn.core.sentences import Statement
from structlearn.core.wording import quote
from structlearn.data import DataError
from structlearn.estimators.inputs.checking import label_codes
from structlearn.estimators.inputs.constraints import (
    SCHEMES,
    Constraints,
    describe_constraints,
    first_broken,
    forbidden_steps,
    scheme_of,
)
from structlearn.structures import Chain

NONE = "none"
#: What a column file has where a label is not known.
UNKNOWN = "_"
#: Between the labels of a pair.
_THEN = ">"


def parse_constraints(given: str) -> Constraints:
    """Return what --constraints stands for: a scheme, none, or pairs `before>after,...`."""
    if given.lower() in (NONE, *SCHEMES):
        return None if given.lower() == NONE else given.lower()
    pairs = [[label.strip() or None for label in pair.split(_THEN)] for pair in given.split(",")]
    if any(len(pair) != 2 or pair == [None, None] for pair in pairs):
        raise ValueError(
            "--constraints is bio, bioes, bilou, none, or pairs of labels before>after, as in "
            "'O>I-LOC,>I-LOC'; "
            f"got {quote(given)}."
        )
    return pairs


def constraints_for(
    y: Sequence[Array], given: str | None, *, spans: bool, error: Callable[[str, int], DataError]
) -> Constraints:
    """Return the constraints to train on these labels with: those given or, of spans, those that they follow.

    error : makes the error of a token, of all of the file, whose label may not be there
    """
    if given is None:
        return scheme_of(y, UNKNOWN) if spans else None
    chosen = parse_constraints(given)
    classes, codes, lengths = label_codes(y, "sequence")
    chain = Chain(len(classes), forbidden=forbidden_steps(chosen, classes, UNKNOWN))
    found = first_broken(chain, classes, codes, lengths)
    if found is not None:
        advice = "{reason} ({given}); correct it, or give --constraints none."
        raise error(Statement(advice, reason=found.reason, given=describe_constraints(chosen)), found.token)
    return chosen


def partly(y: Sequence[Array]) -> Sequence[Array]:
    """Return the labels, with None for unknown ones."""
    if not any((one == UNKNOWN).any() for one in y):
        return y
    return [np.where(one == UNKNOWN, np.array(None), one) for one in y]


def with_constraints(training: Training, constraints: Constraints) -> Training:
    """Return training data to be trained on with these constraints."""
    told = f", labels by {constraints.upper()}" if isinstance(constraints, str) else ""
    parameters = {**training.parameters, "constraints": constraints}
    return training._replace(summary=f"{training.summary}{told}", parameters=parameters)
