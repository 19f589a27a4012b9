"""The best of each side that a run has found, and whose the gap between them is.

Where an oracle has bounds of its maxima instead of these, P takes the bounds, and D the outputs that were
found. The solver sees the outputs alone: its own gap, the sum of what they could still gain, may close while
P - D stays open. The rest is the looseness of bounds, which no pass closes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import Bound
from structlearn.core.sentences import Statement
from structlearn.solvers.stopping import Tolerance

#: Evaluations in a row at which the solver's own gap must be closed before bounds are held to be all that is
#: left: an oracle that answers below its maximum may still find something.
PATIENCE = 3


class Best(NamedTuple):
    """The best of each side so far."""

    #: empty until there is one
    w: Array = np.empty(0)
    primal: float = np.inf
    #: at least the rounding error of `primal`
    rounding: float = 0.0
    #: z = mu is feasible, D(mu) = 0 and w(mu) = 0
    dual: Bound = Bound(0.0)
    dual_norm: float = 0.0
    #: the largest dual value as it was computed, with its rounding errors
    rough_dual: float = 0.0
    #: P(0), the first value; 0 where it is no more than its rounding error, or not known
    at_zero: float = 0.0
    #: of problems with bounds, the solver's own gap at the last evaluation; infinite where it is not known
    solver_gap: float = np.inf
    #: evaluations in a row at which it was closed
    closed: int = 0

    @property
    def lower_bound(self) -> float:
        """The dual value less the rounding errors of both sides: certainly no more than `primal`."""
        return self.dual.value - self.rounding

    @property
    def gap(self) -> float:
        return self.primal - self.lower_bound

    @property
    def inference_gap(self) -> float:
        """What bounds leave open; 0 where the solver's own gap is not known."""
        return max(0.0, self.gap - self.solver_gap)

    def with_solver_gap(self, estimate: float, tolerance: Tolerance) -> Best:
        """Note what the solver could still gain."""
        return self._replace(solver_gap=estimate, closed=self.closed + 1 if estimate <= tolerance.gap else 0)

    def needs_tighter_bounds(self, tolerance: Tolerance) -> bool:
        """Return whether the solver has done its part, and bounds alone keep the gap above the tolerance."""
        return self.closed >= PATIENCE and self.inference_gap > tolerance.gap

    def gap_left(self, tolerance: Tolerance) -> Statement:
        """Say how large the gap is, and how much of it bounds leave open."""
        left = Statement("gap {gap} above {tolerance}", gap=f"{self.gap:.3g}", tolerance=tolerance.sentence)
        if self.inference_gap <= 0.0:
            return left
        words = "{left} (bounds of inference leave {open} of it open)"
        return Statement(words, left=left, open=f"{self.inference_gap:.3g}")

    def bounds_left(self, tolerance: Tolerance, objective: object) -> Statement:
        """Say that bounds alone keep the gap open, and what would help."""
        advice = getattr(getattr(objective, "structure", None), "to_tighten", "")
        return Statement(
            "Stopped with gap {gap}: the solver could gain {solver} more, within {tolerance}, but bounds of "
            "inference leave {open} open, which no pass closes.{advice}",
            gap=f"{self.gap:.3g}",
            solver=f"{self.solver_gap:.3g}",
            tolerance=tolerance.sentence,
            open=f"{self.inference_gap:.3g}",
            advice=Statement(" {advice}", advice=advice) if advice else "",
        )


def has_bounds(objective: object) -> bool:
    """Return whether P takes bounds of maxima in the place of these."""
    return bool(getattr(getattr(objective, "structure", None), "bounded", False))
