"""Structures as PyTorch layers: losses and predictions of scores that a network computes.

    values  Omega*(theta) = max_{z in M} <theta, z> - Omega(z)      gradient: the prediction
    answers z(theta)      = argmax_{z in M} <theta, z> - Omega(z)   derivative: J v, J symmetric

J is the Hessian of Omega* (`structlearn.problem.derivatives`), so that a backward pass needs one directional
derivative of the prediction (Domke 2010). For Omega = 0 predictions are piecewise constant and the derivative
is zero. J v can be differentiated once more; further derivatives are refused. Scores are of any floating type
on any device; structures answer, and losses are subtracted, on the CPU in float64.

`DecisionLoss` trains networks that predict costs for the decisions that are made by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structlearn.core.contract import Array
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.padded import BatchTargets, PaddedBatch, padded_batch
from structlearn.problem.regularizers import Regularizer, Zero
from structlearn.structures import Structure, as_structure
from structlearn.structures.unshared import Whole

__all__ = ["DecisionLoss", "StructuredLayer", "StructuredLoss"]


def __dir__() -> list[str]:
    return sorted(__all__)


class _Answer(torch.autograd.Function):
    """theta -> z(theta + cost), for local and for shared parts."""

    @staticmethod
    def forward(
        ctx: Any, theta: Tensor, shared: Tensor, batch: PaddedBatch, cost: Any
    ) -> tuple[Tensor, Tensor]:
        ctx.batch, ctx.cost = batch, cost
        ctx.save_for_backward(theta, shared)
        local, of_shared, _ = batch.ask(_numbers(theta) + cost, _numbers(shared))
        return _tensor(local, theta), _tensor(of_shared, shared)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        return *_Move.apply(*ctx.saved_tensors, *grads, ctx.batch, ctx.cost), None, None


class _Move(torch.autograd.Function):
    """(theta, v) -> J(theta + cost) v, each for local and for shared parts."""

    @staticmethod
    def forward(
        ctx: Any, theta: Tensor, shared: Tensor, v: Tensor, of_shared: Tensor, batch: PaddedBatch, cost: Any
    ) -> tuple[Tensor, Tensor]:
        ctx.batch, ctx.cost = batch, cost
        ctx.save_for_backward(theta, shared, v, of_shared)
        moved = batch.derivative(_numbers(theta) + cost, *map(_numbers, (shared, v, of_shared)))
        return _tensor(moved[0], theta), _tensor(moved[1], shared)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None, None]:
        theta, shared, *way = ctx.saved_tensors
        at = (_numbers(theta) + ctx.cost, *map(_numbers, (shared, *grads)))
        bent, bent_shared = ctx.batch.derivative(*at, *map(_numbers, way))
        sources = (theta, shared, *way, *grads)
        bends = _Last.apply(_tensor(bent, theta), _tensor(bent_shared, shared), *sources)
        return *bends, *_Move.apply(theta, shared, *grads, ctx.batch, ctx.cost), None, None


class _Last(torch.autograd.Function):
    """Values as they are, whose dependence on `sources` cannot be differentiated any more."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, of_shared: Tensor, *sources: Tensor) -> tuple[Tensor, Tensor]:
        return local.clone(), of_shared.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise RuntimeError(
            "Predictions of structures can be differentiated twice, and their losses three times, but not "
            "once more; leave out create_graph=True where no further derivative is needed."
        )


