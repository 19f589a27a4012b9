"""Block orders: which examples one pass visits, and in which sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from structlearn.core.contract import Array


class Order(Protocol):
    """A rule that draws the examples of one pass."""

    def draw(self, rng: np.random.Generator, active: Array, gaps: Array) -> Array:
        """Draw as many examples as are active; `gaps` are their weighted block gaps when last seen."""


@dataclass(frozen=True)
class Permutation:
    """Every example once, in random order."""

    def draw(self, rng: np.random.Generator, active: Array, gaps: Array) -> Array:
        return rng.permutation(active)


@dataclass(frozen=True)
class Uniform:
    """Examples drawn independently, with replacement."""

    def draw(self, rng: np.random.Generator, active: Array, gaps: Array) -> Array:
        return active[rng.integers(active.size, size=active.size)]


@dataclass(frozen=True)
class GapSampling:
    """Examples drawn in proportion to their block gaps, mixed with a share of uniform draws.

    The gaps are those of each block's last visit, so a block must be visited now and then whatever they
    say. (Osokin et al. 2016)
    """

    uniform: float = 0.2

    def draw(self, rng: np.random.Generator, active: Array, gaps: Array) -> Array:
        gaps = np.maximum(gaps[active], 0.0)
        total = gaps.sum()
        if not np.isfinite(total) or total <= 0:  # before the first pass, or at the optimum
            return rng.permutation(active)
        edges = np.cumsum((1 - self.uniform) * gaps / total + self.uniform / active.size)
        return active[np.searchsorted(edges, rng.random(active.size) * edges[-1], side="right")]
