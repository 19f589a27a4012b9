"""The two geometries of the dual extragradient: how far apart two points of a polytope are.

Each block has scores theta, and stands for z = argmax_{z in M} <theta, z> - F(z). A step adds to the scores.
The distance of x from y is the Bregman divergence of F, at the scores of y:

    B(x, y) = F(x) - F(y) - <theta_y, x - y> = F*(theta_y) - F*(theta_x) + <theta_x - theta_y, x>

Entropic: F = -H, z are marginals, B is the Kullback-Leibler divergence. Euclidean: F = 1/2 ||.||^2 over all
parts, z is a projection, and B >= 1/2 ||x - y||^2, with equality inside the polytope.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from structlearn.core.contract import marginals
from structlearn.core.kernels import is_implemented
from structlearn.problem.objective import Objective
from structlearn.solvers.extragradient.spectral import mixed_norm, spectral_norm
from structlearn.structures import Structure
from structlearn.structures.all_parts import squared_norm_record
from structlearn.structures.regularized import Entropic
from structlearn.structures.unshared import WholeRecord


class Geometry(Protocol):
    """A strongly convex F on the polytopes."""

    #: whether shared parts are in F, so that each example scores its own
    separates: ClassVar[bool]
    #: whether a step starts from the scores of a point, else from the point itself (the papers' form)
    keeps_scores: ClassVar[bool]

    #: z starts at the scores kappa (mu - centre)
    centre: ClassVar[float]

    def require(self, structure: Structure) -> None:
        """Raise a ValueError unless the structure can answer argmax <theta, z> - F(z)."""

    def record(self, structure: Structure, apart: bool) -> tuple[object, ...]:
        """Return the record that answers it; `apart` where each example scores its shared parts itself."""

    def coupling(self, objective: Objective, rng: np.random.Generator) -> float:
        """Return a bound sigma of ||sum_i p_i Phi_i^T z_i|| / ||z||, in the norm of F's strong convexity."""

    def height(self, structure: Structure, rows: int) -> float:
        """Return e with F(v) <= e <1, v> at every vertex v of at most `rows` rows."""


@dataclass(frozen=True)
class EntropicGeometry:
    """F = -H: a block is represented by the scores whose marginals it is."""

    separates: ClassVar[bool] = False
    keeps_scores: ClassVar[bool] = True
    centre: ClassVar[float] = 0.5

    def require(self, structure: Structure) -> None:
        if not is_implemented(marginals, structure.record):
            raise ValueError(
                f"{type(structure).__name__} has no marginals for geometry='entropic'; use 'euclidean'."
            )

    def record(self, structure: Structure, apart: bool) -> tuple[object, ...]:
        return Entropic(WholeRecord(structure.record) if apart else structure.record)

    def coupling(self, objective: Objective, rng: np.random.Generator) -> float:
        return mixed_norm(objective)

    def height(self, structure: Structure, rows: int) -> float:
        """Return 0: vertices have no entropy."""
        return 0.0


@dataclass(frozen=True)
class EuclideanGeometry:
    """F = 1/2 ||z||^2 over all parts: a block is projected."""

    separates: ClassVar[bool] = True
    keeps_scores: ClassVar[bool] = False
    centre: ClassVar[float] = 0.0

    def require(self, structure: Structure) -> None:
        """Accept every structure: all have projections."""

    def record(self, structure: Structure, apart: bool) -> tuple[object, ...]:
        return squared_norm_record(structure)

    def coupling(self, objective: Objective, rng: np.random.Generator) -> float:
        """Find the norm by power iteration, with a margin for what that falls short of."""
        return 1.01 * spectral_norm(objective, rng, tol=1e-5, most=1000)

    def height(self, structure: Structure, rows: int) -> float:
        """Count local parts, which are 0 or 1, and shared parts at most once per row: v^2 <= rows v."""
        return (rows if structure.has_linear_parts else 1) / 2


def geometry_for(structure: Structure) -> Geometry:
    """Return the entropic geometry where the structure has marginals, else the Euclidean one."""
    return EntropicGeometry() if is_implemented(marginals, structure.record) else EuclideanGeometry()