class _Loss(torch.autograd.Function):
    """theta -> L(theta, y) >= 0, whose gradient is z(theta + c) - mu."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, shared: Tensor, batch: PaddedBatch, target: BatchTargets) -> Tensor:
        ctx.batch, ctx.target = batch, target
        ctx.save_for_backward(theta, shared)
        costly, each = _numbers(theta) + target.cost, _numbers(shared)
        inner = _inner(costly, target.mu) + _inner(each, target.of_shared)
        value = batch.ask(costly, each)[2] + target.omega - inner
        return _tensor(np.maximum(value, 0.0), theta)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        theta, shared = ctx.saved_tensors
        local, of_shared = _Answer.apply(theta, shared, ctx.batch, ctx.target.cost)
        local = local - _tensor(ctx.target.mu, theta)
        of_shared = of_shared - _tensor(ctx.target.of_shared, theta)
        return grad.reshape(-1, *[1] * (theta.ndim - 1)) * local, grad[:, None] * of_shared, None, None


class StructuredLayer(nn.Module):
    """Scores to predictions: marginals, sparse mixtures of outputs (SparseMAP), or the best output's parts.

    Parameters
    ----------
    structure : Structure, or anything `StructuredPredictor` takes
    regularizer : Regularizer
        `Shannon()`, `SquaredNorm()`, `Tsallis(alpha)`, or `Zero()`, through which no gradient passes.

    """

    def __init__(self, structure: Any, regularizer: Regularizer) -> None:
        super().__init__()
        self.loss = FenchelYoungLoss(structure, regularizer)

    def forward(
        self, theta: Tensor, shared: Tensor | None = None, *, sizes: Any = None, mask: Tensor | None = None
    ) -> Tensor:
        """Return predictions for a batch.

        Parameters
        ----------
        theta : Tensor of shape (batch, ...)
            Scores of the local parts: (batch, K) for `Simplex`, `Cube` and `LabelGraph`, (batch, length, K)
            for `Chain`, (batch, length, K + K * K) for `ConditionedChain` (each position's labels, then the
            step to it), (batch, m, n) for `Matching`, (batch, n + 1, n) for trees. -inf forbids a part.
            Or whole part vectors, (batch, parts), shared parts included.
        shared : Tensor, optional
            Scores of the parts that all examples share, such as a chain's (K, K) transitions. Structures
            that have such parts need it; zeros say that they do not matter.
        sizes : int array of shape (batch,) or (batch, axes), optional
            How much of the leading axes of theta each example fills, where a batch is padded.
        mask : bool Tensor, optional
            The same as true entries: (batch, length) for chains, (batch, m, n) for matchings.

        Returns
        -------
        Tensor of theta's shape, zero where padded.

        """
        batch = _batch(self.loss, theta, shared, sizes, mask)
        return _Answer.apply(theta, _each(theta, shared), batch, 0.0)[0]

    def decode(
        self, theta: Tensor, shared: Tensor | None = None, *, sizes: Any = None, mask: Tensor | None = None
    ) -> list[Any]:
        """Return the best output of each example, as the structure writes it."""
        structure = self.loss.structure
        best = _batch(FenchelYoungLoss(structure, Zero()), theta, shared, sizes, mask)
        return [structure.decode(z) for z in best.answers(_numbers(theta), _numbers(_each(theta, shared)))]


class StructuredLoss(nn.Module):
    """The Fenchel-Young loss of each example: CRFs, SparseMAP, and with a cost and `Zero()` the hinge.

    Parameters
    ----------
    structure, regularizer, cost
        As for `structlearn.problem.losses.FenchelYoungLoss`.
    reduction : "mean", "sum" or "none"

    """

    def __init__(
        self, structure: Any, regularizer: Regularizer, cost: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ValueError(f"Unknown reduction {reduction!r}; valid are 'mean', 'sum' and 'none'.")
        self.loss = FenchelYoungLoss(structure, regularizer, cost)
        self.reduction = reduction

    def forward(
        self,
        theta: Tensor,
        y: Any,
        shared: Tensor | None = None,
        *,
        sizes: Any = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """L(theta, y) = Omega*(theta + c) + Omega(mu) - <theta + c, mu>.

        y is a list of outputs, or a tensor of them, padded as theta is: labels (batch,) or (batch, length),
        0/1 indicators (batch, K), heads (batch, n), links (batch, m, n). The rest as for `StructuredLayer`.
        """
        batch = _batch(self.loss, theta, shared, sizes, mask)
        if np.ndim(y) < 1 if isinstance(y, Tensor) else not isinstance(y, Sized):
            raise ValueError("Outputs are a list or a tensor with one entry per example; got a single one.")
        if len(y) != len(theta):
            raise ValueError(f"{len(theta)} examples of scores but {len(y)} outputs were given.")
        if not len(theta) and self.reduction == "mean":
            raise ValueError("The batch is empty: the mean of no losses is not defined; use reduction='sum'.")
        each = _each(theta, shared)
        target = batch.targets(_numbers(theta), _numbers(each), [_plain(one) for one in _plain(y)])
        return _REDUCTIONS[self.reduction](_Loss.apply(theta, each, batch, target))


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

    def forward(self, predicted: Tensor, true: Any, decisions: Any = None) -> Tensor:
        """Return the mean loss of a batch.

        Parameters
        ----------
        predicted, true : Tensor of shape (batch, parts)
            What each part is predicted to cost, and what it turned out to cost.
        decisions : array-like of shape (batch, parts), optional
            The best decisions by the true costs, where they are known already, from `decide`.
        """
        costs = _numbers(torch.as_tensor(true))
        _check_costs(predicted, costs)
        sign = 1.0 if self.sense == "max" else -1.0
        mu = self.decide(costs) if decisions is None else np.asarray(_plain(decisions), dtype=np.float64)
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
        given = np.asarray(_plain(costs), dtype=np.float64)
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


_REDUCTIONS = {"mean": torch.mean, "sum": torch.sum, "none": lambda value: value}


def _inner(theta: Array, mu: Array) -> Array:
    """Return <theta, mu> per example, where a forbidden part (-inf) that mu does not use counts nothing."""
    terms = np.where(mu != 0, theta, 0.0) * mu
    return np.asarray(terms.sum(axis=tuple(range(1, terms.ndim))))


def _each(theta: Tensor, shared: Tensor | None) -> Tensor:
    """Return the shared scores once for each example, so that their gradients add up."""
    if shared is None:
        return theta.new_zeros(len(theta), 0)
    return shared.to(theta).flatten().expand(len(theta), -1)


def _batch(
    loss: FenchelYoungLoss, theta: Tensor, shared: Tensor | None, sizes: Any, mask: Any
) -> PaddedBatch:
    """Return the batch that scores and sizes describe; an error where they do not fit the structure."""
    for name, given in (("Scores", theta), ("Shared scores", shared)):
        if given is not None and not (isinstance(given, Tensor) and given.is_floating_point()):
            kind = given.dtype if isinstance(given, Tensor) else type(given).__name__
            raise TypeError(f"{name} must be a tensor of floating-point numbers; got {kind}.")
    if not theta.ndim:
        raise ValueError("Scores must have a batch axis; got a single number.")
    shape = None if shared is None else tuple(shared.shape)
    return padded_batch(loss, tuple(theta.shape), shape, _plain(sizes), _plain(mask))


def _plain(given: Any) -> Any:
    """Return a tensor as an array; anything else as it is."""
    return given.detach().cpu().numpy() if isinstance(given, Tensor) else given


def _numbers(tensor: Tensor) -> Array:
    return tensor.detach().cpu().double().numpy().copy()


def _tensor(array: Array, like: Tensor) -> Tensor:
    return torch.as_tensor(array, dtype=like.dtype, device=like.device)
