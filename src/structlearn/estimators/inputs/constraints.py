"""Constraints on label sequences: schemes of spans by name, or forbidden pairs of labels.

    bio     I-x comes after B-x or I-x only
    bioes   B-x and I-x are followed by I-x or E-x, which come after nothing else: no span is left open
    bilou   the same with L-x for E-x and U-x for S-x

None stands for what is before the first label and after the last, outside of all spans.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.registry import one_of
from structlearn.core.sentences import ParameterError, Statement
from structlearn.core.wording import plain, quote
from structlearn.estimators.inputs.checking import label_codes
from structlearn.metrics import Outputs
from structlearn.structures import Chain, ConditionedChain

#: A scheme by name, or forbidden pairs (before, after), None for the start or the end.
Constraints: TypeAlias = str | Sequence[Sequence[object]] | None
#: The marks of each scheme.
SCHEMES = {"bio": "BIO", "bioes": "BIOES", "bilou": "BILOU"}
_AS_IN_BIOES = {"L": "E", "U": "S"}
Step: TypeAlias = tuple[int | None, int | None]


class BrokenStep(NamedTuple):
    """A step that gold labels make although it is forbidden: which sequence, which token of all, and why."""

    sequence: int
    token: int
    reason: str


def forbidden_steps(
    constraints: Constraints, classes: Array, unknown: str | None = None
) -> list[Step] | None:
    """Return the steps between positions in `classes` that constraints forbid; ValueError if not valid.

    unknown : what stands for labels that are not known, to and from which every step is free
    """
    if constraints is None:
        return None
    if isinstance(constraints, str):
        return _of_scheme(one_of("constraints", constraints, SCHEMES), classes, unknown)
    place = {label: k for k, label in enumerate(classes.tolist())}
    steps = []
    for pair in _pairs(constraints):
        for label in pair:
            if label is not None and not (isinstance(label, Hashable) and label in place):
                raise ValueError(
                    f"constraints name the label {quote(label)}, which is not among the classes of y."
                )
        before, after = (None if label is None else place[label] for label in pair)
        steps.append((before, after))
    return steps


def _pairs(constraints: Iterable[object]) -> list[tuple[object, object]]:
    found = []
    for pair in constraints if isinstance(constraints, Iterable) else [None]:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or pair[0] is pair[1] is None:
            raise ParameterError(
                "{constraints} must be 'bio', 'bioes', 'bilou', None, or a list of forbidden pairs "
                "(before, after) of labels, None for the start or the end."
            )
        found.append((pair[0], pair[1]))
    return found


def _of_scheme(scheme: str, classes: Array, unknown: str | None) -> list[Step]:
    tags = {k: _parse_label(label, scheme) for k, label in enumerate(classes.tolist()) if label != unknown}
    outside: dict[int | None, tuple[str, str]] = {None: ("O", "")}
    around = outside | tags
    return [
        (before, after)
        for before, one in around.items()
        for after, other in around.items()
        if not _may_follow(one, other, scheme)
    ]


def _may_follow(before: tuple[str, str], after: tuple[str, str], scheme: str) -> bool:
    is_open, goes_on = before[0] in "BI", after[0] in "IE"
    if goes_on:
        return is_open and before[1] == after[1]
    return scheme == "bio" or not is_open


def _parse_label(label: object, scheme: str) -> tuple[str, str]:
    """Mark (by BIOES) and type of a label; ValueError if the scheme has no such label."""
    mark, dash, kind = str(label).partition("-")
    if mark not in set(SCHEMES[scheme]) or (mark == "O" and dash):
        marks = ", ".join(f"{one}-x" for one in SCHEMES[scheme] if one != "O")
        raise ParameterError(
            "{constraints=} goes with the labels {marks} and O; y has {label}. Give another scheme, a "
            "list of forbidden pairs, or {constraints=None}.",
            constraints=scheme,
            marks=marks,
            label=quote(label),
        )
    return _AS_IN_BIOES.get(mark, mark), kind


def scheme_of(y: Outputs, unknown: str | None = None) -> str | None:
    """Return the scheme that all labels follow, or None. (IOB1 needs none: all its sequences can be read.)"""
    classes, codes, lengths = label_codes(y, "sequence")
    marks = {str(label)[:1] for label in classes.tolist()}
    scheme = "bilou" if marks & {"L", "U"} else "bioes" if marks & {"E", "S"} else "bio"
    try:
        steps = forbidden_steps(scheme, classes, unknown)
    except ValueError:
        return None
    return None if Chain(len(classes), forbidden=steps).broken(codes, lengths).any() else scheme


def first_broken(
    structure: Chain | ConditionedChain, classes: Array, codes: Array, lengths: Array
) -> BrokenStep | None:
    """Return the first forbidden step in label sequences that stand end to end; None if there is none."""
    wrong = np.flatnonzero(structure.broken(codes, lengths))
    if not wrong.size:
        return None
    token, ends = int(wrong[0]), np.cumsum(lengths)
    i = int(np.searchsorted(ends, token, side="right"))
    step, first, _ = structure.masks
    own = quote(classes[codes[token]])
    if token == ends[i] - lengths[i] and first[codes[token]] < 0:
        return BrokenStep(i, token, f"{own} may not be the first label")
    if token > ends[i] - lengths[i] and step[codes[token - 1], codes[token]] < 0:
        return BrokenStep(i, token, f"{own} may not come after {quote(classes[codes[token - 1]])}")
    return BrokenStep(i, token, f"{own} may not be the last label")


def check_steps(
    constraints: Constraints,
    structure: Chain | ConditionedChain,
    classes: Array,
    codes: Array,
    lengths: Array,
    which: Array | None = None,
) -> None:
    """Raise ValueError that names the first sequence whose gold labels make a forbidden step.

    which : what the sequences are called; 0, 1, 2 ... unless given
    """
    found = first_broken(structure, classes, codes, lengths)
    if found is not None:
        position = found.token - int(lengths[: found.sequence].sum())
        i = found.sequence if which is None else which[found.sequence]
        raise ParameterError(
            "Sequence {i} breaks {given}: at position {position} {reason}; correct its labels, or train "
            "with {constraints=None}.",
            i=i,
            given=describe_constraints(constraints),
            position=position,
            reason=found.reason,
        )


def check_labels(constraints: Constraints, y: Outputs | None) -> None:
    """Check the labels as users pass them, before they are dealt out to workers; None is left to these."""
    if constraints is not None and y is not None:
        classes, codes, lengths = label_codes(y, "sequence")
        chain = Chain(len(classes), forbidden=forbidden_steps(constraints, classes))
        check_steps(constraints, chain, classes, codes, lengths)


def describe_constraints(constraints: Constraints) -> Statement:
    """Return constraints as the object of a sentence."""
    if isinstance(constraints, str):
        return Statement("{constraints=}", constraints=plain(constraints))
    return Statement("the constraints")
