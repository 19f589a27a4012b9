"""Answers and losses of a batch as functions that autograd can differentiate.

J is the Hessian of Omega* (`structlearn.problem.derivatives`), so that a backward pass needs one directional
derivative of the prediction (Domke 2010). For Omega = 0 predictions are piecewise constant and the derivative
is zero. J v can be differentiated once more; further derivatives are refused. Scores are of any floating type
on any device; structures answer on the CPU and subtract in float64, one example at a time. The backward pass
of a loss has been computed with its value: it is z - mu, rounded to the type of the scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from structlearn.core.contract import Array
from structlearn.problem.batch_kernels import BatchFound
from structlearn.problem.padded import PaddedBatch
from structlearn.problem.padded_gold import Target, no_target
from structlearn.torch.tensors import as_double, as_scores, as_tensor


class BatchAnswer(torch.autograd.Function):
    """theta -> z(theta), for local parts; `each` has the shared scores once per example."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, each: Tensor, batch: PaddedBatch) -> Tensor:
        ctx.batch = batch
        ctx.faces = batch.room_for_faces() if any(ctx.needs_input_grad) else None
        shared = each[0] if len(each) else each.new_zeros(0)
        local = as_tensor(answers(theta, shared, batch, ctx.faces).local, theta)
        ctx.save_for_backward(theta, each, local)
        return local

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        theta, each, local = ctx.saved_tensors
        if not torch.is_grad_enabled() and (row_derivative := ctx.batch.row_derivative):
            moved = row_derivative(as_scores(local.detach()), as_scores(grad))
            return as_tensor(moved, theta), each, None
        moved = Move.apply(theta, each, grad, torch.zeros_like(each), ctx.batch, None, ctx.faces)
        return *moved, None


class Known(torch.autograd.Function):
    """z(theta + c) - mu that is known already, for local and for shared parts."""

    @staticmethod
    def forward(
        ctx: Any,
        theta: Tensor,
        each: Tensor,
        local: Tensor,
        shared: Tensor,
        batch: PaddedBatch,
        target: Target | None,
    ) -> tuple[Tensor, Tensor]:
        ctx.batch, ctx.target = batch, target
        ctx.save_for_backward(theta, each)
        return local.clone(), shared.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        return *Move.apply(*ctx.saved_tensors, *grads, ctx.batch, ctx.target), None, None, None, None


class Move(torch.autograd.Function):
    """(theta, v) -> J(theta + c) v, each for local and for shared parts."""

    @staticmethod
    def forward(
        ctx: Any,
        theta: Tensor,
        each: Tensor,
        v: Tensor,
        of_shared: Tensor,
        batch: PaddedBatch,
        target: Target | None,
        faces: Array | None = None,
    ) -> tuple[Tensor, Tensor]:
        ctx.batch, ctx.target, ctx.faces = batch, target, faces
        ctx.save_for_backward(theta, each, v, of_shared)
        ways = map(as_double, (each, v, of_shared))
        moved = batch.derivative(_scores(theta, batch, target), *ways, faces=faces)
        return as_tensor(moved[0], theta), as_tensor(moved[1], each)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None, None, None]:
        theta, each, *way = ctx.saved_tensors
        at = (_scores(theta, ctx.batch, ctx.target), *map(as_double, (each, *grads)))
        bent, bent_shared = ctx.batch.derivative(*at, *map(as_double, way))
        sources = (theta, each, *way, *grads)
        bends = Last.apply(as_tensor(bent, theta), as_tensor(bent_shared, each), *sources)
        turned = Move.apply(theta, each, *grads, ctx.batch, ctx.target, ctx.faces)
        return *bends, *turned, None, None, None


class Last(torch.autograd.Function):
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


class BatchLoss(torch.autograd.Function):
    """theta -> L(theta, y) >= 0, whose gradient is z(theta + c) - mu; without a target Omega*(theta)."""

    @staticmethod
    def forward(
        ctx: Any, theta: Tensor, shared: Tensor, batch: PaddedBatch, target: Target | None = None
    ) -> Tensor:
        asked = no_target(len(theta)) if target is None else target
        found = batch.ask(as_scores(theta), as_double(shared), asked, torch.get_num_threads())
        ctx.batch, ctx.target = batch, target
        local, of_shared = as_tensor(found.local, theta), as_tensor(found.shared, shared)
        ctx.save_for_backward(theta, shared, local, of_shared)
        lowest = 0.0 if target is not None else -np.inf
        return as_tensor(np.maximum(found.values + asked.omega - found.gold, lowest), theta)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        theta, shared, local, of_shared = ctx.saved_tensors
        if torch.is_grad_enabled():
            each = shared.expand(len(theta), -1)
            local, of_shared = Known.apply(theta, each, local, of_shared, ctx.batch, ctx.target)
        return grad.reshape(-1, *[1] * (theta.ndim - 1)) * local, grad @ of_shared, None, None


def answers(theta: Tensor, shared: Tensor, batch: PaddedBatch, faces: Array | None = None) -> BatchFound:
    """Return z(theta) and its values; shared : (n_shared,). `faces` are filled in."""
    asked = no_target(len(theta))
    return batch.ask(as_scores(theta), as_double(shared), asked, torch.get_num_threads(), faces)


def moments(theta: Tensor, shared: Tensor, batch: PaddedBatch) -> tuple[Tensor, Tensor]:
    """Return z(theta) for local and for shared parts, as functions that can be differentiated."""
    each, found = shared.expand(len(theta), -1), answers(theta, shared, batch)
    local, of_shared = as_tensor(found.local, theta), as_tensor(found.shared, shared)
    known: tuple[Tensor, Tensor] = Known.apply(theta, each, local, of_shared, batch, None)
    return known


def _scores(theta: Tensor, batch: PaddedBatch, target: Target | None) -> Array:
    """Return the scores in double precision, with the costs of a target."""
    return as_double(theta) if target is None else batch.add_cost(as_double(theta), target)
