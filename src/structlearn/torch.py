"""Structures as PyTorch layers: losses and predictions of scores that a network computes.

    values  Omega*(theta) = max_{z in M} <theta, z> - Omega(z)      gradient: the prediction
    answers z(theta)      = argmax_{z in M} <theta, z> - Omega(z)   derivative: J v, J symmetric

J is the Hessian of Omega* (`structlearn.problem.derivatives`), so that a backward pass needs one directional
derivative of the prediction (Domke 2010). For Omega = 0 predictions are piecewise constant and the derivative
is zero. J v can be differentiated once more; further derivatives are refused. Scores are of any floating type
on any device; structures answer, and losses are subtracted, on the CPU in float64.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structlearn.core.contract import Array
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.padded import BatchTargets, PaddedBatch, padded_batch
from structlearn.problem.regularizers import Regularizer, Zero

__all__ = ["StructuredLayer", "StructuredLoss"]


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
