"""Omega, the regulariser of the prediction function: what makes a hard choice soft, or sparse.

Each turns a structure into the record whose vertex is argmax_{z in M} <theta, z> - Omega(z).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from structlearn.core.contract import Array, Record, marginals
from structlearn.core.kernels import is_implemented
from structlearn.core.sentences import Statement
from structlearn.structures import Cube, Simplex, Structure
from structlearn.structures.base import SparseVertices
from structlearn.structures.flat.entmax import TsallisRecord, check_alpha, tsallis
from structlearn.structures.regularized import Entropic, Quadratic

#: Relative error of projections that are found step by step, to sums that are right to some 1e-12 (most take
#: ten steps, and the tolerance grows with them).
PROJECTED = 1e-11


class Regularizer(ABC):
    """A convex function Omega on the polytope."""

    #: Whether the prediction depends smoothly on the scores (so that gradient methods apply).
    smooth: bool = True

    @abstractmethod
    def record(self, structure: Structure) -> Record:
        """Return the record whose `maximize` is argmax <theta, z> - Omega(z); TypeError if there is none."""

    @abstractmethod
    def value(self, structure: Structure, z: Array) -> float:
        """Return Omega(z) of one part vector."""

    def terms(self, structure: Structure, z: Array) -> Array | None:
        """Return the terms of Omega where it is a sum over parts (of examples end to end), else None."""
        return None

    def of_gold(self, gold: SparseVertices, n_curved: Array) -> Array:
        """Return Omega(mu_i) of every example's gold vertex; zero at vertices unless overridden.

        n_curved : how many parts of each, the first ones, a squared norm covers.
        """
        return np.zeros(len(n_curved))

    def accuracy(self, structure: Structure) -> float:
        """Return the relative error of the record's values, beyond rounding."""
        return structure.accuracy


@dataclass(frozen=True)
class Zero(Regularizer):
    """Omega = 0: the vertex itself. The perceptron's loss, or the hinge with a cost."""

    smooth = False

    def record(self, structure: Structure) -> Record:
        return structure.record

    def value(self, structure: Structure, z: Array) -> float:
        return 0.0


@dataclass(frozen=True)
class Shannon(Regularizer):
    """Omega = -H: marginals of the Gibbs distribution. Softmax regression and CRFs."""

    def record(self, structure: Structure) -> Record:
        if not is_implemented(marginals, structure.record):
            kind = type(structure).__name__
            raise TypeError(Statement(f"{{kind}} has no marginals{structure.no_marginals}.", kind=kind))
        return Entropic(structure.record)

    def value(self, structure: Structure, z: Array) -> float:
        terms = self.terms(structure, z)
        if terms is not None:
            return float(terms.sum())
        if np.array_equal(z, np.rint(z)):
            return 0.0
        raise ValueError(
            "The entropy of a mixture cannot be told from its parts: give outputs, not mixtures."
        )

    def accuracy(self, structure: Structure) -> float:
        return structure.accuracy + structure.marginals_accuracy

    def terms(self, structure: Structure, z: Array) -> Array | None:
        from scipy.special import xlogy

        if isinstance(structure, Simplex):
            return xlogy(z, z)
        return xlogy(z, z) + xlogy(1 - z, 1 - z) if isinstance(structure, Cube) else None


@dataclass(frozen=True)
class SquaredNorm(Regularizer):
    """Omega = 1/2 ||z||^2 over local parts (of chains, the labels): sparsemax and SparseMAP."""

    def record(self, structure: Structure) -> Record:
        return Quadratic(structure.record)

    def value(self, structure: Structure, z: Array) -> float:
        curved = z.ravel()[: structure.n_curved(structure.shape(z))]
        return float(curved @ curved) / 2

    def of_gold(self, gold: SparseVertices, n_curved: Array) -> Array:
        owner = np.repeat(np.arange(len(n_curved)), np.diff(gold.start))
        curved = gold.index < n_curved[owner]
        return np.bincount(owner[curved], weights=gold.value[curved] ** 2 / 2, minlength=len(n_curved))

    def accuracy(self, structure: Structure) -> float:
        return structure.accuracy + (0.0 if isinstance(structure, Simplex | Cube) else PROJECTED)


@dataclass(frozen=True)
class Tsallis(Regularizer):
    """Omega = sum_k (z_k^alpha - z_k) / (alpha (alpha - 1)) on the simplex: alpha-entmax, alpha in [1, 2]."""

    alpha: float = 1.5

    def record(self, structure: Structure) -> Record:
        if not isinstance(structure, Simplex):
            kind = type(structure).__name__
            raise TypeError(f"entmax is for one of K labels; {kind} has 'softmax' or 'sparsemax'.")
        return TsallisRecord(structure.record, check_alpha(self.alpha))

    def value(self, structure: Structure, z: Array) -> float:
        return float(tsallis(z, self.alpha))

    def terms(self, structure: Structure, z: Array) -> Array | None:
        return tsallis(z[:, None], self.alpha)
