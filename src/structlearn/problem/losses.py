"""Fenchel-Young losses: structure x Omega -> a loss, for people who bring their own scores.

    L(theta, y) = Omega*(theta + c) + Omega(mu) - <theta + c, mu>
    Omega*(theta) = max_{z in M} <theta, z> - Omega(z)

with mu the part vector of y. Its gradient in theta is predict(theta + c) - mu. Omega = 0 gives the perceptron
(with a cost, the structured hinge), the entropy the log-likelihood, 1/2 ||.||^2 sparsemax and SparseMAP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.problem.regularizers import Regularizer, Shannon, SquaredNorm, Tsallis, Zero
from structlearn.structures import Simplex, Structure, as_structure
from structlearn.structures.base import is_list_of

__all__ = ["FenchelYoungLoss", "Regularizer", "Shannon", "SquaredNorm", "Tsallis", "Zero"]


class LossTarget(NamedTuple):
    """The part vector of an output, the cost c of each part (0 without costs) and Omega(mu)."""

    mu: Array
    cost: Array | float
    omega: float


class FenchelYoungLoss:
    """The Fenchel-Young loss of a structure and a regulariser.

    Parameters
    ----------
    structure : Structure, or anything `StructuredPredictor` takes
    regularizer : Regularizer
        `Zero()`, `Shannon()`, `SquaredNorm()` or `Tsallis(alpha)`.
    cost : "hamming", "count", mapping or None
        Adds the structure's cost of wrong parts to the scores: with `Zero()` the hinge loss.

    Scores are one part vector, or a list or a stack of them; outputs likewise: part vectors (also of
    mixtures), or what the structure encodes.
    """

    def __init__(
        self, structure: object, regularizer: Regularizer, cost: str | Mapping[str, object] | None = None
    ) -> None:
        self.structure: Structure = as_structure(structure)
        self.regularizer = regularizer
        self.cost = cost
        self.record = regularizer.record(self.structure)

    def predict(self, theta: ArrayLike) -> Any:
        """argmax_{z in M} <theta, z> - Omega(z)."""
        return self.structure.respond(self.record, theta)[0]

    def value(self, theta: ArrayLike, y: object) -> Any:
        """Return L(theta, y); an array for many outputs."""
        return self.value_and_gradient(theta, y)[0]

    def gradient(self, theta: ArrayLike, y: object) -> Any:
        """predict(theta + c) - mu."""
        return self.value_and_gradient(theta, y)[1]

    def value_and_gradient(self, theta: Any, y: Any) -> tuple[Any, Any]:
        """Return both, for the price of one prediction."""
        if self._is_one(theta):
            values, gradients = self._many([theta], [y])
            return float(values[0]), gradients[0]
        values, gradients = self._many(theta, y)
        return values, gradients if isinstance(theta, list) else np.reshape(gradients, np.shape(theta))

    def _is_one(self, theta: ArrayLike) -> bool:
        if isinstance(theta, list | tuple):
            return not is_list_of(theta, self.structure.part_ndim)
        return np.ndim(theta) == self.structure.part_ndim

    def _many(self, thetas: Sequence[ArrayLike], ys: Sequence[object]) -> tuple[Array, list[Array]]:
        if len(thetas) != len(ys):
            raise ValueError(f"{len(thetas)} score vectors but {len(ys)} outputs were given.")
        targets = [self.target(np.asarray(theta), y) for theta, y in zip(thetas, ys)]
        scores = [np.asarray(theta, dtype=np.float64) + one.cost for theta, one in zip(thetas, targets)]
        answers, peaks = self.structure.respond(self.record, scores)
        omega = np.array([one.omega for one in targets])
        inner = np.array([_finite_inner(score, one.mu) for score, one in zip(scores, targets)])
        return np.maximum(peaks + omega - inner, 0.0), [z - one.mu for z, one in zip(answers, targets)]

    def target(self, theta: Array, y: object) -> LossTarget:
        """Return what the loss must know of an output beside the scores, of which only the shape counts."""
        mu = self._part_vector(theta, y)
        return LossTarget(mu, self._costs(mu), self.regularizer.value(self.structure, mu))

    def _part_vector(self, theta: Array, y: object) -> Array:
        given = np.asarray(y)
        if given.shape == theta.shape and given.dtype.kind in "fbiu":
            return self._checked_parts(given.astype(np.float64))
        mu = self.structure.encode(y, self.structure.shape(theta))
        if mu.shape != theta.shape:
            raise ValueError(f"it has {mu.size} parts, but there are scores of {theta.size}.")
        return mu

    def _checked_parts(self, mu: Array) -> Array:
        """Return a part vector, also of a mixture; ValueError for what is not one."""
        if not np.isfinite(mu).all():
            raise ValueError("A part vector holds finite numbers; got NaN or inf.")
        structure = self.structure
        curved = mu.ravel()[: structure.n_curved(structure.shape(mu))]
        outside = curved[(curved < 0) | (curved > 1)]
        if structure.zero_one and outside.size:
            raise ValueError(f"A part vector holds numbers between 0 and 1; got {outside[0]:g}.")
        if isinstance(structure, Simplex) and abs(mu.sum() - 1.0) > 1e-6:
            raise ValueError(f"A mixture of labels sums to 1; got {mu.sum():g}.")
        if structure.part_ndim == 2 and not (mu % 1.0).any():
            self._check_output(mu)
        return mu

    def _check_output(self, mu: Array) -> None:
        """Raise a ValueError unless a table of 0 and 1 is an output: no mixture of others is such a table."""
        written = self.structure.encode(self.structure.decode(mu), self.structure.shape(mu))
        wrong = np.argwhere(written != mu)
        if len(wrong):
            raise ValueError(f"The table is no output: see its entry {tuple(wrong[0].tolist())}.")

    def _costs(self, mu: Array) -> Array | float:
        return 0.0 if self.cost is None else self.structure.cost(mu, **self.cost_options())

    def cost_options(self) -> dict[str, Any]:
        """Return what the structure's `cost` is asked with, where there is a cost."""
        if isinstance(self.cost, str):
            if self.cost not in ("hamming", "count"):
                raise ValueError(
                    f"Unknown cost {self.cost!r}; valid are 'hamming', 'count', a mapping or None."
                )
            return {"normalized": self.cost == "hamming"}
        if callable(self.cost):
            raise TypeError(
                "cost is 'hamming', 'count', weights or None, not a function; a structure of your own may "
                "have a method cost(mu) -> array with the cost of each part."
            )
        return {"weights": self.cost}


def _finite_inner(theta: Array, mu: Array) -> float:
    """<theta, mu>, where a forbidden part (-inf) that mu does not use counts nothing."""
    used = mu != 0
    return float(np.sum(theta[used] * mu[used]))
