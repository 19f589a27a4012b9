"""Losses of predicted costs by the decisions that they lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structlearn.core.contract import Array
from structlearn.structures import Structure, as_structure
from structlearn.structures.unshared import Whole
from structlearn.torch.tensors import as_double, as_plain, check_called_plainly, outside_graphs


class DecisionLoss(nn.Module):
    """The mean loss of predicted costs by the decisions that they lead to: SPO+ and its relatives.

    With true costs c, predicted costs c_hat, the best decision mu, s = -1 (costs are minimised) or 1, and the
    scores theta = s alpha c_hat, every loss is

        max_z <theta + r, z - mu>,    gradient in c_hat: s alpha (z - mu),

    where r is -s c for "spo+" (Elmachtoub and Grigas 2022), the Hamming costs of mu for "imitation", and
    noise sigma Z for "perturbed" (Berthet et al. 2020), of which the mean over `n_samples` new draws per call
    is taken. They are the losses of `DecisionPredictor`.

    Parameters
    ----------
    structure : Structure, or anything `DecisionPredictor` takes
        What may be decided.
    loss : {"spo+", "imitation", "perturbed"}
    alpha : float
        The factor of the predicted costs.
    sense : {"min", "max"}
        Whether costs are to be small, or what is predicted are values that are to be large.
    noise, n_samples : float, int
        The standard deviation of Gaussian noise, and the draws per example, for loss="perturbed".
    random_state : int, numpy Generator or None
        Where the noise comes from.

    """

    def __init__(
        self,
        structure: Any,
        loss: str = "spo+",
        alpha: float = 2.0,
        sense: str = "min",
        noise: float = 1.0,
        n_samples: int = 10,
        random_state: Any = None,
    ) -> None:
        super().__init__()
        if loss not in _SHIFTS:
            raise ValueError(f"Unknown loss {loss!r}; valid are {', '.join(map(repr, _SHIFTS))}.")
        if sense not in ("min", "max"):
            raise ValueError(f"Unknown sense {sense!r}; valid are 'min' and 'max'.")
        if not (alpha > 0 and noise > 0 and n_samples >= 1):
            raise ValueError(
                "alpha and noise must be positive and n_samples at least 1; got "
                f"alpha={alpha}, noise={noise}, n_samples={n_samples}."
            )
        given = as_structure(structure)
        self.structure: Structure = Whole(given) if given.n_shared else given
        self.loss, self.alpha, self.sense = loss, alpha, sense
        self.noise, self.n_samples = noise, n_samples
        self.rng = np.random.default_rng(random_state)

    @outside_graphs
    def forward(self, predicted: Tensor, true: Any, decisions: Any = None) -> Tensor:
        """Return the mean loss of a batch.

        Parameters
        ----------
        predicted, true : Tensor of shape (batch, parts)
            What each part is predicted to cost, and what it turned out to cost.
        decisions : array-like of shape (batch, parts), optional
            The best decisions by the true costs, where they are known already, from `decide`.
        """
        check_called_plainly()
        costs = as_double(torch.as_tensor(true))
        _check_costs(predicted, costs)
        sign = 1.0 if self.sense == "max" else -1.0
        mu = self.decide(costs) if decisions is None else np.asarray(as_plain(decisions), dtype=np.float64)
        scores = sign * self.alpha * predicted.cpu().double()
        total = scores.new_zeros(())
        for shift in _SHIFTS[self.loss](self, sign * costs, mu):
            z = self._best(scores.detach().numpy() + shift)
            # z is the best answer, so that the derivative of the maximum is that of <theta + r, z> (Danskin)
            total = total + ((scores + torch.from_numpy(shift)) * torch.from_numpy(z - mu)).sum()
        n = len(predicted) * (self.n_samples if self.loss == "perturbed" else 1)
        return (total / n).to(predicted)

    def decide(self, costs: Any) -> Array:
        """Return the best decisions by costs of shape (batch, parts)."""
        given = np.asarray(as_plain(costs), dtype=np.float64)
        return self._best(given if self.sense == "max" else -given)

    def _best(self, scores: Array) -> Array:
        return np.asarray(self.structure.respond(self.structure.record, scores)[0], dtype=np.float64)


def _noises(loss: DecisionLoss, costs: Array, mu: Array) -> Iterator[Array]:
    for _ in range(loss.n_samples):
        yield loss.noise * loss.rng.standard_normal(mu.shape)


#: What is added to the scores s alpha c_hat, given s c and mu.
_SHIFTS: dict[str, Callable[[DecisionLoss, Array, Array], Iterable[Array]]] = {
    "spo+": lambda loss, costs, mu: [-costs],
    "imitation": lambda loss, costs, mu: [np.stack([loss.structure.cost(one) for one in mu])],
    "perturbed": _noises,
}


def _check_costs(predicted: Tensor, costs: Array) -> None:
    """Refuse what is not a batch of predicted costs with as many true ones, all finite."""
    if not (isinstance(predicted, Tensor) and predicted.is_floating_point()):
        kind = predicted.dtype if isinstance(predicted, Tensor) else type(predicted).__name__
        raise TypeError(f"Predicted costs must be a tensor of floating-point numbers; got {kind}.")
    if predicted.ndim < 2 or not len(predicted) or tuple(predicted.shape) != costs.shape:
        raise ValueError(
            "Predicted and true costs must both have the shape (batch, parts), at least one row; got "
            f"{tuple(predicted.shape)} and {costs.shape}."
        )
    for name, finite, advice in (
        ("Predicted", bool(torch.isfinite(predicted).all()), "lower the learning rate"),
        ("True", bool(np.isfinite(costs).all()), "leave such examples out"),
    ):
        if not finite:
            raise ValueError(f"{name} costs must be finite; got NaN or inf: {advice}.")
