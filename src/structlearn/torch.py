"""Structures as PyTorch layers: losses and predictions of scores that a network computes.

    values  Omega*(theta) = max_{z in M} <theta, z> - Omega(z)      gradient: the prediction
    answers z(theta)      = argmax_{z in M} <theta, z> - Omega(z)   derivative: J v, J symmetric

J is the Hessian of Omega* (`structlearn.problem.derivatives`), so that a backward pass needs one directional
derivative of the prediction (Domke 2010). For Omega = 0 predictions are piecewise constant and the derivative
is zero. Scores are of any floating type on any device; structures answer, and losses are subtracted, on the
CPU in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from structlearn.core.contract import Array
from structlearn.problem.derivatives import derivative
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.regularizers import Regularizer, Zero

__all__ = ["StructuredLayer", "StructuredLoss"]


def __dir__() -> list[str]:
    return sorted(__all__)


class _Targets(NamedTuple):
    """What a loss must know of the outputs: mu for local and shared parts, local costs, and Omega(mu)."""

    mu: Array
    of_shared: Array
    cost: Array
    omega: Array


class _Padded(NamedTuple):
    """Where the examples of a padded batch are: example b is theta[b] up to sizes[b] in each leading axis."""

    loss: FenchelYoungLoss
    sizes: Array

    def ask(self, theta: Array, shared: Array) -> tuple[Array, Array, Array]:
        """Answers for local parts (zero where padded) and shared parts, and values."""
        found, values = self._respond(theta, shared)
        return *self._apart(found, theta, shared), values

    def derivative(self, theta: Array, shared: Array, v: Array, of_shared: Array) -> tuple[Array, Array]:
        """J v, for local and for shared parts."""
        scores, ways = self._parts(theta, shared), self._parts(v, of_shared)
        found: list[Any] = [None] * len(scores)
        alike: dict[tuple[int, ...], list[int]] = {}
        for b, one in enumerate(scores):
            alike.setdefault(one.shape, []).append(b)
        for rows in alike.values():
            moved = derivative(self.loss, *(np.stack([each[b] for b in rows]) for each in (scores, ways)))
            for b, one in zip(rows, moved):
                found[b] = one
        return self._apart(found, theta, shared)

    def answers(self, theta: Array, shared: Array) -> list[Array]:
        """The part vector of each example's answer."""
        return self._respond(theta, shared)[0]

    def targets(self, shape: tuple[int, ...], n_shared: int, ys: Any) -> _Targets:
        """What the loss must know of the outputs of a batch of this shape."""
        local, cost = np.zeros(shape), np.zeros(shape)
        of_shared, omega = np.zeros((shape[0], n_shared)), np.zeros(shape[0])
        for b in range(shape[0]):
            block = local[b][self.block(b)]
            parts = self._join(block, of_shared[b])
            target = self.loss.target(parts, self._output(ys, b))
            costs = np.broadcast_to(target.cost, parts.shape).ravel()
            block[...] = target.mu.ravel()[: block.size].reshape(block.shape)
            cost[b][self.block(b)] = costs[: block.size].reshape(block.shape)
            of_shared[b] = target.mu.ravel()[block.size :]
            omega[b] = target.omega
        return _Targets(local, of_shared, cost, omega)

    def _output(self, ys: Any, b: int) -> Any:
        """Example b's output; of a padded tensor, the part that the last of its sizes cover."""
        if not isinstance(ys, Tensor):
            return ys[b]
        y = ys[b].detach().cpu().numpy()
        if not y.ndim:
            return y.item()
        return y[tuple(slice(int(size)) for size in self.sizes[b][-y.ndim :])]

    def block(self, b: int) -> tuple[slice, ...]:
        return tuple(slice(int(size)) for size in self.sizes[b])

    def _respond(self, theta: Array, shared: Array) -> tuple[Any, Array]:
        parts = self._parts(theta, shared)
        same = (self.sizes == self.sizes[:1]).all()
        return self.loss.structure.respond(self.loss.record, np.stack(parts) if same else parts)

    def _parts(self, theta: Array, shared: Array) -> list[Array]:
        """The part vector of each example."""
        return [self._join(theta[b][self.block(b)], shared[b]) for b in range(len(theta))]

    def _apart(self, parts: Any, theta: Array, shared: Array) -> tuple[Array, Array]:
        """Part vectors as local parts, zero where padded, and shared parts."""
        local, of_shared = np.zeros_like(theta), np.zeros_like(shared)
        for b, z in enumerate(parts):
            block = local[b][self.block(b)]
            block[...] = z.ravel()[: block.size].reshape(block.shape)
            of_shared[b] = z.ravel()[block.size :]
        return local, of_shared

    def _join(self, local: Array, shared: Array) -> Array:
        if self.loss.structure.part_ndim == local.ndim and not shared.size:
            return local
        return np.concatenate([local.ravel(), shared])


