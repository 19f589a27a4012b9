"""Answers to the scores of several examples at a time, for structures that are faster so."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from structlearn.core.contract import Array


class BatchAnswers(NamedTuple):
    """Answers s_i to the scores of several examples, weighted by p_i.

    vertices : p_i s_i of the local parts, end to end; shared : sum_i p_i s_i of the shared parts
    values : the maximum of each example; gain : at most sum_i p_i { -Omega(s_i) }
    """

    vertices: Array
    shared: Array
    values: Array
    gain: float


class BatchOracle(Protocol):
    """What answers several examples at a time; None where single answers are needed for these scores."""

    #: parts of the examples that are best answered together
    parts_at_once: int

    def values(self, lengths: Array, theta: Array, shared: Array) -> Array | None:
        """Return the maxima of examples with these numbers of rows, whose scores are end to end."""

    def answers(self, lengths: Array, theta: Array, shared: Array, weight: Array) -> BatchAnswers | None:
        """Return the weighted answers."""
