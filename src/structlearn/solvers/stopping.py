"""When training stops: at a duality gap, or when a budget is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from structlearn.core.sentences import Statement

#: `tol` is an absolute gap where P(0) is at most this many times larger or smaller than 1; beyond that, the
#: gap at which training ends is in proportion to P(0).
FAR = 10.0


class Tolerance(NamedTuple):
    """The gap at which training ends: `tol` times `scale`, which `words` name where it is not 1."""

    tol: float
    scale: float = 1.0
    words: str = ""

    @property
    def gap(self) -> float:
        return self.tol * self.scale

    @property
    def sentence(self) -> Statement:
        """What the gap is compared with.

        >>> print(Tolerance(0.001).sentence, "/", Tolerance(0.001, 9.0, "P(0)/10").sentence)
        tol=0.001 / tol=0.001 of P(0)/10=9 (0.009)
        """
        tol = float(self.tol)
        if not self.words:
            return Statement("{tol=}", tol=tol)
        of = f"{self.words}={self.scale:.4g} ({self.gap:.3g})"
        return Statement("{tol=} of {of}", tol=tol, of=of)


@dataclass(frozen=True)
class Stopping:
    """When to stop: at a gap, or when a budget is spent. Seconds are by the clock, without compilation.

    `tol` is a share of P(0) where `relative` is set; otherwise an absolute gap as long as P(0) is within a
    factor of 10 of 1, and a share of P(0)/10 above, of 10 P(0) below.
    """

    tol: float = 1e-3
    max_passes: float = 1000
    max_seconds: float | None = None
    max_oracle_calls: int | None = None
    relative: bool = False

    def tolerance(self, at_zero: float) -> Tolerance:
        """Return the gap at which training ends where P(0) is `at_zero`; absolute where that is 0."""
        if not at_zero > 0:
            return Tolerance(self.tol)
        if self.relative:
            return Tolerance(self.tol, at_zero, "P(0)")
        if at_zero > FAR:
            return Tolerance(self.tol, at_zero / FAR, f"P(0)/{FAR:g}")
        if at_zero < 1 / FAR:
            return Tolerance(self.tol, at_zero * FAR, f"{FAR:g} P(0)")
        return Tolerance(self.tol)