class _Answer(torch.autograd.Function):
    """theta -> z(theta + cost), for local and for shared parts."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, shared: Tensor, batch: _Padded, cost: Any) -> tuple[Tensor, Tensor]:
        ctx.batch, ctx.cost = batch, cost
        ctx.save_for_backward(theta, shared)
        local, of_shared, _ = batch.ask(_numbers(theta) + cost, _numbers(shared))
        return _tensor(local, theta), _tensor(of_shared, shared)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        theta, shared = ctx.saved_tensors
        at = _numbers(theta) + ctx.cost, _numbers(shared)
        local, of_shared = ctx.batch.derivative(*at, *map(_numbers, grads))
        return _tensor(local, theta), _tensor(of_shared, shared), None, None


class _Loss(torch.autograd.Function):
    """theta -> L(theta, y) >= 0, whose gradient is z(theta + c) - mu."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, shared: Tensor, batch: _Padded, target: _Targets) -> Tensor:
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
        """Predictions of a batch.

        Parameters
        ----------
        theta : Tensor of shape (batch, ...)
            Scores of the local parts: (batch, K) for `Simplex`, `Cube` and `LabelGraph`, (batch, length, K)
            for `Chain`, (batch, m, n) for `Matching`, (batch, n + 1, n) for trees. -inf forbids a part.
        shared : Tensor, optional
            Scores of the parts that all examples share, such as a chain's (K, K) transitions.
        sizes : int array of shape (batch,) or (batch, axes), optional
            How much of the leading axes of theta each example fills, where a batch is padded.
        mask : bool Tensor, optional
            The same as true entries: (batch, length) for chains, (batch, m, n) for matchings.

        Returns
        -------
        Tensor of theta's shape, zero where padded.

        """
        batch = _Padded(self.loss, _sizes(theta, sizes, mask))
        return _Answer.apply(theta, _each(theta, shared), batch, 0.0)[0]

    def decode(
        self, theta: Tensor, shared: Tensor | None = None, *, sizes: Any = None, mask: Tensor | None = None
    ) -> list[Any]:
        """The best output of each example, as the structure writes it."""
        structure = self.loss.structure
        best = _Padded(FenchelYoungLoss(structure, Zero()), _sizes(theta, sizes, mask))
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
        if len(y) != len(theta):
            raise ValueError(f"{len(theta)} examples of scores but {len(y)} outputs were given.")
        batch = _Padded(self.loss, _sizes(theta, sizes, mask))
        each = _each(theta, shared)
        target = batch.targets(theta.shape, each.shape[1], y)
        return _REDUCTIONS[self.reduction](_Loss.apply(theta, each, batch, target))


_REDUCTIONS = {"mean": torch.mean, "sum": torch.sum, "none": lambda value: value}


def _inner(theta: Array, mu: Array) -> Array:
    """<theta, mu> of each example, where a forbidden part (-inf) that mu does not use counts nothing."""
    terms = np.where(mu != 0, theta, 0.0) * mu
    return terms.reshape(len(terms), -1).sum(axis=1)


def _each(theta: Tensor, shared: Tensor | None) -> Tensor:
    """The shared scores once for each example, so that their gradients add up."""
    if shared is None:
        return theta.new_zeros(len(theta), 0)
    return shared.to(theta).flatten().expand(len(theta), -1)


def _sizes(theta: Tensor, sizes: Any, mask: Tensor | None) -> Array:
    """How far each example reaches along the leading axes."""
    n = len(theta)
    if mask is not None and sizes is not None:
        raise ValueError("Give sizes or a mask, not both.")
    if mask is not None:
        return _sizes_of(mask.detach().cpu().numpy().astype(bool))
    if sizes is None:
        return np.empty((n, 0), dtype=np.int64)
    found = np.asarray(sizes).reshape(n, -1)
    most = np.array(theta.shape[1 : 1 + found.shape[1]])
    if (found < 1).any() or (found > most).any():
        raise ValueError(f"Sizes must be between 1 and the padded {tuple(int(size) for size in most)}.")
    return found


def _sizes_of(mask: Array) -> Array:
    """Sizes of a mask whose true entries are a block that begins at 0 in each axis."""
    axes = range(1, mask.ndim)
    sizes = [mask.any(axis=tuple(other for other in axes if other != axis)).sum(axis=1) for axis in axes]
    block = np.zeros_like(mask)
    for b, size in enumerate(np.stack(sizes, axis=1)):
        block[b][tuple(slice(int(one)) for one in size)] = True
    if not np.array_equal(block, mask) or not mask.any(axis=tuple(axes)).all():
        raise ValueError(
            "A mask must be true on a block that begins at 0 in each axis (padding at the end); "
            "give a part that is forbidden the score -inf."
        )
    return np.stack(sizes, axis=1)


def _numbers(tensor: Tensor) -> Array:
    return tensor.detach().cpu().double().numpy().copy()


def _tensor(array: Array, like: Tensor) -> Tensor:
    return torch.as_tensor(array, dtype=like.dtype, device=like.device)
